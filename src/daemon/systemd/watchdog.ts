/**
 * Feeds the service manager's watchdog as long as the workers make progress, and keeps the line
 * that `systemctl status` shows. A worker that is stuck is named in the log and on that line, and
 * from then on nothing is fed: the manager kills and restarts the process, which is safe at
 * any moment. Where nobody listens, a stuck worker is still logged.
 */
import type { Clock } from '../../lib/clock.ts';
import { toError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { Worker } from '../supervisor.ts';
import { type Notifier, statusText } from './notifier.ts';

export interface WatchdogDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly notifier: Notifier;
  /** Names of the workers that make no progress. */
  readonly stuck: () => readonly string[];
  /** Notes which workers fail, for the status. */
  readonly note: () => Promise<void>;
  /** Line about the installation for `systemctl status`. */
  readonly describe: () => Promise<string>;
}

/** Most milliseconds between two looks at the workers; a watchdog may ask for more looks. */
const LOOK_MS_MAX = 20_000;

async function statusOf({ describe, log }: WatchdogDeps): Promise<string> {
  try {
    return await describe();
  } catch (error) {
    log.error({ err: toError(error) }, 'cannot read status');
    return `cannot read the database: ${toError(error).message}`;
  }
}

export function createWatchdog(deps: WatchdogDeps): Worker {
  const { clock, log, notifier } = deps;
  const everyMs = Math.min(LOOK_MS_MAX, (notifier.watchdogMs ?? Infinity) / 3);
  return {
    name: 'watchdog',
    async run(signal) {
      while (!signal.aborted) {
        const stuck = deps.stuck();
        if (stuck.length > 0) {
          log.error({ stuck }, 'workers make no progress');
          await notifier.tell(statusText(`stuck: ${stuck.join(', ')}`));
        } else if (notifier.isHeard) {
          await notifier.tell('WATCHDOG=1', statusText(await statusOf(deps)));
        }
        // The note comes last: the service manager must hear from us though the database hangs.
        await deps.note().catch((error: unknown) => {
          log.error({ err: toError(error) }, 'cannot note which workers fail');
        });
        await clock.sleep(everyMs, signal).catch(() => undefined);
      }
    },
  };
}
