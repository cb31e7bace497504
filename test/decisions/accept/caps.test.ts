import { describe, expect, it } from 'vitest';
import { ACCEPT_SMALL, createDeciderFixture, loadedRules } from '../support.ts';

const DAY_MS = 86_400_000;

async function withLimits(accept: object) {
  const fixture = await createDeciderFixture();
  const settings = JSON.stringify({ version: 1, safeguards: { accept } });
  const rules = loadedRules(ACCEPT_SMALL, settings);
  const decide = () => fixture.decide({ rules: () => rules });
  const unlimited = () => fixture.decide();
  const lastReason = async () => {
    const row = await fixture.store.db
      .selectFrom('decision')
      .select('reason')
      .orderBy('decision_id', 'desc')
      .executeTakeFirstOrThrow();
    return row.reason;
  };
  return { ...fixture, decide, unlimited, lastReason };
}

describe('an accept that would exceed a limit is held, and goes on by itself', () => {
  it('of a day', async () => {
    const fixture = await withLimits({ max_per_day: 2 });
    for (const id of [1, 2, 3]) await fixture.delivery({ id, order: id });
    expect(await fixture.decide()).toEqual(['1 accept', '2 accept', '3 hold']);
    expect(await fixture.lastReason()).toBe('safeguard cap: accepts would exceed 2 a day');
    await fixture.clock.advance(DAY_MS / 2);
    expect(await fixture.decide()).toEqual([]);
    await fixture.clock.advance(DAY_MS / 2 + 1);
    expect(await fixture.decide()).toEqual(['3 accept']);
  });

  it('of a customer and day, while others go on', async () => {
    const fixture = await withLimits({ max_per_customer_per_day: 1 });
    const of = (accountNo: string) => ({ shippingAddress: { accountNo } });
    await fixture.order(1, of('C-1'));
    await fixture.order(2, of('C-1'));
    await fixture.order(3, of('C-2'));
    for (const id of [1, 2, 3]) await fixture.delivery({ id, order: id });
    expect(await fixture.decide()).toEqual(['1 accept', '2 hold', '3 accept']);
    expect(await fixture.lastReason()).not.toContain('customer');
  });

  it('of orders without an account number, as if they were of one customer', async () => {
    const fixture = await withLimits({ max_per_customer_per_day: 1 });
    await fixture.order(1, { shippingAddress: { accountNo: ' ' } });
    await fixture.order(2, { shippingAddress: { accountNo: '' } });
    for (const id of [1, 2, 3]) await fixture.delivery({ id, order: id });
    expect(await fixture.decide()).toEqual(['1 accept', '2 hold', '3 hold']);
  });

  it('of an amount in one currency, and none in another', async () => {
    const fixture = await withLimits({ max_amount_per_day: { DKK: 300 } });
    await fixture.order(3, { currency: 'EUR' });
    for (const id of [1, 2, 3]) await fixture.delivery({ id, order: id });
    expect(await fixture.decide()).toEqual(['1 accept', '2 hold', '3 accept']);
  });

  it('of an amount, with what was accepted in a currency that is not known', async () => {
    const fixture = await withLimits({ max_amount_per_day: { DKK: 300 } });
    await fixture.order(1, { currency: null });
    await fixture.delivery({ id: 1 });
    expect(await fixture.unlimited()).toEqual(['1 accept']);
    await fixture.delivery({ id: 2, order: 2 });
    expect(await fixture.decide()).toEqual(['2 hold']);
  });

  it('of an amount that is not known', async () => {
    const fixture = await withLimits({ max_amount_per_day: { DKK: 300 } });
    const fulfilledLineItems = [{ barcode: 'a', fulfilledQuantity: 2 }];
    await fixture.delivery({ id: 1, more: { fulfilledLineItems } });
    expect(await fixture.decide()).toEqual(['1 hold']);
    expect(await fixture.lastReason()).toContain('an amount is not known');
  });

  it('of a share of the day, above its floor', async () => {
    const fixture = await withLimits({ max_share_of_day: 60, share_floor: 2 });
    for (const id of [1, 2, 3]) await fixture.delivery({ id, order: id });
    expect(await fixture.decide()).toEqual(['1 accept', '2 accept', '3 hold']);
    expect(await fixture.lastReason()).toContain('60 % of the deliveries of a day');
  });

  it('but not because of its own accept, which somebody took back', async () => {
    const fixture = await withLimits({ max_per_day: 1 });
    await fixture.delivery({ id: 1 });
    expect(await fixture.decide()).toEqual(['1 accept']);
    await fixture.endPush('confirmed', { answered: true });
    await fixture.clock.advance(1_000);
    for (const status of ['accepted', 'pending']) await fixture.delivery({ id: 1, status });
    expect(await fixture.decide()).toEqual([]);
    await fixture.delivery({ id: 1, lines: [['a', 3]] });
    expect(await fixture.decide()).toEqual(['1 accept']);
  });

  it('but not because of accepts that came to nothing', async () => {
    const fixture = await withLimits({ max_per_day: 1 });
    await fixture.delivery({ id: 1, order: 1 });
    expect(await fixture.decide()).toEqual(['1 accept']);
    await fixture.endPush('refused', { answered: true });
    await fixture.delivery({ id: 2, order: 2 });
    expect(await fixture.decide()).toContain('2 accept');
  });
});
