/**
 * Runs the workers. A worker is `{ name, run(signal) }` and works until the signal aborts. Workers
 * start in the written order and stop last-in-first-out within one deadline. One that fails, or
 * ends before it is asked to, is started again after a growing pause, and its last error stays
 * visible; a failure that only a person can mend (the database, the lease, the configuration) stops
 * the whole daemon with its own exit code.
 */
import { type Clock, untilAborted } from '../lib/clock.ts';
import { BugError, ConfigError, isStoreUnusable, toError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';

export interface Worker {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
}

export interface WorkerHealth {
  readonly name: string;
  readonly state: 'running' | 'waiting' | 'stopped';
  readonly restarts: number;
  /**
   * Failures in a row since the worker last ran well; or, if more, failures within a day that each
   * ended a time of running well.
   */
  readonly failures: number;
  readonly lastError: string | undefined;
  /** Milliseconds since the worker was last started. */
  readonly sinceStartMs: number;
}

export interface Supervisor {
  /** Runs all workers until they have stopped; rejects with what only a person can mend. */
  run(signal: AbortSignal): Promise<void>;
  health(): readonly WorkerHealth[];
}

const RESTART_MS_MIN = 500;
const RESTART_MS_MAX = 60_000;
/** Milliseconds after which a worker has run well, and restarts with the short pause. */
const HEALTHY_MS = 60_000;
/**
 * Milliseconds for which a failure after running well counts, because a worker may fail hours after
 * each of its starts.
 */
const RELAPSES_MS = 86_400_000;

const ENDED = 'it ended without being asked to';

/** Milliseconds to stop that each worker gets, even when the others have used up the deadline. */
const STOP_MS_MIN = 250;

interface Entry {
  readonly worker: Worker;
  readonly stop: AbortController;
  state: WorkerHealth['state'];
  restarts: number;
  failures: number;
  /** Monotonic times at which the worker failed after having run well. */
  relapses: readonly number[];
  lastError: string | undefined;
  startedAt: number;
  done: Promise<void>;
}

function hasRunWell({ startedAt }: Entry, clock: Clock): boolean {
  return clock.monotonic() - startedAt > HEALTHY_MS;
}

function relapsesOf({ relapses }: Entry, clock: Clock): readonly number[] {
  return relapses.filter((at) => clock.monotonic() - at < RELAPSES_MS);
}

function failuresOf(entry: Entry, clock: Clock): number {
  const inRow = entry.state === 'running' && hasRunWell(entry, clock) ? 0 : entry.failures;
  return Math.max(inRow, relapsesOf(entry, clock).length);
}

function noteFailure(entry: Entry, error: Error, clock: Clock): void {
  const isRelapse = hasRunWell(entry, clock);
  entry.lastError = error.message;
  entry.failures = isRelapse ? 1 : entry.failures + 1;
  if (isRelapse) entry.relapses = [...relapsesOf(entry, clock), clock.monotonic()];
}

async function keepRunning(
  entry: Entry,
  clock: Clock,
  log: Logger,
  onFatal: (error: Error) => void,
): Promise<void> {
  const { worker, stop } = entry;
  let pause = RESTART_MS_MIN;
  while (!stop.signal.aborted) {
    entry.startedAt = clock.monotonic();
    entry.state = 'running';
    try {
      await worker.run(stop.signal);
      if (!stop.signal.aborted) throw new BugError('bug.worker_ended', ENDED);
    } catch (thrown) {
      const error = toError(thrown);
      noteFailure(entry, error, clock);
      if (isStoreUnusable(error) || error instanceof ConfigError) {
        onFatal(error);
        break;
      }
      if (!stop.signal.aborted) log.error({ worker: worker.name, err: error }, 'worker failed');
    }
    if (stop.signal.aborted) break;
    if (hasRunWell(entry, clock)) pause = RESTART_MS_MIN;
    entry.restarts += 1;
    entry.state = 'waiting';
    await clock.sleep(pause, stop.signal).catch(() => undefined);
    pause = Math.min(RESTART_MS_MAX, pause * 2);
  }
  entry.state = 'stopped';
}

export function createSupervisor(
  workers: readonly Worker[],
  deps: { readonly clock: Clock; readonly log: Logger; readonly stopMsMax: number },
): Supervisor {
  const { clock, log, stopMsMax } = deps;
  const entries: Entry[] = workers.map((worker) => ({
    worker,
    stop: new AbortController(),
    state: 'stopped',
    restarts: 0,
    failures: 0,
    relapses: [],
    lastError: undefined,
    startedAt: clock.monotonic(),
    done: Promise.resolve(),
  }));

  const stopAll = async (): Promise<void> => {
    const deadline = clock.monotonic() + stopMsMax;
    for (const entry of entries.toReversed()) {
      entry.stop.abort(new Error('stopping'));
      const left = Math.max(STOP_MS_MIN, deadline - clock.monotonic());
      const late = new AbortController();
      const timeUp = clock.sleep(left, late.signal).then(
        () => log.warn({ worker: entry.worker.name }, 'worker did not stop in time'),
        () => undefined,
      );
      await Promise.race([entry.done, timeUp]);
      late.abort();
    }
  };

  return {
    health: () =>
      entries.map((entry) => ({
        name: entry.worker.name,
        state: entry.state,
        restarts: entry.restarts,
        failures: failuresOf(entry, clock),
        lastError: entry.lastError,
        sinceStartMs: clock.monotonic() - entry.startedAt,
      })),
    async run(signal) {
      const fatal = Promise.withResolvers<never>();
      for (const entry of entries) {
        entry.done = keepRunning(entry, clock, log, fatal.reject);
      }
      try {
        await Promise.race([untilAborted(signal), fatal.promise]);
      } finally {
        fatal.promise.catch(() => undefined);
        await stopAll();
      }
    },
  };
}

// Tells a worker that works or sleeps from one that is stuck. Every loop asks its clock for
// the time or sleeps on it, so the clock that a worker is given measures its progress; no worker
// has to report. A worker that waits for an answer that never comes uses its clock no more.

export interface Pulse {
  /** The clock for one worker alone; every use of it is a beat. */
  clockOf(worker: string): Clock;
  /** Names running workers whose clock was not used for too long; sleep does not count. */
  stuck(workers: readonly WorkerHealth[]): readonly string[];
}

/**
 * Milliseconds without use of its clock after which a worker counts as stuck: no single piece of
 * work lasts this long, and network requests have deadlines.
 */
export const STUCK_MS = 120_000;

function beatingClock(clock: Clock, beat: (asleepMs: number) => void): Clock {
  return {
    now() {
      beat(0);
      return clock.now();
    },
    monotonic() {
      beat(0);
      return clock.monotonic();
    },
    after(ms, task) {
      beat(ms);
      return clock.after(ms, () => {
        beat(0);
        task();
      });
    },
    sleep(ms, signal) {
      beat(ms);
      return clock.sleep(ms, signal).finally(() => beat(0));
    },
  };
}

export function createPulse(clock: Clock): Pulse {
  /** Monotonic time until which each worker sleeps, and is not expected to use its clock. */
  const quietUntil = new Map<string, number>();
  return {
    clockOf: (worker) =>
      beatingClock(clock, (asleepMs) => {
        quietUntil.set(worker, clock.monotonic() + asleepMs);
      }),
    stuck(workers) {
      const now = clock.monotonic();
      return workers
        .filter(({ name, state, sinceStartMs }) => {
          const until = quietUntil.get(name);
          if (state !== 'running' || until === undefined) return false;
          return Math.min(now - until, sinceStartMs) > STUCK_MS;
        })
        .map(({ name }) => name);
    },
  };
}
