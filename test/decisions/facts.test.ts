import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { retentionSteps } from '../../src/daemon/upkeep.ts';
import { clockFacts } from '../../src/decisions/calendar.ts';
import { readSubject } from '../../src/decisions/facts.ts';
import { enqueueDeliveryStatus } from '../../src/outbox/enqueue.ts';
import { deleteOldRows } from '../../src/store/care/keeper.ts';
import { ENV, MINIMAL, writeConfig } from '../config/support.ts';
import { rulesOf } from '../rules/support.ts';
import { ACCEPT_SMALL, createDeciderFixture, type DeciderFixture } from './support.ts';

const { settings } = rulesOf(ACCEPT_SMALL);
const DAY = 86_400_000;

/** A configuration that keeps the change feed so long. */
function keeping(changes: string): string {
  return writeConfig(`store: { retention: { changes: ${changes} } }\n${MINIMAL}`);
}

async function factsOf(fixture: DeciderFixture, id: number) {
  const at = { now: fixture.clock.now(), settings };
  const subject = await fixture.store.transaction((tx) => readSubject(tx, id, at));
  if (!subject) throw new Error(`no delivery ${id}`);
  return subject.facts;
}

async function freeOf(fixture: DeciderFixture, id: number): Promise<(number | null | undefined)[]> {
  return (await factsOf(fixture, id)).delivery.lines.map((line) => line.stock_free);
}

describe('free stock', () => {
  it('is the stock less what older pending deliveries want', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ a: 10 });
    await fixture.delivery({ id: 1, lines: [['a', 3]] });
    await fixture.delivery({ id: 2, lines: [['a', 4]] });
    await fixture.delivery({ id: 3, lines: [['a', 5]] });
    expect(await freeOf(fixture, 1)).toEqual([10]);
    expect(await freeOf(fixture, 2)).toEqual([7]);
    expect(await freeOf(fixture, 3)).toEqual([3]);
  });

  it('is never below nothing', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ a: 1 });
    await fixture.delivery({ id: 1, lines: [['a', 3]] });
    await fixture.delivery({ id: 2, lines: [['a', 1]] });
    expect(await freeOf(fixture, 2)).toEqual([0]);
  });

  it('is not known while the pieces of one of those that claim some are not', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ a: 10 });
    const fulfilledLineItems = [{ barcode: 'a', fulfilledQuantity: null }];
    await fixture.delivery({ id: 1, more: { fulfilledLineItems } });
    await fixture.delivery({ id: 2, lines: [['a', 4]] });
    await fixture.delivery({ id: 3, lines: [['a', 1]] });
    expect(await freeOf(fixture, 3)).toEqual([null]);
  });

  it('is less what was accepted, until the stock was read after it was shipped', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ a: 10 });
    await fixture.delivery({ id: 2, status: 'accepted', lines: [['a', 4]] });
    await fixture.delivery({ id: 3, lines: [['a', 1]] });
    expect(await freeOf(fixture, 3)).toEqual([6]);
    await fixture.clock.advance(1_000);
    await fixture.stock({ a: 10 });
    expect(await freeOf(fixture, 3)).toEqual([6]);
    await fixture.clock.advance(1_000);
    const more = { trackAndTrace: { trackingNumbers: ['T-1'], trackingLinks: [] } };
    await fixture.delivery({ id: 2, status: 'accepted', lines: [['a', 4]], more });
    expect(await freeOf(fixture, 3)).toEqual([6]);
    await fixture.clock.advance(1_000);
    await fixture.stock({ a: 6 });
    expect(await freeOf(fixture, 3)).toEqual([6]);
  });

  it('is less what was accepted while the stock was read, or before it ever was', async () => {
    const fixture = await createDeciderFixture();
    const more = { trackAndTrace: { trackingNumbers: ['T-1'], trackingLinks: [] } };
    await fixture.delivery({ id: 2, order: 2, status: 'accepted', lines: [['a', 4]], more });
    await fixture.stock({ a: 10 });
    await fixture.delivery({ id: 3, lines: [['a', 1]] });
    expect(await freeOf(fixture, 3)).toEqual([6]);
    await fixture.store.db.deleteFrom('stream_state').execute();
    expect(await freeOf(fixture, 3)).toEqual([6]);
    await fixture.clock.advance(1_000);
    await fixture.stock({ a: 10 });
    expect(await freeOf(fixture, 3)).toEqual([10]);
    // Nor does it wait for an order that is not mirrored yet.
    await fixture.delivery({ id: 2, order: 2, status: 'accepted', lines: [['a', 4]] });
    await fixture.clock.advance(1_000);
    await fixture.stock({ a: 10 });
    await fixture.store.db.deleteFrom('sales_order').where('order_id', '=', 2).execute();
    expect(await freeOf(fixture, 3)).toEqual([6]);
  });

  it('is not kept for ever for what was accepted and never gets a tracking number', async () => {
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1, lines: [['a', 3]] });
    await fixture.delivery({ id: 1, status: 'accepted', lines: [['a', 3]] });
    await fixture.delivery({ id: 2, lines: [['a', 1]] });
    await fixture.clock.advance(13 * DAY);
    await fixture.stock({ a: 10 });
    expect(await freeOf(fixture, 2)).toEqual([7]);
    await fixture.clock.advance(2 * DAY);
    await fixture.stock({ a: 10 });
    expect(await freeOf(fixture, 2)).toEqual([10]);
  });

  it.each(['7d', '30d'])('is claimed also where changes are kept for %s', async (changes) => {
    const loaded = loadConfig({ file: keeping(changes), env: ENV });
    // A time for which the claim would end too early is no setting.
    if ('problems' in loaded) return expect(changes).toBe('7d');
    const limits = loaded.config.store.retention;
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1, lines: [['a', 4]] });
    await fixture.clock.advance(40 * DAY);
    await fixture.delivery({ id: 1, status: 'accepted', lines: [['a', 4]] });
    await fixture.delivery({ id: 3, lines: [['a', 1]] });
    await fixture.clock.advance(13 * DAY);
    await fixture.stock({ a: 10 });
    await deleteOldRows(fixture, retentionSteps({ ...limits, runs: DAY, incidents: DAY }));
    expect(await freeOf(fixture, 3)).toEqual([6]);
  });

  it('leaves rejected and canceled deliveries alone', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ a: 10 });
    await fixture.delivery({ id: 1, status: 'rejected', lines: [['a', 3]] });
    await fixture.delivery({ id: 2, status: 'canceled', lines: [['a', 3]] });
    await fixture.delivery({ id: 3, lines: [['a', 1]] });
    expect(await freeOf(fixture, 3)).toEqual([10]);
  });

  it('leaves deliveries alone that the service no longer has', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ a: 10 });
    await fixture.delivery({ id: 1, lines: [['a', 3]] });
    await fixture.store.db.updateTable('delivery').set({ deleted_at: 1 }).execute();
    await fixture.delivery({ id: 3, lines: [['a', 1]] });
    expect(await freeOf(fixture, 3)).toEqual([10]);
    expect((await factsOf(fixture, 3)).order).toMatchObject({ other_pending: 0 });
  });

  it('counts a younger delivery whose accept is on its way', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ a: 10 });
    await fixture.delivery({ id: 1, lines: [['a', 1]] });
    await fixture.delivery({ id: 2, lines: [['a', 8]] });
    const change = { orderId: 1, orderDeliveryId: 2, from: 'pending', decisionId: 1 } as const;
    await fixture.store.transaction((tx) =>
      enqueueDeliveryStatus(tx, { ...change, to: 'accepted' }, fixture.clock.now()),
    );
    expect(await freeOf(fixture, 1)).toEqual([2]);
  });

  it('is counted once for two lines of one barcode', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ a: 5 });
    await fixture.delivery({
      id: 1,
      lines: [
        ['a', 3],
        ['a', 3],
      ],
    });
    expect(await freeOf(fixture, 1)).toEqual([5, 2]);
  });

  it('is not known for a barcode that the stock does not have', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ b: 5 });
    await fixture.delivery({ id: 1, lines: [['a', 3]] });
    const [line] = (await factsOf(fixture, 1)).delivery.lines;
    expect(line).toMatchObject({ stock_free: null, brand: null, color_active: null });
  });
});

describe('the facts of an order', () => {
  it('have no amount while a price is not known', async () => {
    const fixture = await createDeciderFixture();
    const priced = { barcode: 'a', quantity: 2, price: 10.5 };
    await fixture.order(1, {
      orderLineItems: [priced, { barcode: 'b', quantity: 1, price: null }],
    });
    await fixture.delivery({ id: 1 });
    expect((await factsOf(fixture, 1)).order).toMatchObject({ amount: null, quantity: 3 });
    await fixture.order(1, { orderLineItems: [priced] });
    expect((await factsOf(fixture, 1)).order).toMatchObject({ amount: 21_0000, quantity: 2 });
  });

  it('take a text that the service left empty for one that it did not tell', async () => {
    const fixture = await createDeciderFixture();
    const orderLineItems = [{ barcode: 'a', quantity: 2, price: 100, season: '', delivery: '' }];
    const shippingAddress = { accountNo: '', countryCode: '' };
    await fixture.order(1, { SeasonName: '', currency: '', shippingAddress, orderLineItems });
    await fixture.delivery({ id: 1 });
    const { order, delivery, season, customer } = await factsOf(fixture, 1);
    const untold = { season: null, country: null, currency: null, account_no: null };
    expect(order).toMatchObject({ ...untold, preorder: false, delivery_names: [] });
    expect(delivery).toMatchObject({ currency: null, lines: [{ delivery_name: null }] });
    expect([season, customer]).toEqual([null, null]);
  });

  it('count the other deliveries of the order', async () => {
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1 });
    await fixture.delivery({ id: 2 });
    await fixture.delivery({ id: 3, status: 'rejected' });
    await fixture.delivery({ id: 4, order: 2 });
    const { order } = await factsOf(fixture, 1);
    expect(order).toMatchObject({ other_pending: 1, rejected_before: 1, accepted_before: 0 });
    await fixture.delivery({ id: 2, status: 'accepted' });
    const counts = { other_pending: 0, rejected_before: 1, accepted_before: 1 };
    expect((await factsOf(fixture, 1)).order).toMatchObject(counts);
  });

  it('and of the delivery are as old as the service says, or as their row here', async () => {
    const fixture = await createDeciderFixture();
    const first = fixture.clock.now();
    const at = '2026-01-05T08:00:00Z';
    await fixture.delivery({ id: 1, more: { createdAt: at } });
    await fixture.order(2, { createdAt: null });
    await fixture.delivery({ id: 2, order: 2 });
    await fixture.clock.advance(1_000);
    await fixture.order(2, { createdAt: null, comment: 'hurry' });
    await fixture.delivery({ id: 2, order: 2, lines: [['a', 3]] });
    const ageOf = async (id: number) => {
      const { delivery, order } = await factsOf(fixture, id);
      return [delivery.created_at, order.created_at];
    };
    expect(await ageOf(1)).toEqual([Date.parse(at), Date.parse(at)]);
    expect(await ageOf(2)).toEqual([first, first]);
  });
});

describe('the business clock', () => {
  const { settings: danish } = rulesOf(
    ACCEPT_SMALL,
    `version: 1
timezone: Europe/Copenhagen
calendar:
  days: [monday, tuesday, wednesday, thursday, friday, sunday]
  from: '08:00'
  to: '16:00'
  holidays: ['2026-12-24']
`,
  );
  const at = (iso: string) => clockFacts(Date.parse(iso), danish);

  it('opens at the same wall time on both sides of a change of the clocks', () => {
    // Standard time ends on 29 March 2026 at 01:00 UTC, and comes back on 25 October.
    expect(at('2026-03-27T06:59:00Z').business_hours).toBe(false);
    expect(at('2026-03-27T07:00:00Z').business_hours).toBe(true);
    expect(at('2026-03-29T05:59:00Z').business_hours).toBe(false);
    expect(at('2026-03-29T06:00:00Z').business_hours).toBe(true);
    expect(at('2026-10-23T06:00:00Z').business_hours).toBe(true);
    expect(at('2026-10-25T06:00:00Z').business_hours).toBe(false);
    expect(at('2026-10-25T07:00:00Z').business_hours).toBe(true);
  });

  it('closes at its end, on days off and on holidays', () => {
    expect(at('2026-03-27T14:59:00Z').business_hours).toBe(true);
    expect(at('2026-03-27T15:00:00Z').business_hours).toBe(false);
    expect(at('2026-03-28T10:00:00Z')).toMatchObject({
      business_hours: false,
      weekday: 'saturday',
    });
    expect(at('2026-12-24T10:00:00Z').business_hours).toBe(false);
  });

  it('knows the weekday of the business, not that of Greenwich', () => {
    expect(at('2026-03-29T22:30:00Z').weekday).toBe('monday');
  });
});
