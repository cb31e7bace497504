/**
 * Worker that tells people why deliveries cannot be decided, or streams are never complete: one
 * incident and one alarm in the log for each cause, which ends by itself once the cause is gone.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { CAUSE_KINDS, readCauses } from '../../ops/causes.ts';
import { openDetail, reconcileIncidents, updateIncident } from '../../store/incidents.ts';
import type { Store } from '../../store/store.ts';
import type { Worker } from '../supervisor.ts';

export interface CauseWatchDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** Time zone in which times of the service without a zone are read (`service.v1.timeZone`). */
  readonly timeZone: string;
}

const LOOK_MS = 30_000;
/** Least milliseconds between two looks, however much is read meanwhile. */
const PAUSE_MS = 1_000;

export async function tellCauses({ store, clock, log, timeZone }: CauseWatchDeps): Promise<void> {
  const now = clock.now();
  const causes = await readCauses(store.db, timeZone, now);
  const { opened, ended } = await reconcileIncidents(store.db, CAUSE_KINDS, causes, now);
  for (const { kind, detail } of opened) {
    const { says, advice } = detail;
    log.error({ alarm: kind, advice }, says);
  }
  if (ended > 0) log.info({ ended }, 'causes are gone');
  for (const cause of causes) {
    const stored = await openDetail(store.db, cause);
    if (stored === JSON.stringify(cause.detail)) continue;
    await updateIncident(store.db, cause, now);
  }
}

export interface CauseWatch extends Worker {
  /** Makes the worker look soon, because data was read. */
  wakeUp(): void;
}

export function createCauseWatch(deps: CauseWatchDeps): CauseWatch {
  const { clock } = deps;
  let wake = new AbortController();
  return {
    name: 'causes',
    wakeUp: () => wake.abort(),
    async run(signal) {
      while (!signal.aborted) {
        wake = new AbortController();
        await tellCauses(deps);
        await clock.sleep(PAUSE_MS, signal).catch(() => undefined);
        const either = AbortSignal.any([signal, wake.signal]);
        await clock.sleep(LOOK_MS, either).catch(() => undefined);
      }
    },
  };
}
