/**
 * Keeps the pages of a run in order while several are in progress. An attempt spans from the run's
 * begin to its end or its next begin. After a page fails, all later pages of the attempt fail,
 * because a checkpoint stands for everything before it.
 */
import { RetryLaterError } from '../../lib/errors.ts';

export interface Attempt {
  /** Number of the attempt, unique over all runs. */
  readonly number: number;
  /** Resolves once stale digests are cleared; true: the stream has digests to compare with. */
  readonly begun: Promise<boolean>;
  /** Resolves when the previous page was submitted to the writer or kept as unchanged. */
  handed: Promise<unknown>;
  /** Resolves when all pages so far are written. */
  written: Promise<unknown>;
  hasFailed: boolean;
}

/** A page's position within its attempt. */
export interface Turn {
  readonly attempt: Attempt;
  /** Waits until the pages before this one were submitted; throws when one of them failed. */
  comeNext(): Promise<void>;
  /** Throws when an earlier page has failed; called right before this page is submitted. */
  goOn(): void;
  /** Resolves when all earlier pages are written; only then may a checkpoint bypass the writer. */
  readonly writtenBefore: Promise<unknown>;
  readonly handOver: () => void;
}

export interface Attempts {
  begin(runId: number, begun: Promise<boolean>): void;
  /** Current attempt of the run; created on first use. */
  at(runId: number): Attempt;
  end(runId: number): void;
}

export function createAttempts(): Attempts {
  const attempts = new Map<number, Attempt>();
  let count = 0;
  const begin = (runId: number, begun: Promise<boolean>): Attempt => {
    count += 1;
    const state = { begun, handed: begun, written: begun, hasFailed: false };
    const attempt = { number: count, ...state };
    attempts.set(runId, attempt);
    return attempt;
  };
  return {
    begin,
    at: (runId) => attempts.get(runId) ?? begin(runId, Promise.resolve(true)),
    end: (runId) => attempts.delete(runId),
  };
}

export function pageBeforeFailed(): RetryLaterError {
  return new RetryLaterError('sync.page_before_failed', 'a page before it was not written');
}

/** Writes one page in its turn; `onFailure` is called before the next page proceeds. */
export function inTurn<T>(
  attempt: Attempt,
  write: (turn: Turn) => Promise<T>,
  onFailure: () => void,
): Promise<T> {
  const { promise, resolve: handOver } = Promise.withResolvers<void>();
  const { handed: after, written: writtenBefore } = attempt;
  attempt.handed = promise;
  const goOn = (): void => {
    if (attempt.hasFailed) throw pageBeforeFailed();
  };
  const comeNext = async (): Promise<void> => {
    await after;
    goOn();
  };
  const turn = { attempt, comeNext, goOn, writtenBefore, handOver };
  const written = write(turn).catch(async (error: unknown) => {
    // A page may fail before its turn, and earlier pages must not fail with it.
    await after.catch(() => undefined);
    attempt.hasFailed = true;
    onFailure();
    handOver();
    throw error;
  });
  // The results of pages are dropped, because each promise would keep all earlier ones in memory.
  attempt.written = Promise.all([writtenBefore, written]).then(() => undefined);
  // The rejection counts as handled here; `written` reports it to the caller.
  attempt.written.catch(() => undefined);
  return written;
}
