import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, installation } from './support.ts';

let house: Installation;

beforeAll(async () => {
  house = await installation();
});
afterAll(() => house.remove());

function rules(name: string, text: string): string {
  const folder = join(house.folder, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'rules.yaml'), text);
  return folder;
}

const rule = (action: string): string => `rules:
  - id: ${action}-all
    title: All of them
    action: ${action}
    mode: live
    when: [ 'delivery.lines.size() > 0' ]
`;

async function latestDecision(): Promise<{ decisionId: number; ruleSetHash: string }> {
  const list = ['deliveries', 'list', '--json', '--limit', '1000'];
  const rows = JSON.parse((await house.run(...list)).stdout);
  // Deliveries that came in just before the daemon stopped are not decided yet.
  const row = rows.find(({ outcome }: { outcome: string | null }) => outcome !== null);
  const told = await house.run('deliveries', 'explain', String(row.orderDeliveryId), '--json');
  return JSON.parse(told.stdout)[0];
}

describe('rules backtest', () => {
  it('finds nothing changed under the rules that decided', async () => {
    const { code, stdout } = await house.run('rules', 'backtest', '--since', '1h');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^rules the journal -> [0-9a-f]{16} {3}\d+ deliveries, \d+ decisions, /);
    expect(stdout).toContain('\nchanged decisions\n   none\n');
    expect(stdout).toContain('would be rejected: 0, new 0\n');
  });

  it('guards a repository: more new rejects than allowed exit with 1', async () => {
    const folder = rules('reject', rule('reject'));
    const asked = ['rules', 'backtest', '--since', '1h', '--rules', folder, '--json'];
    const { code, stdout, stderr } = await house.run(...asked, '--max-new-rejects', '0');
    const report = JSON.parse(stdout);
    expect(report.deliveries).toBeGreaterThan(9);
    expect(report.newRejects).toBe(report.deliveries);
    expect(report.rejects[0].evaluation.live.kind).toBe('reject');
    expect([code, stderr]).toEqual([1, `${report.deliveries} new rejects, allowed are 0\n`]);
    const allowed = await house.run(...asked, '--max-new-rejects', '1000');
    expect([allowed.code, allowed.stderr]).toEqual([0, '']);
  });

  it('compares two sets, one of them by its hash', async () => {
    const { ruleSetHash } = await latestDecision();
    const against = ['--against', ruleSetHash.slice(0, 10)];
    const asked = ['rules', 'backtest', '--since', '1h', '--rules', rules('hold', rule('hold'))];
    const { stdout } = await house.run(...asked, ...against);
    expect(stdout.startsWith(`rules ${ruleSetHash.slice(0, 16)} -> `)).toBe(true);
    expect(stdout).toMatch(/accept -> hold +\d+ deliver/);
  });

  it('takes a time before all times for the beginning', async () => {
    const ever = await house.run('rules', 'backtest', '--since', '999999999d');
    expect([ever.code, ever.stdout]).toEqual([0, expect.stringContaining('1970-01-01T00:00:00')]);
  });

  it('guards nothing by a period in which there can be no decision', async () => {
    const asked = ['rules', 'backtest', '--since', '1d', '--max-new-rejects', '0'];
    const empty = await house.run(...asked, '--until', '2d');
    expect([empty.code, empty.stdout]).toEqual([2, '']);
    expect(empty.stderr).toContain('--until is not after --since');
    const ahead = await house.run('rules', 'backtest', '--since', '2999-01-01');
    expect(ahead.code).toBe(2);
  });

  it('needs a time that can be read', async () => {
    const wrong = await house.run('rules', 'backtest', '--since', 'yesterday');
    expect([wrong.code, wrong.stderr]).toEqual([
      2,
      expect.stringContaining('"yesterday" is no point in time\nhint: write 2026-11-21'),
    ]);
    expect((await house.run('rules', 'backtest')).code).toBe(2);
    const guessed = await house.run('rules', 'backtest', '--since', '1.12.2026');
    expect(guessed.stderr).toContain('"1.12.2026" is no point in time');
    const limit = await house.run('rules', 'backtest', '--since', '1h', '--max-new-rejects', 'x');
    expect(limit.code).toBe(2);
  });
});

describe('rules whatif', () => {
  it('lists the pending deliveries that would be decided otherwise', async () => {
    const folder = rules('accept', rule('accept'));
    const { code, stdout } = await house.run('rules', 'whatif', '--rules', folder);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ID +NUMBER +DECIDED +WOULD BE +RULES +REASON\n/);
    expect(stdout).toMatch(/ hold +accept +accept-all +All of them\n/);
    expect(stdout).toMatch(/\n\d+ pending, \d+ would be decided otherwise\n$/);
    const all = await house.run('rules', 'whatif', '--rules', folder, '--json');
    expect(JSON.parse(all.stdout).every(({ after }: { after: string }) => after === 'accept')).toBe(
      true,
    );
  });
});

describe('decisions verify', () => {
  it('gives the identical outcome, of one decision and of a sample', async () => {
    const { decisionId } = await latestDecision();
    const replay = await house.run('decisions', 'verify', String(decisionId));
    expect(replay.code).toBe(0);
    expect(replay.stdout).toMatch(/\n\nidentical to what was journaled\n$/);
    const verify = await house.run('decisions', 'verify', '--sample', '10');
    expect(verify.code).toBe(0);
    expect(verify.stdout).toMatch(
      /^chain {5}whole, \d+ entries in order\nreplayed {2}10, identical 10\n$/,
    );
    const json = await house.run('decisions', 'verify', '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({ different: [] });
  });

  it('says that there is no such decision', async () => {
    expect((await house.run('decisions', 'verify', '999999')).stderr).toContain(
      'no decision 999999',
    );
    expect((await house.run('decisions', 'verify', 'x')).code).toBe(2);
  });
});
