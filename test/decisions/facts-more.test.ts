import { describe, expect, it } from 'vitest';
import { reservedPieces } from '../../src/decisions/facts/reserved.ts';
import { readSubject } from '../../src/decisions/facts.ts';
import { PDM } from '../../src/mirror/catalog/pdm.ts';
import { seasonVariants } from '../../src/mirror/catalog/variant.ts';
import { writeRows } from '../../src/mirror/entity.ts';
import type { EntityDefinition } from '../../src/mirror/prepared.ts';
import { quarantineRows } from '../../src/mirror/quarantine.ts';
import { enqueueDeliveryStatus } from '../../src/outbox/enqueue.ts';
import { completeFacts } from '../../src/rules/facts/derive.ts';
import { rulesOf } from '../rules/support.ts';
import { notePlans } from '../support/plans.ts';
import { ACCEPT_SMALL, createHouse, type House } from './support.ts';

const SETTINGS = `version: 1
customer_fields: { price_group: text, risk: whole number, share: decimal, vip: true/false }
`;
const { settings } = rulesOf(ACCEPT_SMALL, SETTINGS);
const C1 = { shippingAddress: { accountNo: 'C-1', countryCode: 'DK' } };

async function subjectOf(house: House, id: number) {
  const at = { now: house.clock.now(), settings };
  const subject = await house.store.transaction((tx) => readSubject(tx, id, at));
  if (!subject) throw new Error(`no delivery ${id}`);
  return { ...subject, facts: completeFacts(subject.facts) };
}

async function creditOf(house: House, id: number) {
  const { facts } = await subjectOf(house, id);
  return facts.customer?.credit;
}

/** Deliveries of customer C-1, worth 100.00 a piece. */
async function deliveryOfC1(house: House, id: number, pieces: number, status = 'pending') {
  await house.order(id, C1);
  await house.delivery({ id, order: id, lines: [['a', pieces]], status });
}

async function write(
  house: House,
  entity: EntityDefinition & { toRow: typeof PDM.styles.toRow },
  records: readonly object[],
) {
  const provenance = { source: 'run:1', readSeq: 1, at: house.clock.now() };
  const rows = records.map((record) => entity.toRow(structuredClone(record)));
  await house.store.transaction((tx) => writeRows(tx, entity, rows, provenance));
}

describe('the credit of a customer', () => {
  it('is what the ERP says, less what was accepted since', async () => {
    const house = await createHouse();
    await deliveryOfC1(house, 1, 3);
    await deliveryOfC1(house, 1, 3, 'accepted');
    await house.clock.advance(1_000);
    await house.customer({ balance: 100_00 });
    await deliveryOfC1(house, 2, 2);
    expect(await creditOf(house, 2)).toMatchObject({ limit: 1_000_00, reserved: 0 });
    await deliveryOfC1(house, 3, 4);
    await house.clock.advance(1_000);
    await deliveryOfC1(house, 3, 4, 'accepted');
    expect(await creditOf(house, 2)).toMatchObject({ reserved: 400_00, headroom: 500_00 });
    await house.clock.advance(1_000);
    await house.customer({ balance: 500_00 });
    expect(await creditOf(house, 2)).toMatchObject({ reserved: 0, headroom: 500_00 });
  });

  it('counts an accept from the moment it is meant, until it has come to nothing', async () => {
    const house = await createHouse();
    await house.customer();
    await deliveryOfC1(house, 1, 3);
    await deliveryOfC1(house, 2, 2);
    const change = { orderId: 1, orderDeliveryId: 1, from: 'pending', decisionId: 1 } as const;
    await house.store.transaction((tx) =>
      enqueueDeliveryStatus(tx, { ...change, to: 'accepted' }, house.clock.now()),
    );
    expect(await creditOf(house, 2)).toMatchObject({ headroom: 700_00 });
    expect(await creditOf(house, 1)).toMatchObject({ headroom: 1_000_00 });
    await house.endPush('refused', { answered: false });
    expect(await creditOf(house, 2)).toMatchObject({ headroom: 1_000_00 });
  });

  it('counts what was accepted although the clock of the ERP is ahead of ours', async () => {
    const house = await createHouse();
    await house.customer({ asOf: house.clock.now() + 7_200_000 });
    await deliveryOfC1(house, 1, 3);
    await house.clock.advance(1_000);
    await deliveryOfC1(house, 1, 3, 'accepted');
    await deliveryOfC1(house, 2, 2);
    expect(await creditOf(house, 2)).toMatchObject({ reserved: 300_00, headroom: 700_00 });
  });

  it('does not count history that was accepted before we ever saw it pending', async () => {
    const house = await createHouse();
    await house.customer({ asOf: house.clock.now() - 1_000 });
    await house.order(1, C1);
    const more = { createdAt: '2025-01-05T08:00:00Z' };
    await house.delivery({ id: 1, status: 'accepted', more });
    await deliveryOfC1(house, 2, 2);
    expect(await creditOf(house, 2)).toMatchObject({ reserved: 0 });
  });

  it('is not known where what was accepted has no price or another currency', async () => {
    const house = await createHouse();
    await house.customer();
    await house.order(1, { ...C1, currency: 'EUR' });
    await house.delivery({ id: 1, order: 1 });
    await house.delivery({ id: 1, order: 1, status: 'accepted' });
    await deliveryOfC1(house, 2, 2);
    const credit = await creditOf(house, 2);
    expect(credit).toMatchObject({ limit: 1_000_00, reserved: null, headroom: null });
  });

  it('is absent for a customer or an account that the ERP does not know', async () => {
    const house = await createHouse();
    await house.customer({ creditLimit: null, balance: null, overdueDays: null, blocked: true });
    await deliveryOfC1(house, 1, 1);
    const { facts } = await subjectOf(house, 1);
    expect(facts.customer).toMatchObject({ blocked: true, credit: null });
    await house.order(2, { shippingAddress: { accountNo: 'C-2' } });
    await house.delivery({ id: 2, order: 2 });
    expect((await subjectOf(house, 2)).facts.customer).toBeNull();
  });

  it('is found for an account that the service shows with spaces around it', async () => {
    const house = await createHouse();
    await house.customer({ blocked: true });
    await house.order(1, { shippingAddress: { accountNo: ' C-1   ' } });
    await house.delivery({ id: 1, order: 1 });
    const { facts } = await subjectOf(house, 1);
    expect(facts.order.account_no).toBe('C-1');
    expect(facts.customer).toMatchObject({ account_no: 'C-1', blocked: true });
  });
});

describe('fields that the ERP adds', () => {
  it('are facts where they are declared and of their kind, else absent and told', async () => {
    const house = await createHouse();
    const extra = { price_group: 'A', risk: 3.5, share: 0.25, vip: 'yes', secret: 1 };
    await house.customer({ extra });
    await deliveryOfC1(house, 1, 1);
    const { facts, misfits } = await subjectOf(house, 1);
    expect(facts.customer?.extra).toEqual({ price_group: 'A', share: 0.25 });
    expect(misfits).toEqual([
      'risk should be a whole number, it is 3.5',
      'vip should be a true/false, it is "yes"',
    ]);
  });
});

describe('what the product data say of a line', () => {
  const details = { styleNo: 'S-1', wspPrice: 90, currency: 'DKK' };

  it('comes from the style and the color with the code of the variant', async () => {
    const house = await createHouse();
    await house.stock(
      { a: 1, b: 1 },
      { a: { colorCode: '010', details }, b: { colorCode: '020', details } },
    );
    const styleColors = {
      data: [
        { type: 'styleColor', id: '7' },
        { type: 'styleColor', id: '8' },
      ],
    };
    await write(house, PDM.styles, [
      { id: '1', attributes: { styleNo: 'S-1', active: true }, relationships: { styleColors } },
    ]);
    const ofColor = (id: string) => ({ color: { data: { type: 'color', id } } });
    await write(house, PDM.styleColors, [
      { id: '7', attributes: { active: false, noosType: 'noos' }, relationships: ofColor('1') },
      { id: '8', attributes: { active: true, noosType: 'none' }, relationships: ofColor('2') },
    ]);
    await write(house, PDM.colors, [
      { id: '1', attributes: { code: '010' } },
      { id: '2', attributes: { code: '020' } },
    ]);
    await house.delivery({
      id: 1,
      lines: [
        ['a', 1],
        ['b', 1],
        ['c', 1],
      ],
    });
    const { lines } = (await subjectOf(house, 1)).facts.delivery;
    expect(lines).toMatchObject([
      { noos: true, color_active: false, style_active: true },
      { noos: false, color_active: true, style_active: true },
      { noos: null, color_active: null, style_active: null },
    ]);
  });

  it('has the price of the order line of its own window, and none where lines differ', async () => {
    const house = await createHouse();
    const first = { barcode: 'a', quantity: 5, price: 100, season: 'AW26', delivery: 'Drop 1' };
    const second = { ...first, price: 50, delivery: 'Drop 2' };
    await house.order(1, { orderLineItems: [first, second] });
    const packed = { barcode: 'a', fulfilledQuantity: 1, price: 100 };
    const lineOf = async (id: number, more: object) => {
      const fulfilledLineItems = [{ ...packed, ...more }];
      await house.delivery({ id, more: { fulfilledLineItems } });
      return (await subjectOf(house, id)).facts.delivery.lines[0];
    };
    const names = { season: 'AW26', delivery: 'Drop 2' };
    expect(await lineOf(1, names)).toMatchObject({
      order_price: 50_00,
      price_diff_pct: '100.0000',
    });
    const differs = { order_price: null, price_diff_pct: null, delivery_name: null, ordered: 10 };
    expect(await lineOf(2, {})).toMatchObject(differs);
    await house.order(1, { orderLineItems: [first, { ...second, price: 100 }] });
    expect(await lineOf(3, {})).toMatchObject({ order_price: 100_00, delivery_name: null });
  });

  it('has the listed price: of the stock, or of the season for a pre-order', async () => {
    const house = await createHouse();
    await house.stock({ a: 1 }, { a: { details } });
    await write(house, seasonVariants('AW26'), [
      { barcode: 'a', quantity: 9, details: { ...details, wspPrice: 80 } },
    ]);
    await house.delivery({ id: 1, order: 1 });
    await house.order(2, { SeasonName: 'AW26' });
    await house.delivery({ id: 2, order: 2 });
    await house.order(3, { currency: 'EUR' });
    await house.delivery({ id: 3, order: 3 });
    const lineOf = async (id: number) => (await subjectOf(house, id)).facts.delivery.lines[0];
    const first = { list_price: 90_00, list_price_diff_pct: '11.1112' };
    expect(await lineOf(1)).toMatchObject(first);
    expect(await lineOf(2)).toMatchObject({ list_price: 80_00, list_price_diff_pct: '25.0000' });
    // Ordered ahead only: what is known of it comes from the season.
    await write(house, seasonVariants('AW26'), [{ barcode: 'z', quantity: 9, details }]);
    await house.delivery({ id: 9, order: 2, lines: [['z', 1]] });
    expect(await lineOf(9)).toMatchObject({ style_no: 'S-1', stock_free: null });
    expect(await lineOf(3)).toMatchObject({ list_price: null, list_price_diff_pct: null });
  });
});

describe('a pre-order', () => {
  it('is known by its season, or by lines that all name a delivery of one season', async () => {
    const house = await createHouse();
    const line = { barcode: 'a', quantity: 1, price: 1, season: 'AW26', delivery: 'Drop 1' };
    await house.order(1, { orderLineItems: [line, { ...line, delivery: 'Drop 2' }] });
    await house.delivery({ id: 1, order: 1 });
    expect((await subjectOf(house, 1)).facts.order).toMatchObject({
      ...{ preorder: true, season: 'AW26', delivery_names: ['Drop 1', 'Drop 2'] },
    });
    const { season: _season, delivery: _delivery, ...plain } = line;
    await house.order(2, { orderLineItems: [line, plain] });
    await house.delivery({ id: 2, order: 2 });
    expect((await subjectOf(house, 2)).facts).toMatchObject({
      order: { preorder: false, season: null },
      season: null,
    });
  });

  it('tells whether its season is still listed, once the seasons were read', async () => {
    const house = await createHouse();
    await house.order(1, { SeasonName: 'AW26' });
    await house.delivery({ id: 1, order: 1 });
    const seasonOf = async () => (await subjectOf(house, 1)).facts.season;
    expect(await seasonOf()).toMatchObject({ name: 'AW26', listed: null });
    await house.store.db
      .insertInto('stream_state')
      .values({ stream: 'seasons', due_at: 0, complete_at: 1, last_run_id: null })
      .execute();
    expect(await seasonOf()).toMatchObject({ listed: false, delivery_names: null });
    // It may be listed after all, in a row that could not be read.
    const rejected = [{ raw: { seasonName: 'AW26' }, path: 'deliveryNames.0', reason: 'no text' }];
    const from = { source: 'run:1', readSeq: 1, at: 0 };
    await house.store.transaction((tx) => quarantineRows(tx, 'season', rejected, from));
    expect(await seasonOf()).toMatchObject({ listed: null, delivery_names: null });
  });
});

it('looks no order up of a delivery that has left, however many have', async () => {
  const house = await createHouse();
  const planned = notePlans(house.store);
  await planned.store.transaction((tx) => reservedPieces(tx, 1, ['a'], 0));
  const steps = await planned.steps(/from delivery_line line/);
  // In a query of its own, which runs for what has not left.
  expect(steps).toContain('SEARCH o USING INTEGER PRIMARY KEY (rowid=?)');
  expect(steps.filter((step) => step.includes('LEFT-JOIN'))).toEqual([]);
});
