/** Follows docs/rules.md from nothing to the first live accept rule, command by command. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { selvedge } from '../support.ts';
import { commands, live, rule, shown, tests } from './manual-page.ts';
import { type Installation, installation } from './support.ts';

/** An output with its hashes, times, numbers, countries and currencies made alike. */
function alike(output: string): string {
  return output
    .replace(/\b[0-9a-f]{16}\b/g, 'HASH')
    .replace(/\d{4}-\d\d-\d\dT\S+Z/g, 'TIME')
    .replace(/country = [A-Z]{2}/g, 'country = DK')
    .replace(/\d+\.\d\d [A-Z]{3}/g, 'MONEY')
    .replace(/= 1 line\b/g, '= 1 lines')
    .replace(/\d+/g, '1')
    .trim();
}

/** Returns the block that the page shows below this command. */
function shownBelow(beginning: string): { readonly command: string; readonly output: string } {
  const at = shown.findIndex((block) => block.startsWith(beginning));
  return { command: shown[at]?.trim() ?? '', output: shown[at + 1] ?? '' };
}

let folder: string;
let house: Installation;
let accepted: { readonly orderDeliveryId: number; readonly deliveryNo: string };
let decision: { readonly decisionId: number; readonly ruleSetHash: string };

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'selvedge-rules-'));
  writeFileSync(join(folder, 'deliveries.yaml'), `${rule}${tests}`);
  house = await installation(folder);
  const tried = await house.run('rules', 'whatif', '--shadow-as-live', '--json');
  const prospects: { after: string }[] = JSON.parse(tried.stdout);
  accepted = JSON.parse(JSON.stringify(prospects.find(({ after }) => after === 'accept')));
  const id = String(accepted.orderDeliveryId);
  [decision] = JSON.parse((await house.run('deliveries', 'explain', id, '--json')).stdout);
});
afterAll(() => {
  house.remove();
  rmSync(folder, { recursive: true, force: true });
});

function argumentsOf(command: string): string[] {
  const real: Readonly<Record<string, string>> = {
    'my-rules': folder,
    '<delivery>': accepted.deliveryNo,
    '<id>': String(accepted.orderDeliveryId),
    '<hash>': decision.ruleSetHash.slice(0, 16),
    '<decision>': String(decision.decisionId),
    '<rule>': 'accept-small',
    '<mark>': '2-0123456789abcdef-1',
  };
  const words = command.match(/"[^"]*"|\S+/g) ?? [];
  return words.slice(1).map((word) => real[word] ?? word.replace(/^"(.*)"$/, '$1'));
}

describe('docs/rules.md', () => {
  const named = commands();

  // The daemon of this installation has stopped: these get as far as asking it.
  const changing = [
    'reload',
    'arm',
    'disarm',
    'seen',
    'rejects',
    'resume',
    'accept',
    'hold',
    'release',
    'resolve',
    'undo',
    'note',
  ];
  const asks = (text: string): boolean =>
    changing.includes(text.split(' ')[2] ?? '') || /--(save|seen)/.test(text);
  const asked = named.filter(asks);

  it.each(asked)('%s', async (command) => {
    if (command.endsWith('--seen')) return;
    const { code, stderr } = await house.run(...argumentsOf(command));
    expect([code, stderr]).toEqual([75, expect.stringContaining('the daemon cannot be asked')]);
  });

  const done = named.filter((text) => !/^selvedge (demo|deliveries reject)/.test(text));
  const reading = done.filter((text) => !asks(text));
  it.each(reading)('%s', async (command) => {
    const { code, stdout, stderr } = await house.run(...argumentsOf(command));
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).not.toBe('');
  });

  it('shows what deliveries explain prints', async () => {
    const { command, output } = shownBelow('selvedge deliveries explain');
    const { stdout } = await house.run(...argumentsOf(command));
    expect(alike(stdout)).toBe(alike(output));
  });

  it('shows the parts that rules backtest prints', async () => {
    const { command, output } = shownBelow('selvedge rules backtest');
    const { stdout } = await house.run(...argumentsOf(command));
    const headings = (text: string) => text.split('\n').filter((line) => /^\S/.test(line));
    expect(headings(alike(stdout))).toEqual(headings(alike(output)));
    expect(stdout).toMatch(/\n {3}no_rule -> accept {2}\d+ deliver/);
  });

  it('ends with a live accept rule that accepts', async () => {
    const text = `${rule}${tests}`.replace('    action: accept\n', `    action: accept\n${live}`);
    writeFileSync(join(folder, 'deliveries.yaml'), text);
    const check = await selvedge(['rules', 'check', folder, '--json']);
    expect(JSON.parse(check.stdout).rules).toMatchObject([{ id: 'accept-small', mode: 'live' }]);
    const second = await installation(folder);
    const list = await second.run('deliveries', 'list', '--status', 'accepted', '--json');
    const rows: { orderDeliveryId: number; rules: string[] }[] = JSON.parse(list.stdout);
    expect(rows.length).toBeGreaterThanOrEqual(1);
    expect(rows.every(({ rules }) => rules.join() === 'accept-small')).toBe(true);
    const id = String(rows[0]?.orderDeliveryId);
    expect((await second.run('deliveries', 'explain', id)).stdout).toContain('=> ACCEPT');
    second.remove();
  });
});
