import { chmodSync, chownSync, writeFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { guarded } from '../../src/daemon/doctor/finding.ts';
import { checkFolder, checkSchedules } from '../../src/daemon/doctor/machine.ts';
import { type Ask, checkListeners, checkV1, checkV2 } from '../../src/daemon/doctor/network.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { lockFile } from '../../src/store/lock.ts';
import { startFaulty } from '../client/support.ts';
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
        // It may be there, and ask for patience with each answer.
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
