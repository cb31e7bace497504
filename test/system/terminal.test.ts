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

  it('stops as well when its log goes to a file', async () => {
    const { file, env } = writeConfig();
    const log = join(dirname(file), 'log');
    const typed = `exec ${process.execPath} ${LAUNCHER} --config ${file} run > ${log} 2>&1`;
    const terminal = spawn('script', ['--quiet', '--command', typed, '/dev/null'], { env });
    onTestFinished(() => void terminal.kill('SIGKILL'));
    const running = join(dirname(file), 'data', 'local.json');
    await until('a daemon at the terminal', () => existsSync(running) || undefined);
    terminal.kill('SIGKILL');
    const hasStopped = () => readFileSync(log, 'utf8').includes('"stopped"') || undefined;
    await until('an orderly stop', hasStopped);
  });
});

/** Rows of a terminal after all that was written to it; \e[nA and \e[0J are what the demo uses. */
function screen(written: string, columns: number): string[] {
  const rows = [''];
  let at = 0;
  const step = (): void => {
    at += 1;
    if (at === rows.length) rows.push('');
  };
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  for (const [piece, up] of written.matchAll(/\u001b\[(\d*)[A-Za-z]|\r|\n|[^\u001b\r\n]+/g)) {
    if (piece === '\n') step();
    else if (piece.endsWith('A') && up) at = Math.max(0, at - Number(up));
    else if (piece === '\u001b[0J') rows.splice(at, Infinity, '');
    else if (piece !== '\r' && up === undefined) {
      let rest = piece;
      while (rest !== '') {
        const room = columns - (rows[at]?.length ?? 0);
        rows[at] += rest.slice(0, room);
        rest = rest.slice(room);
        if (rest !== '') step();
      }
    }
  }
  return rows;
}

describe('selvedge demo', () => {
  // Most of a demo is its pace: they run side by side.
  it.concurrent.for([60, 80, 120, 200])(
    'fits a terminal of %i columns',
    async (columns, { onTestFinished: atEnd }) => {
      const dir = join(temporaryFolder(atEnd), 'demo');
      const demo = `${process.execPath} ${LAUNCHER} demo --dir ${dir}`;
      const typed = `stty cols ${columns} rows 40; exec ${demo}`;
      const args = ['--quiet', '--return', '--command', typed, '/dev/null'];
      const terminal = spawn('script', args, { env: launcherEnv() });
      atEnd(() => void terminal.kill('SIGKILL'));
      let shown = '';
      terminal.stdout.on('data', (chunk) => {
        shown += String(chunk);
      });
      const exit = once(terminal, 'exit');
      await until('a confirmed answer', () => /answer .*confirmed/.test(shown) || undefined);
      // The state is erased before it is written anew, and comes in pieces.
      const rows = await until('the whole state below, with that answer', () => {
        const now = screen(shown, columns);
        const isWhole = now.findLast((row) => row !== '')?.startsWith('Ctrl-C stops');
        return isWhole && now.some((row) => /^answers +\d+ confirmed/.test(row)) ? now : undefined;
      });
      // A line that the terminal breaks would be counted as one, and leave the older state behind.
      expect(rows.filter((row) => /^─+$/.test(row))).toHaveLength(1);
      expect(rows.filter((row) => row.startsWith('Ctrl-C stops'))).toHaveLength(1);
      expect(rows[0]).toMatch(/^A wholesale platform packs your orders; each packed/);
      const text = rows.join(' ').replace(/\s+/g, ' ');
      expect(text).toContain('no_rule no rule applies; the delivery waits for a person');
      expect(text).toMatch(/streams stock 20000, .* season /);
      expect(text).toMatch(/ console opens once: http:\/\/127\.0\.0\.1:\d+\/\S/);
      // What rests on the stock is held until it is there; nothing is accepted before.
      const accepted = text.search(/delivery \d+ accept/);
      expect(accepted).toBeGreaterThan(text.indexOf('stock: complete'));
      expect(text.indexOf('stock: complete')).toBeGreaterThan(0);
      // Ctrl-C, as a person types it.
      terminal.stdin.write('\u0003');
      expect(await exit).toEqual([0, null]);
      const end = screen(shown, columns).join(' ').replace(/\s+/g, ' ');
      expect(end).toMatch(/Stopped after .* Deliveries decided: \d+ .* Next: .* selvedge init/);
      expect(end).not.toContain('Ctrl-C stops both sides');
    },
  );
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
