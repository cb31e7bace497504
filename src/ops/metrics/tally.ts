/**
 * Counts what was decided and sent since the start of the process. Each look reads from the
 * database only what is new since the one before, in slices, so that it costs the same however much
 * there is; what nobody asks for is not counted until somebody does.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import { OUTBOX_KINDS } from '../../config/words.ts';
import type { Db } from '../../store/store.ts';
import { END_STATES } from './known.ts';

/** Counts by label values, which stand in the order in which the metric names its labels. */
export type Counts = readonly { readonly of: readonly string[]; readonly count: number }[];

export interface Tallies {
  /** Decisions by outcome and mode. */
  readonly decisions: Counts;
  /** Decisions by rule, outcome and mode. */
  readonly ruleDecisions: Counts;
  /** Ended pushes by kind and state. */
  readonly ended: Counts;
  /** Milliseconds from packed to confirmed, for each delivery confirmed since the last look. */
  readonly confirmedMs: readonly number[];
}

export interface Tally {
  read(now: number): Promise<Tallies>;
}

const SLICE_ROWS = 1_000;
/**
 * Milliseconds that an ended push waits to be counted: its row gets the time of a moment before it
 * is committed, so a later look could miss it.
 */
const SETTLE_MS = 10_000;

function createCounts() {
  const counts = new Map<string, { of: readonly string[]; count: number }>();
  return {
    add(of: readonly string[], count = 1): void {
      const key = of.join('\0');
      const known = counts.get(key);
      if (known) known.count += count;
      else counts.set(key, { of, count });
    },
    all: (): Counts => [...counts.values()].map((one) => ({ ...one })),
  };
}

interface Decided {
  readonly id: number;
  readonly outcome: string;
  readonly mode: string;
  readonly rules: string;
}

async function decidedAfter(db: Db, id: number): Promise<readonly Decided[]> {
  return db
    .selectFrom('decision')
    .select(['decision_id as id', 'outcome', 'mode', 'rules'])
    .where('decision_id', '>', id)
    .orderBy('decision_id')
    .limit(SLICE_ROWS)
    .execute();
}

/** Id of the last decision before the start of the process. */
async function lastBefore(db: Db, at: number): Promise<number> {
  const first = await db
    .selectFrom('decision')
    // By the number itself SQLite would go through all decisions before that time.
    .select(sql<number | null>`min(+decision_id)`.as('id'))
    .where('at', '>=', at)
    .executeTakeFirst();
  if (first?.id) return first.id - 1;
  const last = await db
    .selectFrom('decision')
    .select((eb) => eb.fn.max<number | null>('decision_id').as('id'))
    .executeTakeFirst();
  return last?.id ?? 0;
}

async function endedWithin(db: Db, after: number, until: number) {
  return db
    .selectFrom('outbox')
    .select((eb) => ['kind', 'state', eb.fn.countAll<number>().as('count')])
    .where('kind', 'in', OUTBOX_KINDS)
    .where('state', 'in', END_STATES)
    .where('ended_at', '>', after)
    .where('ended_at', '<=', until)
    .groupBy(['kind', 'state'])
    .execute();
}

/**
 * Milliseconds from the packing of a delivery, or from when we first saw it where the service dates
 * none, to the confirmed push of its status.
 */
async function latenciesWithin(db: Db, after: number, until: number): Promise<readonly number[]> {
  const { rows } = await sql<{ readonly ms: number }>`
    select max(0, o.ended_at - coalesce(d.created_at, d.first_seen_at)) ms from outbox o
    join delivery d on d.order_delivery_id = o.order_delivery_id
    where o.kind = 'delivery_status' and o.state = 'confirmed'
      and o.ended_at > ${after} and o.ended_at <= ${until}`.execute(db);
  return rows.map(({ ms }) => ms);
}

/** Creates the tally. @param startedAt epoch ms; older decisions and pushes do not count */
export function createTally(db: Db, startedAt: number): Tally {
  const [decisions, ruleDecisions, ended] = [createCounts(), createCounts(), createCounts()];
  let lastId: number | undefined;
  let endedUntil = startedAt;
  const readDecisions = async (): Promise<void> => {
    lastId ??= await lastBefore(db, startedAt);
    for (;;) {
      const rows = await decidedAfter(db, lastId);
      for (const { id, outcome, mode, rules } of rows) {
        lastId = id;
        decisions.add([outcome, mode]);
        const ids: readonly string[] = JSON.parse(rules);
        for (const rule of ids) ruleDecisions.add([rule, outcome, mode]);
      }
      if (rows.length < SLICE_ROWS) return;
      await nextTurn();
    }
  };
  const readEnded = async (now: number): Promise<readonly number[]> => {
    const until = now - SETTLE_MS;
    // After the clock was set back, nothing has ended in the span that is to be counted.
    if (until <= endedUntil) return [];
    const counts = await endedWithin(db, endedUntil, until);
    const latencies = await latenciesWithin(db, endedUntil, until);
    for (const { kind, state, count } of counts) ended.add([kind, state], Number(count));
    endedUntil = until;
    return latencies;
  };
  return {
    async read(now) {
      await readDecisions();
      const confirmedMs = await readEnded(now);
      const all = { decisions: decisions.all(), ruleDecisions: ruleDecisions.all() };
      return { ...all, ended: ended.all(), confirmedMs };
    },
  };
}
