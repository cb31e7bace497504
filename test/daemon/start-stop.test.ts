import { once } from 'node:events';
import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Daemon, openDaemon } from '../../src/daemon/daemon.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { EXIT, exitCodeOf } from '../../src/lib/errors.ts';
import { createLogger, silentLogger } from '../../src/lib/log.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createScrubber } from '../../src/lib/secret.ts';
import { lockFolder } from '../../src/store/lock.ts';
import { openStore } from '../../src/store/store.ts';
import { fastClock } from '../e2e/support.ts';
import { sign } from '../inbox/support.ts';
import {
  startTestReference,
  testConfig,
  until,
  WEBHOOK_SECRET,
  withStreams,
} from '../support/house.ts';
import { damage, placeDatabase, temporaryFolder } from '../support/store.ts';

/** The system's clock; `sleeping` tells how many wait on it. */
function watchedClock(): Clock & { readonly sleeping: () => number } {
  const clock = systemClock();
  let sleeping = 0;
  return {
    ...clock,
    sleeping: () => sleeping,
    sleep(ms, signal) {
      sleeping += 1;
      return clock.sleep(ms, signal).finally(() => {
        sleeping -= 1;
      });
    },
  };
}

async function open(
  config: Parameters<typeof openDaemon>[0],
  clock: Clock = systemClock(),
  log = silentLogger(),
): Promise<Daemon> {
  return openDaemon(config, { clock, random: systemRandom(), log, scrubber: createScrubber() });
}

/** In a folder that has a database. */
function reopen(...[config, ...more]: Parameters<typeof open>): Promise<Daemon> {
  placeDatabase(join(config.dataDir, 'mirror.db'));
  return open(config, ...more);
}

/**
 * Another program that listens until the test ends. Below the ports that the system hands out by
 * itself: no connection of another test may get it while it is free in between.
 */
async function takePort(wanted?: number): Promise<{ server: Server; port: number }> {
  const port = wanted ?? systemRandom().int(10_000, 32_000);
  const server = createServer().listen(port, '127.0.0.1');
  onTestFinished(() => server[Symbol.asyncDispose]());
  try {
    await once(server, 'listening');
  } catch (thrown) {
    if (wanted !== undefined) throw thrown;
    return takePort();
  }
  return { server, port };
}

/** Everything that a daemon of this folder held can be had again, and no stream has failed. */
async function expectFree(folder: string): Promise<void> {
  lockFolder(join(folder, 'data', 'daemon.lock')).release();
  const path = join(folder, 'data', 'mirror.db');
  const { store } = await openStore({ path, busyTimeoutMs: 0 }, systemClock());
  const lease = await store.db.selectFrom('lease').selectAll().executeTakeFirstOrThrow();
  const failed = await store.db
    .selectFrom('stream_state')
    .select(['stream', 'last_error'])
    .where('failures', '>', 0)
    .execute();
  await store.close();
  expect(failed).toEqual([]);
  expect(lease.expires_at).toBeLessThanOrEqual(Date.now());
}

// By what follows the feed; by a pull, here and in its thread; by a read of an order.
const DAMAGED = ['delivery', 'freight_option', 'stock_variant_row', 'delivery_line'];

it.each(DAMAGED)('a daemon that finds the table %s damaged ends for good', async (table) => {
  const folder = temporaryFolder();
  const reference = await startTestReference({ world: { styles: 20, orders: 5 } });
  const path = join(folder, 'data', 'mirror.db');
  mkdirSync(join(folder, 'data'));
  await damage(path, table);
  const daemon = await reopen(
    testConfig(reference, { folder, overrides: withStreams('stock', 'freight') }),
  );
  const error = await daemon.run(AbortSignal.timeout(10_000)).catch((thrown) => thrown);
  expect(error).toMatchObject({ code: 'store.damaged' });
  expect(error.message).toContain(`${path} is damaged: `);
  expect(error.hint).toMatch(/selvedge doctor --offline.*selvedge backup restore/);
  expect(exitCodeOf(error)).toBe(EXIT.store.code);
});

it('ends for good too when only an event finds the damage, which the relay keeps', async () => {
  const folder = temporaryFolder();
  const reference = await startTestReference();
  const path = join(folder, 'data', 'mirror.db');
  mkdirSync(join(folder, 'data'));
  await damage(path, 'webhook_event_order');
  const daemon = await reopen(testConfig(reference, { folder }));
  const ended = daemon.run(AbortSignal.timeout(10_000)).catch((thrown) => thrown);
  const body = '{"type":"ping","data":{"ping":true}}';
  const headers = sign(body, { key: WEBHOOK_SECRET });
  const { status } = await fetch(`${await daemon.listenerUrl}`, { method: 'POST', body, headers });
  expect(status).toBe(503);
  expect(await ended).toMatchObject({ code: 'store.damaged' });
  await expectFree(folder);
});

it.each(['', '-wal', '-shm'])(
  'ends for good when somebody takes mirror.db%s away, and writes nothing more',
  async (ending) => {
    const folder = temporaryFolder();
    const reference = await startTestReference();
    const daemon = await reopen(testConfig(reference, { folder }));
    const ended = daemon.run(AbortSignal.timeout(20_000)).catch((thrown) => thrown);
    await daemon.listenerUrl;
    const path = join(folder, 'data', `mirror.db${ending}`);
    renameSync(path, `${path}.away`);
    const error = await ended;
    expect(error).toMatchObject({ code: 'store.taken_away' });
    expect(error.message).toContain(path);
    expect(exitCodeOf(error)).toBe(EXIT.store.code);
    expect(existsSync(path)).toBe(false);
  },
);

it('ends for good when another daemon has taken its lease', async () => {
  const folder = temporaryFolder();
  const reference = await startTestReference();
  const daemon = await reopen(testConfig(reference, { folder }), fastClock(1_000));
  const ended = daemon.run(AbortSignal.timeout(60_000)).catch((thrown) => thrown);
  await daemon.listenerUrl;
  await daemon.store.db
    .updateTable('lease')
    .set((eb) => ({ fencing: eb('fencing', '+', 1) }))
    .execute();
  expect(await ended).toMatchObject({ code: 'store.lease_lost' });
});

describe('a daemon that cannot start', () => {
  // At once, or while it opens its database.
  it.each([
    ['listener.port', 'before'],
    ['local.port', 'before'],
    ['listener.port', 'late'],
    ['local.port', 'late'],
  ])('names the address and %s when it is taken, %s', async (path, when) => {
    const folder = temporaryFolder();
    const reference = await startTestReference();
    const { server, port } = await takePort();
    const config = testConfig(reference, { folder, overrides: [{ path, value: port }] });
    if (when === 'late') server.close();
    const started = open(config).then(async (daemon) => {
      await takePort(port);
      return daemon.run(new AbortController().signal);
    });
    const error = await started.catch((thrown) => thrown);
    expect(error).toMatchObject({
      message: expect.stringMatching(
        `^cannot listen on 127.0.0.1 port ${port}: another program .*EADDRINUSE`,
      ),
      hint: `end the other program, or change ${path}`,
    });
    // Not 78, at which no unit starts it again: the other program may end.
    expect(exitCodeOf(error)).toBe(EXIT.temporary.code);
    // systemd starts it again every few seconds: each time nothing was begun.
    expect(existsSync(join(folder, 'data', 'mirror.db'))).toBe(when === 'late');
    if (when === 'late') await expectFree(folder);
  });

  it('names the address that this machine does not have, which may come up', async () => {
    const folder = temporaryFolder();
    const reference = await startTestReference();
    const elsewhere = { path: 'listener.host', value: '192.0.2.1' };
    const overrides = [elsewhere, { path: 'listener.public', value: true }];
    const error = await open(testConfig(reference, { folder, overrides })).catch(
      (thrown) => thrown,
    );
    expect(error).toMatchObject({
      message: expect.stringContaining('this machine has no such address (EADDRNOTAVAIL)'),
      hint: 'change listener.host',
    });
    expect(exitCodeOf(error)).toBe(EXIT.temporary.code);
  });
});

describe('a daemon that stops', () => {
  it('leaves nothing waiting, though a log-in has a minute to go', async () => {
    const folder = temporaryFolder();
    const reference = await startTestReference();
    const spacing = { path: 'service.limits.loginSpacing', value: '10m' };
    const overrides = [spacing, ...withStreams('brands')];
    for (const round of ['logs in', 'has to wait']) {
      const clock = watchedClock();
      const stop = new AbortController();
      const daemon = await reopen(testConfig(reference, { folder, overrides }), clock);
      const done = daemon.run(stop.signal);
      await until(`a daemon that ${round}`, () => clock.sleeping() > 0 || undefined);
      if (round === 'logs in') {
        await until('a log-in', () =>
          daemon.store.db.selectFrom('brand').selectAll().executeTakeFirst(),
        );
      }
      stop.abort();
      await done;
      await until('no sleeper', () => clock.sleeping() === 0 || undefined);
    }
    await expectFree(folder);
  });

  it('closes and frees everything even when the last write fails, and tells it', async () => {
    const folder = temporaryFolder();
    const reference = await startTestReference();
    const lines: string[] = [];
    const log = createLogger({
      level: 'error',
      format: 'json',
      scrubber: createScrubber(),
      write: (line) => lines.push(line),
    });
    const stop = new AbortController();
    const daemon = await reopen(testConfig(reference, { folder }), systemClock(), log);
    const done = daemon.run(stop.signal);
    await daemon.listenerUrl;
    await daemon.store.db.schema.alterTable('lease').renameTo('lease_gone').execute();
    stop.abort();
    await done;
    expect(lines.join('')).toContain('no such table: lease');
    lockFolder(join(folder, 'data', 'daemon.lock')).release();
  });
});

describe('a daemon without rules', () => {
  it('says so at its start', async () => {
    const folder = temporaryFolder();
    const reference = await startTestReference();
    const lines: string[] = [];
    const log = createLogger({
      level: 'warn',
      format: 'json',
      scrubber: createScrubber(),
      write: (line) => lines.push(line),
    });
    const config = testConfig(reference, { folder });
    const empty = { ...config, rules: { ...config.rules, directory: temporaryFolder() } };
    const stop = new AbortController();
    const daemon = await reopen(empty, systemClock(), log);
    const done = daemon.run(stop.signal);
    await daemon.listenerUrl;
    stop.abort();
    await done;
    expect(lines.join('')).toContain('every delivery stays pending');
  });
});
