/** Reads the outbox over a URL. */
import { z } from 'zod';
import type { OutboxCard, OutboxRow } from '../../outbox/review/listing.ts';
import type { Query, RemoteConsole } from './console.ts';
import { shaped } from './shapes.ts';

/** Number of rows in one answer of the console. */
const PAGE_ROWS = 100;

const row = z.looseObject({
  outboxId: z.int(),
  kind: z.string(),
  reference: z.string(),
  state: z.string(),
  createdAt: z.number(),
  attempts: z.int(),
});
const page = shaped<{ readonly rows: readonly OutboxRow[]; readonly next: string | null }>(
  z.object({ rows: z.array(row), next: z.string().nullable() }),
);
const card = shaped<OutboxCard>(
  z.looseObject({
    ...row.omit({ attempts: true }).shape,
    document: z.looseObject({}),
    deliveries: z.array(z.looseObject({})),
    problems: z.array(z.looseObject({})),
    attemptLog: z.array(z.looseObject({ startedAt: z.number() })),
    evidence: z.array(z.looseObject({ at: z.number() })),
    candidates: z.array(z.looseObject({ lines: z.array(z.looseObject({})) })),
    revisions: z.array(z.looseObject({})),
  }),
);

interface RemoteListFilter {
  readonly kind?: string | undefined;
  readonly state?: string | undefined;
  readonly needsAttention?: boolean | undefined;
  readonly open?: boolean | undefined;
  readonly reference?: string | undefined;
}

function queryOf({ kind, state, reference, needsAttention, open }: RemoteListFilter): Query {
  return {
    ...(kind !== undefined && { kind }),
    ...(state !== undefined && { state }),
    ...(reference !== undefined && { reference }),
    ...(needsAttention === true && { attention: '1' }),
    ...(open === true && { open: '1' }),
  };
}

/** Lists the newest outbox rows, at most `limit`, page after page. */
export async function listRemoteOutbox(
  remote: RemoteConsole,
  filter: RemoteListFilter,
  limit: number,
): Promise<readonly OutboxRow[]> {
  const rows: OutboxRow[] = [];
  let before: string | null | undefined;
  while (before !== null && rows.length < limit) {
    const size = String(Math.min(PAGE_ROWS, limit - rows.length));
    const query = { ...queryOf(filter), limit: size, ...(before !== undefined && { before }) };
    const found: z.output<typeof page> = await remote.get('/outbox.json', page, query);
    rows.push(...found.rows);
    before = found.next;
  }
  return rows;
}

export function showRemoteOutbox(remote: RemoteConsole, outboxId: number): Promise<OutboxCard> {
  return remote.get(`/outbox/${outboxId}.json`, card);
}
