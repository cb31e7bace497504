/** The .deb of an earlier version, upgraded to this one and back, over one data folder. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { debianPackage } from '../../scripts/package/debian.ts';
import { debianTree } from '../../scripts/package/tree.ts';
import { createDaemonProcess, type DaemonProcess, startFastReference } from '../e2e/support.ts';
import { until } from '../support/house.ts';
import { launcherEnv } from '../support/launcher.ts';
import { repositoryRoot } from '../support/source.ts';
import { temporaryFolder } from '../support/store.ts';
import { makeBareRoot } from './bare-root.ts';

const TIMEOUT_MS = 1_200_000;
const SECONDS = 1_700_000_000;

const text = readFileSync(join(repositoryRoot, 'package.json'), 'utf8');
const described: { readonly version: string; readonly description: string } = JSON.parse(text);
const OLD = '0.0.9';
const NEW = described.version;

/** Packages of the same tree under two versions. */
function makeBoth(): Readonly<Record<string, string>> {
  execFileSync(process.execPath, [join(repositoryRoot, 'scripts', 'build.mjs')], {
    stdio: 'ignore',
  });
  const tree = debianTree(repositoryRoot, NEW, SECONDS);
  const folder = temporaryFolder();
  const files = [OLD, NEW].map((version) => {
    const bytes = Buffer.from(JSON.stringify({ ...JSON.parse(text), version }));
    const entries = tree.map((entry) =>
      entry.path === 'opt/selvedge/package.json'
        ? { ...entry, content: { bytes, isProgram: false } }
        : entry,
    );
    const path = join(folder, `${version}.deb`);
    writeFileSync(path, debianPackage({ ...described, version }, entries, SECONDS));
    return [version, path] as const;
  });
  return Object.fromEntries(files);
}

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
    const debs = makeBoth();
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
