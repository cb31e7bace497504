/**
 * An incident for each worker that fails again and again, so that who looks at the status sees
 * which part of the daemon does not work. It ends by itself.
 */
import type { Clock } from '../../lib/clock.ts';
import { WORKER_FAILING } from '../../ops/status.ts';
import { reconcileIncidents } from '../../store/incidents.ts';
import type { Store } from '../../store/store.ts';
import type { WorkerHealth } from '../supervisor.ts';

/** At start after start, or within a day; one alone is over before anybody looks. */
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
