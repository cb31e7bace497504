import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { deliveryView } from '../../src/console/read/delivery.ts';
import { readSubject } from '../../src/decisions/facts.ts';
import { SEASON } from '../../src/mirror/catalog/names.ts';
import { writeSeasonVariants } from '../../src/mirror/catalog/out-of-band.ts';
import { barcodeKeyIn, keysAmong } from '../../src/mirror/catalog/spelt.ts';
import { upsertRows } from '../../src/mirror/entity.ts';
import { orderAsSpelt } from '../../src/outbox/preflight/spelling.ts';
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
    await fixture.stock({ 'A-1 ': 3, 'O\u0308': 2, ' B-1\u00a0': 2 });
    await fixture.delivery({ id: 1, lines: [['A-1', 2]] });
    await fixture.delivery({ id: 2, order: 2, lines: [['A-1', 2]] });
    await fixture.delivery({ id: 3, order: 3, lines: [['\u00d6', 2]] });
    await fixture.delivery({ id: 4, order: 4, lines: [['B-1', 2]] });
    const decided = await fixture.decide({ rules });
    expect(decided).toEqual(['1 accept', '2 hold', '3 accept', '4 accept']);
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

  it('counts no piece twice, in whatever spelling the deliveries have it', async () => {
    const fixture = await createDeciderFixture();
    const own = (name: string, n: number) => name.replace('#', `${n}`.padStart(2, '0'));
    const pairs = [
      ['40123456789#', '040123456789#', '40123456789#'],
      ['40123456789#', '40123456789#', '040123456789#'],
      ['040123456789#', '40123456789#', '040123456789#'],
      ['0071234567#', '71234567#', '0071234567#'],
      ['0071234567#', '0071234567# ', '71234567#\t'],
      ['071234567#', '0071234567#', '71234567#'],
      ['071234567#', '71234567# ', '071234567#'],
      ['40123456789#', '40123456789#', '40123456789# '],
      ['A-#', 'A-# ', 'A-#'],
      ['A-#', 'A-#', ' A-#'],
    ].map((names, n) => names.map((name) => own(name, n)));
    await fixture.stock(Object.fromEntries(pairs.map(([listed = '']) => [listed, 3])));
    for (const [n, [, first = '', second = '']] of pairs.entries()) {
      const [id, next] = [2 * n + 1, 2 * n + 2];
      await fixture.delivery({ id, order: id, lines: [[first, 2]] });
      await fixture.delivery({ id: next, order: next, lines: [[second, 2]] });
    }
    const expected = pairs.flatMap((_, n) => [`${2 * n + 1} accept`, `${2 * n + 2} hold`]);
    expect(await fixture.decide({ rules })).toEqual(expected);
  });

  it('waits where nobody would look for its spelling when the other one is asked', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ 'A-1': 3 });
    await fixture.delivery({ id: 1, lines: [['A-1     ', 2]] });
    expect(await fixture.decide({ rules })).toEqual(['1 hold']);
  });

  it('is no article that has other zeros, once the lists had its own barcode', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ '00409': 9, '409': 2, '0077': 9 });
    const { db } = fixture.store;
    await db
      .updateTable('stock_variant_row')
      .set({ deleted_at: 5 })
      .where('barcode', '=', '409')
      .execute();
    const from = { source: 'run:1', readSeq: 1, at: 0 };
    const ahead = { barcode: '77', seasonName: 'SS28' };
    await fixture.store.transaction((tx) => writeSeasonVariants(tx, 'SS28', [ahead], from));
    for (const [index, barcode] of ['409', '77', '00409', '0409'].entries()) {
      const id = index + 1;
      await fixture.delivery({ id, order: id, lines: [[barcode, 2]] });
    }
    const decided = await fixture.decide({ rules });
    expect(decided).toEqual(['1 hold', '2 hold', '3 accept', '4 hold']);
    const lines = [{ barcode: '409', quantity: 5, price: '1' }];
    expect(await orderAsSpelt(db, { lines })).toEqual({ lines });
  });

  it('are two order lines with their own rest, where both are listed', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ '0712345678901': 20, '712345678901': 20 });
    const orderLineItems = [
      { barcode: '0712345678901', quantity: 3, price: 1 },
      { barcode: '712345678901', quantity: 5, price: 9 },
    ];
    await fixture.order(1, { orderLineItems });
    const lines: [string, number][] = [
      ['0712345678901', 2],
      ['712345678901', 1],
    ];
    await fixture.delivery({ id: 1, lines });
    expect((await factsOf(fixture, 1))?.delivery.lines).toMatchObject([
      { ordered: 3, remaining_quantity: 1 },
      { ordered: 5, remaining_quantity: 4 },
    ]);
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

it('barcodes have one key in SQL and elsewhere, whatever spaces are around them', async () => {
  const { store } = await createDeciderFixture();
  const spaces = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code));
  const around = spaces.filter((one) => one.trim() === '' || one === '\u200b');
  const barcodes = ['0', '00', '01', '0012', '12', 'A 1', '00000000000001', '000000000000001'];
  const all = around.flatMap((space) => barcodes.map((one) => `${space}${one}${space}\t`));
  const { rows } = await sql<{ readonly key: string }>`
    select ${barcodeKeyIn('v.value')} key from json_each(${JSON.stringify(all)}) v
    order by v.key`.execute(store.db);
  expect(rows.map(({ key }) => key)).toEqual(all.map(keysAmong()));
});
