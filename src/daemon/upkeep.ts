/** Steps of all rooms for a clock that was set, for old rows, and for a restore. */
import { join } from 'node:path';
import type { Config } from '../config/schema.ts';
import { verifyChain } from '../decisions/journal.ts';
import { stopForPeople } from '../decisions/plan/precautions.ts';
import { decisionsClockStep, disarmAll } from '../decisions/upkeep.ts';
import { deleteOldEvents, readEventsAgain } from '../inbox/upkeep.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { createStockCounter } from '../mirror/stock-count.ts';
import {
  deleteOldChanges,
  deleteOldClaims,
  deleteOldStockDays,
  mirrorClockStep,
} from '../mirror/upkeep.ts';
import { deleteOldNotifications, notifyClockStep } from '../ops/notify/upkeep.ts';
import {
  doubtPermitted,
  leaveCanceled,
  markPushesUnknown,
  outboxClockStep,
} from '../outbox/upkeep.ts';
import { createActsLog } from '../store/backup/acts-log.ts';
import { databaseMadeAt } from '../store/backup/inspect.ts';
import { backupDirectory } from '../store/backup/manifest.ts';
import { type Checkpoints, createCheckpoints } from '../store/care/checkpoints.ts';
import { createKeeper } from '../store/care/keeper.ts';
import { createReservedSpace } from '../store/care/reserved-space.ts';
import { deleteOldIncidents } from '../store/incidents.ts';
import { deleteOldLedgerChanges } from '../store/ledger-feed.ts';
import type { SpaceWatch } from '../store/space.ts';
import type { SqliteStore } from '../store/store.ts';
import type { ClockStepHandler, RestoreSteps, RetentionStep } from '../store/upkeep.ts';
import { keepZone } from '../store/zone.ts';
import { deleteOldRuns, requestFullPulls, syncClockStep } from '../sync/upkeep.ts';
import { endFeedOf } from './standby/begin.ts';
import type { Worker } from './supervisor.ts';

const DAY_MS = 86_400_000;
/** Far beyond the days after which no accepted delivery claims pieces any more. */
const CLAIMS_KEPT_MS = 45 * DAY_MS;
const RUNS_KEPT_MS = 90 * DAY_MS;
/** Milliseconds for which resolved incidents are kept. */
const INCIDENTS_KEPT_MS = 365 * DAY_MS;

/** Milliseconds for which rows are kept, by what they are. */
type Retention = Readonly<
  Record<'changes' | 'events' | 'stockDays' | 'runs' | 'incidents', number>
>;

export const CLOCK_STEPS: readonly ClockStepHandler[] = [
  syncClockStep,
  decisionsClockStep,
  outboxClockStep,
  mirrorClockStep,
  notifyClockStep,
];

export const RESTORE_STEPS: RestoreSteps = {
  leaveCanceled,
  markPushesUnknown,
  doubtPermitted,
  readEventsAgain,
  chainBrokenAt: async (tx) => (await verifyChain(tx)).brokenAt,
  stopForPeople,
  disarmAll,
  endRecord: endFeedOf,
  requestFullPulls,
};

/**
 * Steps that delete old rows. Only these rows are ever deleted: decisions, their facts, pushes with
 * their references, and the audit stay for ever, because they prove what was done and keep a
 * reference from being sent twice.
 */
export function retentionSteps(keep: Retention): readonly RetentionStep[] {
  return [
    { keepMs: keep.changes, deleteOld: deleteOldChanges },
    { keepMs: keep.changes, deleteOld: deleteOldLedgerChanges },
    { keepMs: keep.events, deleteOld: deleteOldEvents },
    { keepMs: keep.stockDays, deleteOld: deleteOldStockDays },
    { keepMs: CLAIMS_KEPT_MS, deleteOld: deleteOldClaims },
    { keepMs: keep.runs, deleteOld: deleteOldRuns },
    { keepMs: keep.incidents, deleteOld: deleteOldIncidents },
    { keepMs: keep.runs, deleteOld: deleteOldNotifications },
  ];
}

export interface StoreCareDeps {
  readonly store: SqliteStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly space: SpaceWatch;
  /** Zone of the house, which a reload of the rules may change. */
  readonly timeZone: () => string;
}

export function createStoreCare(
  { dataDir, store: config, reports }: Config,
  deps: StoreCareDeps,
): { readonly keeper: Worker; readonly actsLog: Worker; readonly checkpoints: Checkpoints } {
  const { store } = deps;
  const log = deps.log.child({ room: 'store' });
  const freeBytes = (): number | undefined => deps.space.figures().freeBytes;
  const checkpoints = createCheckpoints({ ...deps, log, freeBytes });
  const reserved = createReservedSpace(join(dataDir, 'ballast'), config.ballast);
  store.onFull(() => reserved.release());
  const kept = { runs: RUNS_KEPT_MS, incidents: INCIDENTS_KEPT_MS };
  const retention = retentionSteps({ ...config.retention, ...kept });
  const chores = [
    () => keepZone(deps, deps.timeZone()),
    createStockCounter({ ...deps, sizeOrder: reports.sizeOrder }),
  ];
  const keeper = createKeeper({ ...deps, log, checkpoints, retention, reserved, chores });
  const directory = backupDirectory({ dataDir, store: config });
  const madeAt = databaseMadeAt(store.path);
  return { checkpoints, keeper, actsLog: createActsLog({ ...deps, log, directory, madeAt }) };
}
