import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/store.ts';
import { selvedge } from './support.ts';

const PROGRAM = resolve(import.meta.dirname, '../../bin/selvedge.mjs');
const PORTS = ['--port', '0', '--relay-port', '0', '--control-port', '0', '--styles', '10'];

/** Runs until it has said where its keys are, and stops it. */
async function untilKeys(
  args: readonly string[],
  { env = process.env, signal }: { env?: NodeJS.ProcessEnv; signal?: NodeJS.Signals } = {},
): Promise<number | null> {
  const child = spawn(process.execPath, [PROGRAM, 'reference', ...PORTS, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(child, 'exit');
  for await (const line of createInterface(child.stdout)) if (line.startsWith('keys')) break;
  child.kill(signal);
  const [code] = await ended;
  return typeof code === 'number' ? code : null;
}

it('lets nobody else read its keys, not even in a file that was open to all', async () => {
  const file = join(temporaryFolder(), 'keys.json');
  writeFileSync(file, 'of another time', { mode: 0o644 });
  expect(await untilKeys(['--keys', file])).toBe(0);
  expect(readFileSync(file, 'utf8')).toContain('clientSecret');
  expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
});

it('keeps what was compiled for the command, also when it is killed', async () => {
  const cache = temporaryFolder();
  const env = { ...process.env, NODE_COMPILE_CACHE: cache };
  await untilKeys(['--keys', join(temporaryFolder(), 'keys.json')], { env, signal: 'SIGKILL' });
  // Half as much is what every command line loads.
  expect(readdirSync(cache, { recursive: true }).length).toBeGreaterThan(60);
});

describe('what it is asked for and cannot be', () => {
  it.each([
    ['--speed', 'Infinity', 'Infinity is no speed'],
    ['--speed', '1e300', '1e300 is no speed'],
    ['--set', 'life.packAfter=[', '--set life.packAfter=[: '],
    ['--set', 'life.packAfter=5parsecs', 'life.packAfter: no duration, e.g. 15m'],
    [
      '--set',
      'deviations.tokenHeader=X-Key',
      'deviations.tokenHeader: no header name in lower case',
    ],
    ['--set', 'keys=[{name: a}, {name: a}]', 'keys.1.name: another key has this name'],
  ])('%s %s is refused with what is wrong', async (flag, value, problem) => {
    const file = join(temporaryFolder(), 'keys.json');
    const args = ['reference', ...PORTS, '--keys', file, flag, value];
    const { code, stdout, stderr } = await selvedge(args);
    expect([code, stdout]).toEqual([flag === '--speed' ? 2 : 78, '']);
    expect(stderr).toContain(problem);
    expect(stderr).not.toMatch(/^ +at /m);
  });
});
