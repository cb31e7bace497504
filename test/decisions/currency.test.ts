import { describe, expect, it } from 'vitest';
import { setCurrency } from '../../src/decisions/currency.ts';
import { createDeciderFixture, type DeciderFixture, loadedRules } from './support.ts';

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
const decide = (fixture: DeciderFixture) => fixture.decide({ rules: () => rules });
const NONE = { currency: undefined };
const priced = (currency: string) => ({ details: { currency } });

async function shown({ store }: DeciderFixture): Promise<unknown[]> {
  const rows = await store.db.selectFrom('order_currency').select('currency').execute();
  return rows.map(({ currency }) => currency);
}

async function lastReason({ store }: DeciderFixture): Promise<string | undefined> {
  const rows = store.db.selectFrom('decision').select('reason').orderBy('decision_id', 'desc');
  return (await rows.executeTakeFirst())?.reason;
}

describe('the currency of an order that names none', () => {
  it('is the one that the variants of its lines agree on, as soon as they do', async () => {
    const fixture = await createDeciderFixture();
    await fixture.order(1, NONE);
    await fixture.delivery({ id: 7 });
    expect(await decide(fixture)).toEqual(['7 no_rule']);
    expect(await lastReason(fixture)).toBe('no rule applies; not known: order.currency');
    await fixture.stock({ a: 5 }, { a: priced('eur ') });
    expect(await shown(fixture)).toEqual(['EUR']);
    expect(await decide(fixture)).toEqual(['7 accept']);
  });

  it('is not known where they disagree, and then that of the configuration', async () => {
    const fixture = await createDeciderFixture();
    const orderLineItems = ['a', 'b'].map((barcode) => ({ barcode, quantity: 2, price: 100 }));
    await fixture.order(1, { ...NONE, orderLineItems });
    await fixture.stock({ a: 5, b: 5 }, { a: priced('EUR'), b: priced('DKK') });
    await fixture.delivery({ id: 7 });
    expect(await decide(fixture)).toEqual(['7 no_rule']);
    await fixture.clock.advance(1);
    await setCurrency(fixture, 'EUR');
    expect(await shown(fixture)).toEqual(['EUR']);
    expect(await decide(fixture)).toEqual(['7 accept']);
  });

  it('is no guess where the order names one that cannot be read, or another', async () => {
    const fixture = await createDeciderFixture();
    await setCurrency(fixture, 'EUR');
    await fixture.stock({ a: 5 }, { a: priced('EUR') });
    await fixture.order(1, { currency: 'SEK' });
    await fixture.order(2, NONE);
    const unread = { currency: null, unread: '["currency"]' };
    await fixture.store.db
      .updateTable('sales_order')
      .set(unread)
      .where('order_id', '=', 2)
      .execute();
    expect(await shown(fixture)).toEqual(['SEK', null]);
  });

  it('counts for what the accepts of a customer have used up of his credit', async () => {
    const fixture = await createDeciderFixture();
    await setCurrency(fixture, 'DKK');
    const buyer = { ...NONE, shippingAddress: { accountNo: 'C-1' } };
    for (const id of [1, 2]) await fixture.order(id, buyer);
    await fixture.delivery({ id: 7, status: 'accepted', order: 1 });
    await fixture.customer({ asOf: fixture.clock.now() - 3_600_000 });
    await fixture.delivery({ id: 8, order: 2 });
    const text = ACCEPT_EUROS.replace('"EUR"', '"DKK"');
    const credit = loadedRules(
      text.replace('delivery.amount <= 1000', 'customer.credit.reserved >= 0'),
    );
    expect(await fixture.decide({ rules: () => credit })).toEqual(['8 accept']);
  });
});
