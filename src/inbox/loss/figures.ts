/**
 * What the sightings add up to: how far events can be trusted, and how often a sweep must look.
 *
 * A change is missed when its event never came, or came later than `lateAfterMs`. What came in time
 * and then waited for its read, as while the service is away, is late in the mirror and not missed:
 * no sweep could have read it sooner.
 *
 * Births that all come late by the same have times of another zone, or of another clock: without
 * that they are as late as they are.
 *
 * With a sweep every T and a share m of missed changes, a change is known m·T/2 late on average;
 * T is chosen so that this stays below `lateAfterMs`, within its two bounds.
 */
import { sql } from 'kysely';
import { constantOffset } from '../../lib/reading/clock-offset.ts';
import type { Db } from '../../store/store.ts';

export interface LossLimits {
  /** A change whose event comes later than this counts as missed. */
  readonly lateAfterMs: number;
  readonly windowMs: number;
  /** The shortest and the longest time between two sweeps. */
  readonly sweepMsMin: number;
  readonly sweepMsMax: number;
  /** No event for so long while sweeps found `silentChanges` changes, or one and `silentMsMax`. */
  readonly silentMs: number;
  readonly silentChanges: number;
  readonly silentMsMax: number;
}

export interface LossFigures {
  readonly state: 'unknown' | 'healthy' | 'degraded' | 'silent';
  /** Changes in the window that an event should have told us of, and of which we can say so. */
  readonly changes: number;
  /** Told by an event; found by a sweep before its event came; never told. */
  readonly announced: number;
  readonly late: number;
  readonly lost: number;
  /** Found by a sweep, their event may still come. */
  readonly waiting: number;
  /** Happened while nobody listened. */
  readonly excused: number;
  /** Lost, or known too late: 0 to 1. */
  readonly missedShare: number;
  /** From a change to the mirror, where an event brought it. */
  readonly lateMsP50: number | null;
  readonly lateMsP95: number | null;
  /** What the times of the service are behind, and no event is late by; 0: they are not. */
  readonly offsetMs: number;
  /** What is asked of the sweep; null: its schedule counts. */
  readonly sweepMs: number | null;
  /** The last event before a silence that should not be; epoch milliseconds. */
  readonly silentSince: number | null;
}

/** With fewer changes than this nothing can be said. */
const CHANGES_MIN = 10;
/** The latest changes of the window tell enough. */
const CHANGES_MAX = 500;
const HEALTHY_SHARE_MAX = 0.01;

function quantile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.floor((sorted.length - 1) * share)] ?? null;
}

/**
 * Milliseconds from a change to its event, or to the sweep that was first: without what the event
 * has waited for its read.
 */
export const untoldMs = sql<number>`
  late_ms - iif(seen_by = 'event', max(0, at - coalesce(event.received_at, at)), 0)`;

/** Changes whose lateness goes by the service's own times. */
const BIRTHS = new Set(['sales_order.order_created', 'sales_order.delivery_created']);
/** The latest ones tell how it is now. */
const LATEST = 20;

interface Told {
  readonly type: string;
  readonly seen_by: string;
  readonly late_ms: number;
}

function isBirthByEvent({ type, seen_by }: Told): boolean {
  return seen_by === 'event' && BIRTHS.has(type);
}

/** What the times of the service are behind by the latest births that events brought. */
function offsetOf(rows: readonly Told[]): number {
  const births = rows.filter(isBirthByEvent);
  return constantOffset(births.slice(0, LATEST).map(({ late_ms }) => late_ms));
}

/** The time between two sweeps that a share of missed changes asks for. */
export function sweepPace(missedShare: number, limits: LossLimits): number {
  const wanted = missedShare === 0 ? Infinity : (2 * limits.lateAfterMs) / missedShare;
  return Math.round(Math.min(Math.max(wanted, limits.sweepMsMin), limits.sweepMsMax));
}

/** How many changes no event has told us of since then. */
async function sweptSince(db: Db, since: number, until: number): Promise<number> {
  const row = await db
    .selectFrom('sighting')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('at', '>', since)
    .where('at', '<=', until)
    .where((eb) => eb.or([eb('verdict', 'is', null), eb('verdict', '=', 'lost')]))
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

/** `eventAt`: the last event, or since when we listen if none has come. Epoch milliseconds. */
export async function readLossFigures(
  db: Db,
  limits: LossLimits,
  now: number,
  eventAt: number,
): Promise<LossFigures> {
  const rows = await db
    .selectFrom('sighting')
    .leftJoin('webhook_event as event', 'event.event_id', 'sighting.event_id')
    .select(['at', 'sighting.type', 'seen_by', 'late_ms', 'verdict', untoldMs.as('untold_ms')])
    .where('at', '>', now - limits.windowMs)
    // What is later than now was seen before the clock was set back.
    .where('at', '<=', now)
    .orderBy('at', 'desc')
    .limit(CHANGES_MAX)
    .execute();
  const counted = rows.filter(({ verdict }) => verdict !== 'excused');
  const count = (verdict: string | null): number =>
    rows.filter((row) => row.verdict === verdict).length;
  const offsetMs = offsetOf(rows);
  const tooMuch = (row: Told): number => (isBirthByEvent(row) ? offsetMs : 0);
  const isMissed = (row: (typeof rows)[number]): boolean =>
    row.verdict === 'lost' ||
    row.untold_ms - tooMuch(row) > limits.lateAfterMs ||
    (row.verdict === null && now - row.at > limits.lateAfterMs);
  const missedShare = counted.length ? counted.filter(isMissed).length / counted.length : 0;
  const lates = counted
    .filter((row) => row.seen_by === 'event')
    .map((row) => Math.max(0, row.late_ms - tooMuch(row)));
  lates.sort((a, b) => a - b);
  const swept = await sweptSince(db, eventAt, now - limits.lateAfterMs);
  const silentMs = swept >= limits.silentChanges ? limits.silentMs : limits.silentMsMax;
  const isSilent = swept > 0 && now - eventAt >= silentMs;
  const isKnown = counted.length >= CHANGES_MIN;
  const known = missedShare <= HEALTHY_SHARE_MAX ? 'healthy' : 'degraded';
  const grade = isKnown ? known : 'unknown';
  const pace = isKnown ? sweepPace(missedShare, limits) : null;
  return {
    state: isSilent ? 'silent' : grade,
    changes: counted.length,
    announced: count('announced'),
    late: count('late'),
    lost: count('lost'),
    waiting: count(null),
    excused: count('excused'),
    missedShare,
    lateMsP50: quantile(lates, 0.5),
    lateMsP95: quantile(lates, 0.95),
    offsetMs,
    sweepMs: isSilent ? limits.sweepMsMin : pace,
    silentSince: isSilent ? eventAt : null,
  };
}
