import { describe, expect, it } from 'vitest';
import { reservedPieces } from '../../src/decisions/facts/reserved.ts';
import { readSubject } from '../../src/decisions/facts.ts';
import { SEASON } from '../../src/mirror/catalog/names.ts';
import { upsertRows } from '../../src/mirror/entity.ts';
import { removeErpCustomers } from '../../src/mirror/erp-customer.ts';
import { quarantineRows } from '../../src/mirror/quarantine.ts';
import { enqueueDeliveryStatus } from '../../src/outbox/enqueue.ts';
import { completeFacts } from '../../src/rules/facts/build.ts';
import { rulesOf } from '../rules/support.ts';
import { notePlans } from '../support/plans.ts';
import { ACCEPT_SMALL, createDeciderFixture, type DeciderFixture, loadedRules } from './support.ts';

const SETTINGS = `version: 1
customer_fields: { price_group: text, risk: whole number, share: decimal, vip: true/false }
`;
const { settings } = rulesOf(ACCEPT_SMALL, SETTINGS);
const C1 = { shippingAddress: { accountNo: 'C-1', countryCode: 'DK' } };

async function subjectOf(fixture: DeciderFixture, id: number) {
  const at = { now: fixture.clock.now(), settings };
  const subject = await fixture.store.transaction((tx) => readSubject(tx, id, at));
  if (!subject) throw new Error(`no delivery ${id}`);
  return { ...subject, facts: completeFacts(subject.facts) };
}

async function creditOf(fixture: DeciderFixture, id: number) {
  const { facts } = await subjectOf(fixture, id);
  return facts.customer?.credit;
}

/** Deliveries of customer C-1, worth 100.00 a piece. */
async function deliveryOfC1(
  fixture: DeciderFixture,
  id: number,
  pieces: number,
  status = 'pending',
) {
  await fixture.order(id, C1);
  await fixture.delivery({ id, order: id, lines: [['a', pieces]], status });
}

/** Two deliveries of C-1, of 300.00 and 200.00; the first is meant to be accepted or rejected. */
async function houseMeaning(to: 'accepted' | 'rejected'): Promise<DeciderFixture> {
  const fixture = await createDeciderFixture();
  await fixture.customer();
  await deliveryOfC1(fixture, 1, 3);
  await deliveryOfC1(fixture, 2, 2);
  const change = { orderId: 1, orderDeliveryId: 1, from: 'pending', decisionId: 1 } as const;
  await fixture.store.transaction((tx) =>
    enqueueDeliveryStatus(tx, { ...change, to }, fixture.clock.now()),
  );
  return fixture;
}

describe('the credit of a customer', () => {
  it('is what the ERP says, less what was accepted since', async () => {
    const fixture = await createDeciderFixture();
    await deliveryOfC1(fixture, 1, 3);
    await deliveryOfC1(fixture, 1, 3, 'accepted');
    await fixture.clock.advance(1_000);
    await fixture.customer({ balance: 100_0000 });
    await deliveryOfC1(fixture, 2, 2);
    expect(await creditOf(fixture, 2)).toMatchObject({ limit: 1_000_0000, reserved: 0 });
    await deliveryOfC1(fixture, 3, 4);
    await fixture.clock.advance(1_000);
    await deliveryOfC1(fixture, 3, 4, 'accepted');
    expect(await creditOf(fixture, 2)).toMatchObject({ reserved: 400_0000, headroom: 500_0000 });
    await fixture.clock.advance(1_000);
    await fixture.customer({ balance: 500_0000 });
    expect(await creditOf(fixture, 2)).toMatchObject({ reserved: 0, headroom: 500_0000 });
  });

  it('counts an accept from the moment it is meant, until it has come to nothing', async () => {
    const fixture = await houseMeaning('accepted');
    expect(await creditOf(fixture, 2)).toMatchObject({ headroom: 700_0000 });
    expect(await creditOf(fixture, 1)).toMatchObject({ headroom: 1_000_0000 });
    await fixture.endPush('refused', { answered: false });
    expect(await creditOf(fixture, 2)).toMatchObject({ headroom: 1_000_0000 });
  });

  it('counts what was accepted although the clock of the ERP is ahead of ours', async () => {
    const fixture = await createDeciderFixture();
    await fixture.customer({ asOf: fixture.clock.now() + 7_200_000 });
    await deliveryOfC1(fixture, 1, 3);
    await fixture.clock.advance(1_000);
    await deliveryOfC1(fixture, 1, 3, 'accepted');
    await deliveryOfC1(fixture, 2, 2);
    expect(await creditOf(fixture, 2)).toMatchObject({ reserved: 300_0000, headroom: 700_0000 });
  });

  it('counts what was accepted before the figures came, and after they were taken', async () => {
    const fixture = await createDeciderFixture();
    await deliveryOfC1(fixture, 2, 2);
    const at: number[] = [];
    for (const id of [3, 1]) {
      await deliveryOfC1(fixture, id, id);
      await fixture.clock.advance(1_000);
      at.push(fixture.clock.now());
      await deliveryOfC1(fixture, id, id, 'accepted');
      await fixture.clock.advance(1_000);
    }
    await fixture.customer({ asOf: at[1] ?? null });
    expect(await creditOf(fixture, 2)).toMatchObject({ reserved: 100_0000 });
    // Figures without a time are as old as the day on which they came.
    await fixture.customer({ asOf: null });
    expect(await creditOf(fixture, 2)).toMatchObject({ reserved: 0 });
  });

  it('counts by the last time that a delivery was accepted', async () => {
    const fixture = await createDeciderFixture();
    await deliveryOfC1(fixture, 1, 3);
    await deliveryOfC1(fixture, 2, 2);
    for (const status of ['accepted', 'pending']) await deliveryOfC1(fixture, 1, 3, status);
    await fixture.clock.advance(1_000);
    await fixture.customer();
    expect(await creditOf(fixture, 2)).toMatchObject({ reserved: 0 });
    await fixture.clock.advance(1_000);
    await deliveryOfC1(fixture, 1, 3, 'accepted');
    expect(await creditOf(fixture, 2)).toMatchObject({ reserved: 300_0000 });
    await fixture.store.db
      .updateTable('delivery')
      .set({ deleted_at: 1 })
      .where('order_delivery_id', '=', 1)
      .execute();
    expect(await creditOf(fixture, 2)).toMatchObject({ reserved: 0 });
  });

  it('is not claimed by a delivery that is being rejected', async () => {
    const fixture = await houseMeaning('rejected');
    expect(await creditOf(fixture, 2)).toMatchObject({ reserved: 0 });
  });

  it('does not count history that was accepted before we ever saw it pending', async () => {
    const fixture = await createDeciderFixture();
    await fixture.customer({ asOf: fixture.clock.now() - 1_000 });
    await fixture.order(1, C1);
    const more = { createdAt: '2025-01-05T08:00:00Z' };
    await fixture.delivery({ id: 1, status: 'accepted', more });
    await deliveryOfC1(fixture, 2, 2);
    expect(await creditOf(fixture, 2)).toMatchObject({ reserved: 0 });
  });

  it('is not known where what was accepted has no price or another currency', async () => {
    const fixture = await createDeciderFixture();
    await fixture.customer();
    await fixture.order(1, { ...C1, currency: 'EUR' });
    await fixture.delivery({ id: 1, order: 1 });
    await fixture.delivery({ id: 1, order: 1, status: 'accepted' });
    await deliveryOfC1(fixture, 2, 2);
    const credit = await creditOf(fixture, 2);
    const unknown = { limit: 1_000_0000, reserved: null, headroom: null };
    expect(credit).toMatchObject(unknown);
    await fixture.order(1, { ...C1, currency: null });
    await fixture.customer({ currency: null });
    expect(await creditOf(fixture, 2)).toMatchObject(unknown);
    await fixture.order(1, C1);
    await fixture.customer();
    expect(await creditOf(fixture, 2)).toMatchObject({ reserved: 200_0000 });
    const priced = { barcode: 'a', fulfilledQuantity: 1, price: 100 };
    const fulfilledLineItems = [priced, { ...priced, price: null }];
    await fixture.delivery({ id: 1, order: 1, status: 'accepted', more: { fulfilledLineItems } });
    expect(await creditOf(fixture, 2)).toMatchObject(unknown);
  });

  it('is compared and summed up whatever letters the service writes a currency in', async () => {
    const fixture = await createDeciderFixture();
    await fixture.customer();
    const details = { wspPrice: 90, currency: 'dkk' };
    await fixture.stock({ a: 9 }, { a: { details } });
    for (const [id, status] of [
      [1, 'accepted'],
      [2, 'pending'],
    ] as const) {
      const address = { ...C1.shippingAddress, countryCode: ' no' };
      await fixture.order(id, { shippingAddress: address, currency: 'dkk ' });
      await fixture.delivery({ id, order: id, lines: [['a', 1]] });
      if (status === 'accepted')
        await fixture.delivery({ id, order: id, lines: [['a', 1]], status });
    }
    const { facts } = await subjectOf(fixture, 2);
    expect(facts.order).toMatchObject({ country: 'NO', currency: 'DKK' });
    expect(facts.customer?.credit).toMatchObject({ reserved: 100_0000, headroom: 900_0000 });
    expect(facts.delivery).toMatchObject({ currency: 'DKK', lines: [{ list_price: 90_0000 }] });
    // An invalid code is told as it is: it is odd, and not absent.
    const address = { ...C1.shippingAddress, countryCode: 'nor' };
    await fixture.order(3, { shippingAddress: address, currency: 'kr' });
    await fixture.delivery({ id: 3, order: 3 });
    const odd = { country: 'nor', currency: 'kr' };
    expect((await subjectOf(fixture, 3)).facts.order).toMatchObject(odd);
  });

  it('is absent for a customer or an account that the ERP does not know', async () => {
    const fixture = await createDeciderFixture();
    await fixture.customer({ creditLimit: null, balance: null, overdueDays: null, blocked: true });
    await deliveryOfC1(fixture, 1, 1);
    const { facts } = await subjectOf(fixture, 1);
    expect(facts.customer).toMatchObject({ blocked: true, credit: null });
    await fixture.order(2, { shippingAddress: { accountNo: 'C-2' } });
    await fixture.delivery({ id: 2, order: 2 });
    const ofC2 = (await subjectOf(fixture, 2)).facts.customer;
    expect([ofC2?.account_no, ofC2?.blocked, ofC2?.credit]).toEqual(Array(3).fill(undefined));
  });

  it('is known as far as the ERP tells it, and not at all of a customer that is gone', async () => {
    const fixture = await createDeciderFixture();
    await deliveryOfC1(fixture, 1, 1);
    const told = { creditLimit: null, balance: null, overdueDays: 20, blocked: null };
    await fixture.customer(told);
    const customerOf = async () => (await subjectOf(fixture, 1)).facts.customer;
    expect(await customerOf()).toMatchObject({
      blocked: null,
      credit: { limit: null, balance: null, overdue_days: 20, headroom: null },
    });
    await fixture.store.transaction((tx) => removeErpCustomers(tx, ['C-1'], fixture.clock.now()));
    expect(await customerOf()).not.toHaveProperty('account_no');
    expect(await customerOf()).not.toHaveProperty('credit');
  });

  it('is found for an account that the service shows with spaces around it', async () => {
    const fixture = await createDeciderFixture();
    await fixture.customer({ blocked: true });
    await fixture.order(1, { shippingAddress: { accountNo: ' C-1   ' } });
    await fixture.delivery({ id: 1, order: 1 });
    const { facts } = await subjectOf(fixture, 1);
    expect(facts.order.account_no).toBe('C-1');
    expect(facts.customer).toMatchObject({ account_no: 'C-1', blocked: true });
  });
});

describe('fields that the ERP adds', () => {
  it('are facts where they are declared and of their kind, else odd and told', async () => {
    const fixture = await createDeciderFixture();
    const extra = { price_group: 'A', risk: 3.5, share: 0.25, vip: 'yes', secret: 1 };
    await fixture.customer({ extra });
    await deliveryOfC1(fixture, 1, 1);
    const { facts, invalidFields } = await subjectOf(fixture, 1);
    expect(facts.customer?.extra).toEqual({
      ...{ price_group: 'A', share: 0.25 },
      ...{ risk: 'no whole number: 3.5', vip: 'no true/false: "yes"' },
    });
    expect(invalidFields).toEqual([
      'risk should be a whole number, it is 3.5',
      'vip should be a true/false, it is "yes"',
    ]);
    const numbers = { share: 1e30 };
    await fixture.customer({ extra: numbers });
    expect((await subjectOf(fixture, 1)).invalidFields).toEqual([
      'share should be a decimal, it is 1e+30',
    ]);
  });

  it('are unknown where they are of another kind, and not absent', async () => {
    const rules = loadedRules(
      `
rules:
  - { id: accept-all, title: All, action: accept, mode: live, when: [ 'delivery.quantity > 0' ] }
${['price_group == "A"', 'risk > 3', 'share > 0.5', 'vip']
  .map(
    (condition, at) => `
  - id: hold-${at}
    title: Guarded
    action: hold
    mode: live
    when: [ 'has(customer.extra.${condition.split(' ')[0]}) && customer.extra.${condition}' ]`,
  )
  .join('')}`,
      SETTINGS,
    );
    const fixture = await createDeciderFixture();
    const odd = [
      ...[{ price_group: 1 }, { price_group: true }, { price_group: ['A'] }],
      ...[{ risk: '5' }, { risk: 3.5 }, { risk: {} }, { risk: 1e300 }],
      ...[{ share: '0.8' }, { share: 1e30 }, { share: [0.8] }, { vip: 'yes' }, { vip: 1 }],
    ];
    await fixture.customer({ extra: {} });
    await deliveryOfC1(fixture, 100, 1);
    expect(await fixture.decide({ rules: () => rules })).toEqual(['100 accept']);
    for (const [id, extra] of odd.entries()) {
      await fixture.customer({ extra });
      await deliveryOfC1(fixture, id + 1, 1);
      const decided = await fixture.decide({ rules: () => rules });
      expect([extra, decided.at(-1)]).toEqual([extra, `${id + 1} hold`]);
      await deliveryOfC1(fixture, id + 1, 1, 'canceled');
    }
  });
});

describe('a pre-order', () => {
  it('is known by its season, or by lines that all name a delivery of one season', async () => {
    const fixture = await createDeciderFixture();
    const line = { barcode: 'a', quantity: 1, price: 1, season: 'AW26', delivery: 'Drop 1' };
    await fixture.order(1, { orderLineItems: [line, { ...line, delivery: 'Drop 2' }] });
    await fixture.delivery({ id: 1, order: 1 });
    expect((await subjectOf(fixture, 1)).facts.order).toMatchObject({
      ...{ preorder: true, season: 'AW26', delivery_names: ['Drop 1', 'Drop 2'] },
    });
    const { season: _season, delivery: _delivery, ...plain } = line;
    await fixture.order(2, { orderLineItems: [line, plain] });
    await fixture.delivery({ id: 2, order: 2 });
    expect((await subjectOf(fixture, 2)).facts).toMatchObject({
      order: { preorder: false, season: null },
      season: null,
    });
    await fixture.order(3, { orderLineItems: [line, { ...line, season: 'SS27' }] });
    await fixture.delivery({ id: 3, order: 3 });
    expect((await subjectOf(fixture, 3)).facts.order).toMatchObject({ preorder: false });
  });

  it('tells whether its season is still listed, once the seasons were read', async () => {
    const fixture = await createDeciderFixture();
    await fixture.order(1, { SeasonName: 'AW26' });
    await fixture.delivery({ id: 1, order: 1 });
    const seasonOf = async () => (await subjectOf(fixture, 1)).facts.season;
    expect(await seasonOf()).toMatchObject({ name: 'AW26', listed: null });
    const { db } = fixture.store;
    await db
      .insertInto('stream_state')
      .values({ stream: 'seasons', due_at: 0, complete_at: null, last_run_id: null })
      .execute();
    expect(await seasonOf()).toMatchObject({ listed: null, delivery_names: null });
    await db.updateTable('stream_state').set({ complete_at: 1 }).execute();
    expect(await seasonOf()).toMatchObject({ listed: false, delivery_names: null });
    // The list may have it after all, in a row that could not be read.
    const rejected = [{ raw: { seasonName: 'AW26' }, path: 'deliveryNames.0', reason: 'no text' }];
    const from = { source: 'run:1', readSeq: 1, at: 0 };
    await fixture.store.transaction((tx) => quarantineRows(tx, 'season', rejected, from));
    expect(await seasonOf()).toMatchObject({ listed: null, delivery_names: null });
    const row = SEASON.toRow({ seasonName: 'AW26', deliveryNames: ['Drop 1', 'Drop 2'] });
    await fixture.store.transaction((tx) => upsertRows(tx, SEASON, [row], from));
    const delivery_names = ['Drop 1', 'Drop 2'];
    expect(await seasonOf()).toMatchObject({ listed: true, delivery_names });
    await db.updateTable('season').set({ deleted_at: 1 }).execute();
    expect(await seasonOf()).toMatchObject({ listed: false, delivery_names: null });
  });
});

it('looks no order up of a delivery that has left, however many have', async () => {
  const fixture = await createDeciderFixture();
  const planned = notePlans(fixture.store);
  await planned.store.transaction((tx) => reservedPieces(tx, 1, ['a'], 0));
  const steps = await planned.steps(/cross join delivery_line line/);
  // In a query of its own, which runs for what has not left.
  expect(steps).toContain('SEARCH o USING INTEGER PRIMARY KEY (rowid=?)');
  expect(steps.filter((step) => step.includes('LEFT-JOIN'))).toEqual([]);
});
