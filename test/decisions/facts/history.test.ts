import { describe, expect, it } from 'vitest';
import { readSubject } from '../../../src/decisions/facts.ts';
import { writeRefunds } from '../../../src/mirror/refund.ts';
import { completeFacts } from '../../../src/rules/facts/build.ts';
import { rulesOf, ruleText } from '../../rules/support.ts';
import {
  ACCEPT_SMALL,
  createDeciderFixture,
  type DeciderFixture,
  loadedRules,
} from '../support.ts';

const SETTINGS = `version: 1
base_currency: DKK
rates: { EUR: 7.46 }
`;
const { settings } = rulesOf(ACCEPT_SMALL, SETTINGS);
const C1 = { shippingAddress: { accountNo: 'C-1', countryCode: 'DK' } };
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

async function factsOf(fixture: DeciderFixture, id: number, rules?: ReturnType<typeof rulesOf>) {
  const at = { now: fixture.clock.now(), settings, rules: rules?.rules };
  const subject = await fixture.store.transaction((tx) => readSubject(tx, id, at));
  if (!subject) throw new Error(`no delivery ${id}`);
  return completeFacts(subject.facts);
}

function lines(pieces: Readonly<Record<string, number>>) {
  return Object.entries(pieces).map(([barcode, quantity]) => ({ barcode, quantity, price: 100 }));
}

describe('pieces delivered over all deliveries of an order', () => {
  it('count pending and accepted deliveries, and no rejected or canceled ones', async () => {
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1, status: 'accepted', lines: [['a', 4]] });
    await fixture.delivery({ id: 2, status: 'rejected', lines: [['a', 5]] });
    await fixture.delivery({ id: 3, status: 'canceled', lines: [['a', 5]] });
    await fixture.delivery({ id: 4, lines: [['a', 3]] });
    const { order, delivery } = await factsOf(fixture, 4);
    expect(order).toMatchObject({ quantity: 10, delivered_quantity: 7, remaining_quantity: 3 });
    expect(delivery.lines).toMatchObject([{ ordered: 10, remaining_quantity: 3 }]);
  });

  it('show a barcode of which more was packed than ordered by a remainder below 0', async () => {
    const fixture = await createDeciderFixture();
    await fixture.order(1, { orderLineItems: lines({ a: 5, b: 5 }) });
    await fixture.delivery({ id: 1, lines: [['a', 4]] });
    await fixture.delivery({
      id: 2,
      lines: [
        ['a', 3],
        ['x', 1],
      ],
    });
    const { order, delivery } = await factsOf(fixture, 2);
    expect(order).toMatchObject({ delivered_quantity: 8, remaining_quantity: 2 });
    expect(delivery.lines.map((line) => line.remaining_quantity)).toEqual([-2, null]);
  });

  it('are not known while lines cannot be read or a delivery is missing', async () => {
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1, lines: [['a', 4]] });
    await fixture.delivery({ id: 2, lines: [] });
    expect((await factsOf(fixture, 1)).order.delivered_quantity).toBe(4);
    const unread = JSON.stringify(['fulfilledLineItems']);
    const second = fixture.store.db.updateTable('delivery').where('order_delivery_id', '=', 2);
    await second.set({ unread }).execute();
    const unknown = { delivered_quantity: null, remaining_quantity: null };
    expect((await factsOf(fixture, 1)).order).toMatchObject(unknown);
    await second.set({ status: 'rejected' }).execute();
    expect((await factsOf(fixture, 1)).order.delivered_quantity).toBe(4);
    const shared = { entity: 'delivery', number: 9, order_id: 1, seen_at: 1 };
    await fixture.store.db.insertInto('shared_number').values(shared).execute();
    const { order, delivery } = await factsOf(fixture, 1);
    expect(order).toMatchObject(unknown);
    expect(delivery.lines[0]?.remaining_quantity).toBeNull();
  });
});

describe('the status of an order', () => {
  it.each([
    ['canceled', true],
    ['pending', false],
    ['on its way', null],
  ])('%s: canceled is %s', async (status, canceled) => {
    const fixture = await createDeciderFixture();
    await fixture.order(1, { status });
    await fixture.delivery({ id: 1 });
    expect((await factsOf(fixture, 1)).order.canceled).toBe(canceled);
  });
});

describe('the address', () => {
  const whole = { address: 'Havnegade 1', city: 'Aarhus', zip: '8000', countryCode: 'DK' };

  it.each([
    [whole, true, '8000', 'Aarhus'],
    [{ ...whole, address: ' ' }, false, '8000', 'Aarhus'],
    [{ ...whole, zip: null }, false, null, 'Aarhus'],
    [{ ...whole, address: '', address2: 'Havnegade 1' }, true, '8000', 'Aarhus'],
    [{ ...whole, zip: '', city: 'Dubai', countryCode: 'AE' }, true, null, 'Dubai'],
    [{ ...whole, zip: null, city: 'Ballina', countryCode: 'ie' }, true, null, 'Ballina'],
    [{ ...whole, zip: null, city: null, countryCode: 'HK' }, true, null, null],
    [{ ...whole, zip: '238801', city: ' ', countryCode: 'SG' }, true, '238801', null],
    [{ ...whole, zip: null, city: 'Berlin', countryCode: 'DE' }, false, null, 'Berlin'],
    [{ ...whole, zip: null, city: null, countryCode: 'SG' }, false, null, null],
    [{ ...whole, zip: null, city: null, countryCode: 'QA' }, false, null, null],
    [{ ...whole, zip: null, countryCode: null }, false, null, 'Aarhus'],
    [{ accountNo: 'C-1' }, false, null, null],
    [{}, null, null, null],
    [undefined, null, null, null],
  ])('%j: complete is %s', async (shippingAddress, complete, zip, city) => {
    const fixture = await createDeciderFixture();
    await fixture.order(1, { shippingAddress });
    await fixture.delivery({ id: 1 });
    const { order } = await factsOf(fixture, 1);
    expect(order).toMatchObject({ address_complete: complete, zip, city });
  });
});

describe('an order that is like another one', () => {
  const at = (hour: number) => ({ createdAt: `2026-01-05T0${hour}:00:00Z` });
  const similar = async (fixture: DeciderFixture, id: number) => {
    await fixture.delivery({ id, order: id });
    return (await factsOf(fixture, id)).order.similar_within;
  };

  it('is the later of two with the same barcodes and pieces, whatever their lines', async () => {
    const fixture = await createDeciderFixture();
    await fixture.order(1, { ...C1, ...at(6), orderLineItems: lines({ a: 5, b: 5 }) });
    const split = [...lines({ b: 5, a: 2 }), ...lines({ a: 3 })];
    await fixture.order(2, { ...C1, ...at(8), orderLineItems: split });
    expect(await similar(fixture, 1)).toBeNull();
    expect(await similar(fixture, 2)).toBe(2 * HOUR);
    await fixture.order(3, { ...C1, ...at(9), orderLineItems: split });
    expect(await similar(fixture, 3)).toBe(HOUR);
  });

  it('is the later of two whose barcodes differ in zeros and spaces alone', async () => {
    const fixture = await createDeciderFixture();
    const orderLineItems = lines({ '0712345678901': 5, '00': 1, '0A1': 2 });
    await fixture.order(1, { ...C1, ...at(6), orderLineItems });
    const spelt = lines({ ' 712345678901': 3, '0712345678901\u00a0': 2, '0': 1, '0A1\t': 2 });
    await fixture.order(2, { ...C1, ...at(8), orderLineItems: spelt });
    expect(await similar(fixture, 2)).toBe(2 * HOUR);
    await fixture.order(3, { ...C1, ...at(9), orderLineItems: lines({ A1: 2 }) });
    expect(await similar(fixture, 3)).toBeNull();
  });

  it('is a repetition only with the same reference, which is not empty', async () => {
    const fixture = await createDeciderFixture();
    const order = (id: number, hour: number, reference: string) =>
      fixture.order(id, { ...C1, ...at(hour), reference, orderLineItems: lines({ a: 5 }) });
    await order(1, 5, 'PO 7');
    await order(2, 6, 'PO 8');
    await order(3, 7, 'PO 7');
    await order(4, 8, '');
    await order(5, 9, '');
    const repeated = async (id: number) => {
      await fixture.delivery({ id, order: id });
      return (await factsOf(fixture, id)).order.repeated_within;
    };
    expect(await repeated(2)).toBeNull();
    expect(await repeated(3)).toBe(2 * HOUR);
    expect(await repeated(5)).toBeNull();
  });

  it('is none of other pieces, of another account, of a canceled one, or long ago', async () => {
    const fixture = await createDeciderFixture();
    const orderLineItems = lines({ a: 5 });
    await fixture.order(1, { ...C1, ...at(6), orderLineItems: lines({ a: 5, b: 1 }) });
    await fixture.order(2, { ...C1, ...at(6), orderLineItems: lines({ a: 4 }) });
    await fixture.order(3, { ...at(6), shippingAddress: { accountNo: 'C-2' }, orderLineItems });
    await fixture.order(4, { ...C1, ...at(6), orderLineItems, status: 'canceled' });
    await fixture.order(5, { ...C1, createdAt: '2025-11-05T06:00:00Z', orderLineItems });
    await fixture.order(6, { ...C1, ...at(7), orderLineItems });
    expect(await similar(fixture, 6)).toBeNull();
  });

  it('is none where a line cannot be read, or there is no account', async () => {
    const fixture = await createDeciderFixture();
    const odd = [{ barcode: 'a', quantity: 'many', price: 1 }];
    await fixture.order(1, { ...C1, orderLineItems: odd });
    await fixture.order(2, { ...C1, orderLineItems: odd });
    await fixture.order(3);
    await fixture.order(4);
    expect(await similar(fixture, 2)).toBeNull();
    expect(await similar(fixture, 4)).toBeNull();
  });
});

describe('the history of an account', () => {
  it('counts earlier orders, and knows the first, without canceled ones', async () => {
    const fixture = await createDeciderFixture();
    await fixture.order(1, { ...C1, createdAt: '2025-01-05T08:00:00Z', status: 'canceled' });
    await fixture.order(2, { ...C1, createdAt: '2025-02-05T08:00:00Z' });
    await fixture.order(3, { shippingAddress: { accountNo: 'C-2' } });
    await fixture.delivery({ id: 3, order: 3 });
    await fixture.order(4, C1);
    await fixture.delivery({ id: 4, order: 4 });
    const first = Date.UTC(2025, 1, 5, 8);
    expect((await factsOf(fixture, 4)).customer).toMatchObject({
      ...{ orders_before: 1, first_order_at: first },
    });
    expect((await factsOf(fixture, 3)).customer).toMatchObject({ orders_before: 0 });
  });

  it('counts refunds of the last 90 days, without rejected and canceled ones', async () => {
    const fixture = await createDeciderFixture();
    await fixture.order(1, C1);
    await fixture.order(2, C1);
    await fixture.delivery({ id: 2, order: 2 });
    const now = fixture.clock.now();
    const refund = (orderRefundId: number, status: string, days: number) => ({
      ...{ orderRefundId, orderId: 1, status, refundedLineItems: [] },
      createdAt: new Date(now - days * DAY).toISOString(),
    });
    const records = [
      ...[refund(1, 'accepted', 3), refund(2, 'pending', 89), refund(3, 'rejected', 3)],
      ...[refund(4, 'canceled', 3), refund(5, 'accepted', 91)],
    ];
    const at = { source: 'run:9', readSeq: 9, at: now };
    await fixture.store.transaction((tx) => writeRefunds(tx, records, at));
    expect((await factsOf(fixture, 2)).customer).toMatchObject({ refunds_90d: 2 });
  });

  it('is told also of an account that the ERP does not know', async () => {
    const fixture = await createDeciderFixture();
    await fixture.order(1, C1);
    await fixture.delivery({ id: 1 });
    const { customer } = await factsOf(fixture, 1);
    expect(customer).toMatchObject({ orders_before: 0, accepted_today: 0, amount_today: 0 });
    expect(customer).not.toHaveProperty('account_no');
  });
});

describe('accepts of the last 24 hours', () => {
  async function threeAccepted() {
    const fixture = await createDeciderFixture();
    await fixture.order(1, C1);
    await fixture.order(2, { ...C1, currency: 'EUR' });
    await fixture.order(3, { shippingAddress: { accountNo: 'C-2' } });
    for (const id of [1, 2, 3]) await fixture.delivery({ id, order: id });
    expect(await fixture.decide()).toEqual(['1 accept', '2 accept', '3 accept']);
    await fixture.order(4, C1);
    await fixture.delivery({ id: 4, order: 4 });
    return fixture;
  }

  it('are counted for the account and for all, and summed up by currency', async () => {
    const fixture = await threeAccepted();
    const { customer, today } = await factsOf(fixture, 4);
    expect(customer).toMatchObject({ accepted_today: 2, amount_today: 200_0000 });
    // 200 DKK of each account, and 200 EUR.
    expect(today).toEqual({ accepted: 3, amount: 400_0000, amount_base: 1892_0000 });
    await fixture.endPush('refused', { answered: true });
    expect((await factsOf(fixture, 4)).today).toMatchObject({ accepted: 0, amount: 0 });
  });

  it('are forgotten after a day', async () => {
    const fixture = await threeAccepted();
    await fixture.clock.advance(DAY + 1);
    expect((await factsOf(fixture, 4)).today).toMatchObject({ accepted: 0, amount_base: 0 });
  });

  it('have no amount while a price, a currency or a rate is not known', async () => {
    const fixture = await threeAccepted();
    await fixture.order(2, { ...C1, currency: 'SEK' });
    expect((await factsOf(fixture, 4)).today).toMatchObject({
      amount: 400_0000,
      amount_base: null,
    });
    await fixture.order(2, { ...C1, currency: '' });
    expect((await factsOf(fixture, 4)).today).toMatchObject({ amount: null });
    await fixture.order(2, { ...C1, currency: 'EUR' });
    await fixture.store.db.updateTable('delivery_line').set({ price: null }).execute();
    const { today, customer } = await factsOf(fixture, 4);
    expect(today).toMatchObject({ accepted: 3, amount: null, amount_base: null });
    expect(customer).toMatchObject({ accepted_today: 2, amount_today: null });
  });

  it('keep a budget exactly: the accept that reaches it is the last', async () => {
    const fixture = await createDeciderFixture();
    for (const id of [1, 2, 3]) {
      await fixture.order(id, C1);
      await fixture.delivery({ id, order: id });
    }
    const when = ['order.currency == "DKK"', 'today.amount + delivery.amount <= 400'];
    const rules = () => loadedRules(ruleText(when));
    expect(await fixture.decide({ rules })).toEqual(['1 accept', '2 accept', '3 no_rule']);
    await fixture.clock.advance(DAY + 1);
    expect(await fixture.decide({ rules })).toEqual(['3 accept']);
  });
});

describe('costly facts', () => {
  it('are computed only where a rule reads them', async () => {
    const fixture = await createDeciderFixture();
    await fixture.order(1, C1);
    await fixture.delivery({ id: 1 });
    const none = await factsOf(fixture, 1, rulesOf(ACCEPT_SMALL));
    expect([none.customer, none.today]).toEqual([null, undefined]);
    expect(none.order).not.toHaveProperty('similar_within');
    expect(none.order).not.toHaveProperty('repeated_within');
    const reading = rulesOf(ruleText(['customer.orders_before > 3', 'today.accepted < 9']));
    const some = await factsOf(fixture, 1, reading);
    expect(some.customer).toEqual({ orders_before: 0 });
    expect(some.today).toMatchObject({ accepted: 0 });
  });
});
