import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';
import { LAUNCHER, launcherEnv } from '../support/launcher.ts';
import { temporaryFolder } from '../support/store.ts';
import { selvedge } from './support.ts';

it('reads the configuration of its folder again when it is asked to', async () => {
  const dir = join(temporaryFolder(), 'demo');
  const args = [LAUNCHER, 'demo', '--plain', '--dir', dir];
  const child = spawn(process.execPath, args, { env: launcherEnv() });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exit = once(child, 'exit');
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (line.includes('local API listens')) break;
  }
  expect(lines[0]).toMatch(/^A wholesale platform packs your orders; each packed/);
  let rest = '';
  child.stdout.on('data', (chunk) => {
    rest += String(chunk);
  });
  child.stdout.resume();
  const file = join(dir, 'selvedge.yaml');
  const reload = async () => (await selvedge(['--config', file, 'rules', 'reload'])).stdout;
  expect(await reload()).toMatch(/^rules \w+, as they were\n$/);
  writeFileSync(file, readFileSync(file, 'utf8').replace('mode: live', 'mode: shadow'));
  expect(await reload()).toMatch(/^rules \w+, as they were\nmode live -> shadow\n$/);
  child.kill('SIGINT');
  expect(await exit).toEqual([0, null]);
  expect(rest).toMatch(/\nStopped after /);
  expect(rest).toContain('selvedge init');
});
