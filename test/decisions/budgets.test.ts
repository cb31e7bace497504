import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createDeciderFixture, type DeciderFixture, loadedRules } from './support.ts';

const RULES = loadedRules(`
rules:
  - id: accept-all
    title: Everything
    action: accept
    mode: live
    when: [ delivery.quantity > 0 ]
  - id: hold-credit
    title: Does not fit the credit
    action: hold
    mode: live
    when: [ delivery.amount > customer.credit.headroom ]
  - id: hold-short
    title: Does not fit the stock
    action: hold
    mode: live
    when: [ 'delivery.lines.exists(line, line.missing > 0)' ]
`);
const set = { rules: () => RULES };
const LIMIT = 500_0000;
/** Two deliveries of one customer, 300.00 each: either fits the credit of 500.00, both do not. */
interface Pair {
  readonly fixture: DeciderFixture;
  readonly account: string;
  readonly ids: readonly [number, number];
}

async function arrive({ fixture, account }: Pair, id: number, status = 'pending') {
  await fixture.order(id, { shippingAddress: { accountNo: account } });
  await fixture.delivery({ id, order: id, status, lines: [[`sku-${id}`, 3]] });
}

function openPush({ fixture, ids }: Pair) {
  return fixture.store.db
    .selectFrom('outbox')
    .select(['outbox_id', 'ordering_key'])
    .where('ended_at', 'is', null)
    .where(
      'ordering_key',
      'in',
      ids.map((id) => `delivery/${id}`),
    )
    .orderBy('outbox_id')
    .execute();
}

async function statusOf({ fixture }: Pair, id: number): Promise<string | undefined> {
  const row = await fixture.store.db
    .selectFrom('delivery')
    .select('status')
    .where('order_delivery_id', '=', id)
    .executeTakeFirst();
  return row?.status;
}

/** Walks the allowed ways of the outbox to the end of the oldest push. */
async function endPush(pair: Pair, result: 'confirmed' | 'refused' | 'dead') {
  const [push] = await openPush(pair);
  if (!push) return;
  const { fixture } = pair;
  const update = (values: object) =>
    fixture.store.db
      .updateTable('outbox')
      .set(values)
      .where('outbox_id', '=', push.outbox_id)
      .execute();
  await update({ state: 'sending', attempts: 1 });
  await fixture.decide(set);
  if (result === 'confirmed') {
    await arrive(pair, Number(push.ordering_key.split('/')[1]), 'accepted');
    await fixture.decide(set);
  }
  if (result === 'dead') await update({ state: 'in_doubt' });
  await update({ state: result, ended_at: fixture.clock.now() });
}

async function worthOf(pair: Pair, isCounted: (id: number) => Promise<boolean>): Promise<number> {
  const counted = await Promise.all(pair.ids.map(isCounted));
  return counted.filter(Boolean).length * 300_0000;
}

/** Sum of the deliveries that are or will be accepted, in hundredths. */
async function claimed(pair: Pair): Promise<number> {
  const open = new Set((await openPush(pair)).map((row) => row.ordering_key));
  return worthOf(
    pair,
    async (id) => open.has(`delivery/${id}`) || (await statusOf(pair, id)) === 'accepted',
  );
}

async function takeFigures(pair: Pair): Promise<void> {
  const { fixture, account: accountNo } = pair;
  const balance = await worthOf(pair, async (id) => (await statusOf(pair, id)) === 'accepted');
  await fixture.customer({ accountNo, creditLimit: LIMIT, balance });
}

const STEPS = ['first', 'second', 'decide', 'figures', 'confirm', 'refuse', 'give up'] as const;

async function take(pair: Pair, step: (typeof STEPS)[number]): Promise<void> {
  const { fixture, ids } = pair;
  await fixture.clock.advance(3_000);
  const id = ids[step === 'first' ? 0 : 1];
  const comes = step === 'first' || step === 'second';
  if (comes && (await statusOf(pair, id)) === undefined) await arrive(pair, id);
  if (step === 'figures') await takeFigures(pair);
  if (step === 'confirm') await endPush(pair, 'confirmed');
  if (step === 'refuse') await endPush(pair, 'refused');
  if (step === 'give up') await endPush(pair, 'dead');
  // Each is a daemon of its own: what it knows, it knows from the database.
  if (step === 'decide') await fixture.decide(set);
}

async function settle(pair: Pair): Promise<void> {
  for (const id of pair.ids) if ((await statusOf(pair, id)) === undefined) await arrive(pair, id);
  for (let round = 0; round < 4; round += 1) {
    await pair.fixture.clock.advance(3_000);
    await pair.fixture.decide(set);
    await endPush(pair, 'confirmed');
  }
}

describe('two deliveries that each fit the credit of a customer, but not together', () => {
  it('end as one accepted and one held, whatever happens in between', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({});
    let run = 0;
    const holds = async (steps: readonly (typeof STEPS)[number][]) => {
      run += 1;
      const ids = [run * 10 + 1, run * 10 + 2] as const;
      const pair = { fixture, account: `C-${run}`, ids };
      await fixture.stock({ [`sku-${ids[0]}`]: 9, [`sku-${ids[1]}`]: 9 });
      await takeFigures(pair);
      for (const step of steps) {
        await take(pair, step);
        expect(await claimed(pair)).toBeLessThanOrEqual(LIMIT);
      }
      await settle(pair);
      expect(await claimed(pair)).toBe(300_0000);
      const statuses = await Promise.all(ids.map((id) => statusOf(pair, id)));
      expect(statuses.toSorted()).toEqual(['accepted', 'pending']);
    };
    const numRuns = Number(process.env.SELVEDGE_BUDGET_RUNS ?? 6);
    const steps = fc.array(fc.constantFrom(...STEPS), { minLength: 3, maxLength: 10 });
    await fc.assert(fc.asyncProperty(steps, holds), { numRuns });
  });
});

describe('what is accepted', () => {
  it('gives its credit back when its push comes to nothing, and the other one has it', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ 'sku-1': 9, 'sku-2': 9 });
    const pair = { fixture, account: 'C-1', ids: [1, 2] } as const;
    await takeFigures(pair);
    for (const id of pair.ids) await arrive(pair, id);
    expect(await fixture.decide(set)).toEqual(['1 accept', '2 hold']);
    await fixture.clock.advance(3_000);
    await endPush(pair, 'refused');
    expect(await fixture.decide(set)).toEqual(['2 accept']);
  });

  it('gives its credit back when its order is moved to another account', async () => {
    const fixture = await createDeciderFixture();
    const ofAccount = (accountNo: string) => ({ shippingAddress: { accountNo } });
    await fixture.customer({ creditLimit: LIMIT });
    await fixture.stock({ a: 100 });
    for (const id of [1, 2]) {
      await fixture.order(id, ofAccount('C-1'));
      await fixture.delivery({ id, order: id, lines: [['a', 3]] });
    }
    expect(await fixture.decide(set)).toEqual(['1 accept', '2 hold']);
    await fixture.delivery({ id: 1, order: 1, lines: [['a', 3]], status: 'accepted' });
    await fixture.endPush('confirmed', { answered: true });
    await fixture.clock.advance(10_000);
    expect(await fixture.decide(set)).toEqual([]);
    await fixture.order(1, ofAccount('C-2'));
    expect(await fixture.decide(set)).toEqual(['2 accept']);
  });

  it('hides what is left of the credit only while its order has another currency', async () => {
    const fixture = await createDeciderFixture();
    const C1 = { shippingAddress: { accountNo: 'C-1' } };
    await fixture.customer();
    await fixture.stock({ a: 100 });
    await fixture.order(1, { ...C1, currency: 'EUR' });
    for (const status of ['pending', 'accepted']) {
      await fixture.delivery({ id: 1, order: 1, status });
    }
    await fixture.order(2, C1);
    await fixture.delivery({ id: 2, order: 2 });
    expect(await fixture.decide(set)).toEqual(['2 hold']);
    await fixture.clock.advance(10_000);
    await fixture.order(1, C1);
    expect(await fixture.decide(set)).toEqual(['2 accept']);
  });

  it('leaves the last pieces to the older delivery, also when the younger came first', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ a: 4 });
    await fixture.customer();
    await fixture.order(1, { shippingAddress: { accountNo: 'C-1' } });
    await fixture.delivery({ id: 2, order: 1, lines: [['a', 3]] });
    expect(await fixture.decide(set)).toEqual(['2 accept']);
    await fixture.delivery({ id: 1, order: 1, lines: [['a', 3]] });
    expect(await fixture.decide(set)).toEqual(['1 hold']);
    await fixture.stock({ a: 7 });
    expect(await fixture.decide(set)).toEqual(['1 accept']);
  });
});
