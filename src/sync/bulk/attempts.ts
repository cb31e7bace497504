/**
 * Pages of a run are under way side by side; here is what keeps them in order. An attempt is all
 * that happens to a run between its begin and its end, or its next begin. Behind a page that has
 * failed all others of the attempt fail: a checkpoint stands for everything before it.
 */
import { RetryLaterError } from '../../lib/errors.ts';

export interface Attempt {
  /** Tells the attempts of a run apart. */
  readonly number: number;
  /** Digests prove nothing before; gives whether there are any to prove something. */
  readonly begun: Promise<boolean>;
  /** When the page before is with the writer, or kept as proved: the next one may follow. */
  handed: Promise<unknown>;
  /** When all pages so far are written. */
  written: Promise<unknown>;
  hasFailed: boolean;
}

/** A page in its place among those of its attempt. */
export interface Turn {
  readonly attempt: Attempt;
  /** Waits for the pages before to be handed over; throws as {@link Turn.goOn} does. */
  comeNext(): Promise<void>;
  /** Throws when a page before has failed; asked right before anything is handed over. */
  goOn(): void;
  /** Until then no checkpoint may be written down past the writer. */
  readonly writtenBefore: Promise<unknown>;
  readonly handOver: () => void;
}

export interface Attempts {
  begin(runId: number, begun: Promise<boolean>): void;
  /** The run's attempt; one that nobody has begun has begun, and may have something to prove. */
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

/** `write` is one page; `onFailure` is called before the next one can come. */
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
    // It may fail out of turn: those before it do not fail with it.
    await after.catch(() => undefined);
    attempt.hasFailed = true;
    onFailure();
    handOver();
    throw error;
  });
  // Without what they give: each would keep that of all before it.
  attempt.written = Promise.all([writtenBefore, written]).then(() => undefined);
  // Whoever waits for the page is told.
  attempt.written.catch(() => undefined);
  return written;
}
