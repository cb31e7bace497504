/**
 * Calls an address each minute while the daemon is well, for a monitor outside of this machine,
 * because a dead daemon cannot report itself. Nothing waits for the answer; a failure is logged
 * once.
 */
import { toError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { Scrubber, Secret } from '../../lib/secret.ts';
import { callAddress, type SendDeps } from './channel.ts';

export interface HeartbeatDeps extends Omit<SendDeps, 'signal'> {
  readonly log: Logger;
  readonly scrub: Scrubber['scrub'];
  readonly address: string | Secret;
  /** Whether the daemon is well; if not, no call is made, which the monitor notices. */
  readonly isWell: () => boolean;
}

const BEAT_MS = 60_000;

export function createHeartbeat({ address, isWell, log, scrub, ...deps }: HeartbeatDeps) {
  let isSilent = false;
  const beat = async (signal: AbortSignal): Promise<void> => {
    try {
      await callAddress({ ...deps, signal }, address, {});
      if (isSilent) log.info('the heartbeat is heard again');
      isSilent = false;
    } catch (thrown) {
      if (signal.aborted) return;
      const error = scrub(toError(thrown).message);
      const hint = 'notify.heartbeat; the watch will miss it';
      if (!isSilent) log.warn({ error, hint }, 'the heartbeat was not heard');
      isSilent = true;
    }
  };
  return {
    name: 'heartbeat',
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        if (isWell()) await beat(signal);
        await deps.clock.sleep(BEAT_MS, signal).catch(() => undefined);
      }
    },
  };
}
