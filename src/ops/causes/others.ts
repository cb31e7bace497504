/** What else keeps decisions or streams from being made: currency, clock, numbers, doubts. */

import { sql } from 'kysely';
import { formatDuration } from '../../lib/units.ts';
import type { Db } from '../../store/store.ts';
import type { Cause } from './cause.ts';

/** Detects a constant offset between clocks or time zones, which real delays do not have. */

/** Zones differ by quarters of an hour. */
const ZONE_STEP_MS = 15 * 60_000;
/** Maximum variation of real delays. */
const SPREAD_MS_MAX = 5 * 60_000;
/** Fewer values may agree by chance. */
const TIMES_MIN = 10;

/** Offset common to all delays, as between two zones, in ms; 0: none. */
function constantOffset(lates: readonly number[]): number {
  if (lates.length < TIMES_MIN) return 0;
  const [least, most] = [Math.min(...lates), Math.max(...lates)];
  const steps = Math.floor((least + SPREAD_MS_MAX / 5) / ZONE_STEP_MS) * ZONE_STEP_MS;
  return steps > 0 && most - steps <= SPREAD_MS_MAX ? steps : 0;
}

/** The newest ones tell how it is now; with all of them it would take as long as a report. */
const NEWEST = 200;

/** Pending deliveries of orders whose currency nobody knows. */
export async function noCurrency(db: Db): Promise<readonly Cause[]> {
  const { rows } = await sql<{
    readonly rows: number;
    readonly example: number | null;
    readonly word: string | null;
  }>`
    select count(*) rows, max(order_id) example, max(currency) word from (
      select d.order_id,
        (select c.currency from order_currency c where c.order_id = d.order_id) currency
      from (
        select order_id from delivery where status = 'pending' and deleted_at is null
        order by order_delivery_id desc limit ${NEWEST}) d
      join sales_order o on o.order_id = d.order_id)
    where currency is null or trim(currency) not glob '[A-Za-z][A-Za-z][A-Za-z]'`.execute(db);
  const [found] = rows;
  if (!found || found.rows === 0) return [];
  const { rows: count, example, word } = found;
  const why =
    word === null
      ? 'the order names none, and the variants of its lines agree on none'
      : `the order names "${word}", which is no code`;
  const which = `${count} of the newest pending deliveries (such as of order ${example})`;
  const says = `the currency of ${which} is not known: ${why}`;
  const advice = 'set service.v1.currency, for example EUR';
  const detail = { says, advice, rows: count };
  return [{ kind: 'no_currency', entity: 'sales_order', key: 'currency', detail }];
}

const ZONE_ADVICE =
  'if they name no zone, set service.v1.timeZone, for example Europe/Copenhagen; else look at ' +
  'both clocks (timedatectl)';

/** A clock may be so far ahead of ours. */
const AHEAD_MS_MAX = 5 * 60_000;
/** No zone is further away. */
const ZONE_MS_MAX = 86_400_000;
/** Rows of each table that are looked at. */
const LATEST = 20;

/** Times that were to come when we read them: of a clock that is ahead, or of another zone. */
export async function clockAhead(db: Db, timeZone: string): Promise<readonly Cause[]> {
  const { rows } = await sql<{ readonly ahead: number; readonly of: number }>`
    select created_at - changed_at ahead, order_id "of" from (
      select * from (select order_id, created_at, changed_at from sales_order
        order by order_id desc limit ${LATEST})
      union all
      select * from (select order_id, created_at, changed_at from delivery
        order by order_delivery_id desc limit ${LATEST}))
    where created_at > changed_at + ${AHEAD_MS_MAX} order by 1`.execute(db);
  const [least] = rows;
  if (!least) return [];
  const steps = Math.round(least.ahead / ZONE_STEP_MS) * ZONE_STEP_MS;
  const isZone = Math.abs(least.ahead - steps) < AHEAD_MS_MAX;
  const by = formatDuration(isZone ? steps : least.ahead);
  const which = `order ${least.of}; read as ${timeZone}`;
  const says = `times of the service are ${by} ahead of this clock (${which})`;
  const detail = { says, advice: ZONE_ADVICE, rows: rows.length };
  return [{ kind: 'clock_ahead', entity: 'service', key: 'createdAt', detail }];
}

/** Times that are behind by what zones differ by, while the events of them come at once. */
export async function clockBehind(db: Db, timeZone: string): Promise<readonly Cause[]> {
  const { rows } = await sql<{ readonly late: number }>`
    select at - created_at late from event_coverage
    where by_event and order_delivery_id >= (select min(order_delivery_id) from (
      select order_delivery_id from delivery order by order_delivery_id desc limit ${NEWEST}))
    order by order_delivery_id desc limit ${LATEST}`.execute(db);
  // One that the service dates far back was packed long before its event.
  const lates = rows.map(({ late }) => late).filter((late) => late < ZONE_MS_MAX);
  const offsetMs = constantOffset(lates);
  if (offsetMs === 0) return [];
  const by = formatDuration(offsetMs);
  const says = `times of the service are ${by} behind this clock (read as ${timeZone})`;
  const detail = { says, advice: ZONE_ADVICE, rows: 1 };
  return [{ kind: 'clock_behind', entity: 'service', key: 'createdAt', detail }];
}

const WORDS: Readonly<Record<string, string>> = {
  delivery: 'deliveries',
  refund: 'refunds',
  pending_refund: 'pending refunds',
};

/** Numbers that two orders have. */
export async function sharedNumbers(db: Db): Promise<readonly Cause[]> {
  const { rows } = await sql<{
    readonly entity: string;
    readonly rows: number;
    readonly number: number;
    readonly other: number;
  }>`
    select entity, count(*) rows, max(number) number, order_id other from shared_number
    group by entity order by entity`.execute(db);
  const causes: Cause[] = [];
  for (const { entity, rows: count, number, other } of rows) {
    const [table, key] = [sql.table(entity), sql.ref(NUMBERS[entity] ?? 'order_id')];
    const own = await sql<{ readonly id: number }>`
      select order_id id from ${table} where ${key} = ${number}`.execute(db);
    const orders = [own.rows[0]?.id, other].filter((id) => id !== undefined).join(' and ');
    const words = WORDS[entity] ?? entity;
    const which = `${number} in orders ${orders}`;
    const says = `${count} ${words} have a number of another order's as well: ${which}; they wait`;
    const advice = 'they are told apart by their number alone: decide them in the service';
    const detail = { says, advice, rows: count };
    causes.push({ kind: 'shared_number', entity, key: 'number', detail });
  }
  return causes;
}

const NUMBERS: Readonly<Record<string, string>> = {
  delivery: 'order_delivery_id',
  refund: 'order_refund_id',
  pending_refund: 'pending_refund_id',
};

/** Runs in a row with the same doubt. */
const RUNS = 4;

interface EndedRun {
  readonly outcome: string;
  readonly reason: string | null;
}

/** Numbers grow from run to run; the doubt is the same. */
function doubtIn({ reason }: EndedRun): string {
  return (reason ?? '').replaceAll(/\d+/g, '#');
}

/** Streams whose runs have ended with one and the same doubt again and again. */
export async function neverComplete(db: Db): Promise<readonly Cause[]> {
  const streams = await db.selectFrom('stream_state').select('stream').orderBy('stream').execute();
  const causes: Cause[] = [];
  for (const { stream } of streams) {
    const runs = await db
      .selectFrom('sync_run')
      .select(['outcome', 'reason'])
      .where('stream', '=', stream)
      .where('outcome', '!=', 'running')
      .orderBy('run_id', 'desc')
      .limit(RUNS)
      .execute();
    const [last] = runs;
    const isSame = (run: EndedRun): boolean =>
      ['partial', 'failed'].includes(run.outcome) &&
      last !== undefined &&
      doubtIn(run) === doubtIn(last);
    if (runs.length < RUNS || !runs.every(isSame)) continue;
    const says = `${stream} was not complete ${RUNS} times in a row: ${last?.reason}`;
    const advice = `selvedge sync runs ${stream}`;
    const detail = { says, advice, rows: RUNS };
    causes.push({ kind: 'never_complete', entity: 'stream', key: stream, detail });
  }
  return causes;
}
