/** At a terminal of its own, which the program `script` makes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { writeConfig } from '../cli/stopping/support.ts';
import { startAccount } from '../probe/support.ts';
import { until } from '../support/house.ts';
import { LAUNCHER, launcherEnv } from '../support/launcher.ts';
import { temporaryFolder } from '../support/store.ts';

describe('a running daemon', () => {
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

describe('selvedge init', () => {
  it('asks at a terminal, and never shows the secret that is typed', async () => {
    const reference = await startAccount();
    const [key] = Object.values(reference.credentials);
    const file = join(temporaryFolder(), 'etc', 'selvedge.yaml');
    const typed = `${process.execPath} ${LAUNCHER} init --login-spacing 0s --output ${file}`;
    const terminal = spawn('script', ['--quiet', '--return', '--command', typed, '/dev/null'], {
      env: launcherEnv(),
    });
    onTestFinished(() => void terminal.kill('SIGKILL'));
    const answers = [
      ['Address of V1', reference.v1Url],
      ['Client id (none', key?.clientId],
      ['Client secret:', key?.clientSecret],
      ['Client id of V2', ''],
      ['Signing secret', ''],
    ];
    let shown = '';
    terminal.stdout.on('data', (chunk) => {
      shown += String(chunk);
      const [question = '', answer] = answers[0] ?? [];
      if (answers.length === 0 || !shown.includes(question)) return;
      answers.shift();
      terminal.stdin.write(`${answer}\n`);
    });
    const [code] = await once(terminal, 'exit');
    expect(code, shown).toBe(0);
    expect(shown).toContain(`wrote ${file}`);
    expect(shown).not.toContain(key?.clientSecret);
    const secret = join(file, '..', 'secrets', 'client-secret');
    expect(readFileSync(secret, 'utf8').trim()).toBe(key?.clientSecret);
    expect(statSync(secret).mode & 0o777).toBe(0o600);
    expect(existsSync(file)).toBe(true);
  });
});
