/** Limits of rejects, by intents that are written as the executor writes them. */
import { expect, it } from 'vitest';
import { capExceeded } from '../../../src/decisions/reject/caps.ts';
import {
  createRejectFixture,
  DAY,
  HOUR,
  type RejectFixture,
  settingsWith,
  UNLUCKY,
} from './support.ts';

interface Past {
  readonly agoMs: number;
  readonly amount?: number | null;
  readonly currency?: string;
  readonly rule?: string;
  readonly account?: string | null;
}

async function intend(rejects: RejectFixture, all: readonly Past[]): Promise<void> {
  const now = rejects.clock.now();
  for (const { agoMs, amount = 100, currency = 'DKK', ...more } of all) {
    const { rule = 'reject-unlucky', account = 'C-1' } = more;
    const at = now - agoMs;
    await rejects.store.db
      .insertInto('reject_entry')
      .values({
        ...{ order_delivery_id: 9, order_id: 9, rule_id: rule, rule_hash: '', delivery_hash: '' },
        ...{ decision_id: 1, queued_at: at, due_at: at, state: 'rejected', safeguard: null },
        ...{ detail: null, intent_at: at, intent_decision_id: 1, account_no: account },
        ...{ amount, currency, ended_at: at, ended_by: 'daemon' },
      })
      .execute();
  }
}

async function houseOf(limits: object, rules = UNLUCKY) {
  const rejects = await createRejectFixture(rules, settingsWith(limits));
  const { ruleSet } = rejects.rules();
  const [rule] = ruleSet.rules;
  if (!rule) throw new Error('no rule');
  const exceeded = async (more: Partial<Parameters<typeof capExceeded>[2]> = {}) => {
    const counted = { accountNo: 'C-2', amount: 100, currency: 'DKK', ...more };
    const found = await rejects.store.transaction((tx) =>
      capExceeded(tx, rule, counted, ruleSet.settings, rejects.clock.now()),
    );
    return found?.detail;
  };
  return { rejects, exceeded };
}

/** `each` intents in every one of the `days` days before today. */
function history(days: number, each: number): Past[] {
  return Array.from({ length: days * each }, (_, at) => ({
    agoMs: DAY * (1 + Math.floor(at / each)) + HOUR,
  }));
}

/** So many today, in which the one that is asked for is not. */
const today = (count: number): Past[] => Array.from({ length: count }, () => ({ agoMs: 2 * HOUR }));

it.each([
  // Two on each of 16 days, none on the 14 others.
  { past: history(16, 2), allowed: 6, median: 2 },
  // Half of the days: between none and two.
  { past: history(15, 2), allowed: 3, median: 1 },
  // Older rejects do not count.
  { past: history(40, 2).slice(60), allowed: 1, median: 0 },
])('compares with the median of the 30 days before: $median', async ({ past, allowed, median }) => {
  const { rejects, exceeded } = await houseOf({ times_median: 3, median_floor: 1 });
  await intend(rejects, [...past, ...today(allowed - 1)]);
  expect(await exceeded()).toBeUndefined();
  await intend(rejects, today(1));
  expect(await exceeded()).toContain(`${allowed + 1} today, the median of 30 days is ${median}`);
});

it.each([
  { what: 'of this one', past: [], more: { amount: null } },
  { what: 'of an earlier one', past: [{ agoMs: HOUR, amount: null }], more: {} },
  { what: 'of its currency', past: [], more: { currency: null } },
])('rejects nothing where an amount is limited and not known: $what', async ({ past, more }) => {
  const { rejects, exceeded } = await houseOf({ max_amount_per_day: 1000 });
  await intend(rejects, past);
  expect(await exceeded(more)).toBe('amount a day: an amount is not known');
});

it('allows exactly the amount that is allowed, all rules together and each by itself', async () => {
  const own = UNLUCKY.replace('grace: 24h', 'grace: 24h, max_amount_per_day: 3');
  const { rejects, exceeded } = await houseOf({ max_amount_per_day: 5 }, own);
  const other = { agoMs: HOUR, amount: 2_0000, rule: 'reject-other' };
  // The SEK of an hour ago and what is a day old are other sums.
  await intend(rejects, [other, { agoMs: HOUR, amount: 9_0000, currency: 'SEK' }, { agoMs: DAY }]);
  expect(await exceeded({ amount: 3_0000 })).toBeUndefined();
  expect(await exceeded({ amount: 3_0001 })).toBe('amount a day: 5.0001 DKK, allowed are 5');
  await intend(rejects, [{ agoMs: HOUR, amount: 1_0000 }]);
  expect(await exceeded({ amount: 2_0000 })).toBeUndefined();
  const more = await exceeded({ amount: 2_0001 });
  expect(more).toBe('amount a day: 5.0001 DKK, allowed are 5');
  const alone = await houseOf({ max_amount_per_day: 500 }, own);
  await intend(alone.rejects, [other, { agoMs: HOUR, amount: 1_0000 }]);
  expect(await alone.exceeded({ amount: 2_0000 })).toBeUndefined();
  const words = 'amount a day by reject-unlucky: 3.0001 DKK, allowed are 3';
  expect(await alone.exceeded({ amount: 2_0001 })).toBe(words);
});

it.each([
  { limit: 'max_per_hour', what: 'an hour', ms: HOUR },
  { limit: 'max_per_day', what: 'a day', ms: DAY },
])('counts what was meant within $what, by all rules or by one', async ({ limit, what, ms }) => {
  const all = await houseOf({ [limit]: 2 });
  await intend(all.rejects, [{ agoMs: ms }, { agoMs: ms - 1 }]);
  expect(await all.exceeded()).toBeUndefined();
  await intend(all.rejects, [{ agoMs: 0, rule: 'reject-other' }]);
  expect(await all.exceeded()).toBe(`${what}: 3, allowed are 2`);
  const own = await houseOf({}, UNLUCKY.replace('grace: 24h', `grace: 24h, ${limit}: 2`));
  const other = { agoMs: 0, rule: 'reject-other' };
  await intend(own.rejects, [{ agoMs: ms }, { agoMs: ms - 1 }, other]);
  expect(await own.exceeded()).toBeUndefined();
  await intend(own.rejects, [{ agoMs: 0 }]);
  expect(await own.exceeded()).toBe(`${what} by reject-unlucky: 3, allowed are 2`);
});

it('allows exactly the share of what was decided in a day, and its floor in any case', async () => {
  const { rejects, exceeded } = await houseOf({ max_share_of_day: 10, share_floor: 2 });
  const decided = async (from: number, count: number, at: number) => {
    const hashes = { delivery_hash: '', order_hash: '', rules_key: '' };
    const rows = Array.from({ length: count }, (_, index) => ({
      ...{ ...hashes, order_delivery_id: from + index, decision_id: 1 },
      ...{ evaluated_at: at, due_at: null },
    }));
    await rejects.store.db.insertInto('evaluation').values(rows).execute();
  };
  await decided(100, 90, rejects.clock.now() - DAY);
  await intend(rejects, today(1));
  expect(await exceeded()).toBeUndefined();
  await intend(rejects, today(1));
  expect(await exceeded()).toBe('share of the day: 3 of 3 deliveries, allowed are 10 %');
  await decided(200, 29, rejects.clock.now());
  expect(await exceeded()).toBe('share of the day: 3 of 29 deliveries, allowed are 10 %');
  await decided(300, 1, rejects.clock.now());
  expect(await exceeded()).toBeUndefined();
});

it('counts customers without an account number as one', async () => {
  const { rejects, exceeded } = await houseOf({ max_per_customer_per_day: 1 });
  await intend(rejects, [{ agoMs: HOUR, account: null }]);
  expect(await exceeded()).toBeUndefined();
  expect(await exceeded({ accountNo: null })).toContain('a day for one customer: 2');
});
