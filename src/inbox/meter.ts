/**
 * Counters of the inbox. Every refusal is counted, but each kind logs at most one line a minute,
 * because a scanner or forger can send any number.
 */
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';

const LOG_EVERY_MS = 60_000;
/** Number of recent signed requests for the clock offset, because a single one may be wrong. */
const OFFSETS_MAX = 8;
/** Offset worth an operator's look; signatures fail at 300 s. */
const OFFSET_ALARM_MS = 60_000;

interface InboxStats {
  /** Durable and acknowledged, duplicates included. */
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
  /** A validly signed request, in time or not. */
  signed(sentAt: number): void;
  committed(group: Pick<InboxStats, 'accepted' | 'duplicates' | 'unknownType'>): void;
  commitFailed(error: unknown, events: number): void;
  /** An event was answered 503. */
  unavailable(reason: string): void;
  /** Why each of the last events was answered 503; undefined: events are kept. */
  refusesAll(): string | undefined;
  /** An id came again with another body than the one that is kept. */
  changedBody(eventId: string): void;
  stats(): InboxStats;
}

/** Logs the first line of each kind, then one a minute with the number suppressed. */
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

/** In a row; a single one may have met a moment of waiting. */
const UNAVAILABLE_MIN = 3;
/** The relay sends again within this time; where nobody sends, nobody knows. */
const UNAVAILABLE_MS = 120_000;

export function createMeter(clock: Clock, log: Logger): Meter {
  const say = createThrottledLog(clock, log);
  // Reasons of a signature exist from the start, because an increase cannot be seen on a counter
  // that is new.
  const refused: Record<string, number> = { forged: 0, malformed: 0, retired: 0, stale: 0 };
  const offsets: number[] = [];
  const sum = { accepted: 0, duplicates: 0, unknownType: 0 };
  let failedCommits = 0;
  let unavailable = { times: 0, reason: '', at: 0 };
  let lastAcceptedAt: number | undefined;
  const clockOffset = (): number | undefined =>
    offsets.toSorted((a, b) => Math.abs(a) - Math.abs(b))[0];

  return {
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
