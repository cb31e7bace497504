/** Grades of `status --check`: no installation that needs somebody may look fine. */
import { mkdirSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import type { Config } from '../../src/config/schema.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { gradeHealth } from '../../src/ops/health-grade.ts';
import {
  type Installation,
  type InstallationSettings,
  installationOf,
  readInstallation,
} from '../../src/ops/installation.ts';
import type { RelayFigures } from '../../src/ops/relay.ts';
import { readStandbyHere } from '../../src/ops/standby-here.ts';
import { type StandbyStatus, writeStandbyStatus } from '../../src/standby/status-file.ts';
import { acquireLease, lockFile, lockFolder } from '../../src/store/lock.ts';
import { startTestReference, testConfig } from '../support/house.ts';
import { temporaryStore } from '../support/store.ts';

const HOUR_MS = 3_600_000;
const NOW = 10 * HOUR_MS;
const WHY = { at: 0, actor: 'anna', reason: 'stocktaking' };
const PAUSE = { target: 'pushes', name: '', ...WHY } as const;
const RELAY: RelayFigures = { state: 'silent', deliveries: 9, missed: 9 };

function stream(ageMs: number | null, more: object = {}) {
  return {
    ...{ stream: 'orders', ageMs, waitsMs: ageMs, rows: 1, running: false, paused: false },
    off: false,
    ...{ dueInMs: 0, stale: true, lastError: null, notAtLevel: null, ...more },
  };
}

async function wellInstalled(): Promise<{
  readonly found: Installation;
  readonly config: Config;
  readonly settings: InstallationSettings;
}> {
  const config = testConfig(await startTestReference());
  mkdirSync(config.dataDir, { recursive: true });
  const { db } = await temporaryStore();
  const settings = installationOf(config);
  const found = await readInstallation(db, settings, 0);
  const daemon = { ...found.daemon, running: true };
  return { config, settings, found: { ...found, daemon, streams: [], backupAgeMs: HOUR_MS } };
}

it('grades a holder that sends nothing, and one that nobody could replace', async () => {
  const { found, config, settings } = await wellInstalled();
  const graded = (more: Partial<StandbyStatus>) => {
    const holds = { role: 'holder', account: 'main', machine: 'a', acknowledge: 'local' } as const;
    const told = { at: NOW, state: 'sending', waiting: 0, place: 9, ...holds, ...more } as const;
    writeStandbyStatus(config.dataDir, told);
    const standby = readStandbyHere({ dataDir: config.dataDir }, NOW);
    const { grade, findings } = gradeHealth({ ...found, standby }, settings, NOW);
    return [grade, ...findings.map((text) => text.slice(0, 30))];
  };
  expect(graded({})).toEqual(['ok']);
  expect(graded({ state: 'away' })).toEqual(['critical', 'standby: SENDS NOTHING: Postgr']);
  expect(graded({ standbys: [] })).toEqual(['warning', 'standby: holds the lease and s']);
});

it('grades what is not fine, and puts the gravest first', async () => {
  const { found, config, settings } = await wellInstalled();
  expect(gradeHealth(found, settings, NOW)).toEqual({ grade: 'ok', findings: [], waiting: '' });
  const limitMs = config.streams.orders.freshness;
  const told = (more: Partial<Installation>) => {
    const { grade, findings } = gradeHealth({ ...found, ...more }, settings, NOW);
    return [grade, ...findings];
  };
  expect(told({ daemon: { running: false, holder: null, leaseEndsAt: null } })).toEqual([
    ...['critical', 'the daemon does not run'],
  ]);
  expect(told({ relay: RELAY })).toEqual(['critical', 'no event comes while orders change']);
  // What waits is no alarm as long as nothing of it is overdue.
  expect(told({ outbox: { in_doubt: 2, confirmed: 9 } })).toEqual(['ok']);
  const failing = { worker: 'sync', since: 0, error: 'no such\ntable' };
  expect(told({ failingWorkers: [failing] })).toEqual([
    ...['critical', 'sync fails since 1970-01-01T00:00:00.000Z: no such table'],
  ]);
  const dead = { kind: 'push_dead', says: 'a row gave up', advice: '' };
  expect(told({ outbox: { dead: 1 }, causes: [dead] })).toEqual(['warning', 'a row gave up']);
  const cause = { kind: 'push_late', says: '3 times: a row has waited for an hour', advice: '' };
  expect(told({ causes: [cause] })).toEqual(['warning', cause.says]);
  const note = { mode: 'observe', valid: true, set: 'live', rules: 2, live: 2 } as const;
  expect(told({ rules: note, pending: { accept: 44, hold: 3 } })).toEqual([
    ...['warning', 'the rules only observe (rules.mode): 44 accepts not sent'],
  ]);
  expect(told({ rules: { ...note, mode: 'live' } })).toEqual(['ok']);
  expect(told({ rules: { ...note, mode: 'live', live: 0 } })).toEqual([
    ...['warning', 'none of the 2 rules is live'],
  ]);
  const never = { ...stream(null), waitsMs: 4 * limitMs + 1 };
  expect(told({ streams: [never] })).toEqual([
    ...['critical', expect.stringMatching(/^open orders: never complete, tried for /)],
  ]);
  expect(told({ quarantined: 4 })).toEqual(['warning', '4 rows in quarantine']);
  expect(told({ backupAgeMs: null })).toEqual(['warning', 'there is no backup']);
  expect(told({ backupAgeMs: 26 * HOUR_MS })).toEqual(['ok']);
  expect(told({ backupAgeMs: 26 * HOUR_MS + 1 })).toEqual([
    ...['warning', 'the newest backup is older than a day'],
  ]);
  expect(told({ paused: [PAUSE] })).toEqual(['warning', 'paused by anna (pushes): stocktaking']);
  expect(told({ receiptsWaitSince: 0 })).toEqual([
    'warning',
    'receipts wait since 1970-01-01T00:00:00.000Z: another program keeps exchange.db locked',
  ]);
  expect(told({ dryRun: true })).toEqual(['warning', 'nothing is sent: outbox.dryRun']);
  const grades = [stream(4 * limitMs), stream(4 * limitMs + 1), stream(null)];
  expect(grades.map((one) => told({ streams: [one] })[0])).toEqual([
    ...['warning', 'critical', 'warning'],
  ]);
  expect(told({ streams: [stream(9 * limitMs, { paused: true })] })[0]).toBe('warning');
  expect(told({ causes: [cause], streams: [stream(9 * limitMs)], quarantined: 1 })).toEqual([
    ...['critical', expect.stringContaining('open orders: '), cause.says],
    '1 rows in quarantine',
  ]);
});

it('calls nobody silent who has not got as far as the lease, or works without one', async () => {
  const { config, settings } = await wellInstalled();
  const clock = manualClock();
  const store = await temporaryStore();
  const lease = await acquireLease(store, 30_000, clock);
  // A start with a long migration has this lock, as do "migrate" and "sync run" without a daemon.
  const lock = lockFolder(lockFile(config.dataDir));
  onTestFinished(() => lock.release());
  const silentMs = async () =>
    (await readInstallation(store.db, settings, clock.now() + HOUR_MS)).silentMs;
  expect(await silentMs()).toBe(HOUR_MS - 30_000);
  await lease.release();
  expect(await silentMs()).toBeNull();
});

it('tells between a floor and its margin that what has stopped still rests', async () => {
  const { found, config, settings } = await wellInstalled();
  const { pullFloor, sendFloor, margin } = config.store.space;
  const told = (freeBytes: number) => gradeHealth({ ...found, freeBytes }, settings, NOW).findings;
  const until = (name: string, size: string) =>
    `${name}, once stopped, rest until ${size} MiB are free`;
  expect(told(pullFloor + margin)).toEqual([]);
  for (const freeBytes of [pullFloor, pullFloor + margin - 1]) {
    expect(told(freeBytes)).toEqual([
      `the disk is nearly full: ${until('pulls, events and submissions', '288.0')}`,
    ]);
  }
  expect(told(pullFloor - 1)).toEqual([
    'the disk is nearly full: pulls, events and submissions rest',
  ]);
  expect(told(sendFloor)).toEqual([
    `the disk is nearly full: pulls, events and submissions rest; ${until('pushes', '96.0')}`,
  ]);
});
