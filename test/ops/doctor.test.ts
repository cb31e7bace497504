import { chmodSync, chownSync, writeFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { guarded } from '../../src/daemon/doctor/finding.ts';
import { checkLacks, checkLevel, checkV2Version } from '../../src/daemon/doctor/level.ts';
import { checkFolder, checkSchedules } from '../../src/daemon/doctor/machine.ts';
import { type Ask, checkListeners, checkV1, checkV2 } from '../../src/daemon/doctor/network.ts';
import { manualClock, systemClock } from '../../src/lib/clock.ts';
import { lockFile } from '../../src/store/lock.ts';
import { startFaulty } from '../client/support.ts';
import { startInbox } from '../inbox/support.ts';
import { startTestReference, testConfig } from '../support/house.ts';
import { temporaryFolder } from '../support/store.ts';

it.each([
  [30_000, 'ok'],
  [-30_000, 'ok'],
  [30_001, 'failed'],
  [-30_001, 'failed'],
  [null, 'skipped'],
])('finds a clock that is %j ms off %s', async (clockOffsetMs, grade) => {
  const config = testConfig(await startTestReference());
  const ask = async () => ({ tookMs: 1, clockOffsetMs });
  const findings = await checkV1(config, { ask, clock: manualClock() });
  expect(findings.find(({ check }) => check === 'clock')?.grade).toBe(grade);
});

function described(version: unknown): Ask {
  return async ({ path }) => {
    if (path !== '/openapi.json') throw new Error(`${path} was not asked for`);
    return { tookMs: 1, clockOffsetMs: null, json: { openapi: '3.1.0', info: { version } } };
  };
}

it.each([
  ['1.4.14', 'ok', 'ok'],
  ['1.4.11', 'warning', 'warning'],
  ['2.1.3', 'warning', 'ok'],
  [undefined, 'skipped', 'skipped'],
])('holds a description of version %s against what is configured', async (version, v1, v2) => {
  const config = testConfig(await startTestReference());
  const network = { ask: described(version), clock: manualClock() };
  const [ofV1] = await checkLevel(config, network);
  expect(ofV1?.grade).toBe(v1);
  if (v1 === 'warning') expect(ofV1?.advice).toContain(`service.dialect.v1.level: "${version}"`);
  const [ofV2] = await checkV2Version(config, network);
  expect(ofV2?.grade).toBe(version === '1.4.14' ? 'warning' : v2);
});

it('takes a description that cannot be read for none', async () => {
  const config = testConfig(await startTestReference());
  const network = { ask: () => Promise.reject(new Error('HTTP 404')), clock: manualClock() };
  expect(await checkLevel(config, network)).toMatchObject([{ grade: 'skipped' }]);
});

it('has a line for each thing that the level lacks', async () => {
  const level = { path: 'service.dialect.v1.level', value: '1.4.4' };
  const reference = await startTestReference();
  const lines = checkLacks(testConfig(reference, { overrides: [level] })).map(({ text }) => text);
  expect(lines).toHaveLength(4);
  expect(lines[1]).toMatch(/^level 1\.4\.4 has no pending refunds \(since 1\.4\.11\): /);
  expect(checkLacks(testConfig(reference))).toMatchObject([{ grade: 'ok' }]);
});

it('waits for a silent service as long as for one that is as slow as it may be', async () => {
  const timeout = { path: 'service.timeouts.firstByte', value: '40s' };
  const base = testConfig(await startTestReference(), { overrides: [timeout] });
  const v2 = { ...base.service.v2, enabled: true };
  const config = { ...base, service: { ...base.service, v2 } };
  const clock = manualClock();
  const silent: Ask = (_call, signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('broken off')));
    });
  for (const check of [checkV1, checkV2]) {
    const found = guarded('service', () => check(config, { ask: silent, clock }));
    await clock.advance(40_000 + 40_000);
    expect(clock.pending()).toBe(1);
    await clock.advance(config.service.limits.loginSpacing);
    expect(await found).toMatchObject([
      {
        grade: 'failed',
        text: expect.stringMatching(/^log-in and GET \/.* came to no end within/),
        // The service may be there, and ask for patience with each answer.
        advice: expect.stringMatching(/up\? Or does it ask to wait \(Retry-After\)\?/),
      },
    ]);
  }
  expect(clock.pending()).toBe(0);
});

it('does not wait for the end of what another program answers at a port', async () => {
  const half = await startFaulty((_request, response) => void response.write('{'));
  onTestFinished(() => half[Symbol.asyncDispose]());
  const base = testConfig(await startTestReference());
  const { hostname: host, port } = new URL(half.url);
  const at = { host, port: Number(port) };
  const config = {
    ...base,
    listener: { ...base.listener, ...at },
    local: { ...base.local, port: 0 },
  };
  const clock = manualClock();
  const found = checkListeners(config, { clock });
  await expect.poll(() => half.seen.length).toBe(1);
  await clock.advance(5_000);
  expect(await found).toMatchObject([
    { check: 'listener', grade: 'failed', text: expect.stringContaining('within 5s') },
    { check: 'local', grade: 'skipped' },
  ]);
});

it('asks whether the listener answers without leaving a refused event behind', async () => {
  const inbox = await startInbox();
  const base = testConfig(await startTestReference());
  const { hostname: host, port } = new URL(inbox.url);
  const listener = { ...base.listener, host, port: Number(port) };
  const config = { ...base, listener, local: { ...base.local, port: 0 } };
  const found = await checkListeners(config, { clock: systemClock() });
  expect(found).toMatchObject([{ check: 'listener', grade: 'ok' }, { check: 'local' }]);
  expect(inbox.meter.stats().refused).not.toHaveProperty('path');
  await fetch(new URL('/elsewhere', inbox.url));
  expect(inbox.meter.stats().refused).toHaveProperty('path', 1);
});

it('sees the longest gap of a schedule, whatever the time of day', async () => {
  const schedule = { path: 'streams.orders.schedule', value: '*/15 8-18 * * *' };
  const config = testConfig(await startTestReference(), { overrides: [schedule] });
  for (const hour of [10, 22]) {
    const found = checkSchedules(config, Date.UTC(2026, 0, 5, hour, 50));
    expect([hour, found.map(({ text }) => text).join()]).toEqual([
      ...[hour, expect.stringContaining('orders has 13h 15m between runs, but is stale after ')],
    ]);
  }
});

it('names a lock that the owner of the data folder may not write, whoever asks', async () => {
  const dataDir = temporaryFolder();
  const config = { ...testConfig(await startTestReference()), dataDir };
  chmodSync(dataDir, 0o700);
  const lock = lockFile(dataDir);
  writeFileSync(lock, '', { mode: 0o600 });
  expect(checkFolder(config)).toMatchObject([{ grade: 'ok' }]);
  // Root may write everything, and is then not who owns the folder.
  const isRoot = process.getuid?.() === 0;
  chmodSync(lock, 0o444);
  if (isRoot) expect(checkFolder(config)).toMatchObject([{ grade: 'ok' }]);
  if (isRoot) for (const path of [dataDir, lock]) chownSync(path, 900, 900);
  expect(checkFolder(config)).toMatchObject([
    { grade: 'failed', text: expect.stringContaining(`may not write ${lock}`) },
  ]);
  chmodSync(lock, 0o600);
  expect(checkFolder(config)).toMatchObject([{ grade: 'ok' }]);
});

it.runIf(process.getuid?.() === 0)('takes the files of who may only be of its group', async () => {
  const dataDir = temporaryFolder();
  const config = { ...testConfig(await startTestReference()), dataDir };
  const path = lockFile(dataDir);
  writeFileSync(path, '', { mode: 0o600 });
  chownSync(dataDir, 1_000, 900);
  chownSync(path, 900, 900);
  chmodSync(dataDir, 0o700);
  expect(checkFolder(config)).toMatchObject([{ grade: 'failed' }]);
  chmodSync(dataDir, 0o2770);
  expect(checkFolder(config)).toMatchObject([{ grade: 'ok' }]);
});
