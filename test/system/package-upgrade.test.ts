/** The .deb of an earlier version, upgraded to this one and back, over one data folder. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { version } from '../../src/ops/version.ts';
import { createDaemonProcess, type DaemonProcess, startFastReference } from '../e2e/support.ts';
import { until } from '../support/house.ts';
import { launcherEnv } from '../support/launcher.ts';
import { makeBareRoot, packagesOf } from './bare-root.ts';

const TIMEOUT_MS = 1_200_000;

const OLD = '0.0.9';
const NEW = version();

const hashesIn = (house: DaemonProcess): string[] =>
  house.query('select hash from decision order by decision_id').flat();

/** Starts the daemon, and waits until it has decided something and has said so to the service. */
async function work(house: DaemonProcess): Promise<void> {
  const before = hashesIn(house).length;
  await house.start();
  await until('a decision and its confirmed push', () => {
    const [[pushed] = []] = house.query(
      `select count(*) from outbox where state = 'confirmed' and decision_id > ${before}`,
    );
    return Number(pushed) > 0 || undefined;
  });
  await house.kill();
}

it(
  'is upgraded and taken back: each version goes on with the database of the other',
  async () => {
    const debs = packagesOf(OLD, NEW);
    const { root, home, dpkg } = makeBareRoot();
    const launcher = join(home, 'bin', 'selvedge.mjs');
    const run = (...args: readonly string[]): string =>
      execFileSync(process.execPath, [launcher, ...args], { env: launcherEnv(), encoding: 'utf8' });
    dpkg('--install', debs[OLD] ?? '');
    expect(run('--version').trim()).toBe(OLD);
    // As `selvedge init` does it.
    const own = join(root, 'etc', 'selvedge', 'rules');
    cpSync(join(home, 'config', 'rules'), own, { recursive: true });
    const rules = join(own, 'settings.yaml');
    appendFileSync(rules, '# ours\n');

    const reference = await startFastReference({
      world: { styles: 20, orders: 0 },
      life: { ordersPerMinute: 600, packAfter: '50ms', shipAfter: '1h', cancelShare: 0 },
    });
    const settings = ['streams: { stock: { enabled: false }, season: { enabled: false } }'];
    const house = await createDaemonProcess(reference, {
      launcher,
      settings: [...settings, 'decisions: { settle: 0s }'],
    });
    // The old program makes its own database.
    rmSync(join(house.dataDir, 'mirror.db'));
    await house.start();
    await house.kill();
    await work(house);
    const config = join(dirname(house.dataDir), 'selvedge.yaml');
    expect(run('backup', 'create', '--config', config)).toContain('checked');

    for (const version of [NEW, OLD]) {
      const before = hashesIn(house);
      dpkg('--install', debs[version] ?? '');
      expect(run('--version').trim()).toBe(version);
      expect(readFileSync(rules, 'utf8')).toContain('# ours');
      expect(run('config', 'check', '--config', config)).toContain('the configuration is right');
      await work(house);
      const after = hashesIn(house);
      expect(after.slice(0, before.length)).toEqual(before);
      expect(after.length).toBeGreaterThan(before.length);
      expect(run('decisions', 'verify', '--config', config)).toMatch(/chain +whole/);
      expect(run('backup', 'verify', '--config', config)).toContain('whole');
      expect(house.query('pragma integrity_check')).toEqual([['ok']]);
    }
  },
  TIMEOUT_MS,
);
