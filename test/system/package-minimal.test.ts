/** The .deb on a Debian that has next to nothing, with systemd as its first process. */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { version } from '../../src/ops/version.ts';
import { repositoryRoot } from '../support/source.ts';
import { packagesOf } from './bare-root.ts';
import { areThere } from './programs.ts';

const TIMEOUT_MS = 2_400_000;
const OLD = '0.0.9';

const isRoot = process.getuid?.() === 0;
if (!isRoot) process.stderr.write('skipped: a Debian of its own can be made by root alone\n');

it.skipIf(!isRoot || !areThere('apt-get', 'dpkg', 'nsenter', 'pgrep'))(
  'the package is installed, set up, upgraded and purged on a minimal Debian as the manual says',
  () => {
    const debs = packagesOf(OLD, version());
    // Kept, because it takes long to make: nothing in it is of the package.
    const folder = '/var/tmp/selvedge-minimal';
    mkdirSync(folder, { recursive: true });
    const script = join(repositoryRoot, 'test', 'system', 'machine', 'minimal.sh');
    const args = [folder, debs[OLD] ?? '', debs[version()] ?? ''];
    const { status, stdout, stderr } = spawnSync(script, args, { encoding: 'utf8' });
    expect([stdout.match(/^FAIL .*/gm), status], `${stdout}\n${stderr}`).toEqual([null, 0]);
    expect(stdout).toMatch(/^all as documented$/m);
  },
  TIMEOUT_MS,
);
