/** Facts of the lines of a delivery: prices, windows, and what the product data say. */
import { describe, expect, it } from 'vitest';
import { readSubject } from '../../../src/decisions/facts.ts';
import { PDM } from '../../../src/mirror/catalog/pdm.ts';
import { STOCK_VARIANT, seasonVariants } from '../../../src/mirror/catalog/variant.ts';
import { upsertRows } from '../../../src/mirror/entity.ts';
import { type ListEntity, markDeleted } from '../../../src/mirror/list.ts';
import { completeFacts } from '../../../src/rules/facts/build.ts';
import { typicalFacts } from '../../../src/rules/facts/typical.ts';
import { rulesOf } from '../../rules/support.ts';
import { ACCEPT_SMALL, createDeciderFixture, type DeciderFixture } from '../support.ts';

const { settings } = rulesOf(ACCEPT_SMALL);

async function linesOf(fixture: DeciderFixture, id: number) {
  const at = { now: fixture.clock.now(), settings };
  const subject = await fixture.store.transaction((tx) => readSubject(tx, id, at));
  if (!subject) throw new Error(`no delivery ${id}`);
  return completeFacts(subject.facts).delivery.lines;
}

async function write(
  { store, clock }: DeciderFixture,
  entity: ListEntity,
  records: readonly object[],
) {
  const rows = records.map((record) => entity.toRow(structuredClone(record)));
  const provenance = { source: 'run:1', readSeq: 1, at: clock.now() };
  await store.transaction((tx) => upsertRows(tx, entity, rows, provenance));
}

/** The service no longer lists it. */
async function remove({ store, clock }: DeciderFixture, entity: ListEntity, key: string) {
  const provenance = { source: 'run:9', readSeq: 999, at: clock.now() };
  expect(await store.transaction((tx) => markDeleted(tx, entity, [key], provenance))).toBe(1);
}

describe('the pieces of a line', () => {
  it('are counted by its barcode, and singly where the service tells what is in it', async () => {
    const fixture = await createDeciderFixture();
    const factsOf = async (id: number) => {
      const at = { now: fixture.clock.now(), settings };
      const subject = await fixture.store.transaction((tx) => readSubject(tx, id, at));
      const { delivery, order } = completeFacts(subject?.facts ?? typicalFacts());
      const sum = ({ quantity, size_quantity: singly }: typeof delivery | typeof order) => [
        quantity,
        singly,
      ];
      return [sum(delivery), sum(order)];
    };
    const orderLineItems = [{ barcode: 'a', quantity: 4, sizeQuantity: 24, price: 600 }];
    await fixture.order(1, { orderLineItems });
    const packed = { barcode: 'a', fulfilledQuantity: 2, fulfilledSizeQuantity: 12, price: 600 };
    await fixture.delivery({ id: 1, more: { fulfilledLineItems: [packed, packed] } });
    expect(await factsOf(1)).toEqual([
      [4, 24],
      [4, 24],
    ]);
    const { fulfilledSizeQuantity: _none, ...bare } = packed;
    await fixture.order(1, { orderLineItems: [...orderLineItems, { barcode: 'b', quantity: 1 }] });
    await fixture.delivery({ id: 1, more: { fulfilledLineItems: [packed, bare] } });
    expect(await factsOf(1)).toEqual([
      [4, null],
      [5, null],
    ]);
  });
});

describe('what the product data say of a line', () => {
  const details = { styleNo: 'S-1', wspPrice: 90, currency: 'DKK' };

  it('comes from the style and the color with the code of the variant', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock(
      { a: 1, b: 1 },
      { a: { colorCode: '010', details }, b: { colorCode: '020', details } },
    );
    const styleColors = {
      data: [
        { type: 'styleColor', id: '7' },
        { type: 'styleColor', id: '8' },
      ],
    };
    await write(fixture, PDM.styles, [
      { id: '1', attributes: { styleNo: 'S-1', active: true }, relationships: { styleColors } },
    ]);
    const ofColor = (id: string) => ({ color: { data: { type: 'color', id } } });
    await write(fixture, PDM.styleColors, [
      { id: '7', attributes: { active: false, noosType: 'noos' }, relationships: ofColor('1') },
      { id: '8', attributes: { active: true, noosType: 'none' }, relationships: ofColor('2') },
    ]);
    await write(fixture, PDM.colors, [
      { id: '1', attributes: { code: '010' } },
      { id: '2', attributes: { code: '020' } },
    ]);
    await fixture.delivery({
      id: 1,
      lines: [
        ['a', 1],
        ['b', 1],
        ['c', 1],
      ],
    });
    expect(await linesOf(fixture, 1)).toMatchObject([
      { noos: true, color_active: false, style_active: true },
      { noos: false, color_active: true, style_active: true },
      { noos: null, color_active: null, style_active: null },
    ]);
    await remove(fixture, PDM.colors, '1');
    await remove(fixture, PDM.styleColors, '8');
    // The color is not known any more; the style is known as before.
    const unknown = { noos: null, color_active: null };
    expect((await linesOf(fixture, 1)).slice(0, 2)).toMatchObject([
      { ...unknown, style_active: true },
      { ...unknown, style_active: true },
    ]);
    await remove(fixture, PDM.styles, '1');
    expect((await linesOf(fixture, 1))[0]).toMatchObject({ ...unknown, style_active: null });
  });

  it('is of the style where it has no colors, and of the stock list before the color', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock(
      { a: 1, b: 1 },
      {
        a: { colorCode: '010', details: { ...details, colorActive: true } },
        b: { colorCode: '010', details: { ...details, styleNo: 'S-2' }, seasonName: 'AW26' },
      },
    );
    const styleColors = { data: [{ type: 'styleColor', id: '7' }] };
    await write(fixture, PDM.styles, [
      { id: '1', attributes: { styleNo: 'S-1', active: true }, relationships: { styleColors } },
      { id: '2', attributes: { styleNo: 'S-2', active: true } },
    ]);
    await write(fixture, PDM.styleColors, [
      {
        ...{ id: '7', attributes: { active: false, noosType: 'noos' } },
        relationships: { color: { data: { type: 'color', id: '1' } } },
      },
    ]);
    await write(fixture, PDM.colors, [{ id: '1', attributes: { code: '010' } }]);
    await fixture.delivery({
      id: 1,
      lines: [
        ['a', 1],
        ['b', 1],
      ],
    });
    expect(await linesOf(fixture, 1)).toMatchObject([
      { noos: true, color_active: true, style_active: true, season: null, ordered: 10 },
      { noos: null, color_active: null, style_active: true, season: 'AW26', ordered: null },
    ]);
  });

  it('has the price of the order line of its own window, and none where lines differ', async () => {
    const fixture = await createDeciderFixture();
    const first = { barcode: 'a', quantity: 5, price: 100, season: 'AW26', delivery: 'Drop 1' };
    const second = { ...first, price: 50, delivery: 'Drop 2' };
    await fixture.order(1, { orderLineItems: [first, second] });
    const packed = { barcode: 'a', fulfilledQuantity: 1, price: 100 };
    const lineOf = async (id: number, more: object) => {
      const fulfilledLineItems = [{ ...packed, ...more }];
      await fixture.delivery({ id, more: { fulfilledLineItems } });
      return (await linesOf(fixture, id))[0];
    };
    const names = { season: 'AW26', delivery: 'Drop 2' };
    expect(await lineOf(1, names)).toMatchObject({
      order_price: 50_0000,
      price_diff_pct: '100.0000',
    });
    const differs = { order_price: null, price_diff_pct: null, delivery_name: null, ordered: 10 };
    expect(await lineOf(2, {})).toMatchObject(differs);
    await fixture.order(1, { orderLineItems: [first, { ...second, price: 100 }] });
    expect(await lineOf(3, {})).toMatchObject({ order_price: 100_0000, delivery_name: null });
    // A window that the order does not name tells nothing; neither does an order without windows.
    const other = { season: 'AW26', delivery: 'Drop 9' };
    expect(await lineOf(4, other)).toMatchObject({
      order_price: 100_0000,
      delivery_name: 'Drop 9',
    });
    const { delivery: _delivery, ...bare } = { ...first, price: 70 };
    await fixture.order(1, { orderLineItems: [bare, { ...second, delivery: 'Drop 9' }] });
    expect(await lineOf(5, { ...other, delivery: 'Drop 1' })).toMatchObject({
      order_price: 70_0000,
    });
    // The same window of another season is another one.
    const spring = { ...second, season: 'SS27' };
    await fixture.order(1, { orderLineItems: [second, { ...spring, price: 60 }] });
    expect(await lineOf(6, { ...names, season: 'SS27' })).toMatchObject({ order_price: 60_0000 });
    await fixture.order(1, { orderLineItems: [second] });
    expect(await lineOf(7, {})).toMatchObject({ delivery_name: 'Drop 2', order_price: 50_0000 });
  });

  it('has the listed price: of the stock, or of the season for a pre-order', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ a: 1 }, { a: { details } });
    await write(fixture, seasonVariants('AW26'), [
      { barcode: 'a', quantity: 9, wspPrice: 80, details },
    ]);
    await fixture.delivery({ id: 1, order: 1 });
    await fixture.order(2, { SeasonName: 'AW26' });
    await fixture.delivery({ id: 2, order: 2 });
    await fixture.order(3, { currency: 'EUR' });
    await fixture.delivery({ id: 3, order: 3 });
    const lineOf = async (id: number) => (await linesOf(fixture, id))[0];
    const first = { list_price: 90_0000, list_price_diff_pct: '11.1112' };
    expect(await lineOf(1)).toMatchObject(first);
    expect(await lineOf(2)).toMatchObject({ list_price: 80_0000, list_price_diff_pct: '25.0000' });
    // Ordered ahead only: what is known of it comes from the season.
    await write(fixture, seasonVariants('AW26'), [{ barcode: 'z', quantity: 9, details }]);
    await fixture.delivery({ id: 9, order: 2, lines: [['z', 1]] });
    expect(await lineOf(9)).toMatchObject({ style_no: 'S-1', stock_free: null });
    expect(await lineOf(3)).toMatchObject({ list_price: null, list_price_diff_pct: null });
  });

  it('has the own price of the key, where it is in the currency of the order', async () => {
    const fixture = await createDeciderFixture();
    const pricing = {
      ...{ currency: 'DKK', wspPriceOriginal: 90, discountPercentage: 12.5 },
      wspPriceWithDiscount: 78.755,
    };
    const ahead = { ...pricing, discountPercentage: 33.3333, wspPriceWithDiscount: 50 };
    const inEuro = { ...pricing, currency: 'EUR' };
    await fixture.stock(
      { a: 1, b: 1, c: 1 },
      { a: { details, pricing }, b: { details }, c: { details, pricing: inEuro } },
    );
    await write(fixture, seasonVariants('AW26'), [
      { barcode: 'a', quantity: 9, wspPrice: 80, details, pricing: ahead },
    ]);
    const lines = ['a', 'b', 'c'].map((barcode) => [barcode, 1] as const);
    await fixture.delivery({ id: 1, order: 1, lines });
    const [own, none, other] = await linesOf(fixture, 1);
    expect(own).toMatchObject({ list_price: 90_0000, net_price: 78_7550, discount: '12.5' });
    expect([none?.net_price, none?.discount]).toEqual([null, null]);
    // A share of a price is the same in every currency.
    expect([other?.net_price, other?.discount]).toEqual([null, '12.5']);
    await fixture.order(2, { SeasonName: 'AW26' });
    await fixture.delivery({ id: 2, order: 2 });
    const [preorder] = await linesOf(fixture, 2);
    expect(preorder).toMatchObject({
      list_price: 80_0000,
      net_price: 50_0000,
      discount: '33.3333',
    });
  });

  it('has no price of another season, of what is listed no more, or of no currency', async () => {
    const fixture = await createDeciderFixture();
    const listing = { barcode: 'a', quantity: 9, details: { ...details, wspPrice: 80 } };
    for (const season of ['AW26', 'SS27']) await write(fixture, seasonVariants(season), [listing]);
    await fixture.stock({ a: 1, b: 1 }, { a: { details }, b: { details: { wspPrice: 90 } } });
    await fixture.order(1, { SeasonName: 'AW26' });
    await fixture.delivery({ id: 1, order: 1 });
    await fixture.order(2);
    await fixture.delivery({ id: 2, order: 2 });
    const other = { ...listing, details: { ...details, wspPrice: 70 } };
    await write(fixture, seasonVariants('SS27'), [other]);
    const priceOf = async (id: number) => (await linesOf(fixture, id))[0]?.list_price;
    expect([await priceOf(1), await priceOf(2)]).toEqual([80_0000, 90_0000]);
    await remove(fixture, seasonVariants('AW26'), 'AW26/a');
    await remove(fixture, STOCK_VARIANT, 'a');
    expect([await priceOf(1), await priceOf(2)]).toEqual([null, null]);
    expect((await linesOf(fixture, 2))[0]).toMatchObject({ stock_free: null, style_no: null });
    await fixture.order(3, { currency: null });
    await fixture.delivery({ id: 3, order: 3, lines: [['b', 1]] });
    expect(await priceOf(3)).toBeNull();
  });
});
