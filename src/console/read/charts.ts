/** Reads runs, decisions, pushes and events by the hour, for the charts of the first screen. */

import { sql } from 'kysely';
import { OUTBOX_KINDS } from '../../config/words.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Db } from '../../store/store.ts';
import { OUTBOX_STATES } from '../../store/tables.ts';

const HOUR_MS = 3_600_000;
const HOURS = 24;
const DECISION_HOURS = 7 * HOURS;

interface HourlyDecisions {
  readonly hour: number;
  readonly outcome: string;
  readonly count: number;
}

interface StreamAges {
  readonly stream: string;
  /** Highest age of data in each hour, in percent of the allowed one; null: not known. */
  readonly percents: readonly (number | null)[];
}

export interface OverviewCharts {
  /** Start of each of the last 24 hours, in epoch ms. */
  readonly hours: readonly number[];
  readonly ages: readonly StreamAges[];
  /** Decisions of each hour of the last 7 days, by outcome. */
  readonly decisions: readonly HourlyDecisions[];
  /** Most pushes open at once in each hour, and the oldest one's age in ms at its end. */
  readonly queue: { readonly depths: readonly number[]; readonly oldestMs: readonly number[] };
  /** Milliseconds from the relay's time stamp to an event's arrival; null: none came. */
  readonly lag: {
    readonly medianMs: readonly (number | null)[];
    readonly longestMs: readonly (number | null)[];
  };
}

interface RunTimes {
  readonly started_at: number;
  readonly ended_at: number;
}

/** Complete runs of a stream that ended since a time, and the one before. */
async function runsOf(db: Db, stream: string, since: number): Promise<RunTimes[]> {
  const { rows } = await sql<RunTimes>`select started_at, ended_at from sync_run
    where stream = ${stream} and outcome = 'complete' and run_id >= coalesce((
      select run_id from sync_run
      where stream = ${stream} and outcome = 'complete' and ended_at < ${since}
      order by run_id desc limit 1), 0)
    order by run_id`.execute(db);
  return rows;
}

/**
 * Highest age of a stream's data within an hour. The age counts from the start of the last complete
 * run, so it is highest when the next one ends, or at the hour's end.
 */
function oldestIn(runs: readonly RunTimes[], from: number, to: number): number | null {
  let oldest: number | null = null;
  let dataAt: number | undefined;
  for (const { started_at: startedAt, ended_at: endedAt } of runs) {
    if (endedAt > to) break;
    if (endedAt >= from && dataAt !== undefined) oldest = Math.max(oldest ?? 0, endedAt - dataAt);
    dataAt = startedAt;
  }
  return dataAt === undefined ? oldest : Math.max(oldest ?? 0, to - dataAt);
}

async function agesOf(
  db: Db,
  freshnessMs: Readonly<Record<string, number>>,
  hours: readonly number[],
  now: number,
): Promise<StreamAges[]> {
  const ages: StreamAges[] = [];
  for (const [stream, freshness] of Object.entries(freshnessMs)) {
    const runs = await runsOf(db, stream, hours[0] ?? now);
    if (runs.length === 0) continue;
    const percents = hours.map((hour) => {
      const age = oldestIn(runs, hour, Math.min(now, hour + HOUR_MS));
      return age === null ? null : Math.round((100 * age) / freshness);
    });
    ages.push({ stream, percents });
  }
  const worst = ({ percents }: StreamAges) => Math.max(...percents.map((one) => one ?? 0));
  return ages.sort((a, b) => worst(b) - worst(a));
}

async function decisionsOf(db: Db, since: number): Promise<HourlyDecisions[]> {
  const { rows } = await sql<HourlyDecisions>`
    select at - at % ${sql.lit(HOUR_MS)} hour, outcome, count(*) count from decision
    where at >= ${since} group by 1, 2 order by 1`.execute(db);
  return rows.map(({ hour, outcome, count }) => ({ hour, outcome, count: Number(count) }));
}

interface PushTimes {
  readonly created_at: number;
  readonly ended_at: number | null;
}

async function pushesSince(db: Db, since: number): Promise<PushTimes[]> {
  // Names every kind and state, because the index begins with these columns.
  const { rows } = await sql<PushTimes>`
    select created_at, ended_at from outbox where ended_at is null
    union all select created_at, ended_at from outbox
    where kind in (${sql.join(OUTBOX_KINDS)}) and state in (${sql.join(OUTBOX_STATES)})
      and ended_at >= ${since}`.execute(db);
  return rows;
}

/** Most pushes that were open at once between two times. */
function deepestIn(pushes: readonly PushTimes[], from: number, to: number): number {
  const steps: { readonly at: number; readonly by: number }[] = [];
  let depth = 0;
  for (const { created_at: at, ended_at: end } of pushes) {
    if (at >= to || (end !== null && end < from)) continue;
    if (at < from) depth += 1;
    else steps.push({ at, by: 1 });
    if (end !== null && end < to) steps.push({ at: end, by: -1 });
  }
  steps.sort((a, b) => a.at - b.at || b.by - a.by);
  let deepest = depth;
  for (const { by } of steps) {
    depth += by;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

function oldestAt(pushes: readonly PushTimes[], at: number): number {
  return pushes.reduce((oldest, { created_at: from, ended_at: end }) => {
    const isOpen = from <= at && (end === null || end > at);
    return isOpen ? Math.max(oldest, at - from) : oldest;
  }, 0);
}

async function queueOf(db: Db, hours: readonly number[], now: number) {
  const pushes = await pushesSince(db, hours[0] ?? now);
  return {
    depths: hours.map((hour) => deepestIn(pushes, hour, hour + HOUR_MS)),
    oldestMs: hours.map((hour) => oldestAt(pushes, Math.min(now, hour + HOUR_MS))),
  };
}

async function lagOf(db: Db, hours: readonly number[]) {
  const { rows } = await sql<{ hour: number; lag: number }>`
    select received_at - received_at % ${sql.lit(HOUR_MS)} hour,
      max(0, received_at - sent_at) lag
    from webhook_event where received_at >= ${hours[0] ?? 0} order by 1, 2`.execute(db);
  const byHour = Map.groupBy(rows, ({ hour }) => hour);
  const at = (share: number) => (hour: number) => {
    const of = byHour.get(hour) ?? [];
    return of[Math.min(of.length - 1, Math.floor(of.length * share))]?.lag ?? null;
  };
  return { medianMs: hours.map(at(0.5)), longestMs: hours.map(at(1)) };
}

async function readCharts(
  db: Db,
  now: number,
  freshnessMs: Readonly<Record<string, number>>,
): Promise<OverviewCharts> {
  const last = now - (now % HOUR_MS);
  const hours = Array.from({ length: HOURS }, (_, index) => last - (HOURS - 1 - index) * HOUR_MS);
  return {
    hours,
    ages: await agesOf(db, freshnessMs, hours, now),
    decisions: await decisionsOf(db, last - (DECISION_HOURS - 1) * HOUR_MS),
    queue: await queueOf(db, hours, now),
    lag: await lagOf(db, hours),
  };
}

/** Milliseconds for which charts are kept, because a day may be ten thousand rows. */
const FRESH_MS = 60_000;

/** Creates the reader of the charts, which reads once a minute at most, however many pages ask. */
export function createCharts(
  db: Db,
  clock: Clock,
  freshnessMs: Readonly<Record<string, number>>,
): () => Promise<OverviewCharts> {
  let known: { readonly at: number; readonly charts: Promise<OverviewCharts> } | undefined;
  return () => {
    const at = clock.monotonic();
    if (!known || at - known.at >= FRESH_MS) {
      const charts = readCharts(db, clock.now(), freshnessMs);
      charts.catch(() => {
        known = undefined;
      });
      known = { at, charts };
    }
    return known.charts;
  };
}
