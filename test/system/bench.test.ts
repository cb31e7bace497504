import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { repositoryRoot } from '../support/source.ts';
import { temporaryFolder } from '../support/store.ts';

const TAKEN = ['bench/run.ts', 'bench/support', 'src/lib'];
/** Its figures come from the code of the checkout that it runs in; each round lasts longer. */
const SPEED = `import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CALLS, PER_SECOND } from '../src/speed.ts';
import { higher, lower, tell } from './support/figures.ts';
const file = join(process.env.BENCH_SHARED ?? '.', 'rounds');
let before = 0;
try { before = Number(readFileSync(file, 'utf8')); } catch {}
writeFileSync(file, String(before + 1));
tell(higher('speed, 1/s', PER_SECOND + before), lower('calls', CALLS), lower('noise', before));
tell({ ...lower('patience, s', CALLS * 10), isBeyond: CALLS > 5 });
console.error('it missed its goal');
process.exitCode = 1;
`;

/** It leaves a process running, as one that fails half-way does. */
const NEWS = `import { spawn } from 'node:child_process';
spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e3)'], { stdio: [0, 1, 2] });
await import('../src/news.ts');
`;

/** A repository of two commits; `old` is the name of the first. */
function repository() {
  const root = temporaryFolder();
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-C', root, '-c', 'user.name=A', '-c', 'user.email=a@b.test', ...args], {
      encoding: 'utf8',
    }).trim();
  const write = (name: string, text: string) => writeFileSync(join(root, name), text);
  git('init', '--quiet');
  for (const name of TAKEN) {
    cpSync(join(repositoryRoot, name), join(root, name), { recursive: true });
  }
  for (const name of ['package.json', 'package-lock.json']) write(name, '{ "type": "module" }\n');
  mkdirSync(join(root, 'node_modules'));
  write('.gitignore', 'node_modules\n');
  write('src/speed.ts', 'export const [PER_SECOND, CALLS] = [100, 8];\n');
  git('add', '.');
  git('commit', '--quiet', '-m', 'first');
  const old = git('rev-parse', 'HEAD');
  write('src/speed.ts', 'export const [PER_SECOND, CALLS] = [1_000, 2];\n');
  write('src/news.ts', 'export const NEWS = 1;\n');
  write('bench/speed.ts', SPEED);
  write('bench/news.ts', NEWS);
  git('add', '.');
  git('commit', '--quiet', '-m', 'second');
  return { root, old };
}

function bench(root: string, ...args: readonly string[]) {
  const temporary = temporaryFolder();
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'bench/run.ts'), ...args],
    { encoding: 'utf8', env: { ...process.env, TMPDIR: temporary } },
  );
  return { status, stdout, stderr, left: readdirSync(temporary) };
}

describe('npm run bench -- NAME --beside COMMIT', () => {
  it('measures both commits by turns with the benchmark of this one', () => {
    const { root, old } = repository();
    const { status, stdout, stderr, left } = bench(root, 'speed', '--beside', old, '--rounds', '3');
    expect({ status, left }, stderr).toEqual({ status: 0, left: [] });
    const turns = [...stdout.matchAll(/^== speed, round (\d) of 3: (\w{8})/gm)];
    const here = turns.filter(([, , label]) => !old.startsWith(`${label}`));
    expect(turns.map(([, round]) => round)).toEqual(['1', '1', '2', '2', '3', '3']);
    expect(turns.map((turn) => here.includes(turn))).toEqual(
      // The one that goes first in a round goes second in the next.
      Array.of(false, true, true, false, false, true),
    );
    const results = readFileSync(join(root, 'bench/results.md'), 'utf8');
    const there = old.slice(0, 8);
    expect(results).toContain(`## Beside ${there}: speed`);
    expect(results).toContain('Medians of 3 alternating rounds of `speed`');
    expect(results).toContain('| speed, 1/s | 103 | 1002 | 9.73 | better |');
    expect(results).toContain('| calls | 8.00 | 2.00 | 0.250 | better |');
    expect(results).toMatch(/\| noise \| 3\.00 \| 2\.00 \| \d\S+ \| {2}\|/);
    expect(results).toContain('| patience, s | > 80.0 | 20.0 | 0.250 | better |');
    expect(stdout).toContain('| calls | 8.00 | 2.00 | 0.250 | better |');
  });

  it('leaves out a benchmark that cannot run at the other commit, and says why', () => {
    const { root, old } = repository();
    const { status, stdout, left } = bench(root, 'news', '--beside', old);
    expect({ status, left }).toEqual({ status: 1, left: [] });
    expect(stdout).toMatch(
      /news is left out: no figures at \w{8}: .*Cannot find module .*news\.ts/,
    );
  });

  it('refuses a commit that is not there, and says what to do', () => {
    const { root } = repository();
    const { status, stderr } = bench(root, 'speed', '--beside', 'nothing');
    expect(status).toBe(2);
    expect(stderr).toContain('there is no commit nothing in this repository\n  name one that');
  });
});
