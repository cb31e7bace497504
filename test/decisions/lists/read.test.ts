import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fillLists } from '../../../src/decisions/lists/read.ts';
import { openRuleKeeper, RULES_IN_FORCE } from '../../../src/decisions/rule-keeper.ts';
import { verifyDecisions } from '../../../src/decisions/simulation/replay.ts';
import { manualClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { removeErpCustomers } from '../../../src/mirror/erp-customer.ts';
import { loadRules } from '../../../src/rules/load.ts';
import { runRuleTests } from '../../../src/rules/testing.ts';
import { readState } from '../../../src/store/state.ts';
import { openStore } from '../../../src/store/store.ts';
import { handOffOfThread } from '../../../src/store/writers/write-hand-off.ts';
import { damage, temporaryFolder } from '../../support/store.ts';
import { createHouse } from '../support.ts';

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

async function createKeeper() {
  const house = await createHouse();
  const folder = join(temporaryFolder(), 'rules');
  mkdirSync(folder);
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  write('settings.yaml', SETTINGS);
  write('rules.yaml', RULES);
  const { store, clock } = house;
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
  return { ...house, open, incidents, write, directory: folder };
}

describe('a list from what the ERP tells', () => {
  it('is read in its place, and another content is another set', async () => {
    const house = await createKeeper();
    await house.customer({ accountNo: 'C-1', blocked: true });
    await house.customer({ accountNo: 'C-2' });
    const keeper = await house.open();
    const before = keeper.current().ruleSet;
    expect(before.settings.lists.blocked).toEqual(['C-1']);
    expect(await keeper.refreshLists()).toBe(false);
    await house.order(1, { shippingAddress: { accountNo: 'C-2' } });
    await house.delivery({ id: 1 });
    expect(await house.decide({ rules: keeper.current, mode: 'observe' })).toEqual(['1 accept']);
    await house.customer({ accountNo: 'C-2', blocked: true });
    expect(await keeper.refreshLists()).toBe(true);
    const after = keeper.current().ruleSet;
    expect(after.settings.lists.blocked).toEqual(['C-1', 'C-2']);
    expect(after.hash).not.toBe(before.hash);
    expect(await readState(house.store.db, RULES_IN_FORCE)).toBe(after.hash);
    expect(after.rules[0]?.hash).not.toBe(before.rules[0]?.hash);
    expect(await house.decide({ rules: keeper.current, mode: 'observe' })).toEqual(['1 nothing']);
    // Years later each decision is still made with the list of its day.
    const { db } = house.store;
    expect(await verifyDecisions(db, 9)).toMatchObject({ replayed: [2, 1], different: [] });
  });

  it('that cannot be read keeps what it had, also over a restart, and alarms', async () => {
    const house = await createKeeper();
    await house.customer({ accountNo: 'C-1', blocked: true });
    await house.open();
    await house.store.db.updateTable('erp_customer').set({ deleted_at: 1 }).execute();
    const keeper = await house.open();
    expect(keeper.current().ruleSet.settings.lists.blocked).toEqual(['C-1']);
    expect(await keeper.refreshLists()).toBe(false);
    expect(await house.incidents()).toEqual(['blocked']);
    await house.store.db.updateTable('erp_customer').set({ deleted_at: null }).execute();
    await keeper.refreshLists();
    expect(await house.incidents()).toEqual([]);
  });

  it('whose read fails keeps what it had, and alarms', async () => {
    const house = await createKeeper();
    await house.customer({ accountNo: 'C-1', blocked: true });
    const keeper = await house.open();
    await sql`alter table erp_customer rename to away`.execute(house.store.db);
    expect(await keeper.refreshLists()).toBe(false);
    expect(keeper.current().ruleSet.settings.lists.blocked).toEqual(['C-1']);
    expect(await house.incidents()).toEqual(['blocked']);
  });

  it('that cannot be read alarms no longer once it is not read any more', async () => {
    const house = await createKeeper();
    await house.open();
    expect(await house.incidents()).toEqual(['blocked']);
    house.write('settings.yaml', SETTINGS.replace(LIST, 'blocked: [C-9]'));
    await house.open();
    expect(await house.incidents()).toEqual([]);
  });

  it('that is new and whose read fails lets no rule act without it', async () => {
    const house = await createKeeper();
    await house.customer({ accountNo: 'C-1', blocked: true });
    house.write('settings.yaml', SETTINGS.replace(LIST, 'blocked: [C-9]'));
    const keeper = await house.open();
    const blocked = () => keeper.current().ruleSet.settings.lists.blocked;
    house.write('settings.yaml', SETTINGS);
    await sql`alter table erp_customer rename to away`.execute(house.store.db);
    await expect(keeper.reload(WHO, house)).rejects.toThrow(/no such table/);
    expect(blocked()).toEqual(['C-9']);
    await sql`alter table away rename to erp_customer`.execute(house.store.db);
    await keeper.reload(WHO, house);
    expect(blocked()).toEqual(['C-1']);
  });

  it('that is new and too long lets no rule act without it, also over a restart', async () => {
    const house = await createKeeper();
    await house.customer({ accountNo: 'C-1', blocked: true });
    house.write('settings.yaml', SETTINGS.replace(LIST, 'blocked: [C-9]'));
    const keeper = await house.open();
    house.write('settings.yaml', SETTINGS);
    await sql`insert into erp_customer
      with recursive n(i) as (values (1) union all select i + 1 from n where i < 50000)
      select 'D-' || i, credit_limit, balance, currency, overdue_days, blocked, as_of, extra,
        content_hash, first_seen_at, changed_at, deleted_at, read_seq, source
      from erp_customer, n`.execute(house.store.db);
    await expect(keeper.reload(WHO, house)).rejects.toThrow('list blocked has more than 50000');
    const again = await house.open();
    expect(again.isProvisional()).toBe(true);
    for (const { current } of [keeper, again]) {
      expect(current().ruleSet.settings.lists.blocked).toEqual(['C-9']);
    }
    house.write('settings.yaml', SETTINGS.replace(LIST, 'blocked: [C-8]'));
    await again.reload(WHO, house);
    expect(again.isProvisional()).toBe(false);
  });

  it('that has another content does not make rules with mistakes good', async () => {
    const house = await createKeeper();
    await house.customer({ accountNo: 'C-1', blocked: true });
    const keeper = await house.open();
    house.write('rules.yaml', 'rules: nonsense');
    await expect(keeper.reload(WHO, house)).rejects.toThrow();
    expect(await house.incidents()).toHaveLength(1);
    await house.customer({ accountNo: 'C-2', blocked: true });
    expect(await keeper.refreshLists()).toBe(true);
    expect(await house.incidents()).toHaveLength(1);
    house.write('rules.yaml', RULES);
    await keeper.reload(WHO, house);
    expect(await house.incidents()).toEqual([]);
  });

  it('that is read while other rules are loaded does not bring the old rules back', async () => {
    const house = await createKeeper();
    await house.customer({ accountNo: 'C-1', blocked: true });
    const keeper = await house.open();
    await house.customer({ accountNo: 'C-2', blocked: true });
    house.write('rules.yaml', RULES.replace('action: accept', 'action: hold'));
    // Both wait for the thread of a pull that writes.
    const thread = handOffOfThread(house.store.writeHandOff);
    await thread.acquire();
    const reloading = keeper.reload(WHO, house);
    await house.clock.advance(0);
    const done = [reloading, keeper.refreshLists()];
    await house.clock.advance(0);
    thread.release();
    await Promise.all(done);
    const { rules, settings, hash } = keeper.current().ruleSet;
    expect(rules.map(({ action }) => action)).toEqual(['hold']);
    expect(settings.lists.blocked).toEqual(['C-1', 'C-2']);
    expect(await readState(house.store.db, RULES_IN_FORCE)).toBe(hash);
  });

  it('goes on with rules that an earlier version let through and this one refuses', async () => {
    const house = await createKeeper();
    await house.customer({ accountNo: 'C-2', blocked: true });
    await house.open();
    const { store } = house;
    const bare = `'delivery.lines.map(line, line.price).exists(price, price > 500)'`;
    const text = RULES.replace('has(order.account_no)', bare);
    house.write('rules.yaml', text);
    const { files } = await store.db
      .selectFrom('rule_set')
      .select('files')
      .executeTakeFirstOrThrow();
    const before = files.replace('has(order.account_no)', bare);
    await store.db.updateTable('rule_set').set({ files: before }).execute();
    const keeper = await house.open();
    expect(await house.incidents()).toEqual(['set']);
    expect(keeper.current().ruleSet.rules.map(({ id }) => id)).toEqual(['accept-good']);
    await house.customer({ accountNo: 'C-1', blocked: true });
    expect(await keeper.refreshLists()).toBe(true);
    await expect(keeper.reload(WHO, house)).rejects.toThrow('in which currency?');
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
    const house = await createKeeper();
    await house.customer({ accountNo: 'C-1', blocked: true });
    const keeper = await house.open();
    expect(runRuleTests(keeper.current().ruleSet)).toMatchObject({ ok: true, unproved: [] });
  });

  it('is read from fields that the ERP adds as well', async () => {
    const house = await createKeeper();
    await house.customer({ accountNo: 'C-1', extra: { chain: 'North', vip: true } });
    await house.customer({ accountNo: 'C-2', extra: { chain: 'South', vip: false } });
    const loaded = settingsWith('chains: { from: erp_customer.chain, where: vip }');
    const filled = await fillLists(house.store.db, loaded, {});
    expect(filled.ruleSet.settings.lists.chains).toEqual(['North']);
  });

  it('has each value once, of the customers that are chosen and still there', async () => {
    const house = await createKeeper();
    for (const [at, overdueDays] of [9, 1, 0, null, 9].entries()) {
      const currency = at === 0 ? 'SEK' : 'DKK';
      await house.customer({ accountNo: `C-${at}`, overdueDays, currency });
    }
    await house.customer({ accountNo: 'C-9', overdueDays: 9, currency: 'EUR' });
    await house.store.transaction((tx) => removeErpCustomers(tx, ['C-9'], house.clock.now()));
    const late = 'late: { from: erp_customer.account_no, where: overdue }';
    const loaded = settingsWith(`${late}, owed: { from: erp_customer.currency, where: overdue }`);
    const { lists } = (await fillLists(house.store.db, loaded, {})).ruleSet.settings;
    expect(lists).toEqual({ late: ['C-0', 'C-1', 'C-4'], owed: ['DKK', 'SEK'] });
  });

  it('leaves out what is no text as its column should be, and alarms', async () => {
    const house = await createKeeper();
    await house.customer({ accountNo: 'C-1', extra: { chain: 'North', vip: true } });
    await house.customer({ accountNo: 'C-2', extra: { chain: 12, vip: true } });
    await house.customer({ accountNo: 'C-3', extra: { chain: 13, vip: false } });
    await house.customer({ accountNo: 'C-4', extra: { chain: null, vip: true } });
    house.write(
      'settings.yaml',
      SETTINGS.replace(LIST, `${LIST}, chains: { from: erp_customer.chain, where: vip }`),
    );
    const keeper = await house.open();
    expect(keeper.current().ruleSet.settings.lists.chains).toEqual(['North']);
    expect(await house.incidents()).toEqual(['chains']);
    const { detail } = await house.store.db
      .selectFrom('incident')
      .select('detail')
      .executeTakeFirstOrThrow();
    expect(JSON.parse(detail).message).toBe(
      'chain of C-2 should be a text, it is 12: left out, as all such are; ' +
        'the ERP must write it in quotes in the extra of its erp_customer row',
    );
    await house.customer({ accountNo: 'C-2', extra: { chain: '12', vip: true } });
    expect(await keeper.refreshLists()).toBe(true);
    expect(keeper.current().ruleSet.settings.lists.chains).toEqual(['12', 'North']);
    expect(await house.incidents()).toEqual([]);
  });

  it('alarms where nobody can tell whether a row is chosen', async () => {
    const house = await createKeeper();
    await house.customer({ accountNo: 'C-1', extra: { vip: true } });
    await house.customer({ accountNo: 'C-2', extra: { vip: '1' } });
    await house.customer({ accountNo: 'C-3', extra: { vip: null } });
    const vips = `${LIST}, vips: { from: erp_customer.account_no, where: vip }`;
    house.write('settings.yaml', SETTINGS.replace(LIST, vips));
    const keeper = await house.open();
    expect(keeper.current().ruleSet.settings.lists.vips).toEqual(['C-1']);
    expect(await house.incidents()).toEqual(['vips']);
    const incident = house.store.db.selectFrom('incident').select('detail');
    expect(JSON.parse((await incident.executeTakeFirstOrThrow()).detail).message).toBe(
      'vip of C-2 should be true or false, it is "1": left out, as all such are; ' +
        'the ERP must write it so, without quotes, in the extra of its erp_customer row',
    );
    await house.customer({ accountNo: 'C-2', extra: { vip: 1 } });
    expect(await keeper.refreshLists()).toBe(true);
    expect(keeper.current().ruleSet.settings.lists.vips).toEqual(['C-1', 'C-2']);
    expect(await house.incidents()).toEqual([]);
  });

  it('goes on to choose the rows of an ERP that writes one for true', async () => {
    const house = await createKeeper();
    await house.customer({ accountNo: 'C-1', extra: { vip: 1 } });
    await house.customer({ accountNo: 'C-2', extra: { vip: 0 } });
    await house.customer({ accountNo: 'C-3', extra: { vip: true } });
    const loaded = settingsWith('vips: { from: erp_customer.account_no, where: vip }');
    const filled = await fillLists(house.store.db, loaded, {});
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
