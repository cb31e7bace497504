/**
 * Runs trials of rules, each in a process of its own. The result stays in this thread's memory, for
 * its session alone; nothing is written to the database or put in force.
 */
import {
  runTrial,
  type TrialEnd,
  type TrialProgress,
  type TrialRequest,
} from '../decisions/simulation/trial.ts';
import type { Clock } from '../lib/clock.ts';
import { RetryLaterError, SelvedgeError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';

type TrialWish = Omit<TrialRequest, 'store' | 'freshness' | 'now'>;

export interface TrialRun {
  readonly id: string;
  readonly wish: TrialWish;
  readonly startedAt: number;
  readonly state: 'running' | 'done' | 'failed';
  /** Progress of the trial; undefined: not known yet. */
  readonly progress: TrialProgress | undefined;
  readonly end: TrialEnd | undefined;
  /** Error because of which the trial failed. */
  readonly problem: string | undefined;
}

export interface Trials {
  /** Starts a trial in place of the session's last; throws where too many others run. */
  start(sessionId: number, wish: TrialWish): TrialRun;
  /** Finds a trial of the session; undefined: there is none, or its result is no longer kept. */
  find(sessionId: number, id: string): TrialRun | undefined;
  /** Finds a trial and waits for its end, but only for a moment. */
  soon(sessionId: number, id: string): Promise<TrialRun | undefined>;
  close(): void;
}

/** Most trials that run at the same time. */
const RUNNING_MAX = 2;
/** Most trials whose results are kept in memory. */
const KEPT_MAX = 20;
const SOON_MS = 1_500;

interface Entry {
  readonly sessionId: number;
  run: TrialRun;
  readonly stop: AbortController;
  readonly over: Promise<void>;
}

function problemOf(error: unknown, log: Logger): string {
  if (error instanceof SelvedgeError) return [error.message, error.hint].filter(Boolean).join('; ');
  log.error({ err: error }, 'a trial of rules failed');
  return 'see the log of the daemon';
}

export function createTrials(
  from: Pick<TrialRequest, 'store' | 'freshness'>,
  clock: Clock,
  log: Logger,
): Trials {
  const entries = new Map<string, Entry>();
  let lastId = 0;
  const begin = (sessionId: number, wish: TrialWish): Entry => {
    const stop = new AbortController();
    const startedAt = clock.now();
    lastId += 1;
    const id = String(lastId);
    const over = Promise.withResolvers<void>();
    const entry: Entry = {
      sessionId,
      stop,
      over: over.promise,
      run: {
        id,
        wish,
        startedAt,
        state: 'running',
        progress: undefined,
        end: undefined,
        problem: undefined,
      },
    };
    const put = (more: Partial<TrialRun>): void => {
      entry.run = { ...entry.run, ...more };
    };
    const onProgress = (progress: TrialProgress): void => put({ progress });
    runTrial({ ...from, ...wish, now: startedAt }, clock, { signal: stop.signal, onProgress })
      .then(
        (end) => put({ state: 'done', end }),
        (error) => put({ state: 'failed', problem: problemOf(error, log) }),
      )
      .finally(over.resolve);
    return entry;
  };
  const of = (sessionId: number, id: string): Entry | undefined => {
    const entry = entries.get(id);
    return entry?.sessionId === sessionId ? entry : undefined;
  };
  const running = (): readonly Entry[] =>
    [...entries.values()].filter(({ run }) => run.state === 'running');
  return {
    start(sessionId, wish) {
      const others = running().filter((one) => one.sessionId !== sessionId);
      if (others.length >= RUNNING_MAX) {
        const message = 'others try rules at the moment';
        throw new RetryLaterError('rules.trial_busy', message, { hint: 'try again in a minute' });
      }
      for (const one of running()) if (one.sessionId === sessionId) one.stop.abort();
      const entry = begin(sessionId, wish);
      entries.set(entry.run.id, entry);
      const [oldest] = entries.keys();
      if (entries.size > KEPT_MAX && oldest !== undefined) {
        entries.get(oldest)?.stop.abort();
        entries.delete(oldest);
      }
      return entry.run;
    },
    find: (sessionId, id) => of(sessionId, id)?.run,
    async soon(sessionId, id) {
      const entry = of(sessionId, id);
      if (!entry) return undefined;
      const over = new AbortController();
      const waited = clock.sleep(SOON_MS, over.signal).catch(() => undefined);
      await Promise.race([entry.over, waited]);
      over.abort();
      return entry.run;
    },
    close() {
      for (const { stop } of entries.values()) stop.abort();
    },
  };
}
