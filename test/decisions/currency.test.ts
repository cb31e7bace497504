import { describe, expect, it } from 'vitest';
import { setCurrency } from '../../src/decisions/currency.ts';
import { createHouse, type House, loadedRules } from './support.ts';

/** Two pieces of `a` at 100, in euros. */
const ACCEPT_EUROS = `
rules:
  - id: accept-euros
    title: In euros
    action: accept
    mode: live
    when:
      - order.currency == "EUR"
      - delivery.amount <= 1000
`;

const rules = loadedRules(ACCEPT_EUROS);
const decide = (house: House) => house.decide({ rules: () => rules });
const NONE = { currency: undefined };
const priced = (currency: string) => ({ details: { currency } });

async function shown({ store }: House): Promise<unknown[]> {
  const rows = await store.db.selectFrom('order_currency').select('currency').execute();
  return rows.map(({ currency }) => currency);
}

async function lastReason({ store }: House): Promise<string | undefined> {
  const rows = store.db.selectFrom('decision').select('reason').orderBy('decision_id', 'desc');
  return (await rows.executeTakeFirst())?.reason;
}

describe('the currency of an order that names none', () => {
  it('is the one that the variants of its lines agree on, as soon as they do', async () => {
    const house = await createHouse();
    await house.order(1, NONE);
    await house.delivery({ id: 7 });
    expect(await decide(house)).toEqual(['7 no_rule']);
    expect(await lastReason(house)).toBe('no rule applies; not known: order.currency');
    await house.stock({ a: 5 }, { a: priced('eur ') });
    expect(await shown(house)).toEqual(['EUR']);
    expect(await decide(house)).toEqual(['7 accept']);
  });

  it('is not known where they disagree, and then that of the configuration', async () => {
    const house = await createHouse();
    const orderLineItems = ['a', 'b'].map((barcode) => ({ barcode, quantity: 2, price: 100 }));
    await house.order(1, { ...NONE, orderLineItems });
    await house.stock({ a: 5, b: 5 }, { a: priced('EUR'), b: priced('DKK') });
    await house.delivery({ id: 7 });
    expect(await decide(house)).toEqual(['7 no_rule']);
    await house.clock.advance(1);
    await setCurrency(house, 'EUR');
    expect(await shown(house)).toEqual(['EUR']);
    expect(await decide(house)).toEqual(['7 accept']);
  });

  it('is no guess where the order names one that cannot be read, or another', async () => {
    const house = await createHouse();
    await setCurrency(house, 'EUR');
    await house.stock({ a: 5 }, { a: priced('EUR') });
    await house.order(1, { currency: 'SEK' });
    await house.order(2, NONE);
    const unread = { currency: null, unread: '["currency"]' };
    await house.store.db.updateTable('sales_order').set(unread).where('order_id', '=', 2).execute();
    expect(await shown(house)).toEqual(['SEK', null]);
  });

  it('counts for what the accepts of a customer have used up of his credit', async () => {
    const house = await createHouse();
    await setCurrency(house, 'DKK');
    const buyer = { ...NONE, shippingAddress: { accountNo: 'C-1' } };
    for (const id of [1, 2]) await house.order(id, buyer);
    await house.delivery({ id: 7, status: 'accepted', order: 1 });
    await house.customer({ asOf: 0 });
    await house.delivery({ id: 8, order: 2 });
    const text = ACCEPT_EUROS.replace('"EUR"', '"DKK"');
    const credit = loadedRules(
      text.replace('delivery.amount <= 1000', 'customer.credit.reserved >= 0'),
    );
    expect(await house.decide({ rules: () => credit })).toEqual(['8 accept']);
  });
});
