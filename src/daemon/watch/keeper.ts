/** The housekeeping as the configuration describes it. */
import { join } from 'node:path';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { createBallast } from '../../store/care/ballast.ts';
import { type Checkpoints, createCheckpoints } from '../../store/care/checkpoints.ts';
import { createKeeper } from '../../store/care/keeper.ts';
import type { SpaceWatch } from '../../store/space.ts';
import type { SqliteStore } from '../../store/store.ts';
import type { Worker } from '../supervisor.ts';
import { retentionSteps } from '../upkeep.ts';

export interface StoreCareDeps {
  readonly store: SqliteStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly space: SpaceWatch;
}

export function createStoreCare(
  { dataDir, store: config }: Config,
  deps: StoreCareDeps,
): { readonly keeper: Worker; readonly checkpoints: Checkpoints } {
  const { store } = deps;
  const log = deps.log.child({ room: 'store' });
  const freeBytes = (): number | undefined => deps.space.figures().freeBytes;
  const checkpoints = createCheckpoints({ ...deps, log, freeBytes }, config.checkpoint === 'own');
  const ballast = createBallast(join(dataDir, 'ballast'), config.ballast);
  store.onFull(() => ballast.release());
  const retention = retentionSteps(config.retention);
  return { checkpoints, keeper: createKeeper({ ...deps, log, checkpoints, retention, ballast }) };
}
