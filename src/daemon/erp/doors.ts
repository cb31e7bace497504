/** Builds the intake channels for the ERP from the configuration. */
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../lib/clock.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Logger } from '../../lib/log.ts';
import type { RouteGroup } from '../../local-api/api.ts';
import { intakeRoutes } from '../../local-api/intake-routes.ts';
import { descriptionRoutes } from '../../local-api/openapi/routes.ts';
import { pushRoutes } from '../../local-api/push-routes.ts';
import { createCallback } from '../../outbox/intake/callback.ts';
import { createExchangeChannel } from '../../outbox/intake/exchange-channel.ts';
import { createFolderChannel } from '../../outbox/intake/folder-channel.ts';
import { createIntake, keepingIntake } from '../../outbox/intake/intake.ts';
import { createPreflight } from '../../outbox/intake/preflight.ts';
import { exchangeFile } from '../../store/exchange/exchange.ts';
import type { SpaceWatch } from '../../store/space.ts';
import type { Store } from '../../store/store.ts';
import type { Keep } from '../../store/transaction/keep.ts';
import type { Outbox } from '../outbox.ts';
import type { Worker } from '../supervisor.ts';

const DAY_MS = 86_400_000;

/** Milliseconds for which ended documents and receipts stay in exchange.db. */
const RECEIPTS_KEPT_MS = 90 * DAY_MS;

/** Milliseconds for which files that were taken stay in the drop folder. */
const FILES_KEPT_MS = 30 * DAY_MS;

const FILE_BYTES_MAX = 4_194_304;

const CALLBACK_LIMITS = {
  timeoutMs: 30_000,
  attemptsMax: 10,
  delayMinMs: 5_000,
  delayMaxMs: 3_600_000,
};

export interface IntakeDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly outbox: Pick<Outbox, 'kinds' | 'wakeUp'>;
  readonly space: Pick<SpaceWatch, 'allows'>;
  readonly onCustomers: () => void;
  /** Waited for before documents are answered. Left out: their commit is enough. */
  readonly keep?: Keep | undefined;
}

export function createDoors(
  config: Config,
  deps: IntakeDeps,
): { readonly doors: readonly Worker[]; readonly groups: readonly RouteGroup[] } {
  const { store, clock } = deps;
  const { folder, callback, clients } = config.intake;
  const log = deps.log.child({ room: 'intake' });
  const hasRoom = (): boolean => deps.space.allows('receive');
  const whyOff = (kind: string, document: JsonObject) =>
    deps.outbox.kinds.find((one) => one.kind === kind)?.off?.(document);
  const intake = createIntake({ store, hasRoom, whyOff, onTaken: deps.outbox.wakeUp });
  const hasCallback = callback.command.length > 0;
  const kept = deps.keep === undefined ? intake : keepingIntake(intake, deps.keep);
  const common = { store, intake: kept, clock, log };
  const doors: Worker[] = [
    createExchangeChannel({
      ...common,
      // The file is on this machine: a second one would have neither document nor receipt.
      intake,
      path: exchangeFile(config),
      keepMs: RECEIPTS_KEPT_MS,
      hasCallback,
      onCustomers: deps.onCustomers,
    }),
  ];
  if (folder.path !== null) {
    doors.push(
      createFolderChannel({
        ...common,
        folder: folder.path,
        settleMs: folder.settle,
        fileBytesMax: FILE_BYTES_MAX,
        keepMs: FILES_KEPT_MS,
      }),
    );
  }
  const settings = { command: callback.command, ...CALLBACK_LIMITS };
  doors.push(createCallback({ store, clock, log, settings }));
  const preflight = createPreflight(store, clock, deps.outbox.kinds);
  const groups = [
    intakeRoutes({ ...common, clients }),
    pushRoutes({ ...common, preflight }),
    descriptionRoutes(),
  ];
  return { doors, groups };
}
