/**
 * Counters of the inbox. Every refusal is counted, but each kind logs at most one line a minute,
 * because a scanner or forger can send any number.
 */
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { createRefusals, type Refusals } from './refusals.ts';

const LOG_EVERY_MS = 60_000;
/** Recent signed requests that give the clock offset, because one alone may be wrong. */
const OFFSETS_MAX = 8;
/** Clock difference in ms from which a warning is logged; signatures fail at 300 s. */
const OFFSET_ALARM_MS = 60_000;

interface InboxStats {
  /** Events stored durably and acknowledged, duplicates included. */
  readonly accepted: number;
  readonly duplicates: number;
  readonly unknownType: number;
  readonly failedCommits: number;
  readonly refused: Readonly<Record<string, number>>;
  readonly lastAcceptedAt: number | undefined;
  /**
   * Our clock minus the relay's: the smallest absolute difference of recent requests, because a
   * slow network adds to it and one wrong date is no wrong clock. Undefined before the first
   * validly signed request.
   */
  readonly clockOffsetMs: number | undefined;
}

export interface Meter {
  refused(reason: string, detail?: Readonly<Record<string, unknown>>): void;
  /** Notes that what was refused looks like an event of the relay. */
  eventRefused(reason: string): void;
  readonly refusals: Pick<Refusals, 'incidents' | 'isKnown'>;
  /** Notes the sending time of a validly signed request, too old or not, for the clock offset. */
  signed(sentAt: number): void;
  committed(group: Pick<InboxStats, 'accepted' | 'duplicates' | 'unknownType'>): void;
  commitFailed(error: unknown, events: number): void;
  /** Notes that an event was answered 503, and why. */
  unavailable(reason: string): void;
  /** Why each of the latest events was answered 503; undefined: events are being stored. */
  refusesAll(): string | undefined;
  /** Logs that an event came again with another body than the stored one. */
  changedBody(eventId: string): void;
  stats(): InboxStats;
}

/** Logs the first line of each kind, then one a minute with the number left out. */
function createThrottledLog(
  clock: Clock,
  log: Logger,
): (kind: string, detail: Readonly<Record<string, unknown>>) => void {
  const seen = new Map<string, { at: number; unsaid: number }>();
  return (kind, detail) => {
    const last = seen.get(kind);
    if (last && clock.monotonic() - last.at < LOG_EVERY_MS) {
      last.unsaid += 1;
      return;
    }
    log.warn({ ...detail, ...(last?.unsaid ? { unsaid: last.unsaid } : {}) }, kind);
    seen.set(kind, { at: clock.monotonic(), unsaid: 0 });
  };
}

/**
 * Events in a row answered 503 from which the inbox is reported as refusing; a single one may just
 * have met a busy moment.
 */
const UNAVAILABLE_MIN = 3;
/**
 * Milliseconds after the last 503 for which the inbox counts as refusing: the relay sends again
 * within this time, and without new tries the state is not known.
 */
const UNAVAILABLE_MS = 120_000;

export function createMeter(clock: Clock, log: Logger): Meter {
  const say = createThrottledLog(clock, log);
  // Counters of refused signatures begin at 0, because monitoring sees no increase on a counter
  // that first appears with 1.
  const refused: Record<string, number> = { forged: 0, malformed: 0, retired: 0, stale: 0 };
  const offsets: number[] = [];
  const sum = { accepted: 0, duplicates: 0, unknownType: 0 };
  let failedCommits = 0;
  let unavailable = { times: 0, reason: '', at: 0 };
  let lastAcceptedAt: number | undefined;
  const clockOffset = (): number | undefined =>
    offsets.toSorted((a, b) => Math.abs(a) - Math.abs(b))[0];

  const refusals = createRefusals(clock, () => sum.accepted);
  return {
    refusals,
    eventRefused: (reason) => refusals.note(reason),
    refused(reason, detail = {}) {
      refused[reason] = (refused[reason] ?? 0) + 1;
      say(`event refused: ${reason}`, detail);
    },
    signed(sentAt) {
      offsets.push(clock.now() - sentAt);
      if (offsets.length > OFFSETS_MAX) offsets.shift();
      const offsetMs = clockOffset() ?? 0;
      if (Math.abs(offsetMs) > OFFSET_ALARM_MS)
        say("our clock and the relay's differ", { offsetMs });
    },
    committed(group) {
      lastAcceptedAt = clock.now();
      unavailable.times = 0;
      sum.accepted += group.accepted;
      sum.duplicates += group.duplicates;
      sum.unknownType += group.unknownType;
    },
    commitFailed(error, events) {
      failedCommits += 1;
      say('events cannot be written', { err: error, events });
    },
    unavailable(reason) {
      unavailable = { times: unavailable.times + 1, reason, at: clock.monotonic() };
    },
    refusesAll() {
      const { times, reason, at } = unavailable;
      const isNow = times >= UNAVAILABLE_MIN && clock.monotonic() - at < UNAVAILABLE_MS;
      return isNow ? reason : undefined;
    },
    changedBody: (eventId) =>
      say('an event id came again with another body: the first is kept, both orders are read', {
        eventId,
      }),
    stats: () => ({
      ...sum,
      failedCommits,
      refused: { ...refused },
      lastAcceptedAt,
      clockOffsetMs: clockOffset(),
    }),
  };
}
