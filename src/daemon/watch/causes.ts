/**
 * Worker that tells people why deliveries cannot be decided, or streams are never complete: one
 * incident and one alarm in the log for each cause, which ends by itself once the cause is gone.
 */
import { hasAtLevel } from '../../config/level.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { CAUSE_KINDS, readCauses } from '../../ops/causes.ts';
import {
  endIncidents,
  openDetail,
  reconcileIncidents,
  updateIncident,
} from '../../store/incidents.ts';
import type { Store } from '../../store/store.ts';
import type { Worker } from '../supervisor.ts';

export interface CauseWatchDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** Zone of times that name none (`service.dialect.v1.timeZone`). */
  readonly timeZone: string;
  /** Streams that are pulled. */
  readonly pulled: readonly string[];
  /** Level of the account (`service.dialect.v1.level`). */
  readonly level: string;
}

const LOOK_MS = 60_000;
/** Least milliseconds between two looks, however many runs end meanwhile. */
const PAUSE_MS = 1_000;

/**
 * Ends incidents that nothing keeps any more, because the configuration has switched off what would
 * end them.
 */
async function endUnkept({ store, clock, pulled, level }: CauseWatchDeps): Promise<void> {
  const lists = ['stock', 'season'].filter((list) => !pulled.includes(list));
  const refused = { kind: 'brands_refused', entity: 'list' };
  await endIncidents(store.db, refused, lists, clock.now());
  if (hasAtLevel(level, 'orderParts')) return;
  for (const kind of ['events_missed', 'relay_clock']) {
    await endIncidents(store.db, { kind, entity: 'relay' }, [kind], clock.now());
  }
}

export async function tellCauses(deps: CauseWatchDeps): Promise<void> {
  const { store, clock, log, timeZone, pulled } = deps;
  const now = clock.now();
  const causes = await readCauses(store.db, { timeZone, now, pulled });
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
  /** Makes the worker look soon, because a run has ended. */
  wakeUp(): void;
}

export function createCauseWatch(deps: CauseWatchDeps): CauseWatch {
  const { clock } = deps;
  let wake = new AbortController();
  return {
    name: 'causes',
    wakeUp: () => wake.abort(),
    async run(signal) {
      await endUnkept(deps);
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
