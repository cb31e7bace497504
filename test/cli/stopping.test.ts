import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LAUNCHER } from '../support/launcher.ts';
import { writeConfig } from './stopping/support.ts';

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
});
