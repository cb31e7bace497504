/** Rules wait for people where most rows of a stream that they read have changed at once. */
import { describe, expect, it } from 'vitest';
import { endCustomerLoss, noteCustomerLoss } from '../../../src/mirror/customer-loss.ts';
import { removeErpCustomers } from '../../../src/mirror/erp-customer.ts';
import { acceptChange } from '../../../src/sync/accept.ts';
import { createRejectFixture, DAY, settingsWith, UNLUCKY } from '../reject/support.ts';
import {
  ACCEPT_COVERED,
  createDeciderFixture,
  type DeciderFixture,
  loadedRules,
} from '../support.ts';

const COVERED = { rules: () => loadedRules(ACCEPT_COVERED) };
const ASKER = { actor: 'ada', reason: 'they have moved' };
const WAITS = /^safeguard changes: run 1 of stock changed most .*: selvedge sync release 1$/;

/** A run that changed most of its rows, and its state. */
async function changed(
  { store }: Pick<DeciderFixture, 'store'>,
  { stream = 'stock', outcome = 'complete' }: { stream?: string; outcome?: 'complete' | 'running' },
) {
  const begun = { stream, cause: 'schedule', started_at: 1, read_seq: 1, options: '{}' };
  const counts = { rows_changed: 150, rows_unchanged: 140, rows_drastic: 150 };
  const change_guard = outcome === 'running' ? null : ('open' as const);
  await store.db
    .insertInto('sync_run')
    .values({ ...begun, ...counts, checkpoint: '{}', outcome, change_guard })
    .execute();
}

async function latest({ store }: Pick<DeciderFixture, 'store'>, id = 1) {
  const rows = store.db.selectFrom('decision').select(['outcome', 'reason', 'trigger']);
  const all = await rows.where('order_delivery_id', '=', id).orderBy('decision_id').execute();
  return all.at(-1);
}

/** Accepts orders whose lines are listed ahead. */
const LISTED = `
rules:
  - id: accept-listed
    title: Has a price
    action: accept
    mode: live
    when:
      - delivery.lines.all(line, has(line.list_price) || line.quantity > 0)
`;

describe('an accept', () => {
  it('waits for a person, and is decided by itself after the word', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ a: 10 });
    await changed(fixture, {});
    await fixture.delivery({ id: 1 });
    expect(await fixture.decide(COVERED)).toEqual(['1 hold']);
    expect(await latest(fixture)).toMatchObject({ reason: expect.stringMatching(WAITS) });
    expect(await fixture.pushes()).toEqual([]);
    await fixture.clock.advance(60_000);
    expect(await fixture.decide(COVERED)).toEqual([]);
    await acceptChange(fixture, 1, ASKER);
    expect(await fixture.decide(COVERED)).toEqual(['1 accept']);
    expect(await latest(fixture)).toMatchObject({ trigger: 'facts' });
  });

  it('is decided by itself when a later run has found the rows as they were', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ a: 10 });
    await changed(fixture, {});
    await fixture.delivery({ id: 1 });
    await fixture.decide(COVERED);
    await fixture.store.db.updateTable('sync_run').set({ change_guard: 'over' }).execute();
    expect(await fixture.decide(COVERED)).toEqual(['1 accept']);
  });

  it('waits for the end of a run that goes on', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ a: 10 });
    await changed(fixture, { outcome: 'running' });
    await fixture.delivery({ id: 1 });
    expect(await fixture.decide(COVERED)).toEqual(['1 hold']);
    expect((await latest(fixture))?.reason).toMatch(/so far; waits for its end$/);
    await fixture.store.db.updateTable('sync_run').set({ outcome: 'complete' }).execute();
    expect(await fixture.decide(COVERED)).toEqual(['1 accept']);
  });

  it('waits for one whatever it has found new, which is compared with nothing', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ a: 10 });
    await changed(fixture, { outcome: 'running' });
    const more = { rows_changed: 1_150, rows_new: 1_000 };
    await fixture.store.db.updateTable('sync_run').set(more).execute();
    await fixture.delivery({ id: 1 });
    expect(await fixture.decide(COVERED)).toEqual(['1 hold']);
  });

  it('does not wait for the end of a run that most rows of which are as they were', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ a: 10 });
    await changed(fixture, { outcome: 'running' });
    await fixture.store.db.updateTable('sync_run').set({ rows_unchanged: 151 }).execute();
    await fixture.delivery({ id: 1 });
    expect(await fixture.decide(COVERED)).toEqual(['1 accept']);
  });

  it.each(['category', 'weight', 'country_of_origin'])(
    'by a rule that reads the %s of a line waits too',
    async (field) => {
      const fixture = await createDeciderFixture();
      await fixture.stock({ a: 10 });
      await changed(fixture, {});
      await fixture.delivery({ id: 1 });
      const asks = `has(line.${field}) || line.quantity > 0`;
      const text = LISTED.replace('has(line.list_price) || line.quantity > 0', asks);
      expect(await fixture.decide({ rules: () => loadedRules(text) })).toEqual(['1 hold']);
    },
  );

  it('by rules that read nothing of the stream does not wait', async () => {
    const fixture = await createDeciderFixture();
    await changed(fixture, {});
    await fixture.delivery({ id: 1 });
    expect(await fixture.decide()).toEqual(['1 accept']);
  });

  it('does not wait for what only a rule in the shadow reads', async () => {
    const fixture = await createDeciderFixture();
    await changed(fixture, {});
    const [small = ''] = ACCEPT_COVERED.replaceAll('mode: live', 'mode: shadow').split('$');
    const both = `${small}
  - { id: accept-all, title: All, action: accept, mode: live, when: [delivery.quantity > 0] }
`;
    await fixture.delivery({ id: 1 });
    expect(await fixture.decide({ rules: () => loadedRules(both) })).toEqual(['1 accept']);
  });

  it('of what is in stock does not wait for a list of what can be ordered ahead', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ a: 10 });
    await changed(fixture, { stream: 'season' });
    await fixture.delivery({ id: 1 });
    await fixture.order(2, { SeasonName: 'SS27' });
    await fixture.delivery({ id: 2, order: 2 });
    const rules = { rules: () => loadedRules(LISTED) };
    expect((await fixture.decide(rules)).sort()).toEqual(['1 accept', '2 hold']);
  });
});

describe('what was accepted', () => {
  const BACK = loadedRules(
    ACCEPT_COVERED.replace('action: hold\n', 'action: hold\n    applies_to: [pending, accepted]\n'),
  );
  const rules = { rules: () => BACK };

  it('is not taken back on what changed at once, and is after the word', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ a: 10 });
    await fixture.delivery({ id: 1 });
    expect(await fixture.decide(rules)).toEqual(['1 accept']);
    await fixture.store.db.updateTable('outbox').set({ attempts: 1 }).execute();
    await fixture.clock.advance(1_000);
    await fixture.delivery({ id: 1, status: 'accepted' });
    await fixture.endPush('confirmed', { answered: true });
    await fixture.clock.advance(1_000);
    await changed(fixture, {});
    await fixture.stock({ a: 0 });
    expect(await fixture.decide(rules)).toEqual([]);
    await acceptChange(fixture, 1, ASKER);
    expect(await fixture.decide(rules)).toEqual(['1 hold']);
  });
});

/** A rejects with a rule that is armed, and nothing in stock. */
async function armedCourt() {
  const clause = "      - 'delivery.lines.all(line, line.stock_free == 0)'\n";
  const [before, after] = UNLUCKY.split('      - order.country in');
  const text = `${before}${clause}      - order.country in${after}`;
  const rejects = await createRejectFixture(
    text,
    settingsWith({}, { freshness: { stock: '26h' } }),
  );
  const [rule] = rejects.rules().ruleSet.rules;
  const arming = { rule_id: rule?.id ?? '', rule_hash: rule?.hash ?? '', reason: '', actor: 'x' };
  const open = { ended_at: null, ended_by: null, end_reason: null, report_id: 1 };
  await rejects.store.db
    .insertInto('arming')
    .values({ ...arming, ...open, at: 0, expires_at: rejects.clock.now() + 9 * DAY })
    .execute();
  await rejects.stock({ a: 0 });
  return rejects;
}

describe('a reject', () => {
  it('is not even begun before the word', async () => {
    const rejects = await armedCourt();
    await changed(rejects, {});
    await rejects.unlucky(1);
    expect(await rejects.decide()).toEqual(['1 hold']);
    expect(await latest(rejects)).toMatchObject({ reason: expect.stringMatching(WAITS) });
    await acceptChange(rejects, 1, ASKER);
    expect(await rejects.decide()).toEqual(['1 reject']);
  });

  it('whose grace is over waits as well, and is sent after the word', async () => {
    const rejects = await armedCourt();
    await rejects.unlucky(1);
    expect(await rejects.decide()).toEqual(['1 reject']);
    await changed(rejects, {});
    await rejects.clock.advance(DAY);
    await rejects.fresh();
    await rejects.execute();
    expect(await rejects.entry()).toMatchObject({ state: 'waiting', safeguard: 'changes' });
    await acceptChange(rejects, 1, ASKER);
    await rejects.clock.advance(600_000);
    await rejects.fresh();
    await rejects.execute();
    expect(await rejects.intendedPushes()).toEqual(['1 rejected']);
  });
});

const NOT_BLOCKED = `${ACCEPT_COVERED}
  - id: hold-blocked
    title: Blocked
    action: hold
    mode: live
    when:
      - has(customer.blocked) && customer.blocked
`;

const BLOCKED_LIST = `version: 1
lists:
  stopped: { from: erp_customer.account_no, where: blocked, sample: [C-9] }
`;

const NOT_LISTED = `${ACCEPT_COVERED}
  - id: hold-listed
    title: Listed
    action: hold
    mode: live
    when:
      - has(order.account_no) && order.account_no in lists.stopped
`;

describe('a customer that the ERP knew', () => {
  it.each([
    ['a fact', NOT_BLOCKED, undefined],
    ['a list', NOT_LISTED, BLOCKED_LIST],
  ])('and removed is not known to rules that read %s of customers', async (_, text, settings) => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ a: 10 });
    await fixture.customer({ blocked: false });
    await fixture.order(1, { shippingAddress: { accountNo: 'C-1' } });
    await fixture.store.transaction((tx) => removeErpCustomers(tx, ['C-1'], fixture.clock.now()));
    await fixture.delivery({ id: 1 });
    const rules = () => loadedRules(text, settings);
    expect(await fixture.decide({ rules })).toEqual(['1 hold']);
    const reason = expect.stringMatching(/^cannot be read: the customer/);
    expect(await latest(fixture)).toMatchObject({ reason });
    await fixture.customer({ blocked: false });
    await fixture.clock.advance(60_000);
    expect(await fixture.decide({ rules })).toEqual(['1 accept']);
  });

  it('and removed stops no rules that do not read customers, and no other account', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ a: 10 });
    await fixture.customer({ blocked: false });
    await fixture.order(1, { shippingAddress: { accountNo: 'C-1' } });
    await fixture.order(2, { shippingAddress: { accountNo: 'C-2' } });
    await fixture.store.transaction((tx) => removeErpCustomers(tx, ['C-1'], fixture.clock.now()));
    await fixture.delivery({ id: 1 });
    expect(await fixture.decide(COVERED)).toEqual(['1 accept']);
    await fixture.delivery({ id: 2, order: 2 });
    // Other rules are in force, which take the accept back that waits.
    const decided = await fixture.decide({ rules: () => loadedRules(NOT_BLOCKED) });
    expect(decided).toEqual(['2 accept', '1 hold']);
  });

  it('is waited for while the ERP has lost most of its customers at once', async () => {
    const fixture = await createDeciderFixture();
    const { store, clock } = fixture;
    await fixture.stock({ a: 10 });
    await fixture.customer({ blocked: false });
    await fixture.order(1, { shippingAddress: { accountNo: 'C-1' } });
    const loss = { what: '300 of 300 customers', gone: 300, lost: {}, of: {}, since: 0 };
    await store.transaction((tx) => noteCustomerLoss(tx, loss, clock.now()));
    await fixture.delivery({ id: 1 });
    const rules = () => loadedRules(NOT_BLOCKED);
    expect(await fixture.decide({ rules })).toEqual(['1 hold']);
    const reason =
      'safeguard changes: erp_customer has lost 300 of 300 customers at once; if it is \
meant: "selvedge sync release customers"';
    expect(await latest(fixture)).toMatchObject({ reason });
    await store.transaction((tx) =>
      endCustomerLoss(tx, { ...loss, isAccepted: false }, clock.now()),
    );
    await clock.advance(30_000);
    expect(await fixture.decide({ rules })).toEqual(['1 accept']);
  });
});
