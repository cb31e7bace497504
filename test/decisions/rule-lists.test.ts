import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openRuleKeeper, RULES_IN_FORCE } from '../../src/decisions/rule-keeper.ts';
import { fillLists } from '../../src/decisions/rule-lists.ts';
import { verifyDecisions } from '../../src/decisions/simulation/replay.ts';
import { storedRuleSet } from '../../src/decisions/simulation/rule-sets.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { removeErpCustomers } from '../../src/mirror/erp-customer.ts';
import { loadRules } from '../../src/rules/load.ts';
import { runRuleTests } from '../../src/rules/testing.ts';
import { readState } from '../../src/store/state.ts';
import { openStore } from '../../src/store/store.ts';
import { handOffOfThread } from '../../src/store/writers/write-hand-off.ts';
import { damage, temporaryFolder } from '../support/store.ts';
import { createDeciderFixture } from './support.ts';

const RULES = `
rules:
  - id: accept-good
    title: Accounts that are not blocked
    action: accept
    mode: live
    when: [ has(order.account_no) ]
    unless: [ order.account_no in lists.blocked ]
    tests:
      - { name: a good one, given: { order: { account_no: C-1 } }, expect: accept }
      - { name: an unknown one, given: { order: { account_no: null } }, expect: none }
      - { name: a blocked one, given: { order: { account_no: C-9 } }, expect: none }
`;

const WHO = { actor: 'anna', reason: 'a test' };

const LIST = 'blocked: { from: erp_customer.account_no, where: blocked, sample: [C-9] }';
const SETTINGS = `
version: 1
customer_fields: { chain: text, vip: true/false, risk: decimal }
lists: { ${LIST} }
`;

function problemsOf(lists: string): string[] {
  const text = SETTINGS.replace(LIST, lists);
  const loaded = loadRules([{ path: 'settings.yaml', text }]);
  return 'problems' in loaded ? loaded.problems.map(({ message }) => message) : [];
}

function settingsWith(lists: string) {
  const files = [{ path: 'settings.yaml', text: SETTINGS.replace(LIST, lists) }];
  const loaded = loadRules(files);
  if (!('ruleSet' in loaded)) throw new Error('the settings have mistakes');
  return { ...loaded, files };
}

function manyRows(count: number): string {
  return Array.from({ length: count }, (_, at) => `C-${at},5\n`).join('');
}

async function createKeeper() {
  const fixture = await createDeciderFixture();
  const folder = join(temporaryFolder(), 'rules');
  mkdirSync(folder);
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  write('settings.yaml', SETTINGS);
  write('rules.yaml', RULES);
  const { store, clock } = fixture;
  const open = () =>
    openRuleKeeper({ ...{ store, clock, log: silentLogger() }, directory: folder });
  const incidents = async () => {
    const rows = await store.db
      .selectFrom('incident')
      .select('key')
      .where('kind', 'in', ['rules_list', 'rules_invalid'])
      .where('resolved_at', 'is', null)
      .execute();
    return rows.map(({ key }) => key);
  };
  return { ...fixture, open, incidents, write, directory: folder };
}

describe('a list from what the ERP tells', () => {
  it('is read in its place, and another content is another set', async () => {
    const fixture = await createKeeper();
    await fixture.customer({ accountNo: 'C-1', blocked: true });
    await fixture.customer({ accountNo: 'C-2' });
    const keeper = await fixture.open();
    const before = keeper.current().ruleSet;
    expect(before.settings.lists.blocked).toEqual(['C-1']);
    expect(await keeper.refreshLists()).toBe(false);
    await fixture.order(1, { shippingAddress: { accountNo: 'C-2' } });
    await fixture.delivery({ id: 1 });
    expect(await fixture.decide({ rules: keeper.current, mode: 'observe' })).toEqual(['1 accept']);
    await fixture.customer({ accountNo: 'C-2', blocked: true });
    expect(await keeper.refreshLists()).toBe(true);
    const after = keeper.current().ruleSet;
    expect(after.settings.lists.blocked).toEqual(['C-1', 'C-2']);
    expect(after.hash).not.toBe(before.hash);
    expect(await readState(fixture.store.db, RULES_IN_FORCE)).toBe(after.hash);
    expect(after.rules[0]?.hash).not.toBe(before.rules[0]?.hash);
    expect(await fixture.decide({ rules: keeper.current, mode: 'observe' })).toEqual(['1 no_rule']);
    // Years later each decision is still made with the list of its day.
    const { db } = fixture.store;
    expect(await verifyDecisions(db, 9)).toMatchObject({ replayed: [2, 1], different: [] });
  });

  it('makes the set that its stored texts make, and nothing else is loaded again', async () => {
    const fixture = await createKeeper();
    await fixture.customer({ accountNo: 'C-1', blocked: true });
    const table = 'tables: { limits: { file: limits.csv, keys: [account], value: limit } }\n';
    fixture.write('settings.yaml', `${SETTINGS}${table}`);
    fixture.write('limits.csv', `account,limit\n${manyRows(500)}`);
    const looks = 'order.account_no in lists.blocked';
    const text = RULES.replace(looks, `'${looks} && tables.limits[order.account_no] > 3'`);
    fixture.write('rules.yaml', text);
    const keeper = await fixture.open();
    const before = keeper.current();
    await keeper.refreshLists();
    expect(keeper.current()).toBe(before);
    await fixture.customer({ accountNo: 'C-2', blocked: true });
    expect(await keeper.refreshLists()).toBe(true);
    const { ruleSet, files } = keeper.current();
    expect(ruleSet.tables.get('limits')).toBe(before.ruleSet.tables.get('limits'));
    const loaded = loadRules(files, true);
    if (!('ruleSet' in loaded)) throw new Error('the stored texts have mistakes');
    expect(loaded.ruleSet.hash).toBe(ruleSet.hash);
    expect(loaded.ruleSet.rules.map(({ hash }) => hash)).toEqual(
      ruleSet.rules.map(({ hash }) => hash),
    );
    expect(ruleSet.rules[0]?.hash).not.toBe(before.ruleSet.rules[0]?.hash);
    // Both sets are in the journal, and the table, which they share, is there once.
    const { db } = fixture.store;
    expect((await storedRuleSet(db, before.ruleSet.hash)).hash).toBe(before.ruleSet.hash);
    expect((await storedRuleSet(db, ruleSet.hash)).hash).toBe(ruleSet.hash);
    const texts = await db.selectFrom('rule_text').select('text').execute();
    expect(texts.filter((row) => row.text.startsWith('account,limit'))).toHaveLength(1);
    const sets = await db.selectFrom('rule_set').select('files').execute();
    expect(sets.filter((row) => row.files.includes('account,limit'))).toEqual([]);
  });

  it('that cannot be read keeps what it had, also over a restart, and alarms', async () => {
    const fixture = await createKeeper();
    await fixture.customer({ accountNo: 'C-1', blocked: true });
    await fixture.open();
    await fixture.store.db.updateTable('erp_customer').set({ deleted_at: 1 }).execute();
    const keeper = await fixture.open();
    expect(keeper.current().ruleSet.settings.lists.blocked).toEqual(['C-1']);
    expect(await keeper.refreshLists()).toBe(false);
    expect(await fixture.incidents()).toEqual(['blocked']);
    await fixture.store.db.updateTable('erp_customer').set({ deleted_at: null }).execute();
    await keeper.refreshLists();
    expect(await fixture.incidents()).toEqual([]);
  });

  it('whose read fails keeps what it had, and alarms', async () => {
    const fixture = await createKeeper();
    await fixture.customer({ accountNo: 'C-1', blocked: true });
    const keeper = await fixture.open();
    await sql`alter table erp_customer rename to away`.execute(fixture.store.db);
    expect(await keeper.refreshLists()).toBe(false);
    expect(keeper.current().ruleSet.settings.lists.blocked).toEqual(['C-1']);
    expect(await fixture.incidents()).toEqual(['blocked']);
  });

  it('that cannot be read alarms no longer once it is not read any more', async () => {
    const fixture = await createKeeper();
    await fixture.open();
    expect(await fixture.incidents()).toEqual(['blocked']);
    fixture.write('settings.yaml', SETTINGS.replace(LIST, 'blocked: [C-9]'));
    await fixture.open();
    expect(await fixture.incidents()).toEqual([]);
  });

  it('that is new and whose read fails lets no rule act without it', async () => {
    const fixture = await createKeeper();
    await fixture.customer({ accountNo: 'C-1', blocked: true });
    fixture.write('settings.yaml', SETTINGS.replace(LIST, 'blocked: [C-9]'));
    const keeper = await fixture.open();
    const blocked = () => keeper.current().ruleSet.settings.lists.blocked;
    fixture.write('settings.yaml', SETTINGS);
    await sql`alter table erp_customer rename to away`.execute(fixture.store.db);
    await expect(keeper.reload(WHO, fixture)).rejects.toThrow(/no such table/);
    expect(blocked()).toEqual(['C-9']);
    await sql`alter table away rename to erp_customer`.execute(fixture.store.db);
    await keeper.reload(WHO, fixture);
    expect(blocked()).toEqual(['C-1']);
  });

  it('that is new and too long lets no rule act without it, also over a restart', async () => {
    const fixture = await createKeeper();
    await fixture.customer({ accountNo: 'C-1', blocked: true });
    fixture.write('settings.yaml', SETTINGS.replace(LIST, 'blocked: [C-9]'));
    const keeper = await fixture.open();
    fixture.write('settings.yaml', SETTINGS);
    await sql`insert into erp_customer
      with recursive n(i) as (values (1) union all select i + 1 from n where i < 50000)
      select 'D-' || i, credit_limit, balance, currency, overdue_days, blocked, as_of, extra,
        content_hash, first_seen_at, changed_at, deleted_at, read_seq, source
      from erp_customer, n`.execute(fixture.store.db);
    await expect(keeper.reload(WHO, fixture)).rejects.toThrow('list blocked has more than 50000');
    const again = await fixture.open();
    expect(again.current().isProvisional).toBe(true);
    for (const { current } of [keeper, again]) {
      expect(current().ruleSet.settings.lists.blocked).toEqual(['C-9']);
    }
    fixture.write('settings.yaml', SETTINGS.replace(LIST, 'blocked: [C-8]'));
    await again.reload(WHO, fixture);
    expect(again.current().isProvisional).toBe(false);
  });

  it('that has another content does not make rules with mistakes good', async () => {
    const fixture = await createKeeper();
    await fixture.customer({ accountNo: 'C-1', blocked: true });
    const keeper = await fixture.open();
    fixture.write('rules.yaml', 'rules: nonsense');
    await expect(keeper.reload(WHO, fixture)).rejects.toThrow();
    expect(await fixture.incidents()).toHaveLength(1);
    await fixture.customer({ accountNo: 'C-2', blocked: true });
    expect(await keeper.refreshLists()).toBe(true);
    expect(await fixture.incidents()).toHaveLength(1);
    fixture.write('rules.yaml', RULES);
    await keeper.reload(WHO, fixture);
    expect(await fixture.incidents()).toEqual([]);
  });

  it('that is read while other rules are loaded does not bring the old rules back', async () => {
    const fixture = await createKeeper();
    await fixture.customer({ accountNo: 'C-1', blocked: true });
    const keeper = await fixture.open();
    await fixture.customer({ accountNo: 'C-2', blocked: true });
    fixture.write('rules.yaml', RULES.replace('action: accept', 'action: hold'));
    // Both wait for the thread of a pull that writes.
    const thread = handOffOfThread(fixture.store.writeHandOff);
    await thread.acquire();
    const reloading = keeper.reload(WHO, fixture);
    await fixture.clock.advance(0);
    const done = [reloading, keeper.refreshLists()];
    await fixture.clock.advance(0);
    thread.release();
    await Promise.all(done);
    const { rules, settings, hash } = keeper.current().ruleSet;
    expect(rules.map(({ action }) => action)).toEqual(['hold']);
    expect(settings.lists.blocked).toEqual(['C-1', 'C-2']);
    expect(await readState(fixture.store.db, RULES_IN_FORCE)).toBe(hash);
  });

  it('goes on with rules that an earlier version let through and this one refuses', async () => {
    const fixture = await createKeeper();
    await fixture.customer({ accountNo: 'C-2', blocked: true });
    await fixture.open();
    const { store } = fixture;
    const bare = `'delivery.lines.map(line, line.price).exists(price, price > 500)'`;
    const text = RULES.replace('has(order.account_no)', bare);
    fixture.write('rules.yaml', text);
    const { files } = await store.db
      .selectFrom('rule_set')
      .select('files')
      .executeTakeFirstOrThrow();
    const before = files.replace('has(order.account_no)', bare);
    await store.db.updateTable('rule_set').set({ files: before }).execute();
    const keeper = await fixture.open();
    expect(await fixture.incidents()).toEqual(['set']);
    expect(keeper.current().ruleSet.rules.map(({ id }) => id)).toEqual(['accept-good']);
    await fixture.customer({ accountNo: 'C-1', blocked: true });
    expect(await keeper.refreshLists()).toBe(true);
    await expect(keeper.reload(WHO, fixture)).rejects.toThrow('in which currency?');
  });

  it('that lies in damaged pages is not put off: the daemon ends', async () => {
    const path = join(temporaryFolder(), 'mirror.db');
    await damage(path, 'erp_customer');
    const { store } = await openStore({ path, busyTimeoutMs: 0 }, manualClock());
    onTestFinished(() => store.close());
    const filled = fillLists(store.db, settingsWith(LIST), {});
    await expect(filled).rejects.toMatchObject({ code: 'store.damaged' });
  });

  it('is tested with its sample, whatever the database says', async () => {
    const fixture = await createKeeper();
    await fixture.customer({ accountNo: 'C-1', blocked: true });
    const keeper = await fixture.open();
    expect(runRuleTests(keeper.current().ruleSet)).toMatchObject({ ok: true, unproved: [] });
  });

  it('is read from fields that the ERP adds as well', async () => {
    const fixture = await createKeeper();
    await fixture.customer({ accountNo: 'C-1', extra: { chain: 'North', vip: true } });
    await fixture.customer({ accountNo: 'C-2', extra: { chain: 'South', vip: false } });
    const loaded = settingsWith('chains: { from: erp_customer.chain, where: vip }');
    const filled = await fillLists(fixture.store.db, loaded, {});
    expect(filled.ruleSet.settings.lists.chains).toEqual(['North']);
  });

  it('has each value once, of the customers that are chosen and still there', async () => {
    const fixture = await createKeeper();
    for (const [at, overdueDays] of [9, 1, 0, null, 9].entries()) {
      const currency = at === 0 ? 'SEK' : 'DKK';
      await fixture.customer({ accountNo: `C-${at}`, overdueDays, currency });
    }
    await fixture.customer({ accountNo: 'C-9', overdueDays: 9, currency: 'EUR' });
    await fixture.store.transaction((tx) => removeErpCustomers(tx, ['C-9'], fixture.clock.now()));
    const late = 'late: { from: erp_customer.account_no, where: overdue }';
    const loaded = settingsWith(`${late}, owed: { from: erp_customer.currency, where: overdue }`);
    const { lists } = (await fillLists(fixture.store.db, loaded, {})).ruleSet.settings;
    expect(lists).toEqual({ late: ['C-0', 'C-1', 'C-4'], owed: ['DKK', 'SEK'] });
  });

  it('leaves out what is no text as its column should be, and alarms', async () => {
    const fixture = await createKeeper();
    await fixture.customer({ accountNo: 'C-1', extra: { chain: 'North', vip: true } });
    await fixture.customer({ accountNo: 'C-2', extra: { chain: 12, vip: true } });
    await fixture.customer({ accountNo: 'C-3', extra: { chain: 13, vip: false } });
    await fixture.customer({ accountNo: 'C-4', extra: { chain: null, vip: true } });
    fixture.write(
      'settings.yaml',
      SETTINGS.replace(LIST, `${LIST}, chains: { from: erp_customer.chain, where: vip }`),
    );
    const keeper = await fixture.open();
    expect(keeper.current().ruleSet.settings.lists.chains).toEqual(['North']);
    expect(await fixture.incidents()).toEqual(['chains']);
    const { detail } = await fixture.store.db
      .selectFrom('incident')
      .select('detail')
      .executeTakeFirstOrThrow();
    expect(JSON.parse(detail).message).toBe(
      'chain of C-2 should be a text, it is 12: left out, as all such are; ' +
        'the ERP must write it in quotes in the extra of its erp_customer row',
    );
    await fixture.customer({ accountNo: 'C-2', extra: { chain: '12', vip: true } });
    expect(await keeper.refreshLists()).toBe(true);
    expect(keeper.current().ruleSet.settings.lists.chains).toEqual(['12', 'North']);
    expect(await fixture.incidents()).toEqual([]);
  });

  it('alarms where nobody can tell whether a row is chosen', async () => {
    const fixture = await createKeeper();
    await fixture.customer({ accountNo: 'C-1', extra: { vip: true } });
    await fixture.customer({ accountNo: 'C-2', extra: { vip: '1' } });
    await fixture.customer({ accountNo: 'C-3', extra: { vip: null } });
    const vips = `${LIST}, vips: { from: erp_customer.account_no, where: vip }`;
    fixture.write('settings.yaml', SETTINGS.replace(LIST, vips));
    const keeper = await fixture.open();
    expect(keeper.current().ruleSet.settings.lists.vips).toEqual(['C-1']);
    expect(await fixture.incidents()).toEqual(['vips']);
    const incident = fixture.store.db.selectFrom('incident').select('detail');
    expect(JSON.parse((await incident.executeTakeFirstOrThrow()).detail).message).toBe(
      'vip of C-2 should be true or false, it is "1": left out, as all such are; ' +
        'the ERP must write it so, without quotes, in the extra of its erp_customer row',
    );
    await fixture.customer({ accountNo: 'C-2', extra: { vip: 1 } });
    expect(await keeper.refreshLists()).toBe(true);
    expect(keeper.current().ruleSet.settings.lists.vips).toEqual(['C-1', 'C-2']);
    expect(await fixture.incidents()).toEqual([]);
  });

  it('goes on to choose the rows of an ERP that writes one for true', async () => {
    const fixture = await createKeeper();
    await fixture.customer({ accountNo: 'C-1', extra: { vip: 1 } });
    await fixture.customer({ accountNo: 'C-2', extra: { vip: 0 } });
    await fixture.customer({ accountNo: 'C-3', extra: { vip: true } });
    const loaded = settingsWith('vips: { from: erp_customer.account_no, where: vip }');
    const filled = await fillLists(fixture.store.db, loaded, {});
    expect(filled.ruleSet.settings.lists.vips).toEqual(['C-1', 'C-3']);
  });

  it('names only columns that there are, of the right kind', () => {
    expect(problemsOf('a: { from: erp_customer.acount_no }')[0]).toMatch(/acount_no is no text/);
    expect(problemsOf('a: { from: erp_customer.risk }')[0]).toMatch(/risk is no text/);
    expect(problemsOf('a: { from: erp_customer.chain, where: chain }')[0]).toMatch(/true\/false/);
    expect(problemsOf(`a: { from: "erp_customer.chain' or 1=1" }`)).toHaveLength(1);
    expect(problemsOf('a: { from: outbox.body }')).toHaveLength(1);
    expect(problemsOf('a: { from: erp_customer.chain, where: vip }')).toEqual([]);
  });
});
