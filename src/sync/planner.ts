/**
 * Runs each stream when it is due. Due times are in the database, so that a stream that missed its
 * time while the daemon was down runs once at the start; the cron pattern only gives the next time.
 * Streams run concurrently and never wait for each other.
 */
import { sql } from 'kysely';
import { provedMarks } from '../client/tolerant/decimals.ts';
import type { MemberName } from '../client/v1/schemas.ts';
import type { Clock } from '../lib/clock.ts';
import { isStoreUnusable, toError } from '../lib/errors.ts';
import { createOutages, type OutageMessages } from '../lib/log/outages.ts';
import type { Random } from '../lib/random.ts';
import type { Store } from '../store/store.ts';
import { judgeUnfinished } from './run/change-guard.ts';
import { ensureState, noteSettings } from './run/open.ts';
import { endUnfinished } from './run/run-repository.ts';
import { type RunnerDeps, type RunResult, runStream, waitAfter } from './run/run-stream.ts';
import { nextRunAfter } from './schedule.ts';
import type { Stream } from './stream.ts';
import { type DecimalsDeps, keepDecimals, lookAgainAfterUpgrade } from './upgrade.ts';

export interface PlannedStream {
  readonly stream: Stream;
  /** Cron pattern of the stream's runs, in UTC. */
  readonly schedule: string;
  /**
   * Gives the milliseconds between two runs, and then the schedule is ignored; undefined: the
   * schedule applies.
   */
  readonly pace?: (() => number | undefined) | undefined;
  /** Whether the stream is due at every start, because events before the start went unheard. */
  readonly atStart?: boolean | undefined;
}

export const PULLS: OutageMessages = {
  of: 'stream',
  begins: 'cannot pull',
  over: 'pulls again',
  hint: 'see all with: selvedge sync list',
};

export interface PlannerDeps extends Omit<RunnerDeps, 'outages'> {
  readonly random: Random;
  readonly streams: readonly PlannedStream[];
  /** Member names of the account. */
  readonly names?: readonly MemberName[] | undefined;
  /** How the account writes decimals, and its address. */
  readonly form?: Pick<DecimalsDeps, 'decimals' | 'account'> | undefined;
  readonly onRunEnded: (result: RunResult) => void;
  /** Tells whether the stream may be pulled; while it may not, a due stream waits. */
  readonly mayPull: (stream: string) => boolean;
}

export interface Planner {
  readonly name: string;
  /** Makes the planner look at the due times and pauses at once. */
  wakeUp(): void;
  run(signal: AbortSignal): Promise<void>;
}

/**
 * Longest sleep in milliseconds; it is short, so that a suspended machine or a clock step delays
 * nothing for long.
 */
const SLEEP_MS_MAX = 30_000;
const FAR_FUTURE_MS = 10 * 365 * 86_400_000;

/** Part of the time between two runs by which one begins later at most. */
const JITTER_SHARE = 1 / 60;
const JITTER_MS_MAX = 300_000;

/** Span in which the next run is due: many daemons with one schedule must not ask at once. */
function nextSpan({ clock }: PlannerDeps, planned: PlannedStream): { from: number; to: number } {
  const now = clock.now();
  const pace = planned.pace?.();
  const after = (time: number): number =>
    pace === undefined
      ? (nextRunAfter(planned.schedule, time) ?? time + FAR_FUTURE_MS)
      : time + pace;
  const from = after(now);
  return { from, to: from + Math.min((after(from) - from) * JITTER_SHARE, JITTER_MS_MAX) };
}

function nextDue(deps: PlannerDeps, planned: PlannedStream): number {
  const { from, to } = nextSpan(deps, planned);
  return Math.floor(from + deps.random.next() * (to - from));
}

/** Reason for which a run ends whose stream is not pulled any more. */
const NOT_PULLED = 'its stream is switched off, or the account does not have it any more';

/**
 * Ends interrupted runs of streams that are not pulled any more. They would never end by
 * themselves, and decisions that wait for the end of one would wait for ever.
 */
async function endRunsOfOthers({ store, clock, log, streams }: PlannerDeps): Promise<void> {
  const names = streams.map(({ stream }) => stream.name);
  const runs = await store.db
    .selectFrom('sync_run')
    .select(['run_id as runId', 'stream'])
    .where('outcome', '=', sql.lit('running'))
    .where('stream', 'not in', names)
    .execute();
  for (const run of runs) {
    const changes = await judgeUnfinished(store, run, true);
    await endUnfinished(store, run, { reason: NOT_PULLED, changes }, clock.now());
    log.warn({ ...run, reason: changes?.warning }, 'an interrupted run ends without its stream');
  }
}

/** Makes interrupted runs and streams with `atStart` due now. */
async function bringForward(deps: PlannerDeps): Promise<void> {
  const atStart = deps.streams.filter((one) => one.atStart).map(({ stream }) => stream.name);
  await deps.store.db
    .updateTable('stream_state')
    .set({ due_at: deps.clock.now() })
    .where((eb) =>
      eb.or([
        eb('stream', 'in', atStart),
        eb(
          'stream',
          'in',
          eb.selectFrom('sync_run').select('stream').where('outcome', '=', sql.lit('running')),
        ),
      ]),
    )
    .execute();
}

/** Applies a schedule that was made tighter: no stream stays due later than its schedule says. */
async function planAgain(deps: PlannerDeps): Promise<void> {
  for (const planned of deps.streams) {
    await deps.store.db
      .updateTable('stream_state')
      .set({ due_at: nextDue(deps, planned) })
      .where('stream', '=', planned.stream.name)
      .where('due_at', '>', Math.floor(nextSpan(deps, planned).to))
      .execute();
  }
}

/**
 * Postpones a stream whose run threw unexpectedly, by the waits of a failed pull. Throws when even
 * the database fails.
 */
async function putOff(deps: PlannerDeps, planned: PlannedStream, error: Error): Promise<void> {
  const { store, clock } = deps;
  const { name } = planned.stream;
  const state = await store.db
    .selectFrom('stream_state')
    .select('failures')
    .where('stream', '=', name)
    .executeTakeFirst();
  const waitMs = waitAfter(error, state?.failures ?? 0);
  const due_at = waitMs === undefined ? nextDue(deps, planned) : clock.now() + waitMs;
  await store.db
    .updateTable('stream_state')
    .set((eb) => ({ due_at, failures: eb('failures', '+', 1), last_error: error.message }))
    .where('stream', '=', name)
    .execute();
}

/** Runs a stream, and keeps what its texts prove of the account's decimals. */
async function runAsProved(
  deps: PlannerDeps & RunnerDeps,
  stream: Stream,
  ...[dueAt, signal]: [(startedAt: number) => number, AbortSignal]
): Promise<RunResult> {
  const { form } = deps;
  if (!form) return runStream(deps, stream, dueAt, signal);
  const before = provedMarks(form.decimals);
  const reading = [stream.reading, ...before].join(' ');
  const own = before.length === 0 ? stream : { ...stream, reading };
  const result = await runStream(deps, own, dueAt, signal);
  await keepDecimals({ ...deps, ...form }, { stream: stream.name, before });
  return result;
}

async function runOne(
  deps: PlannerDeps & RunnerDeps,
  planned: PlannedStream,
  openedAt: number,
  signal: AbortSignal,
): Promise<void> {
  // A run that was resumed from before the start did not see what happened while nobody listened,
  // so the stream is due again at once.
  const isBehind = (startedAt: number): boolean => planned.atStart === true && startedAt < openedAt;
  const dueAt = (startedAt: number): number =>
    isBehind(startedAt) ? deps.clock.now() : nextDue(deps, planned);
  try {
    deps.onRunEnded(await runAsProved(deps, planned.stream, dueAt, signal));
  } catch (thrown) {
    if (signal.aborted) return;
    if (isStoreUnusable(thrown)) throw thrown;
    const error = toError(thrown);
    deps.log.error({ stream: planned.stream.name, err: error }, 'pull failed');
    await putOff(deps, planned, error);
  }
}

/** Streams that do not run now and may be pulled, each with its due time. */
async function idleStreams(
  deps: PlannerDeps,
  running: ReadonlyMap<string, unknown>,
): Promise<readonly { readonly planned: PlannedStream; readonly dueAt: number }[]> {
  const states = await deps.store.db
    .selectFrom('stream_state as state')
    .leftJoin('sync_run as run', 'run.run_id', 'state.last_run_id')
    .select(['state.stream', 'state.due_at', 'state.failures', 'run.started_at'])
    .execute();
  return deps.streams.flatMap((planned) => {
    const { name } = planned.stream;
    const state = states.find((row) => row.stream === name);
    if (!state || running.has(name) || !deps.mayPull(name)) return [];
    // A shorter pace applies at once instead of after the longer one.
    const pace = state.failures > 0 ? undefined : planned.pace?.();
    const paced = (state.started_at ?? state.due_at) + (pace ?? Infinity);
    return [{ planned, dueAt: Math.min(state.due_at, paced) }];
  });
}

export function createPlanner(deps: PlannerDeps): Planner {
  const { clock } = deps;
  const outages = createOutages(deps, PULLS);
  let wake = new AbortController();
  return {
    name: 'sync',
    wakeUp: () => wake.abort(),
    async run(signal) {
      let openedAt = clock.now();
      for (const { stream } of deps.streams) {
        await ensureState(deps.store.db, stream.name, openedAt);
        await noteSettings(deps.store.db, stream);
      }
      await lookAgainAfterUpgrade(deps);
      if (deps.form) await keepDecimals({ ...deps, ...deps.form });
      await endRunsOfOthers(deps);
      await bringForward(deps);
      await planAgain(deps);
      const running = new Map<string, Promise<void>>();
      // If the planner itself fails, its runs end, because two planners must never run at once.
      const broken = new AbortController();
      const stop = AbortSignal.any([signal, broken.signal]);
      let failure: { readonly error: unknown } | undefined;
      const begin = (planned: PlannedStream): void => {
        const { name } = planned.stream;
        const work = runOne({ ...deps, outages }, planned, openedAt, stop)
          .catch((error: unknown) => {
            failure ??= { error };
          })
          .finally(() => {
            running.delete(name);
            wake.abort();
          });
        running.set(name, work);
      };
      try {
        while (!signal.aborted && !failure) {
          wake = new AbortController();
          // A clock that was set back takes the time of the start along, so that new runs do not
          // seem to begin before it.
          openedAt = Math.min(openedAt, clock.now());
          const idle = await idleStreams(deps, running);
          // The time is read once: a stream that becomes due between two readings would be neither
          // started nor waited for.
          const now = clock.now();
          for (const { planned, dueAt } of idle) if (dueAt <= now) begin(planned);
          const waits = idle.map(({ dueAt }) => dueAt - now).filter((ms) => ms > 0);
          const wait = Math.min(SLEEP_MS_MAX, ...waits);
          await clock.sleep(wait, AbortSignal.any([signal, wake.signal])).catch(() => undefined);
        }
      } finally {
        broken.abort(new Error('the planner ends'));
        await Promise.allSettled(running.values());
      }
      if (failure) throw failure.error;
    },
  };
}

// Something may wait for a stream and request an early pull of it; pauses still apply.

interface RunRequestDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Wakes the planner, so that it starts the requested pull. */
  readonly wakeUp: () => void;
}

/**
 * Minimum milliseconds between two requested pulls, so that waiting callers do not pull a long list
 * over and over.
 */
const AT_MOST_EVERY_MS = 900_000;

export async function requestRun(
  { store, clock, wakeUp }: RunRequestDeps,
  stream: string,
): Promise<void> {
  const now = clock.now();
  const row = await store.db
    .selectFrom('stream_state as state')
    .leftJoin('sync_run as run', 'run.run_id', 'state.last_run_id')
    .select(['state.due_at', 'run.started_at'])
    .where('state.stream', '=', stream)
    .executeTakeFirst();
  if (!row || row.due_at <= now) return;
  const since = now - (row.started_at ?? Number.NEGATIVE_INFINITY);
  if (since < AT_MOST_EVERY_MS) return;
  await store.db
    .updateTable('stream_state')
    .set({ due_at: now })
    .where('stream', '=', stream)
    .where('due_at', '>', now)
    .execute();
  wakeUp();
}
