import { expect, it } from 'vitest';
import { createReview } from '../../../src/decisions/review/review.ts';
import { nearestMisses } from '../../../src/decisions/simulation/near-misses.ts';
import { createDeciderFixture, loadedRules } from '../support.ts';

const RULES = `
rules:
  - id: accept-small
    title: Small deliveries
    action: accept
    when:
      - delivery.quantity <= 20
      - order.currency == "DKK"
    unless:
      - order.comment == "wait"
`;

it('names the one condition in the way of an accept rule, with the value it had', async () => {
  const fixture = await createDeciderFixture();
  const rules = loadedRules(RULES);
  await fixture.order(1, { comment: '' });
  await fixture.order(2, { comment: 'wait' });
  await fixture.order(3, { comment: '', currency: 'SEK' });
  const no = (deliveryNo: string) => ({ more: { deliveryNo } });
  await fixture.delivery({ id: 1, order: 1, lines: [['a', 30]], ...no('D-1') });
  await fixture.delivery({ id: 2, order: 2, lines: [['a', 3]], ...no('D-2') });
  // Two conditions in the way, and none: no near misses.
  await fixture.delivery({ id: 3, order: 3, lines: [['a', 40]], ...no('D-3') });
  await fixture.delivery({ id: 4, order: 1, lines: [['a', 4]], ...no('D-4') });
  await fixture.delivery({ id: 5, order: 1, lines: [['a', 31]], ...no('D-5') });
  await fixture.decide({ rules: () => rules });
  const { db } = fixture.store;
  expect(await nearestMisses(db, 0)).toEqual([
    {
      ...{ rule: 'accept-small', line: 7, clause: 'delivery.quantity <= 20' },
      deliveries: [
        { orderDeliveryId: 1, deliveryNo: 'D-1', values: 'delivery.quantity = 30' },
        { orderDeliveryId: 5, deliveryNo: 'D-5', values: 'delivery.quantity = 31' },
      ],
    },
    {
      ...{ rule: 'accept-small', line: 10, clause: 'unless order.comment == "wait"' },
      deliveries: [{ orderDeliveryId: 2, deliveryNo: 'D-2', values: 'order.comment = wait' }],
    },
  ]);
  await expect(nearestMisses(db, 0, 'another-rule')).rejects.toThrow('no accept rule another-rule');
  expect(await nearestMisses(db, fixture.clock.now() + 1)).toEqual([]);
});

it('leaves out what a person or a rule that watches accepted, and what is gone', async () => {
  const fixture = await createDeciderFixture();
  const rules = loadedRules(`${RULES}
  - { id: accept-huge, title: Huge, action: accept, when: [ delivery.quantity > 99 ] }
`);
  await fixture.order(1, { comment: '' });
  const pieces = [30, 40, 100, 50] as const;
  for (const [at, count] of pieces.entries()) {
    await fixture.delivery({ id: at + 1, lines: [['a', count]] });
  }
  await fixture.decide({ rules: () => rules });
  const nothing = () => undefined;
  const { store, clock } = fixture;
  const parts = { store, clock, rules: () => rules, onPush: nothing, onReviewed: nothing };
  const who = { actor: 'ada', reason: 'agreed' };
  await createReview(parts).act({ ...who, action: 'accept', delivery: '1' });
  const gone = store.db.updateTable('delivery').set({ deleted_at: 1 });
  await gone.where('order_delivery_id', '=', 2).execute();
  const missed = await nearestMisses(store.db, 0, 'accept-small');
  expect(missed.flatMap((one) => one.deliveries.map((d) => d.orderDeliveryId))).toEqual([4]);
});

it('is silent where a second condition could not be evaluated', async () => {
  const fixture = await createDeciderFixture();
  const blocked = 'unless:\n      - customer.blocked';
  const rules = loadedRules(RULES.replace('unless:', blocked));
  await fixture.order(1, { comment: '' });
  await fixture.delivery({ id: 1, lines: [['a', 30]] });
  await fixture.delivery({ id: 2, lines: [['a', 3]] });
  await fixture.decide({ rules: () => rules });
  expect(await nearestMisses(fixture.store.db, 0)).toEqual([]);
});
