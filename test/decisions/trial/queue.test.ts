import { describe, expect, it } from 'vitest';
import { tryQueue } from '../../../src/decisions/trial/queue.ts';
import { rulesOf } from '../../rules/support.ts';
import { ACCEPT_COVERED, ACCEPT_SMALL, createHouse } from '../support.ts';

describe('the queue under other rules', () => {
  it('compares with the latest decision; the older delivery has the last piece', async () => {
    const house = await createHouse();
    await house.stock({ a: 30 });
    for (const id of [1, 2]) await house.delivery({ id, lines: [['a', 25]] });
    expect(await house.decide()).toEqual(['1 hold', '2 hold']);
    await house.delivery({ id: 3, lines: [['a', 1]] });
    const rules = rulesOf(ACCEPT_COVERED);
    const before = await house.decisions();
    const prospects = await tryQueue(house.store, house.clock.now(), { rules });
    expect(prospects.map((one) => `${one.orderDeliveryId} ${one.before} ${one.after}`)).toEqual([
      '1 hold accept',
      '2 hold hold',
      '3 null hold',
    ]);
    expect(prospects[1]).toMatchObject({ rules: ['hold-short'], reason: 'Not in stock' });
    expect(await house.decisions()).toEqual(before);
  });

  it('leaves to people what they put back, and says what cannot be decided', async () => {
    const house = await createHouse();
    for (const status of ['pending', 'accepted', 'pending']) {
      await house.delivery({ id: 1, status });
      await house.clock.advance(1_000);
    }
    await house.delivery({ id: 2, order: 2 });
    await house.order(2, { status: 'mislaid' });
    await house.decide();
    const prospects = await tryQueue(house.store, house.clock.now(), {
      rules: rulesOf(ACCEPT_SMALL),
    });
    expect(prospects).toMatchObject([
      { before: 'hold', after: 'hold', reason: 'a person has decided, it is left to people' },
      { after: null, reason: 'unknown status "mislaid"' },
    ]);
  });
});

describe('the queue under rules that read the credit', () => {
  it('has the older delivery take the credit, and the younger one held', async () => {
    const house = await createHouse();
    await house.customer({ creditLimit: 500_00 });
    for (const id of [1, 2]) {
      await house.order(id, { shippingAddress: { accountNo: 'C-1' } });
      await house.delivery({ id, order: id, lines: [['a', 3]] });
    }
    const rules = rulesOf(`
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
`);
    const prospects = await tryQueue(house.store, house.clock.now(), { rules });
    expect(prospects.map(({ after }) => after)).toEqual(['accept', 'hold']);
  });
});
