import { connect } from 'node:net';
import { expect, it } from 'vitest';
import {
  createPulse,
  createSupervisor,
  STUCK_MS,
  type Worker,
} from '../../../src/daemon/supervisor.ts';
import { createNotifier } from '../../../src/daemon/systemd/notifier.ts';
import { createWatchdog } from '../../../src/daemon/systemd/watchdog.ts';
import { manualClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { until } from '../../support/house.ts';
import { startManager, startUnit, writeInstallation } from './support.ts';

it('tells when it is ready, how it is, and first of all that it stops', async () => {
  const manager = await startManager();
  const { file } = writeInstallation();
  const env = { NOTIFY_SOCKET: manager.socket, WATCHDOG_USEC: '900000' };
  const unit = startUnit(file, env);
  await manager.hear('READY=1');
  // Senders that are told "ready" may send at once.
  const port = Number(/"url":"http:\/\/127.0.0.1:(\d+)\/webhooks"/.exec(unit.log())?.[1]);
  await new Promise<void>((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(void socket.destroy()));
    socket.on('error', reject);
  });
  const fed = manager.told.length;
  await manager.hear('WATCHDOG=1', fed);
  // The installation names a service that is not there, which is told first once it is known.
  expect(await manager.hear('STATUS=', fed)).toMatch(
    /^STATUS=(?:the service has not answered since [^;]*; )?\d+ streams fresh, \d+ stale; no e/,
  );
  const reloaded = manager.told.length;
  unit.keeper.kill('SIGHUP');
  await manager.hear('RELOADING=1', reloaded);
  await manager.hear('READY=1', manager.told.indexOf('RELOADING=1'));
  const before = manager.told.length;
  unit.keeper.kill('SIGTERM');
  await manager.hear('STOPPING=1', before);
  expect(await unit.code).toBe(0);
  expect(manager.told).toContain('STATUS=opening the database');
});

it('feeds the watchdog while workers make progress, and starves it when one is stuck', async () => {
  const manager = await startManager();
  const clock = manualClock();
  const log = silentLogger();
  const env = { NOTIFY_SOCKET: manager.socket, PATH: process.env.PATH, WATCHDOG_USEC: '60000000' };
  const notifier = createNotifier(env, process.pid, log);
  const pulse = createPulse(clock);
  const own = pulse.clockOf('idle');
  const idle: Worker = {
    name: 'idle',
    async run(signal) {
      // Asleep for longer than anything may be silent: that is no sign of trouble.
      while (!signal.aborted) await own.sleep(STUCK_MS * 3, signal).catch(() => undefined);
    },
  };
  const hangs = Promise.withResolvers<void>();
  const busy = pulse.clockOf('busy');
  const stuck: Worker = {
    name: 'busy',
    async run() {
      busy.now();
      await hangs.promise;
    },
  };
  const watchdog = createWatchdog({
    ...{ clock, log, notifier },
    stuck: () => pulse.stuck(supervisor.health()),
    note: async () => undefined,
    describe: async () => 'fine',
  });
  const supervisor = createSupervisor([idle, stuck, watchdog], { clock, log, stopMsMax: 1_000 });
  const stop = new AbortController();
  const done = supervisor.run(stop.signal);
  await manager.hear('WATCHDOG=1');
  expect(await manager.hear('STATUS=')).toBe('STATUS=fine');
  await until('the stuck worker is named', async () => {
    await clock.advance(20_000);
    return manager.told.find((one) => one === 'STATUS=stuck: busy');
  });
  expect(clock.monotonic()).toBeGreaterThan(STUCK_MS);
  const before = manager.told.length;
  // The clock moves on its own; the watchdog may still wait for its helper, a real process.
  await until('it is named again', async () => {
    await clock.advance(20_000);
    return manager.told.slice(before).find((one) => one === 'STATUS=stuck: busy');
  });
  expect(manager.told.slice(before)).not.toContain('WATCHDOG=1');
  hangs.resolve();
  stop.abort();
  await Promise.all([done, clock.advance(60_000)]);
});

it('takes a worker for stuck by its own silence alone', async () => {
  const clock = manualClock();
  const pulse = createPulse(clock);
  const names = ['later', 'woken', 'waits', 'begun'];
  const of = (
    name: string,
    state: 'running' | 'waiting' = 'running',
    sinceStartMs = STUCK_MS * 9,
  ) => ({ name, state, sinceStartMs, restarts: 0, failures: 0, lastError: undefined });
  const stuck = () => pulse.stuck([of('later'), of('woken'), of('waits', 'waiting'), of('begun')]);
  for (const name of names) pulse.clockOf(name).now();
  pulse.clockOf('later').after(STUCK_MS * 2, () => undefined);
  pulse.clockOf('begun').now();
  const wake = new AbortController();
  const asleep = pulse
    .clockOf('woken')
    .sleep(STUCK_MS * 9, wake.signal)
    .catch(() => undefined);
  wake.abort();
  await asleep;
  await clock.advance(STUCK_MS + 1);
  expect(stuck()).toEqual(['woken', 'begun']);
  expect(pulse.stuck([of('begun', 'running', 1)])).toEqual([]);
  await clock.advance(STUCK_MS);
  expect(stuck()).toEqual(['woken', 'begun']);
  // Its task was done in time; what came of it was not.
  await clock.advance(STUCK_MS);
  expect(stuck()).toEqual(['later', 'woken', 'begun']);
});

it('says nothing where nobody listens', async () => {
  const notifier = createNotifier({ PATH: '/nowhere' }, process.pid, silentLogger());
  await notifier.tell('READY=1');
  expect(notifier).toMatchObject({ isHeard: false, watchdogMs: undefined });
});

it('goes on when the helper is missing', async () => {
  const env = { NOTIFY_SOCKET: '/run/nowhere', PATH: '/nowhere' };
  await createNotifier(env, process.pid, silentLogger()).tell('READY=1');
});
