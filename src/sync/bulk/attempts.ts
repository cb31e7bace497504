/**
 * Keeps the pages of a run in order while several are in progress. An attempt spans from a run's
 * begin to its end or its next begin. After a page fails, all later pages of the attempt fail,
 * because a checkpoint stands for everything before it.
 */
import { RetryLaterError } from '../../lib/errors.ts';

export interface Attempt {
  /** Unique over all runs. */
  readonly number: number;
  /** Resolves once stale digests are cleared; true: there are digests to compare with. */
  readonly begun: Promise<boolean>;
  /** Resolves when the previous page is submitted to the writer or kept as unchanged. */
  handed: Promise<unknown>;
  /** Resolves when all pages so far are written. */
  written: Promise<unknown>;
  hasFailed: boolean;
}

/** A page's position within its attempt. */
export interface Turn {
  readonly attempt: Attempt;
  /** Waits until the pages before are submitted; throws as {@link Turn.goOn} does. */
  comeNext(): Promise<void>;
  /** Throws when an earlier page has failed; checked right before submitting. */
  goOn(): void;
  /** A checkpoint may bypass the writer only after this resolves. */
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

/** Writes one page in its order; `onFailure` is called before the next page proceeds. */
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
    // A page may fail before its turn; earlier pages must not fail with it.
    await after.catch(() => undefined);
    attempt.hasFailed = true;
    onFailure();
    handOver();
    throw error;
  });
  // Drops the results, because each promise would keep all earlier ones in memory.
  attempt.written = Promise.all([writtenBefore, written]).then(() => undefined);
  // Marks the rejection as handled; `written` reports it to the caller.
  attempt.written.catch(() => undefined);
  return written;
}
