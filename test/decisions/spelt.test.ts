import { describe, expect, it } from 'vitest';
import { deliveryView } from '../../src/console/read/delivery.ts';
import { readSubject } from '../../src/decisions/facts.ts';
import { SEASON } from '../../src/mirror/catalog/names.ts';
import { upsertRows } from '../../src/mirror/entity.ts';
import { rulesOf } from '../rules/support.ts';
import {
  ACCEPT_COVERED,
  createDeciderFixture,
  type DeciderFixture,
  loadedRules,
} from './support.ts';

const rules = () => loadedRules(ACCEPT_COVERED);

async function factsOf(fixture: DeciderFixture, id: number) {
  const at = { now: fixture.clock.now(), settings: rulesOf(ACCEPT_COVERED).settings };
  return (await fixture.store.transaction((tx) => readSubject(tx, id, at)))?.facts;
}

describe('what the lists spell otherwise than the order', () => {
  it('is the same article, of which so many are free', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ 'A-1 ': 3, 'O\u0308': 2 });
    await fixture.delivery({ id: 1, lines: [['A-1', 2]] });
    await fixture.delivery({ id: 2, order: 2, lines: [['A-1', 2]] });
    await fixture.delivery({ id: 3, order: 3, lines: [['\u00d6', 2]] });
    expect(await fixture.decide({ rules })).toEqual(['1 accept', '2 hold', '3 accept']);
  });

  it('is decided again when the stock of it changes', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ 'A-1 ': 0 });
    await fixture.delivery({ id: 1, lines: [['A-1', 2]] });
    expect(await fixture.decide({ rules })).toEqual(['1 hold']);
    await fixture.stock({ 'A-1 ': 2 });
    expect(await fixture.decide({ rules })).toEqual(['1 accept']);
  });

  it('is the same article without leading zeros, no piece of it counted on twice', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ '0712345678901': 3, '00409': 2 });
    await fixture.delivery({ id: 1, lines: [['712345678901', 2]] });
    await fixture.delivery({ id: 2, order: 2, lines: [['0712345678901', 2]] });
    await fixture.delivery({ id: 3, order: 3, lines: [['712345678901', 1]] });
    await fixture.delivery({ id: 4, order: 4, lines: [['409', 2]] });
    const decided = await fixture.decide({ rules });
    expect(decided).toEqual(['1 accept', '2 hold', '3 hold', '4 accept']);
  });

  it('is the order line of a delivery that has other zeros', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ '0712345678901': 9 });
    const line = { barcode: '0712345678901', quantity: 3, price: 1 };
    await fixture.order(1, { orderLineItems: [line] });
    await fixture.delivery({ id: 1, lines: [['712345678901', 2]] });
    expect((await factsOf(fixture, 1))?.delivery.lines).toMatchObject([
      { ordered: 3, remaining_quantity: 1, stock_free: 9 },
    ]);
    const { grid } = await deliveryView(fixture.store.db, 'id:1', fixture.clock.now());
    expect(grid).toMatchObject([{ barcode: '712345678901', packed: 2, ordered: 3, stock: 9 }]);
  });

  it('are two articles where both are listed, and none where neither form is', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ '0712345678901': 2, '712345678901': 2 });
    await fixture.delivery({ id: 1, lines: [['712345678901', 2]] });
    await fixture.delivery({ id: 2, order: 2, lines: [['0712345678901', 2]] });
    await fixture.delivery({ id: 3, order: 3, lines: [['00712345678901', 1]] });
    expect(await fixture.decide({ rules })).toEqual(['1 accept', '2 accept', '3 hold']);
    const told = 'the barcode 00712345678901 (the stock lists 712345678901 and 0712345678901)';
    expect((await factsOf(fixture, 3))?.delivery.unread).toEqual([told]);
  });

  it('is the same season, with the same deliveries', async () => {
    const fixture = await createDeciderFixture();
    const row = SEASON.toRow({ seasonName: 'SS28 ', deliveryNames: ['Drop 1 ', 'Dépôt'] });
    const from = { source: 'run:1', readSeq: 1, at: 0 };
    await fixture.store.transaction((tx) => upsertRows(tx, SEASON, [row], from));
    const line = {
      barcode: 'a',
      quantity: 2,
      price: 1,
      season: 'SS28',
      delivery: 'De\u0301po\u0302t',
    };
    await fixture.order(1, { SeasonName: 'SS28', orderLineItems: [line] });
    await fixture.delivery({ id: 1 });
    expect(await factsOf(fixture, 1)).toMatchObject({
      season: { name: 'SS28', listed: true, delivery_names: ['Drop 1', 'Dépôt'] },
      delivery: { lines: [{ delivery_name: 'Dépôt' }] },
    });
  });
});

it('counts on nothing that a delivery of unknown pieces may take', async () => {
  const fixture = await createDeciderFixture();
  await fixture.stock({ a: 9 });
  await fixture.delivery({ id: 1, status: 'accepted', lines: [['a', 2]] });
  await fixture.delivery({ id: 2, order: 2, lines: [['a', 1]] });
  await fixture.store.db
    .updateTable('delivery_line')
    .set({ fulfilled_quantity: null })
    .where('order_delivery_id', '=', 1)
    .execute();
  expect((await factsOf(fixture, 2))?.delivery.lines).toMatchObject([{ stock_free: null }]);
});
