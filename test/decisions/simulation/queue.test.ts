import { describe, expect, it } from 'vitest';
import { explainNow } from '../../../src/decisions/simulation/explain-now.ts';
import { type QueueOptions, tryQueue } from '../../../src/decisions/simulation/queue.ts';
import { rulesOf } from '../../rules/support.ts';
import {
  ACCEPT_COVERED,
  ACCEPT_SMALL,
  createDeciderFixture,
  FRESHNESS,
  loadedRules,
} from '../support.ts';

describe('the queue under other rules', () => {
  it('compares with the latest decision; the older delivery has the last piece', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ a: 30 });
    for (const id of [1, 2]) await fixture.delivery({ id, lines: [['a', 25]] });
    expect(await fixture.decide()).toEqual(['1 hold', '2 hold']);
    await fixture.delivery({ id: 3, lines: [['a', 1]] });
    const rules = rulesOf(ACCEPT_COVERED);
    const before = await fixture.decisions();
    const prospects = await fixture.tried({ rules });
    expect(prospects.map((one) => `${one.orderDeliveryId} ${one.before} ${one.after}`)).toEqual([
      '1 hold accept',
      '2 hold hold',
      '3 null hold',
    ]);
    expect(prospects[1]).toMatchObject({
      rules: ['hold-short'],
      reason: 'Not in stock (1 of 1 line: a)',
    });
    expect(await fixture.decisions()).toEqual(before);
  });

  it('leaves to people what they put back, and says what cannot be read', async () => {
    const fixture = await createDeciderFixture();
    for (const status of ['pending', 'accepted', 'pending']) {
      await fixture.delivery({ id: 1, status });
      await fixture.clock.advance(1_000);
    }
    await fixture.delivery({ id: 2, order: 2 });
    await fixture.order(2, { status: 'mislaid' });
    await fixture.decide();
    const prospects = await fixture.tried({
      rules: rulesOf(ACCEPT_SMALL),
    });
    expect(prospects).toMatchObject([
      { before: 'hold', after: 'hold', reason: 'a person has decided, it is left to people' },
      { after: 'hold', reason: 'cannot be read: order.status (mislaid)' },
    ]);
  });
});

it('the queue says of each delivery what the daemon then decides', async () => {
  const fixture = await createDeciderFixture();
  const text = `
rules:
  - { id: few, title: Few, action: accept, mode: live, when: [delivery.quantity < 5] }
  - id: free
    title: Free
    action: accept
    mode: live
    when: ['delivery.quantity >= 5', 'delivery.lines.all(line, line.stock_free >= line.quantity)']
`;
  const settings = 'version: 1\nsafeguards: { accept: { max_per_day: 2 } }';
  const rules = loadedRules(text, settings);
  const freshness = { ...FRESHNESS, stock: 3_600_000 };
  await fixture.stock({ a: 100 });
  await fixture.clock.advance(7_200_000);
  for (const id of [1, 2, 3, 4]) await fixture.delivery({ id });
  await fixture.delivery({ id: 5, lines: [['a', 6]] });
  const stop = { order_delivery_id: 2, at: 0, actor: 'ada', action: 'delivery.hold' };
  await fixture.store.db.insertInto('restored_stop').values(stop).execute();
  const tried = await fixture.tried({ rules: rules.ruleSet, freshness });
  const told: string[] = [];
  await fixture.decide({
    rules: () => rules,
    freshness,
    onDecided: ({ orderDeliveryId, outcome: { kind, reason } }) =>
      told.push(`${orderDeliveryId} ${kind}: ${reason}`),
  });
  expect(told.toSorted()).toEqual([
    '1 accept: Few',
    '2 hold: safeguard restored: ada held it after the backup that was restored',
    '3 accept: Few',
    '4 hold: safeguard cap: accepts would exceed 2 a day',
    '5 hold: safeguard freshness: waits for fresh stock; see: selvedge sync show stock',
  ]);
  const said = tried.map((one) => `${one.orderDeliveryId} ${one.after}: ${one.reason}`);
  expect(said).toEqual(told.toSorted());
  const asked = { ruleSet: rules.ruleSet, most: 'live', freshness } as const;
  const now = fixture.clock.now();
  for (const held of [told[1], told[4]].map(String)) {
    const explained = await explainNow(fixture.store, `id:${held[0]}`, asked, now);
    expect(`${held[0]} hold: ${explained.inWay}`).toBe(held);
  }
});

describe('what the queue does not tell', () => {
  it('is how many more are pending, and that accepting pauses', async () => {
    const fixture = await createDeciderFixture();
    const settings = 'version: 1\nsafeguards: { accept: { max_per_hour: 1, pause: 90m } }';
    const rules = loadedRules(ACCEPT_SMALL, settings);
    const set = { rules: rules.ruleSet, freshness: {} };
    const remarks = async (most: number) =>
      (await tryQueue(fixture.store, fixture.clock.now(), { ...set, most })).remarks;
    for (const id of [1, 2, 3]) await fixture.delivery({ id });
    expect(await remarks(3)).toEqual([]);
    expect(await remarks(2)).toEqual(['only the 2 oldest of 3 pending were looked at']);
    expect(await fixture.decide({ rules: () => rules })).toEqual(['1 accept', '2 hold', '3 hold']);
    const until = new Date(fixture.clock.now() + 90 * 60_000).toISOString();
    const why = '1 accepts in this hour are the limit';
    expect(await remarks(3)).toEqual([
      `accepting pauses until ${until} (${why}): what the rules accept is held until then`,
    ]);
    await fixture.clock.advance(90 * 60_000);
    expect(await remarks(3)).toEqual([]);
  });
});

describe('the queue under rules that are not live yet', () => {
  const trial = async (text: string, more: Partial<QueueOptions> = {}) => {
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1, lines: [['a', 30]] });
    const [one] = await fixture.tried({ rules: rulesOf(text), ...more });
    return one?.after;
  };

  it('takes rejects as armed, and what only watches as live when asked to', async () => {
    const rejecting = ACCEPT_SMALL.replace('action: hold', 'action: reject');
    expect(await trial(rejecting)).toBe('reject');
    const watching = ACCEPT_SMALL.replaceAll('mode: live', 'mode: shadow');
    expect(await trial(watching)).toBe('no_rule');
    expect(await trial(watching, { shadowAsLive: true })).toBe('hold');
  });

  it('knows of the holds that have lasted their time, and then say accept', async () => {
    const text = ACCEPT_SMALL.replace(
      'message:',
      'hold: { at_most: 3h, then: accept }\n    message:',
    );
    const [fixture, rules] = [await createDeciderFixture(), loadedRules(text)];
    await fixture.delivery({ id: 1, lines: [['a', 30]] });
    expect(await fixture.decide({ rules: () => rules })).toEqual(['1 hold']);
    await fixture.clock.advance(3 * 3_600_000);
    const [one] = await fixture.tried({ rules: rules.ruleSet });
    expect(one).toMatchObject({ before: 'hold', after: 'accept' });
  });
});

const HOLD_CREDIT = `
rules:
  - id: accept-all
    title: Everything
    action: accept
    mode: live
    when: [ delivery.quantity > 0 ]
  - id: hold-credit
    title: Does not fit the credit
    action: hold
    mode: live
    when: [ delivery.amount > customer.credit.headroom ]
`;

describe('the queue under rules that read the credit', () => {
  /** Deliveries of one customer; more members of the first one's order. */
  async function houseWithTwo(more = {}) {
    const fixture = await createDeciderFixture();
    await fixture.customer({ creditLimit: 700_0000 });
    for (const id of [1, 2]) {
      const shippingAddress = { accountNo: 'C-1' };
      await fixture.order(id, { shippingAddress, ...(id === 1 ? more : {}) });
      await fixture.delivery({ id, order: id, lines: [['a', 3]] });
    }
    return fixture;
  }

  it('has the older delivery take the credit, and the younger one held', async () => {
    const fixture = await houseWithTwo();
    await fixture.customer({ creditLimit: 500_0000 });
    const rules = rulesOf(HOLD_CREDIT);
    const prospects = await fixture.tried({ rules });
    expect(prospects.map(({ after }) => after)).toEqual(['accept', 'hold']);
  });

  it('adds up what it accepts, and knows no sum behind one that is not known', async () => {
    const fixture = await houseWithTwo({ currency: 'EUR' });
    const rules = {
      rules: rulesOf(
        HOLD_CREDIT.replace('headroom ]', 'headroom ]\n    unless: [ delivery.id == 1 ]'),
      ),
    };
    const ofC1 = { shippingAddress: { accountNo: 'C-1' } };
    for (const id of [3, 4]) {
      await fixture.order(id, ofC1);
      await fixture.delivery({ id, order: id, lines: [['a', 3]] });
    }
    await fixture.delivery({ id: 5, order: 5, status: 'accepted' });
    const outcomes = async () => {
      const prospects = await fixture.tried(rules);
      return prospects.map((one) => `${one.orderDeliveryId} ${one.after}`);
    };
    expect(await outcomes()).toEqual(['1 accept', '2 hold', '3 hold', '4 hold']);
    await fixture.order(1, ofC1);
    await fixture.store.db
      .updateTable('delivery')
      .set({ deleted_at: 1 })
      .where('order_delivery_id', '=', 2)
      .execute();
    expect(await outcomes()).toEqual(['1 accept', '3 accept', '4 hold']);
  });

  it('counts an accept that is on its way once, and leaves it alone', async () => {
    const fixture = await createDeciderFixture();
    await fixture.customer({ creditLimit: 700_0000 });
    for (const id of [1, 2]) {
      await fixture.order(id, { shippingAddress: { accountNo: 'C-1' } });
      await fixture.delivery({ id, order: id, lines: [['a', 3]] });
      if (id === 1) await fixture.decide();
    }
    const [first, second] = await fixture.tried({ rules: rulesOf(HOLD_CREDIT) });
    expect(first).toMatchObject({ before: 'accept', after: 'accept' });
    expect(first?.reason).toContain('is on its way');
    expect(second).toMatchObject({ before: null, after: 'accept' });
  });

  it('does not know what is left after an accept in another currency, as the daemon', async () => {
    const fixture = await houseWithTwo({ currency: 'EUR' });
    const rules = HOLD_CREDIT.replace(
      'delivery.amount > customer.credit.headroom',
      'order.currency == "DKK" && delivery.amount > customer.credit.headroom',
    );
    const prospects = await fixture.tried({ rules: rulesOf(rules) });
    const loaded = loadedRules(rules);
    const decided = await fixture.decide({ rules: () => loaded });
    expect(prospects.map((one) => `${one.orderDeliveryId} ${one.after}`)).toEqual(decided);
    expect(decided).toEqual(['1 accept', '2 hold']);
  });
});

describe('the queue under rules with a budget of a day', () => {
  it('counts each accept of the simulation, and ends where the daemon would', async () => {
    const fixture = await createDeciderFixture();
    for (const [id, accountNo] of [
      [1, 'C-1'],
      [2, 'C-2'],
      [3, 'C-1'],
      [4, 'C-3'],
    ] as const) {
      await fixture.order(id, { shippingAddress: { accountNo } });
      await fixture.delivery({ id, order: id });
    }
    for (const limit of [
      'today.accepted < 2',
      'order.currency == "DKK" && today.amount + delivery.amount <= 400',
      'customer.accepted_today < 1',
      'order.currency == "DKK" && customer.amount_today + delivery.amount <= 200',
      'today.amount_base < 40',
    ]) {
      const rule = `{ id: a, title: A, action: accept, mode: live, when: [ '${limit}' ] }`;
      const text = `rules:\n  - ${rule}\n`;
      const rules = loadedRules(text, 'version: 1\nbase_currency: EUR\nrates: { DKK: 0.1 }\n');
      const tried = await fixture.tried({ rules: rules.ruleSet });
      const told = tried.map((one) => `${one.orderDeliveryId} ${one.after}`);
      const isOfAccount = limit.includes('customer');
      const last = isOfAccount ? ['3 no_rule', '4 accept'] : ['3 no_rule', '4 no_rule'];
      expect([limit, ...told]).toEqual([limit, '1 accept', '2 accept', ...last]);
    }
  });
});
