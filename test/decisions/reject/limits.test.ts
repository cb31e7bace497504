import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { capExceeded } from '../../../src/decisions/reject/caps.ts';
import { DECISIONS, pausesIn } from '../../support/pauses.ts';
import { notePlans } from '../../support/plans.ts';
import { sendInVain } from '../support.ts';
import { createRejectFixture, HOUR, type RejectFixture, settingsWith, UNLUCKY } from './support.ts';

/** Deliveries 1…n wait to be rejected; the grace of all of them is over. */
async function manyAfterGrace(
  count: number,
  reject: object,
  more: (id: number) => Readonly<Record<string, unknown>> = () => ({}),
  rules = UNLUCKY,
): Promise<RejectFixture> {
  const rejects = await createRejectFixture(rules, settingsWith(reject));
  for (let id = 1; id <= count; id += 1) await rejects.unlucky(id, more(id));
  await rejects.decide();
  await rejects.arm();
  await rejects.decide();
  await rejects.afterGrace();
  return rejects;
}

/** Ends the grace of every waiting reject now. */
async function endGrace(rejects: RejectFixture): Promise<void> {
  await rejects.store.db.updateTable('reject_entry').set({ due_at: 0 }).execute();
  await rejects.fresh();
  await rejects.execute();
}

async function expectTripped(
  rejects: RejectFixture,
  safeguard: string,
  detail: RegExp,
): Promise<void> {
  const { breaker } = await rejects.overview();
  expect(breaker).toMatchObject({ safeguard });
  expect(breaker?.detail).toMatch(detail);
  const incident = await rejects.store.db
    .selectFrom('incident')
    .selectAll()
    .where('kind', '=', 'reject_breaker')
    .where('resolved_at', 'is', null)
    .executeTakeFirst();
  expect(incident).toBeDefined();
}

const customer = (id: number) => ({
  shippingAddress: { countryCode: 'DK', accountNo: `C-${id}` },
});

describe('a limit of rejects trips the breaker when it is reached:', () => {
  it('in an hour', async () => {
    const rejects = await manyAfterGrace(3, { max_per_hour: 2 });
    expect(await rejects.intendedPushes()).toEqual(['1 rejected', '2 rejected']);
    await expectTripped(rejects, 'cap', /an hour: 3, allowed are 2/);
    const latest = await rejects.latest();
    expect(latest).toMatchObject({ id: 3, outcome: 'hold' });
    expect(latest.reason).toBe('safeguard cap: an hour: 3, allowed are 2');
    const tried = await rejects.tried({ rules: rejects.rules().ruleSet });
    expect(tried.at(-1)).toMatchObject({
      ...{ orderDeliveryId: 3, after: 'hold', reason: latest.reason },
    });
  });

  it('in a day, over the hours', async () => {
    const rejects = await manyAfterGrace(1, { max_per_day: 1 });
    await rejects.unlucky(2);
    await rejects.decide();
    await rejects.afterGrace();
    expect(await rejects.intendedPushes()).toEqual(['1 rejected', '2 rejected']);
    await rejects.unlucky(3);
    await rejects.decide();
    await rejects.clock.advance(2 * HOUR);
    await endGrace(rejects);
    expect(await rejects.intendedPushes()).toHaveLength(2);
    await expectTripped(rejects, 'cap', /a day: 2, allowed are 1/);
  });

  it('for one customer, and for the rule itself', async () => {
    const rejects = await manyAfterGrace(3, { max_per_customer_per_day: 2 });
    await expectTripped(rejects, 'cap', /for one customer: 3, allowed are 2/);
    const own = UNLUCKY.replace('grace: 24h', 'grace: 24h, max_per_customer_per_day: 1');
    const others = await manyAfterGrace(2, {}, () => ({}), own);
    await expectTripped(others, 'cap', /one customer by reject-unlucky: 2, allowed are 1/);
    const spread = await manyAfterGrace(2, {}, customer, own);
    expect(await spread.intendedPushes()).toHaveLength(2);
  });

  it('by amount, in each currency by itself', async () => {
    const kroner = (id: number) => ({ ...customer(id), currency: id === 2 ? 'SEK' : 'DKK' });
    const rejects = await manyAfterGrace(3, { max_amount_per_day: 2000 }, kroner);
    expect(await rejects.intendedPushes()).toEqual(['1 rejected', '2 rejected']);
    await expectTripped(rejects, 'cap', /amount a day: 2600\.00 DKK, allowed are 2000/);
  });

  it('by amount, where a price is not known', async () => {
    const rejects = await createRejectFixture(
      UNLUCKY,
      settingsWith({ max_amount_per_day: 100_000 }),
    );
    await rejects.order(1);
    const line = { barcode: 'a', fulfilledQuantity: 13, price: null };
    await rejects.delivery({ id: 1, more: { deliveryNo: 'DN-1', fulfilledLineItems: [line] } });
    await rejects.decide();
    await rejects.arm();
    await rejects.decide();
    await rejects.afterGrace();
    await expectTripped(rejects, 'cap', /amount a day: an amount is not known/);
  });

  it('by the share of what is decided in a day, above its floor', async () => {
    const rejects = await manyAfterGrace(3, { max_share_of_day: 10, share_floor: 2 }, customer);
    expect(await rejects.intendedPushes()).toEqual(['1 rejected', '2 rejected']);
    await expectTripped(rejects, 'cap', /share of the day: 3 of 3 deliveries, allowed are 10 %/);
  });

  it('whose share is counted above its floor only: that goes through every delivery', async () => {
    const rejects = await createRejectFixture();
    const { settings, rules } = rejects.rules().ruleSet;
    const rule = rules.find(({ action }) => action === 'reject');
    if (!rule) throw new Error('no reject rule');
    const counted = { accountNo: null, amount: 1, currency: 'DKK' };
    const planned = notePlans(rejects.store);
    for (const floor of [1, 0]) {
      const reject = { ...settings.safeguards.reject, share_floor: floor, max_share_of_day: 100 };
      const limits = { ...settings, safeguards: { ...settings.safeguards, reject } };
      await planned.store.transaction((tx) => capExceeded(tx, rule, counted, limits, 0));
      expect(planned.times(/from "evaluation"/)).toBe(1 - floor);
    }
  });

  it('far above the median of the last 30 days', async () => {
    const rejects = await manyAfterGrace(3, { times_median: 2, median_floor: 2 }, customer);
    expect(await rejects.intendedPushes()).toEqual(['1 rejected', '2 rejected']);
    await expectTripped(rejects, 'usual', /3 today, the median of 30 days is 0/);
  });
});

describe('the breaker', () => {
  it('trips over three pushes that failed', async () => {
    const rejects = await manyAfterGrace(3, { write_failures: 3 }, customer);
    expect(await rejects.intendedPushes()).toHaveLength(3);
    await rejects.store.db.updateTable('outbox').set({ attempts: 1 }).execute();
    await rejects.store.db.updateTable('outbox').set({ state: 'sending' }).execute();
    await rejects.endPush('refused', { answered: false });
    await rejects.unlucky(4);
    await rejects.decide();
    expect(await rejects.entry(1)).toMatchObject({ state: 'failed', safeguard: 'push' });
    await rejects.clock.advance(HOUR);
    await endGrace(rejects);
    expect(await rejects.intendedPushes()).toHaveLength(3);
    await expectTripped(rejects, 'failures', /3 pushes of rejects failed in a day/);
  });

  it('counts no failure of before it was reset, each time, or of another day', async () => {
    const rejects = await manyAfterGrace(1, { write_failures: 1 }, customer);
    const reject = async (id: number) => {
      await rejects.unlucky(id);
      await rejects.decide();
      await rejects.clock.advance(HOUR);
      await endGrace(rejects);
    };
    const fail = async () => {
      await rejects.store.db.updateTable('outbox').set({ attempts: 1 }).execute();
      await rejects.endPush('refused', { answered: false });
    };
    for (const id of [2, 4]) {
      await fail();
      await reject(id);
      await expectTripped(rejects, 'failures', /1 pushes of rejects failed in a day/);
      await rejects.operations.resetBreaker({ actor: 'ada', reason: 'mended' });
      const open = rejects.store.db.selectFrom('incident').where('resolved_at', 'is', null);
      expect(await open.select('kind').execute()).toEqual([]);
      await reject(id + 1);
    }
    expect(await rejects.intendedPushes()).toEqual(['1 rejected', '3 rejected', '5 rejected']);
    await fail();
    await rejects.execute();
    await rejects.clock.advance(24 * HOUR);
    await reject(6);
    expect(await rejects.intendedPushes()).toContain('6 rejected');
    await rejects.store.db.updateTable('outbox').set({ attempts: 1 }).execute();
    await rejects.endPush('confirmed', { answered: true });
    await rejects.execute();
    await reject(7);
    expect(await rejects.intendedPushes()).toContain('7 rejected');
  });

  it('does not trip over pushes that it called off while their answer was out', async () => {
    const rejects = await manyAfterGrace(3, { write_failures: 3 }, customer);
    const { db } = rejects.store;
    await db.updateTable('outbox').set({ attempts: 1, state: 'sending' }).execute();
    await rejects.operations.disarm('reject-unlucky', { actor: 'ada', reason: 'wrong' });
    const last_error = sql<string>`body->>'$.cancelRequested'`;
    await db.updateTable('outbox').set({ last_error }).execute();
    await rejects.endPush('refused', { answered: false });
    await rejects.arm();
    await rejects.unlucky(4);
    await rejects.decide();
    await endGrace(rejects);
    expect(await rejects.intendedPushes()).toHaveLength(4);
  });

  it('does not trip over pushes that were called off before the service took them', async () => {
    const rejects = await manyAfterGrace(3, { write_failures: 3 }, customer);
    const comeBack: (() => Promise<void>)[] = [];
    for (let id = 1; id <= 3; id += 1) comeBack.push(await sendInVain(rejects));
    const pauses = await pausesIn(rejects);
    await pauses.pause(DECISIONS, { actor: 'ada', reason: 'prices look wrong' });
    for (const back of comeBack) await back();
    await pauses.resume(DECISIONS, { actor: 'ada', reason: 'they are right' });
    // The outbox ends a push that must not leave any more like this.
    await rejects.endPush('refused', { answered: false });
    await rejects.unlucky(4);
    await rejects.decide();
    expect(await rejects.entry(1)).toMatchObject({ state: 'failed', safeguard: 'push' });
    await rejects.clock.advance(HOUR);
    await endGrace(rejects);
    expect((await rejects.overview()).breaker).toBeNull();
    expect(await rejects.intendedPushes()).toContain('4 rejected');
  });

  it('holds everything that waits, and lets nothing reject until a person resets it', async () => {
    const rejects = await manyAfterGrace(3, { max_per_hour: 1 });
    expect(await rejects.intendedPushes()).toEqual(['1 rejected']);
    expect(await rejects.entry(2)).toMatchObject({ state: 'held', safeguard: 'cap' });
    expect(await rejects.entry(3)).toMatchObject({ state: 'held', safeguard: 'breaker' });
    // The push of the first one was not sent yet.
    expect(await rejects.decide()).toEqual(['1 hold', '3 hold']);
    expect((await rejects.latest()).reason).toMatch(/^safeguard breaker: it tripped: cap, an hour/);

    await rejects.unlucky(4);
    expect(await rejects.decide()).toEqual(['4 hold']);
    const who = { actor: 'ada', reason: 'a sale, expected' };
    await rejects.operations.resetBreaker(who);
    await expect(rejects.operations.resetBreaker(who)).rejects.toMatchObject({
      code: 'rules.breaker_whole',
    });
    const audit = await rejects.store.db
      .selectFrom('audit')
      .selectAll()
      .where('action', '=', 'rules.reset_breaker')
      .executeTakeFirst();
    expect(audit).toMatchObject({ actor: 'ada', reason: 'a sale, expected' });
    expect((await rejects.overview()).breaker).toBeNull();
    // Deliveries that it had stopped stay held: a person looks at each.
    expect(await rejects.decide()).toEqual(['4 reject']);
    expect(await rejects.entry(3)).toMatchObject({ state: 'held' });
  });

  it('forgets nothing over a restart, as the limits do not', async () => {
    const rejects = await manyAfterGrace(2, { max_per_day: 1 });
    await expectTripped(rejects, 'cap', /a day: 2/);
    await rejects.unlucky(3);
    // Decider and executor are made anew for each of these.
    expect(await rejects.decide()).toContain('3 hold');
    await rejects.afterGrace();
    expect(await rejects.intendedPushes()).toEqual(['1 rejected']);
  });
});

it('what a limit stopped is for the rules again once a person gives it back to them', async () => {
  const rejects = await manyAfterGrace(2, { max_per_hour: 1 });
  await rejects.operations.resetBreaker({ actor: 'ada', reason: 'expected' });
  await rejects.clock.advance(2 * HOUR);
  expect(await rejects.decide()).toEqual(['1 hold']);
  expect(await rejects.entry(2)).toMatchObject({ state: 'held', safeguard: 'cap' });
  const release = { action: 'release', actor: 'ada', reason: 'seen', why: 'checked' } as const;
  await rejects.review.act({ ...release, delivery: '2', toRules: true });
  const tried = await rejects.tried({ rules: rejects.rules().ruleSet });
  expect(tried.at(-1)).toMatchObject({ orderDeliveryId: 2, after: 'reject' });
  expect(await rejects.decide()).toEqual(['2 reject']);
  expect(await rejects.entry(2)).toMatchObject({ state: 'waiting', safeguard: null });
  expect(await rejects.intendedPushes()).toEqual(['1 rejected']);
});

it('what a limit stopped is held by a rule that holds it, in the words of that rule', async () => {
  const asked = `${UNLUCKY}
  - id: hold-asked
    title: Ask first
    action: hold
    mode: live
    when: [ 'order.comment == "ask"' ]
`;
  const rejects = await manyAfterGrace(2, { max_per_hour: 1 }, () => ({}), asked);
  await rejects.order(2, { comment: 'ask' });
  expect(await rejects.decide()).toContain('2 hold');
  expect(await rejects.latest()).toMatchObject({ id: 2, outcome: 'hold', reason: 'Ask first' });
  await rejects.order(2);
  expect(await rejects.decide()).toEqual(['2 hold']);
  expect((await rejects.latest()).reason).toMatch(/^safeguard cap: /);
});
