/** Notes for the status: workers that fail, a refused log-in, a request limit that delays work. */
import type { Limiter } from '../../client/http/limiter.ts';
import type { Clock } from '../../lib/clock.ts';
import { PACE_KEY, type ServicePace } from '../../ops/pace.ts';
import { WORKER_FAILING } from '../../ops/status.ts';
import { endIncidents, openIncident, reconcileIncidents } from '../../store/incidents.ts';
import { writeState } from '../../store/state.ts';
import type { Store } from '../../store/store.ts';
import type { Service } from '../service.ts';
import type { WorkerHealth } from '../supervisor.ts';

/**
 * Failures of a worker, at start after start or within a day, from which it gets an incident; a
 * single one is over before anybody looks.
 */
const FAILURES_MIN = 3;

export async function tellFailing(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  workers: readonly WorkerHealth[],
): Promise<void> {
  const wanted = workers
    .filter(({ failures }) => failures >= FAILURES_MIN)
    .map(({ name, lastError }) => ({ ...WORKER_FAILING, key: name, detail: { error: lastError } }));
  await reconcileIncidents(store.db, [WORKER_FAILING.kind], wanted, clock.now());
}

export interface PaceNoteDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly limiter: Pick<Limiter, 'pace' | 'waiting'>;
}

/** Share of time (0 to 1) delayed by the request limit, below which no note is written. */
const BUSY_MIN = 0.1;

/**
 * Creates the function that notes the pace of requests. It is called every few seconds, and writes
 * nothing while no request waits for the limit.
 */
export function createPaceNote({ store, clock, limiter }: PaceNoteDeps): () => Promise<void> {
  let before = { heldMs: limiter.pace().heldMs, at: clock.monotonic() };
  // True at the start, because an earlier process may have left a note.
  let isNoted = true;
  return async () => {
    const { perSecond, perSecondMax, heldMs } = limiter.pace();
    const at = clock.monotonic();
    const busy = at > before.at ? Math.min((heldMs - before.heldMs) / (at - before.at), 1) : 0;
    before = { heldMs, at };
    if (perSecond === undefined || perSecondMax === undefined) return;
    const isBusy = busy >= BUSY_MIN;
    if (!isBusy && !isNoted) return;
    const waiting = Object.values(limiter.waiting()).reduce((sum, count) => sum + count, 0);
    const pace: ServicePace = { at: clock.now(), perSecond, perSecondMax, busy, waiting };
    await writeState(store.db, PACE_KEY, JSON.stringify(pace), clock);
    isNoted = isBusy;
  };
}

type Logins = ReturnType<Service['logins']>;

const LOGIN_REFUSED = { kind: 'login_refused', entity: 'service', key: 'login' } as const;

/**
 * Creates the function that tells a log-in that the service refused, until one succeeds: nothing is
 * read or sent meanwhile, long before the data is stale.
 */
function createLoginNote(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  logins: () => Logins,
): () => Promise<void> {
  let before = logins();
  return async () => {
    const now = logins();
    const isDone = now.done > before.done;
    const isRefused = now.refused > before.refused && !isDone;
    before = now;
    if (isDone) await endIncidents(store.db, LOGIN_REFUSED, [LOGIN_REFUSED.key], clock.now());
    if (isRefused) await openIncident(store.db, { ...LOGIN_REFUSED, detail: {} }, clock.now());
  };
}

/** Creates the function that notes failing workers, the log-in and the pace every few seconds. */
export function createStatusNote(
  deps: PaceNoteDeps & {
    readonly workers: () => readonly WorkerHealth[];
    readonly logins: () => Logins;
  },
): () => Promise<void> {
  const notePace = createPaceNote(deps);
  const noteLogin = createLoginNote(deps, deps.logins);
  return async () => {
    await tellFailing(deps, deps.workers());
    await noteLogin();
    await notePace();
  };
}
