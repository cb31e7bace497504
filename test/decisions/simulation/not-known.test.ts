import { deflateSync, inflateSync } from 'node:zlib';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  type Backtest,
  type BacktestOptions,
  backtest,
} from '../../../src/decisions/simulation/backtest.ts';
import { backtestJson, formatBacktest } from '../../../src/decisions/simulation/backtest-text.ts';
import { EXIT, exitCodeOf } from '../../../src/lib/errors.ts';
import { canonicalJson, sha256 } from '../../../src/lib/json.ts';
import { rulesOf } from '../../rules/support.ts';
import { createRejectFixture, DAY, settingsWith } from '../reject/support.ts';
import {
  ACCEPT_SMALL,
  createDeciderFixture,
  type DeciderFixture,
  loadedRules,
} from '../support.ts';

let fixture: DeciderFixture;
beforeEach(async () => {
  fixture = await createDeciderFixture();
});

const C1 = { shippingAddress: { accountNo: 'C-1' } };

/** ACCEPT_SMALL beside a reject rule with this condition. */
const rejecting = (when: string): string =>
  `${ACCEPT_SMALL}
  - id: reject-it
    title: Not wanted
    action: reject
    mode: live
    when: [ '${when}' ]
`.replace('action: accept\n    mode: live', 'action: accept\n    mode: shadow');

function run(options: BacktestOptions, { store, clock } = fixture): Promise<Backtest> {
  return backtest(store.db, { since: 0, until: clock.now() + 1 }, options);
}

/** Deliveries of so many orders of one account, each accepted. */
async function acceptAll(count: number): Promise<void> {
  for (let id = 1; id <= count; id += 1) {
    await fixture.order(id, C1);
    await fixture.delivery({ id, order: id });
  }
  expect(await fixture.decide()).toHaveLength(count);
}

interface Stored {
  feed?: number;
  stock?: object;
  readonly order: { country?: string | null };
}

/** Stored facts are changed as if the decisions had been made on these. */
async function rewriteFacts(change: (facts: Stored) => void): Promise<void> {
  const { db } = fixture.store;
  for (const { digest, facts } of await db.selectFrom('fact_snapshot').selectAll().execute()) {
    const changed = JSON.parse(inflateSync(facts).toString());
    change(changed);
    const text = canonicalJson(changed);
    const row = { digest: sha256(text), facts: deflateSync(text) };
    await db.updateTable('fact_snapshot').set(row).where('digest', '=', digest).execute();
    await sql`drop trigger if exists decision_is_final`.execute(db);
    await db
      .updateTable('decision')
      .set({ facts_digest: row.digest })
      .where('facts_digest', '=', digest)
      .execute();
  }
}

describe('a fact that no rule read then', () => {
  it('is found as it was, whatever has changed since', async () => {
    await acceptAll(3);
    await fixture.clock.advance(DAY);
    await fixture.order(1, { ...C1, status: 'canceled' });
    await fixture.order(2, { shippingAddress: { accountNo: 'C-2' } });
    await fixture.order(9, C1);
    const report = await run({ rules: rulesOf(rejecting('customer.orders_before == 2')) });
    expect(report.notKnown).toMatchObject({ deliveries: 0, lastAt: null });
    expect(report.rejects.map((one) => one.orderDeliveryId)).toEqual([3]);
    expect(
      (await run({ rules: rulesOf(rejecting('customer.accepted_today >= 1')) })).rejects,
    ).toHaveLength(2);
    const same = await run({ rules: rulesOf(rejecting('order.similar_within < days(1)')) });
    expect(same.rejects.map((one) => one.orderDeliveryId)).toEqual([2, 3]);
  });

  it('is found for decisions of 0.1.0 too, unless something changed about that time', async () => {
    await fixture.order(1, C1);
    await fixture.clock.advance(DAY);
    await fixture.order(2, C1);
    await fixture.delivery({ id: 2, order: 2 });
    await fixture.clock.advance(DAY);
    await fixture.decide();
    await fixture.clock.advance(DAY);
    await fixture.delivery({ id: 1, order: 1 });
    await fixture.order(3, C1);
    await fixture.decide();
    await rewriteFacts((facts) => delete facts.feed);
    const report = await run({ rules: rulesOf(rejecting('customer.orders_before >= 1')) });
    expect(report).toMatchObject({ rejectCount: 1, notKnown: { deliveries: 1, examples: [1] } });
  });

  it('is found for the stock where a line tells the same age', async () => {
    await fixture.stock({ a: 9 });
    const started = fixture.clock.now();
    const run1 = { stream: 'stock', cause: 'schedule', started_at: started, ended_at: started + 1 };
    const rest = { read_seq: 1, options: '{}', checkpoint: '{}', outcome: 'complete' } as const;
    await fixture.store.db
      .insertInto('sync_run')
      .values({ ...run1, ...rest })
      .execute();
    await fixture.clock.advance(5_000);
    await fixture.delivery({ id: 1, lines: [['a', 2]] });
    await fixture.delivery({ id: 2, lines: [['b', 2]] });
    await fixture.decide();
    await rewriteFacts((facts) => delete facts.stock);
    const report = await run({ rules: rulesOf(rejecting('stock.age == duration("5s")')) });
    expect(report).toMatchObject({ rejectCount: 1, notKnown: { examples: [2] } });
  });

  it('is no fact that there is none of', async () => {
    await fixture.customer({ extra: { tier: 'gold' } });
    await acceptAll(2);
    const settings = 'version: 1\ncustomer_fields: { tier: text }\n';
    const rules = rulesOf(rejecting('!has(customer.extra.tier)'), settings);
    const report = await run({ rules });
    expect(report).toMatchObject({ rejectCount: 0, agreement: [] });
    expect(report.notKnown).toMatchObject({ deliveries: 2, facts: { 'customer.extra.tier': 2 } });
    const text = formatBacktest(report);
    expect(text).toContain('\nnot known for 2 of 2 deliveries: customer.extra.tier (2)\n');
    expect(text).toContain(`--since ${new Date(fixture.clock.now() + 1).toISOString()}`);
    expect(text).toMatch(/reject-it +reject, live +0 deliveries +not known on 2/);
    expect(backtestJson(report).uses.at(-1)).toMatchObject({ fired: 0, notGathered: 2 });
  });

  it('matters only where the outcome depends on it', async () => {
    await fixture.customer({ extra: { tier: 'gold' } });
    await acceptAll(1);
    const settings = 'version: 1\ncustomer_fields: { tier: text }\n';
    const tier = 'customer.extra.tier == "x"';
    const notKnown = async (when: string) =>
      (await run({ rules: rulesOf(rejecting(when), settings) })).notKnown.deliveries;
    expect(await notKnown(`delivery.quantity > 99 && ${tier}`)).toBe(0);
    expect(await notKnown(`delivery.quantity > 99', '${tier}`)).toBe(0);
    expect(await notKnown(`delivery.quantity > 1 && ${tier}`)).toBe(1);
    expect(await notKnown(`delivery.quantity > 99 && has(customer.extra.tier)`)).toBe(1);
  });

  it('is made anew if it follows from the settings on trial', async () => {
    await fixture.order(1, { ...C1, currency: 'EUR' });
    await fixture.delivery({ id: 1 });
    await fixture.decide();
    const settings = (rate: number) => `version: 1\nbase_currency: DKK\nrates: { EUR: ${rate} }\n`;
    const when = rejecting('delivery.amount_base > 1000');
    expect((await run({ rules: rulesOf(when, settings(4)) })).rejectCount).toBe(0);
    expect((await run({ rules: rulesOf(when, settings(6)) })).rejectCount).toBe(1);
  });
});

describe('facts of a decision that are gone', () => {
  it('make its delivery one that nobody knows', async () => {
    await acceptAll(3);
    await fixture.store.db
      .deleteFrom('fact_snapshot')
      .where('digest', 'in', (eb) =>
        eb.selectFrom('decision').select('facts_digest').where('order_delivery_id', '=', 2),
      )
      .execute();
    const report = await run({ rules: rulesOf(rejecting('delivery.quantity > 1')) });
    expect(report).toMatchObject({ deliveries: 3, rejectCount: 2 });
    expect(report.notKnown).toMatchObject({
      deliveries: 1,
      facts: { 'all facts': 1 },
      examples: [2],
    });
  });

  it('are not those that somebody has put in their place', async () => {
    await acceptAll(1);
    const facts = deflateSync('{}');
    await fixture.store.db.updateTable('fact_snapshot').set({ facts }).execute();
    const report = await run({ rules: rulesOf(rejecting('delivery.quantity > 1')) });
    expect(report).toMatchObject({ rejectCount: 0, notKnown: { deliveries: 1 } });
  });

  it('are noticed one by one', async () => {
    await acceptAll(1);
    await rewriteFacts((facts) => delete facts.order.country);
    const report = await run({ rules: rulesOf(rejecting('!has(order.country)')) });
    expect(report.notKnown.facts).toEqual({ 'order.country': 1 });
  });
});

describe('a safeguard', () => {
  it('hides no reject from a backtest', async () => {
    const rejects = await createRejectFixture();
    await rejects.unlucky(1);
    await rejects.decide();
    await rejects.arm();
    await rejects.store.db.updateTable('sales_order').set({ deleted_at: 1 }).execute();
    expect(await rejects.decide()).toEqual(['1 hold']);
    const { ruleSet } = rejects.rules();
    const report = await run({ rules: ruleSet }, rejects);
    expect(report).toMatchObject({ rejectCount: 1, notKnown: { deliveries: 0 } });
  });

  it('leaves open what it would have done to another outcome', async () => {
    await fixture.delivery({ id: 1, lines: [['a', 30]] });
    const rules = loadedRules(ACCEPT_SMALL.replace('> 20', '> 99'));
    await fixture.store.db.updateTable('sales_order').set({ deleted_at: 1 }).execute();
    expect(await fixture.decide({ rules: () => rules })).toEqual(['1 hold']);
    const wide = rulesOf(ACCEPT_SMALL.replaceAll('20', '50'));
    const report = await run({ rules: wide });
    expect(report.notKnown).toMatchObject({ deliveries: 1, facts: { safeguards: 1 } });
  });
});

describe('arming', () => {
  it('takes no backtest that does not know every delivery', async () => {
    const rejects = await createRejectFixture(undefined, settingsWith({ matches_seen: 0 }));
    const { rules, hash: ruleSetHash } = rejects.rules().ruleSet;
    const [rule] = rules;
    const kept = { since: 0, until: 1, deliveries: 9, ruleSetHash };
    const who = { actor: 'ada', reason: 'agreed' };
    for (const [report, why] of [
      [{ notKnown: { deliveries: 2 } }, /does not know what becomes of 2 of 9 deliveries/],
      [{}, /does not say what it did not know/],
    ] as const) {
      const hashes = { 'reject-unlucky': rule?.hash ?? '' };
      await rejects.operations.keepReport({ ...kept, rules: hashes, report }, who);
      const arm = rejects.operations.arm('reject-unlucky', DAY, who);
      await expect(arm).rejects.toThrow(why);
      const hint = expect.stringContaining('selvedge rules backtest');
      await expect(arm).rejects.toMatchObject({ code: 'rules.not_known', hint });
      expect(exitCodeOf(await arm.catch((error: unknown) => error))).toBe(EXIT.notKnown.code);
    }
    await expect(rejects.arm()).resolves.toMatchObject({ ruleId: 'reject-unlucky' });
  });
});
