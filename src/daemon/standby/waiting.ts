/** The machine that waits, out of the configuration. */
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../lib/clock.ts';
import { RefusedError } from '../../lib/errors.ts';
import { version } from '../../ops/version.ts';
import { openMemory } from '../../standby/memory.ts';
import { createServers, type Servers } from '../../standby/session.ts';
import { type StandbySettings, standbySettingsOf } from '../../standby/settings.ts';
import { type Ended, takeOverNow, waitAndTakeOver } from '../../standby/take-over/waiting.ts';
import { lockFile, lockFolder, makeDataFolder } from '../../store/lock.ts';
import { announce, type ServiceManager } from '../systemd/manager.ts';
import { createWatchdog } from '../systemd/watchdog.ts';
import { RESTORE_STEPS } from '../upkeep.ts';
import { uuidFrom } from './machine.ts';
import type { StandbyDeps } from './parts.ts';

/** The settings of the standby. Throws `standby.off` where there are none. */
export function requireStandby(config: Config): StandbySettings {
  const settings = standbySettingsOf(config);
  if (settings !== undefined) return settings;
  throw new RefusedError('standby.off', 'the configuration has no standby', {
    hint: 'set standby.servers (docs/operating/standby.md)',
  });
}

/** The servers for a command that only asks, beside a daemon that writes what it remembers. */
export function serversOf(config: Config, clock: Clock): Servers {
  const settings = requireStandby(config);
  const highest = () => openMemory(settings).highest();
  return createServers({ settings, clock, timelines: { highest, saw: () => undefined } });
}

/** Runs the work with the lock of the data folder, which a restore takes by itself. */
async function withDeps<T>(
  config: Config,
  { clock, random, log }: StandbyDeps,
  work: (deps: Parameters<typeof waitAndTakeOver>[0]) => Promise<T>,
): Promise<T> {
  const settings = requireStandby(config);
  makeDataFolder(config.dataDir);
  const folder = lockFolder(lockFile(config.dataDir));
  const memory = openMemory(settings);
  try {
    return await work({
      config,
      settings,
      memory,
      clock,
      log: log.child({ room: 'standby' }),
      servers: createServers({ settings, clock, timelines: memory }),
      steps: RESTORE_STEPS,
      draw: () => uuidFrom(random),
      unlock: () => folder.release(),
      version: version(),
    });
  } finally {
    folder.release();
  }
}

/** Waits until this machine has taken over; undefined: the signal aborted. */
export function runStandby(
  config: Config,
  parts: StandbyDeps & { readonly manager: ServiceManager },
  signal: AbortSignal,
): Promise<Ended | undefined> {
  return withDeps(config, parts, async (deps) => {
    const { clock, log, manager } = parts;
    const stop = new AbortController();
    const watchdog = createWatchdog({
      clock,
      log,
      notifier: manager.notifier,
      describe: async () => 'waits as a standby',
      stuck: () => [],
      note: async () => undefined,
    });
    const until = AbortSignal.any([signal, stop.signal]);
    log.info({ account: deps.settings.account, machine: deps.settings.machine }, 'waits');
    announce(manager, Promise.resolve(true), until);
    const watching = watchdog.run(until);
    try {
      return await waitAndTakeOver(deps, until);
    } finally {
      stop.abort(new Error('done'));
      await watching.catch(() => undefined);
    }
  });
}

/** Takes over by hand. */
export function takeOverByHand(
  config: Config,
  parts: StandbyDeps,
  how: Parameters<typeof takeOverNow>[1],
): Promise<Ended> {
  return withDeps(config, parts, (deps) => takeOverNow(deps, how));
}
