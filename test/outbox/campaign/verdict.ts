/** Judges the end of the documents: at the service, in the outbox, and on the receipts. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { z } from 'zod';
import type { Reference } from '../../../src/reference/reference.ts';
import type { Paper } from './doors.ts';

export interface Verdict {
  readonly confirmed: number;
  /** Left to a person, with evidence, or in line behind such a one. */
  readonly inDoubt: number;
  readonly refused: number;
  readonly lost: number;
  readonly doubles: number;
  /** Everything that is wrong, one text each. */
  readonly problems: readonly string[];
}

const rowSchema = z.object({
  kind: z.string(),
  reference: z.string(),
  state: z.string(),
  blocked: z.string().nullable(),
  error: z.string().nullable(),
  evidence: z.int(),
  behind: z.int(),
});

const ROWS = `select kind, reference, state, blocked_reason as blocked, last_error as error,
  (select count(*) from outbox_evidence e where e.outbox_id = o.outbox_id) as evidence,
  exists (select 1 from outbox b where b.ordering_key = o.ordering_key and b.outbox_id < o.outbox_id
    and b.blocked_reason is not null) as behind
  from outbox o`;

function countsBy(references: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const one of references) counts.set(one, (counts.get(one) ?? 0) + 1);
  return counts;
}

/** How often the service has each document, by kind and reference. */
function madeAt({ world }: Reference): Map<string, number> {
  const { orders, pendingRefunds } = world.book;
  return countsBy([
    ...orders.all.map(({ reference }) => `order ${reference}`),
    ...pendingRefunds.all.map(({ reference }) => `pending_refund ${reference}`),
  ]);
}

/** Lists incidents of the daemon; a long wait is no fault here. */
function incidentsIn(mirror: Database.Database): string[] {
  return mirror
    .prepare<[], string>(
      `select 'incident ' || kind || ' ' || key || ': ' || detail from incident
        where kind in ('duplicate_reference', 'push_differs', 'push_dead') limit 10`,
    )
    .pluck()
    .all();
}

function judge(reference: Reference, folder: string, papers: readonly Paper[]): Verdict {
  const made = madeAt(reference);
  const mirror = new Database(join(folder, 'data', 'mirror.db'), { readonly: true });
  const rows = z.array(rowSchema).parse(mirror.prepare(ROWS).all());
  const problems = incidentsIn(mirror);
  mirror.close();
  const known = new Map(rows.map((row) => [`${row.kind} ${row.reference}`, row]));
  const counts = { confirmed: 0, inDoubt: 0, refused: 0, lost: 0, doubles: 0 };
  const wrong = (what: 'lost' | 'doubles', text: string): void => {
    counts[what] += 1;
    problems.push(`${what}: ${text}`);
  };
  for (const paper of papers) {
    const name = `${paper.kind} ${paper.reference}`;
    const row = known.get(name);
    const count = made.get(name) ?? 0;
    const told = `${name} is ${row?.state}, ${count} at the service: ${row?.error}`;
    if (count > 1) wrong('doubles', told);
    if (row?.state === 'confirmed') {
      counts.confirmed += 1;
      if (count === 0) wrong('lost', told);
    } else if (row?.state === 'in_doubt' && row.blocked !== null && row.evidence > 0) {
      counts.inDoubt += 1;
    } else if (row?.state === 'queued' && row.behind === 1) {
      // Its order is the one that a person must decide about.
      counts.inDoubt += 1;
    } else {
      // Nothing of what is submitted here deserves a refusal.
      if (row?.state === 'refused') counts.refused += 1;
      wrong('lost', told);
    }
  }
  if (rows.length !== papers.length) problems.push(`${rows.length} rows of ${papers.length}`);
  return { ...counts, problems };
}

const fileSchema = z.object({ final: z.boolean(), documents: z.array(z.looseObject({})) });

/** Receipts that do not say the end of a document that has one. */
function openReceipts(folder: string): string[] {
  const exchange = new Database(join(folder, 'data', 'exchange.db'), { readonly: true });
  const open = exchange
    .prepare<[], string>(
      `select reference || ' is ' || state from receipt where final = 0
        and next_step not like 'decide%' and next_step not like 'wait for outbox%' limit 10`,
    )
    .pluck()
    .all();
  exchange.close();
  const done = join(folder, 'in', 'done');
  const files = readdirSync(done).filter((name) => name.endsWith('.receipt.json'));
  const late = files.filter((name) => {
    const receipt = fileSchema.parse(JSON.parse(readFileSync(join(done, name), 'utf8')));
    return !receipt.final;
  });
  return [...open, ...late].map((what) => `receipt: ${what}`);
}

/** `waitFor` gives the receipts, which follow the outbox, the time that they need. */
export async function verdictOf(
  reference: Reference,
  folder: string,
  papers: readonly Paper[],
  waitFor: (lookUp: () => boolean) => Promise<boolean>,
): Promise<Verdict> {
  const verdict = judge(reference, folder, papers);
  // A file with a document that is left to a person is not final.
  const told = verdict.inDoubt > 0 || (await waitFor(() => openReceipts(folder).length === 0));
  return told ? verdict : { ...verdict, problems: [...verdict.problems, ...openReceipts(folder)] };
}
