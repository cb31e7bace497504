import { describe, expect, it } from 'vitest';
import { type QueueOptions, tryQueue } from '../../../src/decisions/simulation/queue.ts';
import { rulesOf } from '../../rules/support.ts';
import { ACCEPT_COVERED, ACCEPT_SMALL, createHouse, loadedRules } from '../support.ts';

describe('the queue under other rules', () => {
  it('compares with the latest decision; the older delivery has the last piece', async () => {
    const house = await createHouse();
    await house.stock({ a: 30 });
    for (const id of [1, 2]) await house.delivery({ id, lines: [['a', 25]] });
    expect(await house.decide()).toEqual(['1 hold', '2 hold']);
    await house.delivery({ id: 3, lines: [['a', 1]] });
    const rules = rulesOf(ACCEPT_COVERED);
    const before = await house.decisions();
    const prospects = await house.tried({ rules });
    expect(prospects.map((one) => `${one.orderDeliveryId} ${one.before} ${one.after}`)).toEqual([
      '1 hold accept',
      '2 hold hold',
      '3 null hold',
    ]);
    expect(prospects[1]).toMatchObject({ rules: ['hold-short'], reason: 'Not in stock' });
    expect(await house.decisions()).toEqual(before);
  });

  it('leaves to people what they put back, and says what cannot be read', async () => {
    const house = await createHouse();
    for (const status of ['pending', 'accepted', 'pending']) {
      await house.delivery({ id: 1, status });
      await house.clock.advance(1_000);
    }
    await house.delivery({ id: 2, order: 2 });
    await house.order(2, { status: 'mislaid' });
    await house.decide();
    const prospects = await house.tried({
      rules: rulesOf(ACCEPT_SMALL),
    });
    expect(prospects).toMatchObject([
      { before: 'hold', after: 'hold', reason: 'a person has decided, it is left to people' },
      { after: 'hold', reason: 'cannot be read: order.status (mislaid)' },
    ]);
  });
});

describe('what the queue does not tell', () => {
  it('is how many more are pending, and that accepting pauses', async () => {
    const house = await createHouse();
    const settings = 'version: 1\nsafeguards: { accept: { max_per_hour: 1, pause: 90m } }';
    const rules = loadedRules(ACCEPT_SMALL, settings);
    const remarks = async (most: number) =>
      (await tryQueue(house.store, house.clock.now(), { rules: rules.ruleSet, most })).remarks;
    for (const id of [1, 2, 3]) await house.delivery({ id });
    expect(await remarks(3)).toEqual([]);
    expect(await remarks(2)).toEqual(['only the 2 oldest of 3 pending were looked at']);
    expect(await house.decide({ rules: () => rules })).toEqual(['1 accept', '2 hold', '3 hold']);
    const until = new Date(house.clock.now() + 90 * 60_000).toISOString();
    const why = '1 accepts in this hour are the limit';
    expect(await remarks(3)).toEqual([
      `accepting pauses until ${until} (${why}): what the rules accept is held until then`,
    ]);
    await house.clock.advance(90 * 60_000);
    expect(await remarks(3)).toEqual([]);
  });
});

describe('the queue under rules that are not live yet', () => {
  const trial = async (text: string, more: Partial<QueueOptions> = {}) => {
    const house = await createHouse();
    await house.delivery({ id: 1, lines: [['a', 30]] });
    const [one] = await house.tried({ rules: rulesOf(text), ...more });
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
    const [house, rules] = [await createHouse(), loadedRules(text)];
    await house.delivery({ id: 1, lines: [['a', 30]] });
    expect(await house.decide({ rules: () => rules })).toEqual(['1 hold']);
    await house.clock.advance(3 * 3_600_000);
    const [one] = await house.tried({ rules: rules.ruleSet });
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
    const house = await createHouse();
    await house.customer({ creditLimit: 700_0000 });
    for (const id of [1, 2]) {
      const shippingAddress = { accountNo: 'C-1' };
      await house.order(id, { shippingAddress, ...(id === 1 ? more : {}) });
      await house.delivery({ id, order: id, lines: [['a', 3]] });
    }
    return house;
  }

  it('has the older delivery take the credit, and the younger one held', async () => {
    const house = await houseWithTwo();
    await house.customer({ creditLimit: 500_0000 });
    const rules = rulesOf(HOLD_CREDIT);
    const prospects = await house.tried({ rules });
    expect(prospects.map(({ after }) => after)).toEqual(['accept', 'hold']);
  });

  it('adds up what it accepts, and knows no sum behind one that is not known', async () => {
    const house = await houseWithTwo({ currency: 'EUR' });
    const rules = {
      rules: rulesOf(
        HOLD_CREDIT.replace('headroom ]', 'headroom ]\n    unless: [ delivery.id == 1 ]'),
      ),
    };
    const ofC1 = { shippingAddress: { accountNo: 'C-1' } };
    for (const id of [3, 4]) {
      await house.order(id, ofC1);
      await house.delivery({ id, order: id, lines: [['a', 3]] });
    }
    await house.delivery({ id: 5, order: 5, status: 'accepted' });
    const outcomes = async () => {
      const prospects = await house.tried(rules);
      return prospects.map((one) => `${one.orderDeliveryId} ${one.after}`);
    };
    expect(await outcomes()).toEqual(['1 accept', '2 hold', '3 hold', '4 hold']);
    await house.order(1, ofC1);
    await house.store.db
      .updateTable('delivery')
      .set({ deleted_at: 1 })
      .where('order_delivery_id', '=', 2)
      .execute();
    expect(await outcomes()).toEqual(['1 accept', '3 accept', '4 hold']);
  });

  it('counts an accept that is on its way once, and leaves it alone', async () => {
    const house = await createHouse();
    await house.customer({ creditLimit: 700_0000 });
    for (const id of [1, 2]) {
      await house.order(id, { shippingAddress: { accountNo: 'C-1' } });
      await house.delivery({ id, order: id, lines: [['a', 3]] });
      if (id === 1) await house.decide();
    }
    const [first, second] = await house.tried({ rules: rulesOf(HOLD_CREDIT) });
    expect(first).toMatchObject({ before: 'accept', after: 'accept' });
    expect(first?.reason).toContain('is on its way');
    expect(second).toMatchObject({ before: null, after: 'accept' });
  });

  it('does not know what is left after an accept in another currency, as the daemon', async () => {
    const house = await houseWithTwo({ currency: 'EUR' });
    const rules = HOLD_CREDIT.replace(
      'delivery.amount > customer.credit.headroom',
      'order.currency == "DKK" && delivery.amount > customer.credit.headroom',
    );
    const prospects = await house.tried({ rules: rulesOf(rules) });
    const loaded = loadedRules(rules);
    const decided = await house.decide({ rules: () => loaded });
    expect(prospects.map((one) => `${one.orderDeliveryId} ${one.after}`)).toEqual(decided);
    expect(decided).toEqual(['1 accept', '2 hold']);
  });
});
