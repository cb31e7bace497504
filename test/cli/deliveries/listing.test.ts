import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, installation } from '../rules/support.ts';

const RULES = `rules:
  - { id: accept-all, title: All, action: accept, mode: live, when: [ delivery.quantity > 0 ] }
  - id: watch-all
    title: All, if it were to be rejected
    action: reject
    mode: shadow
    owner: sales
    message: none of these
    when: [ delivery.quantity > 0 ]
    tests: [ { name: any, expect: reject } ]
`;

let house: Installation;
const rules = mkdtempSync(join(tmpdir(), 'selvedge-test-'));

beforeAll(async () => {
  writeFileSync(join(rules, 'rules.yaml'), RULES);
  house = await installation(rules);
  const mirror = new Database(join(house.folder, 'demo', 'data', 'mirror.db'));
  const said = mirror.prepare(`insert into audit (at, actor, action, subject, reason, detail)
    values (?, 'jutta', 'delivery.hold', 'delivery:1', 'x', '{}')`);
  for (const statement of [said, said]) statement.run(Date.now());
  mirror.close();
});
afterAll(() => {
  rmSync(rules, { recursive: true });
  house?.remove();
});

const LISTS = ['deliveries list', 'outbox list', 'events list', 'audit list'];

describe('a list that is cut', () => {
  it.each(LISTS)('%s says so, and nothing once it is whole', async (list) => {
    const ask = [...list.split(' '), '--json', '--limit'];
    const cut = await house.run(...ask, '1');
    expect(JSON.parse(cut.stdout)).toHaveLength(1);
    expect(cut.stderr).toMatch(
      /^there are more than 1 rows; --limit shows more(?:, --after .*)?\n$/,
    );
    const whole = await house.run(...ask, '10000');
    const { length } = JSON.parse(whole.stdout);
    expect(length).toBeGreaterThan(1);
    expect(whole.stderr).toBe('');
    expect(await house.run(...ask, String(length))).toEqual(whole);
  });

  it('does not pass for all that a rule matched', async () => {
    const ask = ['rules', 'matches', 'watch-all', '--limit'];
    const cut = await house.run(...ask, '2');
    expect(cut.stdout).toContain('\nmore than 2 that nobody has looked at yet, 0 were looked at\n');
    const whole = await house.run(...ask, '500');
    expect(whole.stdout).toMatch(/\n\d+ that nobody has looked at yet, 0 were looked at\n/);
  });
});
