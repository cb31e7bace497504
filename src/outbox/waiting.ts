/**
 * What a document that has not left yet waits for: the one before it with its ordering key, something that
 * holds all of its kind, or its turn. All of it stands in the database, so that every door and
 * every process says the same.
 */
import { sql } from 'kysely';
import { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import { tryParseJson } from '../lib/json.ts';
import { readAccountHold, readOutboxStops, readState, writeState } from '../store/state.ts';
import type { Db, Store, Tx } from '../store/store.ts';

/** The words by which the dispatcher is held, which rows bear that rest for it. */
export const HELD_BY = {
  disk: 'the disk is too full to send',
  pause: 'sending is paused',
  stop: 'pushes are stopped by configuration (outbox.stop)',
  stopKinds: 'pushes of this kind are stopped by configuration (outbox.stopKinds)',
  dryRun: 'dry run (outbox.dryRun)',
  account: 'nothing is asked of the service',
} as const;

const RESTART = 'and restart the daemon';

const STEPS: Readonly<Record<keyof typeof HELD_BY, string>> = {
  disk: 'make room on the disk ("selvedge doctor" says where and how much)',
  pause: 'selvedge resume',
  stop: `set outbox.stop: false ${RESTART}`,
  stopKinds: `take the kind out of outbox.stopKinds ${RESTART}`,
  dryRun: `set outbox.dryRun: false ${RESTART}`,
  account: 'selvedge account show',
};

/** What ends a hold of these words; undefined: they are of no hold. */
export function stepAfter(words: string): string | undefined {
  const keys = ['disk', 'pause', 'stop', 'stopKinds', 'dryRun', 'account'] as const;
  const key = keys.find((one) => words.startsWith(HELD_BY[one]));
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

const HELD_KEY = 'outbox.held';
const HELD = z.record(z.string(), z.string());

async function heldKinds(db: Db | Tx): Promise<Readonly<Record<string, string>>> {
  return HELD.safeParse(tryParseJson((await readState(db, HELD_KEY)) ?? '')).data ?? {};
}

/** Writes down what holds which kind, for whoever tells of documents. */
export async function noteHeld(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  kinds: readonly string[],
  brake: (kind: string) => string | undefined,
): Promise<void> {
  const held = Object.fromEntries(
    kinds.flatMap((kind) => {
      const reason = brake(kind);
      return reason === undefined ? [] : [[kind, reason]];
    }),
  );
  const text = JSON.stringify(held);
  const noted = (await readState(store.db, HELD_KEY)) ?? '{}';
  if (text !== noted) await writeState(store.db, HELD_KEY, text, clock);
}

async function holdOf(db: Db | Tx, kind: string): Promise<Waiting['hold']> {
  const account = await readAccountHold(db);
  if (account !== undefined) {
    return { reason: `${HELD_BY.account}: ${account}`, step: STEPS.account };
  }
  const stops = await readOutboxStops(db);
  const stop = stops.find((one) => one.kind === null) ?? stops.find((one) => one.kind === kind);
  if (stop) {
    const what = stop.kind === null ? '' : ` ${stop.kind}`;
    return {
      reason: `${stop.actor} stopped ${stop.kind ?? 'everything'}: ${stop.reason}`,
      step: `selvedge outbox resume${what} --reason "…"`,
    };
  }
  const reason = (await heldKinds(db))[kind];
  return reason === undefined ? null : { reason, step: stepAfter(reason) ?? 'selvedge status' };
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
