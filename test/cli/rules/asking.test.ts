/** Rules tried and asked beside an installation that has decided and stopped. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canonicalJson, sha256 } from '../../../src/lib/json.ts';
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

const HOLD_ALL = `rules:
  - id: hold-all
    title: Nothing goes out today
    action: hold
    mode: live
    when: [ 'delivery.lines.size() > 0' ]
`;

describe('beside a mirror that was changed', () => {
  let delivery: { readonly orderDeliveryId: number; readonly deliveryNo: string };

  beforeAll(async () => {
    const { stdout } = await house.run('deliveries', 'list', '--pending', '--json');
    delivery = JSON.parse(stdout)[0];
    // The demo may have ended while it was being accepted.
    const mirror = new Database(join(house.folder, 'demo', 'data', 'mirror.db'));
    mirror.exec('drop trigger outbox_moves_along');
    mirror
      .prepare(
        `update outbox set state = 'canceled', ended_at = 1
            where ordering_key = ? and ended_at is null`,
      )
      .run(`delivery/${delivery.orderDeliveryId}`);
    mirror.close();
  });

  describe('rules list', () => {
    it('tells of each rule in force its action, state, owner, matches and place', async () => {
      const { code, stdout } = await house.run('rules', 'list');
      const [head = '', ...lines] = stdout.trimEnd().split('\n');
      expect([code, head.split(/ {2,}/)]).toEqual([
        0,
        [
          ...['RULE', 'ACTION', 'STATE', 'OWNER', '24 H', '7 D', '30 D', 'PEOPLE'],
          ...['NEAR MISSES', 'PLACE'],
        ],
      ]);
      const rows: readonly { id: string; figures: { day: number } }[] = JSON.parse(
        (await house.run('rules', 'list', '--json')).stdout,
      );
      expect(lines.map((line) => line.split(' ')[0])).toEqual(rows.map(({ id }) => id));
      expect(stdout).toMatch(
        /^reject-closed-season-nothing-left +rejects +only watched, not armed +sales /m,
      );
      const everyday = rows.find(({ id }) => id === 'accept-everyday');
      expect(everyday?.figures.day).toBeGreaterThan(0);
      expect(stdout).toMatch(
        new RegExp(
          `^accept-everyday +accepts +live +sales +${everyday?.figures.day} .*yaml:\\d+$`,
          'm',
        ),
      );
    });
  });

  describe('rules facts', () => {
    it('prints every name with its present value, also of what is not known', async () => {
      const { code, stdout } = await house.run('rules', 'facts', String(delivery.orderDeliveryId));
      expect(code).toBe(0);
      expect(stdout).toMatch(/^FACT +VALUE +MEANING\n/);
      expect(stdout).toMatch(new RegExp(`delivery.number +${delivery.deliveryNo} +Number that`));
      expect(stdout).toMatch(/delivery\.lines\[0\]\.quantity +\d+ /);
      expect(stdout).toMatch(/customer\.credit\.headroom +\? /);
    });

    it('finds a delivery by its number and gives the same to programs', async () => {
      const { stdout } = await house.run('rules', 'facts', delivery.deliveryNo, '--json');
      const rows: { path: string; value: string | null }[] = JSON.parse(stdout);
      const value = (path: string) => rows.find((row) => row.path === path)?.value;
      expect(value('delivery.id')).toBe(String(delivery.orderDeliveryId));
      expect(value('customer.credit.headroom')).toBeNull();
    });

    it('says that there is no such delivery', async () => {
      const { code, stderr } = await house.run('rules', 'facts', 'D-nothing');
      expect(code).toBe(1);
      expect(stderr).toMatch(/^selvedge: there is no delivery D-nothing\nhint: /);
    });
  });

  describe('deliveries explain --now', () => {
    it('asks the configured rules about the present facts, and writes nothing', async () => {
      const before = (await house.run('deliveries', 'list', '--json')).stdout;
      const { code, stdout } = await house.run(
        'deliveries',
        'explain',
        delivery.deliveryNo,
        '--now',
      );
      expect(code).toBe(0);
      expect(stdout.startsWith(`${delivery.deliveryNo} => `)).toBe(true);
      expect(stdout).toMatch(/ {2}(ok|no|\?\?) {2}line \d+ /);
      expect((await house.run('deliveries', 'list', '--json')).stdout).toBe(before);
    });

    it('tells which decision ended what is no longer pending', async () => {
      const listed = await house.run('deliveries', 'list', '--status', 'accepted', '--json');
      const { orderDeliveryId, deliveryNo, rules, reason } = JSON.parse(listed.stdout)[0];
      const id = String(orderDeliveryId);
      const [decision] = JSON.parse(
        (await house.run('deliveries', 'explain', id, '--json')).stdout,
      );
      const { stdout } = await house.run('deliveries', 'explain', id, '--now');
      const { decisionId } = decision;
      const how = `decision ${decisionId} by daemon (${rules}), ${reason}`;
      expect(stdout).toContain(`${deliveryNo} is accepted: ${how}\n`);
      expect(stdout).toContain('only hold rules with "applies_to: [pending, accepted]" are asked');
      expect(stdout).toContain(`\n${deliveryNo} => NO_RULE`);
      const told = JSON.parse(
        (await house.run('deliveries', 'explain', id, '--now', '--json')).stdout,
      );
      expect(told).toMatchObject({ status: 'accepted', decisionId });
      const pending = await house.run(
        'deliveries',
        'explain',
        delivery.deliveryNo,
        '--now',
        '--json',
      );
      expect(JSON.parse(pending.stdout)).toMatchObject({ status: 'pending', decisionId: null });
    });

    it('says that accepting pauses, and that people have decided', async () => {
      const id = delivery.orderDeliveryId;
      const rules = join(house.folder, 'accept-all');
      mkdirSync(rules, { recursive: true });
      writeFileSync(join(rules, 'rules.yaml'), HOLD_ALL.replace('action: hold', 'action: accept'));
      const mirror = new Database(join(house.folder, 'demo', 'data', 'mirror.db'));
      const ask = ['deliveries', 'explain', String(id), '--rules', rules];
      const asked = async () => ({
        text: (await house.run(...ask)).stdout,
        inWay: JSON.parse((await house.run(...ask, '--json')).stdout).inWay,
      });
      expect(await asked()).toMatchObject({ text: expect.stringMatching(/^\S+ =>/), inWay: null });
      const pause = { hour: 0, count: 0, pausedUntil: Date.now() + 1_800_000, why: 'too many' };
      mirror
        .prepare(`insert or replace into daemon_state values ('accept_pace', ?, 0)`)
        .run(JSON.stringify(pause));
      const paused = await asked();
      const pauses = /^safeguard accepts: too many; accepting pauses until \S+Z$/;
      expect(paused.inWay).toMatch(pauses);
      expect(paused.text).toContain(`${delivery.deliveryNo} is pending: ${paused.inWay}\n`);
      expect(paused.text).toContain(`\n${delivery.deliveryNo} => ACCEPT`);
      const lines = mirror
        .prepare(`select barcode, fulfilled_quantity, price from delivery_line
          where order_delivery_id = ? order by line_no`)
        .raw()
        .all(id);
      mirror
        .prepare(`insert into review (order_delivery_id, action, at, actor, reason, why, lines_hash,
            decision_id) select ?, 'release', 0, 'ada', 'paid', null, ?,
          (select max(decision_id) from decision)`)
        .run(id, sha256(canonicalJson(lines)));
      const inWay = 'a person has decided, it is left to people';
      expect((await asked()).text).toMatch(`${delivery.deliveryNo} is pending: ${inWay}\n`);
      mirror.exec(`delete from review; delete from daemon_state where key = 'accept_pace'`);
      mirror.close();
    });

    it('names no decision that was not carried out', async () => {
      const listed = await house.run('deliveries', 'list', '--status', 'accepted', '--json');
      const { orderDeliveryId: id, deliveryNo } = JSON.parse(listed.stdout)[0];
      const mirror = new Database(join(house.folder, 'demo', 'data', 'mirror.db'));
      mirror
        .prepare(`update outbox set state = 'canceled' where ordering_key = ?`)
        .run(`delivery/${id}`);
      mirror.close();
      const { stdout } = await house.run('deliveries', 'explain', String(id), '--now');
      const nobody = 'accepted, by no decision in the journal; no rule takes it back';
      expect(stdout).toContain(`${deliveryNo} is ${nobody}\n`);
    });

    it('knows a hold whose time is up and that then says accept', async () => {
      const rules = join(house.folder, 'hold-for-a-day');
      mkdirSync(rules, { recursive: true });
      const text = `${HOLD_ALL}    hold: { at_most: 1d, then: accept }\n`;
      writeFileSync(join(rules, 'rules.yaml'), text);
      const { orderDeliveryId: id } = delivery;
      const ask = ['deliveries', 'explain', String(id), '--rules', rules, '--json'];
      const before = JSON.parse((await house.run(...ask)).stdout);
      expect(before.live.kind).toBe('hold');
      const mirror = new Database(join(house.folder, 'demo', 'data', 'mirror.db'));
      mirror
        .prepare(`insert or replace into hold values (?, 'hold-all', ?, 0, null, 1, 'accept', 1)`)
        .run(id, before.rules[0].hash);
      mirror.close();
      expect(JSON.parse((await house.run(...ask)).stdout).live.kind).toBe('accept');
    });

    it('asks other rules, of a directory or of the journal', async () => {
      const rules = join(house.folder, 'hold-all');
      mkdirSync(rules, { recursive: true });
      writeFileSync(join(rules, 'rules.yaml'), HOLD_ALL);
      const list = ['deliveries', 'list', '--pending', '--json', '--limit', '1000'];
      const { rows } = {
        rows: JSON.parse((await house.run(...list)).stdout),
      };
      const pending = rows.find(({ outcome }: { outcome: string | null }) => outcome !== null);
      const held = await house.run('deliveries', 'explain', pending.deliveryNo, '--rules', rules);
      expect(held.stdout).toContain('=> HOLD (hold rule)  hold-all\n  Nothing goes out today\n');
      expect(held.stdout).toMatch(/ {9}delivery\.lines = \d+ lines?\n/);
      const id = String(pending.orderDeliveryId);
      const told = await house.run('deliveries', 'explain', id, '--json');
      const named = await house.run('deliveries', 'explain', pending.deliveryNo, '--json');
      expect([named.code, named.stdout]).toEqual([0, told.stdout]);
      const nobody = await house.run('deliveries', 'explain', '1');
      expect([nobody.code, nobody.stderr]).toEqual([
        1,
        expect.stringMatching(/^selvedge: there is no delivery 1\nhint: selvedge deliveries list/),
      ]);
      const { ruleSetHash } = JSON.parse(told.stdout)[0];
      const again = ['deliveries', 'explain', id, '--json', '--rules', ruleSetHash.slice(0, 12)];
      expect(JSON.parse((await house.run(...again)).stdout).setHash).toBe(ruleSetHash);
      const unknown = await house.run('deliveries', 'explain', id, '--rules', '0123456789ab');
      expect([unknown.code, unknown.stderr]).toEqual([
        1,
        expect.stringMatching(/^selvedge: no rule set in the journal begins with 0123456789ab\n/),
      ]);
    });
  });

  describe('rules queue', () => {
    it('shows what is armed and waits also where it cannot read the rules in force', async () => {
      const mirror = new Database(join(house.folder, 'demo', 'data', 'mirror.db'));
      const files = JSON.stringify([
        { path: 'r.yaml', text: 'rules: [ { id: of-another-version } ]' },
      ]);
      mirror.prepare('insert into rule_set values (?, 0, ?, null)').run('f'.repeat(64), files);
      mirror
        .prepare(`update daemon_state set value = ? where key = 'rules_in_force'`)
        .run('f'.repeat(64));
      mirror.exec(`insert into arming (rule_id, rule_hash, at, actor, reason, report_id, expires_at)
        values ('reject-old', 'a', 0, 'ada', 'agreed', 1, 4000000000000)`);
      mirror.close();
      const { code, stdout } = await house.run('rules', 'queue');
      expect(stdout).toMatch(
        /^armed: reject-old, by ada.* this version cannot read the rules in f/,
      );
      expect(stdout).toContain('rejects of the last 24 hours, confirmed or being sent: 0; 0 wait');
      expect(code).toBe(0);
      const told = JSON.parse((await house.run('rules', 'queue', '--json')).stdout);
      expect(told.armed).toMatchObject([{ ruleId: 'reject-old', inForce: null }]);
    });
  });

  // The last one, because it takes facts away.
  describe('a limit of new rejects', () => {
    it('is not kept where nobody knows: it exits with 5 and names the next step', async () => {
      const mirror = new Database(join(house.folder, 'demo', 'data', 'mirror.db'));
      const one = `select facts_digest from decision where actor = 'daemon' order by at limit 1`;
      mirror.exec(`delete from fact_snapshot where digest in (${one})`);
      mirror.close();
      const folder = rules('none', rule('reject').replace('> 0', '> 999'));
      const asked = ['rules', 'backtest', '--since', '1h', '--rules', folder];
      const { code, stdout, stderr } = await house.run(...asked, '--max-new-rejects', '0');
      const told = expect.stringMatching(/\nnot known for 1 of \d+ deliveries: all facts \(1\)\n/);
      expect([code, stdout]).toEqual([5, told]);
      expect(stderr).toMatch(/^nobody knows whether more would be rejected; not known for 1 of/);
      const since = /--since (\S+Z)$/m.exec(stderr)?.[1] ?? '';
      expect((await house.run(...asked)).code).toBe(0);
      const later = [...asked.with(3, since), '--max-new-rejects', '0'];
      expect((await house.run(...later)).code).toBe(0);
    });
  });
});
