import { chmodSync, chownSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { checkFolder, checkSchedules } from '../../src/daemon/doctor/machine.ts';
import { checkV1 } from '../../src/daemon/doctor/network.ts';
import { lockFile } from '../../src/store/lock.ts';
import { startTestReference, testConfig } from '../support/house.ts';
import { temporaryFolder } from '../support/store.ts';

it.each([
  [30_000, 'ok'],
  [-30_000, 'ok'],
  [30_001, 'failed'],
  [-30_001, 'failed'],
  [null, 'skipped'],
])('finds a clock that is %j ms off %s', async (clockOffsetMs, grade) => {
  const findings = await checkV1(async () => ({ tookMs: 1, clockOffsetMs }));
  expect(findings.find(({ check }) => check === 'clock')?.grade).toBe(grade);
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
