/** The doors for the ERP as the configuration describes them. */
import { join } from 'node:path';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { createCallback } from '../../outbox/intake/callback.ts';
import { createExchangeDoor } from '../../outbox/intake/exchange-door.ts';
import { createFolderDoor } from '../../outbox/intake/folder-door.ts';
import { createIntake, type Intake } from '../../outbox/intake/hand-in.ts';
import { openExchange } from '../../store/exchange.ts';
import type { Store } from '../../store/store.ts';
import type { Worker } from '../supervisor.ts';

export interface IntakeDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** Something new waits in the outbox. */
  readonly onTaken: () => void;
}

export function createDoors(
  config: Config,
  deps: IntakeDeps,
): { readonly intake: Intake; readonly doors: readonly Worker[] } {
  const { store, clock } = deps;
  const { database, keep, folder, callback } = config.intake;
  const log = deps.log.child({ room: 'intake' });
  const intake = createIntake({ store, onTaken: deps.onTaken });
  const hasCallback = callback.command.length > 0;
  const common = { store, intake, clock, log };
  const doors: Worker[] = [
    createExchangeDoor({
      ...common,
      open() {
        const path = database ?? join(config.dataDir, 'exchange.db');
        return openExchange({ path, busyTimeoutMs: config.store.busyTimeout }, clock);
      },
      keepMs: keep,
      hasCallback,
    }),
  ];
  if (folder.path !== null) {
    doors.push(
      createFolderDoor({
        ...common,
        folder: folder.path,
        settleMs: folder.settle,
        fileBytesMax: folder.fileMax,
        keepMs: folder.keep,
      }),
    );
  }
  if (hasCallback) {
    const { command, timeout: timeoutMs, attemptsMax, delayMin, delayMax } = callback;
    const delays = { delayMinMs: delayMin, delayMaxMs: delayMax };
    const settings = { command, timeoutMs, attemptsMax, ...delays };
    doors.push(createCallback({ store, clock, log, settings }));
  }
  return { intake, doors };
}
