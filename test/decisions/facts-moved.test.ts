/** A delivery is decided again when a fact that a rule reads has moved, whatever moved it. */
import { describe, expect, it } from 'vitest';
import { PDM } from '../../src/mirror/catalog/pdm.ts';
import { STOCK_VARIANT, seasonVariants } from '../../src/mirror/catalog/variant.ts';
import { upsertRows } from '../../src/mirror/entity.ts';
import type { ListEntity } from '../../src/mirror/list.ts';
import { createDeciderFixture, type DeciderFixture, loadedRules } from './support.ts';

/** A rule that accepts where the condition holds. */
function acceptsIf(condition: string, more = '') {
  const rules = loadedRules(`
rules:
  - id: accept-if
    title: As the condition says
    action: accept
    mode: live
    when: [ 'order.currency == "DKK"', '${condition}' ]
${more}
`);
  return { rules: () => rules };
}

async function write(
  { store, clock }: DeciderFixture,
  entity: ListEntity,
  record: object,
): Promise<void> {
  const row = entity.toRow(structuredClone({ ...record }));
  const provenance = { source: 'run:1', readSeq: clock.now(), at: clock.now() };
  await store.transaction((tx) => upsertRows(tx, entity, [row], provenance));
}

const style = (id: number, active: boolean, color: number) => ({
  ...{ id: String(id), attributes: { styleNo: `S-${id}`, active } },
  relationships: { styleColors: { data: [{ type: 'styleColor', id: String(color) }] } },
});
const styleColor = (id: number, active: boolean, noosType: string) => ({
  ...{ id: String(id), attributes: { active, noosType } },
  relationships: { color: { data: { type: 'color', id: '1' } } },
});
const color = (code: string) => ({ id: '1', attributes: { code } });
const variant = (details: object, more: object = {}) => ({
  ...{ barcode: 'a', quantity: 1, colorCode: '010', ...more },
  details: { styleNo: 'S-1', wspPrice: 90, currency: 'DKK', brandName: 'A', ...details },
});

/** A delivery of style S-1, of which nothing is as the conditions want it; all of S-2 is. */
async function packed(listed: ListEntity): Promise<DeciderFixture> {
  const fixture = await createDeciderFixture();
  await fixture.complete('stock', 'season', 'styles');
  await write(fixture, PDM.styles, style(1, false, 7));
  await write(fixture, PDM.styles, style(2, true, 8));
  await write(fixture, PDM.styleColors, styleColor(7, false, 'none'));
  await write(fixture, PDM.styleColors, styleColor(8, true, 'noos'));
  await write(fixture, PDM.colors, color('010'));
  await write(fixture, listed, variant({}));
  await fixture.order(1, listed === STOCK_VARIANT ? {} : { SeasonName: 'AW26' });
  await fixture.delivery({ id: 1, lines: [['a', 2]] });
  return fixture;
}

const ahead = seasonVariants('AW26');
const OF_VARIANT = [
  ['list_price >= 100', variant({ wspPrice: 100 })],
  ['list_price_diff_pct <= 2', variant({ wspPrice: 100 })],
  ['net_price >= 80', variant({}, { pricing: { currency: 'DKK', wspPriceWithDiscount: 80 } })],
  ['discount <= 12.5', variant({}, { pricing: { discountPercentage: 12.5 } })],
  ['style_no == "S-2"', variant({ styleNo: 'S-2' })],
  ['brand == "B"', variant({ brandName: 'B' })],
  ['style_active', variant({ styleNo: 'S-2' })],
  ['noos', variant({ styleNo: 'S-2' })],
  ['color_active', variant({ styleNo: 'S-2' })],
] as const;

const CASES: readonly (readonly [string, ListEntity, ListEntity, object])[] = [
  ['stock_free >= 2', STOCK_VARIANT, STOCK_VARIANT, variant({}, { quantity: 9 })],
  ['missing == 0', STOCK_VARIANT, STOCK_VARIANT, variant({}, { quantity: 9 })],
  ['season == "SS27"', STOCK_VARIANT, STOCK_VARIANT, variant({}, { seasonName: 'SS27' })],
  ...OF_VARIANT.map(([fact, row]) => [fact, STOCK_VARIANT, STOCK_VARIANT, row] as const),
  ...OF_VARIANT.map(([fact, row]) => [fact, ahead, ahead, row] as const),
  ['style_active', STOCK_VARIANT, PDM.styles, style(1, true, 7)],
  ['noos', STOCK_VARIANT, PDM.styles, style(1, false, 8)],
  ['color_active', STOCK_VARIANT, PDM.styles, style(1, false, 8)],
  ['noos', STOCK_VARIANT, PDM.styleColors, styleColor(7, false, 'noos')],
  ['color_active', STOCK_VARIANT, PDM.styleColors, styleColor(7, true, 'none')],
];

describe('a delivery is decided again at once', () => {
  const named = CASES.map(([fact, ...rest]) => [fact, rest[1].entity, ...rest] as const);
  it.each(named)('by line.%s when its %s changes', async (fact, _name, listed, entity, row) => {
    const fixture = await packed(listed);
    const set = acceptsIf(`delivery.lines.all(line, line.${fact})`);
    expect(await fixture.decide(set)).toEqual(['1 no_rule']);
    await fixture.clock.advance(1_000);
    await write(fixture, entity, row);
    expect(await fixture.decide(set)).toEqual(['1 accept']);
  });

  it.each(['noos', 'color_active'])('by line.%s when the color has another code', async (fact) => {
    const fixture = await packed(STOCK_VARIANT);
    await fixture.clock.advance(1_000);
    await write(fixture, PDM.colors, color('020'));
    await write(fixture, STOCK_VARIANT, variant({ styleNo: 'S-2' }));
    const set = acceptsIf(`delivery.lines.all(line, line.${fact})`);
    expect(await fixture.decide(set)).toEqual(['1 no_rule']);
    await fixture.clock.advance(1_000);
    await write(fixture, PDM.colors, color('010'));
    expect(await fixture.decide(set)).toEqual(['1 accept']);
  });

  it.each([
    ['order.other_pending == 0', 'canceled'],
    ['order.accepted_before == 1', 'accepted'],
    ['order.rejected_before == 1', 'rejected'],
  ])('by %s when another delivery of the order is %s', async (fact, status) => {
    const fixture = await createDeciderFixture();
    const set = acceptsIf(`${fact} && delivery.id == 1`);
    for (const id of [1, 2]) await fixture.delivery({ id, lines: [[`sku-${id}`, 1]] });
    expect(await fixture.decide(set)).toEqual(['1 no_rule', '2 no_rule']);
    await fixture.clock.advance(1_000);
    await fixture.delivery({ id: 2, status, lines: [['sku-2', 1]] });
    expect(await fixture.decide(set)).toEqual(['1 accept']);
  });

  it('by the stock that no longer holds what was shipped', async () => {
    const fixture = await createDeciderFixture();
    const set = acceptsIf('delivery.lines.all(line, line.missing == 0)');
    const tracked = { trackAndTrace: { trackingNumbers: ['T-1'], trackingLinks: [] } };
    await fixture.stock({ a: 5 });
    await fixture.clock.advance(1_000);
    await fixture.delivery({ id: 1, status: 'accepted', lines: [['a', 4]], more: tracked });
    await fixture.delivery({ id: 2, lines: [['a', 5]] });
    expect(await fixture.decide(set)).toEqual(['2 no_rule']);
    await fixture.clock.advance(1_000);
    // Shipped pieces are counted already: the row is as it was.
    await fixture.stock({ a: 5 });
    expect(await fixture.decide(set)).toEqual(['2 accept']);
  });

  it('by what others have reserved of the credit of its customer', async () => {
    const fixture = await createDeciderFixture();
    await fixture.customer();
    for (const id of [1, 2]) {
      await fixture.order(id, { shippingAddress: { accountNo: 'C-1' } });
      await fixture.delivery({ id, order: id, lines: [[`sku-${id}`, 1]] });
    }
    const set = acceptsIf('customer.credit.reserved > 0 && customer.credit.currency == "DKK"');
    expect(await fixture.decide(set)).toEqual(['1 no_rule', '2 no_rule']);
    await fixture.clock.advance(1_000);
    await fixture.delivery({ id: 1, order: 1, status: 'accepted', lines: [['sku-1', 1]] });
    expect(await fixture.decide(set)).toEqual(['2 accept']);
  });
});

it('a delivery is not decided again where only the time of the figures is another', async () => {
  const fixture = await createDeciderFixture();
  await fixture.customer();
  await fixture.order(1, { shippingAddress: { accountNo: 'C-1' } });
  await fixture.delivery({ id: 1 });
  const set = acceptsIf('delivery.amount > customer.credit.headroom');
  expect(await fixture.decide(set)).toEqual(['1 no_rule']);
  await fixture.clock.advance(60_000);
  await fixture.customer();
  expect(await fixture.decide(set)).toEqual([]);
});

describe('a delivery is decided again as time goes by', () => {
  const START = Date.parse('2026-01-07T12:00:00Z');
  const at = (iso: string): number => Date.parse(iso);
  const timed = (name: string, time: string): string => `    ${name}: ${time}\n`;

  it.each([
    ['delivery.age > hours(1)', '', '2026-01-07T13:00:00.001Z'],
    ['order.age > hours(1)', '', '2026-01-07T13:00:00.001Z'],
    ['clock.now > timestamp("2026-01-07T13:00:00Z")', '', '2026-01-07T13:00:00.001Z'],
    ['customer.credit.age > hours(1)', '', '2026-01-07T13:00:00.001Z'],
    ['!clock.business_hours', '', '2026-01-07T16:30:00Z'],
    ['clock.weekday == "thursday"', '', '2026-01-08T00:00:00Z'],
    ['delivery.id > 0', timed('effective_from', '2026-01-07T14:00:00Z'), '2026-01-07T14:00:00Z'],
  ])('%s', async (condition, more, due) => {
    const fixture = await createDeciderFixture();
    fixture.clock.step(START - fixture.clock.now());
    await fixture.customer();
    const createdAt = new Date(START).toISOString();
    await fixture.order(1, { createdAt, shippingAddress: { accountNo: 'C-1' } });
    await fixture.delivery({ id: 1 });
    const set = { ...acceptsIf(condition, more), reconsiderMs: 1_000 };
    expect(await fixture.decide(set)).toEqual(['1 no_rule']);
    await fixture.clock.advance(at(due) - START - 1);
    expect(await fixture.decide(set)).toEqual([]);
    await fixture.clock.advance(1_001);
    expect(await fixture.decide(set)).toEqual(['1 accept']);
  });

  it('and a rule whose time is over holds no longer', async () => {
    const fixture = await createDeciderFixture();
    fixture.clock.step(START - fixture.clock.now());
    await fixture.delivery({ id: 1 });
    const hold = `
  - id: hold-until
    title: Until the sale begins
    action: hold
    mode: live
    effective_until: 2026-01-07T14:00:00Z
    when: [ delivery.quantity > 0 ]`;
    const set = acceptsIf('delivery.quantity > 0', hold);
    expect(await fixture.decide(set)).toEqual(['1 hold']);
    await fixture.clock.advance(2 * 3_600_000 - 1);
    expect(await fixture.decide(set)).toEqual([]);
    await fixture.clock.advance(1);
    expect(await fixture.decide(set)).toEqual(['1 accept']);
  });
});
