/** The .deb before Debian's own judge. */
import { execFileSync, spawnSync } from 'node:child_process';
import { expect, it, onTestFinished, vi } from 'vitest';
import { version } from '../../src/ops/version.ts';
import { packagesOf } from './bare-root.ts';
import { areThere } from './programs.ts';

const TIMEOUT_MS = 1_200_000;

it.skipIf(!areThere('lintian', 'dpkg-deb'))(
  'the package has no error for lintian, and the maintainer whom the environment names',
  () => {
    vi.stubEnv('DEBFULLNAME', 'Ada Weaver');
    vi.stubEnv('DEBEMAIL', 'ada@example.com');
    onTestFinished(() => void vi.unstubAllEnvs());
    const deb = packagesOf(version())[version()] ?? '';
    const told = execFileSync('dpkg-deb', ['--field', deb, 'Maintainer'], { encoding: 'utf8' });
    expect(told).toBe('Ada Weaver <ada@example.com>\n');
    const args = ['--allow-root', '--fail-on', 'error', deb];
    const { status, stdout } = spawnSync('lintian', args, { encoding: 'utf8' });
    expect([stdout.match(/^E: .*/gm), status]).toEqual([null, 0]);
  },
  TIMEOUT_MS,
);
