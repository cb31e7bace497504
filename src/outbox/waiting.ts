/**
 * What a document that has not left yet waits for: the one before it with its ordering key,
 * something that holds all of its kind, or its turn. All of it stands in the database, so that
 * every door and every process says the same.
 */
import { sql } from 'kysely';
import { describePause, pauseOf, readPauses, resumeStep } from '../store/pauses.ts';
import { readAccountHold } from '../store/state.ts';
import type { Db, Tx } from '../store/store.ts';

/** The words by which the dispatcher is held, which rows bear that rest for it. */
export const HELD_BY = {
  disk: 'the disk is too full to send',
  dryRun: 'dry run (outbox.dryRun)',
  account: 'nothing is asked of the service',
} as const;

const STEPS: Readonly<Record<keyof typeof HELD_BY, string>> = {
  disk: 'make room on the disk ("selvedge doctor" says where and how much)',
  dryRun: 'set outbox.dryRun: false and restart the daemon',
  account: 'selvedge account show',
};

/** What ends a hold of these words; undefined: they are of no hold. */
export function stepAfter(words: string): string | undefined {
  const key = (['disk', 'dryRun', 'account'] as const).find((one) =>
    words.startsWith(HELD_BY[one]),
  );
  return key && STEPS[key];
}

export interface Waiting {
  /** The open row before it with its ordering key; null: there is none. */
  readonly ahead: {
    readonly outboxId: number;
    readonly kind: string;
    readonly reference: string;
    readonly state: string;
    /** A person must decide about it. */
    readonly isLeft: boolean;
  } | null;
  /** What holds all of its kind, and what ends that. */
  readonly hold: { readonly reason: string; readonly step: string } | null;
  /** Rows that wait for their turn before it, {@link BEFORE_MAX} at the most. */
  readonly before: number;
}

export const BEFORE_MAX = 100;

async function holdOf(db: Db | Tx, kind: string): Promise<Waiting['hold']> {
  const account = await readAccountHold(db);
  if (account !== undefined) {
    return { reason: `${HELD_BY.account}: ${account}`, step: STEPS.account };
  }
  const pause = pauseOf(await readPauses(db), 'pushes', kind);
  return pause ? { reason: describePause(pause), step: resumeStep(pause) } : null;
}

async function aheadOf(
  db: Db | Tx,
  { outbox_id, ordering_key }: { readonly outbox_id: number; readonly ordering_key: string },
): Promise<Waiting['ahead']> {
  const first = await db
    .selectFrom('outbox')
    .select(['outbox_id', 'kind', 'reference', 'state', 'desk_reason'])
    .where('ordering_key', '=', ordering_key)
    .where('outbox_id', '<', outbox_id)
    .where('ended_at', 'is', null)
    // What a person must decide about says more than what moves by itself.
    .orderBy(sql`desk_reason is null`)
    .orderBy('outbox_id')
    .limit(1)
    .executeTakeFirst();
  if (!first) return null;
  const { kind, reference, state } = first;
  const isLeft = first.desk_reason !== null;
  return { outboxId: first.outbox_id, kind, reference, state, isLeft };
}

/** Rows that fall due before it, as many as are worth counting. */
async function countBefore(db: Db | Tx, outboxId: number, dueAt: number): Promise<number> {
  const { rows } = await sql<{ readonly n: number }>`select count(*) n from (
    select 1 from outbox where state = 'queued' and ended_at is null
      and (due_at < ${dueAt} or (due_at = ${dueAt} and outbox_id < ${outboxId}))
    limit ${BEFORE_MAX})`.execute(db);
  return rows[0]?.n ?? 0;
}

/** Null for what does not wait to be sent. */
export async function waitingOf(
  db: Db | Tx,
  row: {
    readonly outbox_id: number;
    readonly kind: string;
    readonly ordering_key: string;
    readonly state: string;
    readonly due_at: number;
  },
): Promise<Waiting | null> {
  if (row.state !== 'queued') return null;
  return {
    ahead: await aheadOf(db, row),
    hold: await holdOf(db, row.kind),
    before: await countBefore(db, row.outbox_id, row.due_at),
  };
}
