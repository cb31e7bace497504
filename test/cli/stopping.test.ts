import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { until } from '../support/house.ts';
import { LAUNCHER } from '../support/launcher.ts';
import { temporaryFolder } from '../support/store.ts';

/** For a daemon whose service answers nobody. */
function writeConfig() {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'rules'));
  const file = join(folder, 'selvedge.yaml');
  writeFileSync(
    file,
    `dataDir: data
service: { v1: { baseUrl: "http://127.0.0.1:9/api/v1", apiKey: { env: API_KEY } } }
listener: { port: 0 }
local: { port: 0 }
rules: { directory: rules }
`,
  );
  return { file, env: { PATH: process.env.PATH, API_KEY: 'canary-api-key-7f3a' } };
}

/** It, as a process of its own. */
function startDaemon() {
  const { file, env } = writeConfig();
  const child = spawn(process.execPath, [LAUNCHER, '--config', file, 'run'], { env });
  onTestFinished(() => void child.kill('SIGKILL'));
  let log = '';
  const seen = (text: string): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (log.includes(text)) resolve();
      };
      child.stdout.on('data', look);
      look();
    });
  child.stdout.on('data', (chunk) => {
    log += chunk;
  });
  const code = new Promise<number | null>((resolve) => child.on('exit', resolve));
  return { child, file, code, seen, log: () => log };
}

describe('a running daemon', () => {
  it('reloads at SIGHUP, stops in order, and says of each warning what to do', async () => {
    const { file, child, code, seen, log } = startDaemon();
    let remarks = '';
    child.stderr.on('data', (chunk) => {
      remarks += chunk;
    });
    await seen('listening for events');
    // Node's own answer is a debugger, to which everybody on the machine may connect.
    child.kill('SIGUSR1');
    child.kill('SIGHUP');
    await seen('reloading, as SIGHUP asks');
    child.kill('SIGINT');
    expect(await code).toBe(0);
    expect(remarks).toBe('');
    expect(log()).toContain('"stopped"');
    expect(log()).toContain(`${file}:2:`);
    expect(log()).toContain('service.v1.apiKey');
    expect(log()).toContain('prefer { credential');
    expect(log()).toContain('listener.secrets');
  });

  it('waits for no caller at its local address for ever, nor with the time of others', async () => {
    const { file, child, code, seen, log } = startDaemon();
    await seen('local API listens');
    const local = readFileSync(join(dirname(file), 'data', 'local.json'), 'utf8');
    const [, port] = /:(\d+)"/.exec(local) ?? [];
    const caller = connect(Number(port), '127.0.0.1');
    onTestFinished(() => void caller.destroy());
    await once(caller, 'connect');
    caller.write('GET /healthz HTT');
    child.kill('SIGTERM');
    expect(await code).toBe(0);
    expect(log()).not.toContain('worker did not stop in time');
  });

  it('stops in order when its terminal goes away', async () => {
    const { file, env } = writeConfig();
    const typed = `exec ${process.execPath} ${LAUNCHER} --config ${file} run`;
    // A terminal of its own; killing `script` takes it away.
    const terminal = spawn('script', ['--quiet', '--command', typed, '/dev/null'], { env });
    onTestFinished(() => void terminal.kill('SIGKILL'));
    const running = join(dirname(file), 'data', 'local.json');
    await until('a daemon at the terminal', () => existsSync(running) || undefined);
    terminal.kill('SIGKILL');
    await until('an orderly stop', () => !existsSync(running) || undefined);
  });
});
