import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LAUNCHER } from '../support/launcher.ts';
import { writeConfig } from './stopping/support.ts';

/** Starts the daemon as a process of its own. */
function startDaemon(options: readonly string[] = [], more: NodeJS.ProcessEnv = {}) {
  const { file, env } = writeConfig();
  const args = [LAUNCHER, '--config', file, 'run', ...options];
  const child = spawn(process.execPath, args, { env: { ...env, ...more } });
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
    const { file, child, code, seen, log } = startDaemon(['--reload-on-hup']);
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

  it('stops at SIGHUP where no service manager asks for a reload', async () => {
    const { child, code, seen, log } = startDaemon();
    await seen('listening for events');
    child.kill('SIGHUP');
    expect(await code).toBe(0);
    expect(log()).toContain('"stopped"');
  });

  it('starts in spite of a SIGHUP that arrives while it is being loaded', async () => {
    const { child, code, seen } = startDaemon([], { INVOCATION_ID: '0f' });
    const { promise, resolve } = Promise.withResolvers<void>();
    const open = `/proc/${child.pid}/status`;
    const look = setInterval(() => {
      // A handler for signal 1 is bit 0 of what the process catches.
      const [, caught = '0'] = /SigCgt:\t(\w+)/.exec(readFileSync(open, 'utf8')) ?? [];
      if (BigInt(`0x${caught}`) % 2n === 1n) resolve();
    }, 1);
    await promise;
    clearInterval(look);
    const kicks = setInterval(() => child.kill('SIGHUP'), 20);
    await seen('local API listens');
    clearInterval(kicks);
    child.kill('SIGTERM');
    expect(await code).toBe(0);
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
});
