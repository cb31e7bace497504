/**
 * Holds work back while the service takes none of it. After several failures in a row, one piece is
 * tried at a time, ever more seldom; the first that is answered lets all others go on at once. So
 * an outage costs few requests, and what failed in it does not wait for its own delay afterwards.
 */
import type { Clock } from '../clock.ts';
import { LoginAgainError, RetryLaterError } from '../errors.ts';

export interface OutageGate<Key> {
  /** Number of pieces that may be under way now, of so many usually. */
  places(most: number): number;
  /** Milliseconds until one piece may be tried; 0: now. */
  waitMs(): number;
  /** Notes a failure; one that concerns the piece alone counts as an answer. */
  failed(key: Key, error: unknown): readonly Key[];
  /** Notes an answer; returns the pieces that have failed in the outage which it ends. */
  answered(): readonly Key[];
}

/** Milliseconds between two tries: doubled with each failure, up to the maximum. */
const FIRST_MS = 1_000;
const MS_MAX = 30_000;

const OF_THE_SERVICE = /^(?:service|session|transport)\./;
/** A complete answer that cannot be read concerns what was asked for. */
const BROKEN_ANSWER = 'transport.broken_answer';

/** Whether everything else would fail as well: nobody answers, or refuses whatever is asked. */
function isOutage(error: unknown): error is RetryLaterError | LoginAgainError {
  if (error instanceof LoginAgainError) return true;
  if (!(error instanceof RetryLaterError) || error.code === BROKEN_ANSWER) return false;
  return OF_THE_SERVICE.test(error.code);
}

/** Makes a gate that closes after so many failures in a row. */
export function createOutageGate<Key>(
  clock: Pick<Clock, 'monotonic'>,
  failuresMin: number,
): OutageGate<Key> {
  const failed = new Set<Key>();
  let inARow = 0;
  let until = 0;
  const waitMs = (): number => Math.max(0, until - clock.monotonic());
  const answered = (): readonly Key[] => {
    const keys = inARow < failuresMin ? [] : [...failed];
    failed.clear();
    inARow = 0;
    until = 0;
    return keys;
  };
  return {
    waitMs,
    answered,
    places(most) {
      if (inARow < failuresMin) return most;
      return waitMs() > 0 ? 0 : 1;
    },
    failed(key, error) {
      if (!isOutage(error)) return answered();
      failed.add(key);
      inARow += 1;
      if (inARow < failuresMin) return [];
      const backOffMs = Math.min(FIRST_MS * 2 ** Math.min(inARow - failuresMin, 10), MS_MAX);
      const askedMs = error instanceof RetryLaterError ? (error.retryAfterMs ?? 0) : 0;
      until = clock.monotonic() + Math.max(backOffMs, Math.min(askedMs, 2 * MS_MAX));
      return [];
    },
  };
}
