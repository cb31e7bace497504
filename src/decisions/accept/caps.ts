/**
 * Limits of accepts by the rules: how many a day, how many a day for one customer, which amount a
 * day in one currency, and which share of all decided deliveries. Accepts are counted from the
 * database, in the transaction that enqueues the next one; an accept whose push failed or was
 * canceled does not count. A day is any 24 hours.
 */
import { AMOUNT_DECIMALS, sumOfUnits } from '../../lib/money.ts';
import { compareExact, Decimal } from '../../rules/cel/decimal.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Tx } from '../../store/store.ts';
import type { Candidate, Precaution } from '../judgement.ts';
import { countedOf, decidedToday } from '../reject/caps.ts';
import { safeguardHold } from '../reject/outcome.ts';
import { type AcceptedBefore, acceptedSince, DAY_MS } from './accepted.ts';

/**
 * Milliseconds after which a delivery over a limit is evaluated again: failed pushes free the
 * limit.
 */
const LOOK_MS = 600_000;

function amountOver(
  today: readonly AcceptedBefore[],
  amount: number | null,
  currency: string | null,
  limits: Readonly<Record<string, number>>,
): string | undefined {
  const max = currency === null ? undefined : limits[currency];
  if (currency === null) return 'the limit by amount, because the currency is not known';
  if (max === undefined) return undefined;
  const same = today.filter((one) => one.currency === currency || one.currency === null);
  const sum = sumOfUnits([amount, ...same.map((one) => one.amount)]);
  if (sum === null) return 'the limit by amount, because an amount is not known';
  const isWithin = compareExact(new Decimal(BigInt(sum), AMOUNT_DECIMALS), max) <= 0;
  return isWithin ? undefined : `${max} ${currency} a day`;
}

/** Holds an accept that would exceed a limit. */
export async function holdForCap(
  tx: Tx,
  { subject: { facts, delivery }, ruleSet, outcome, now, supposed = [] }: Candidate,
): Promise<Precaution | undefined> {
  const { accept } = ruleSet.settings.safeguards;
  const hasLimit =
    accept.max_per_day !== undefined ||
    accept.max_per_customer_per_day !== undefined ||
    accept.max_amount_per_day !== undefined ||
    accept.max_share_of_day !== undefined;
  if (!hasLimit) return undefined;
  const before = await acceptedSince(tx, delivery.order_delivery_id, now - DAY_MS);
  const today = [...before, ...supposed];
  const { accountNo, amount, currency } = countedOf(facts);
  const own = today.filter((one) => one.accountNo === accountNo);
  const limit =
    over('a day', today.length + 1, accept.max_per_day) ??
    over('a day for one customer', own.length + 1, accept.max_per_customer_per_day) ??
    (accept.max_amount_per_day && amountOver(today, amount, currency, accept.max_amount_per_day)) ??
    (await shareOver(tx, today.length + 1, accept, now));
  if (limit === undefined) return undefined;
  const detail = `accepts would exceed ${limit}`;
  const held = safeguardHold(undefined, { safeguard: 'cap', detail });
  return { outcome: { ...held, missing: outcome.missing }, lookAt: now + LOOK_MS };
}

function over(what: string, count: number, max: number | undefined): string | undefined {
  return max !== undefined && count > max ? `${max} ${what}` : undefined;
}

async function shareOver(
  tx: Tx,
  accepts: number,
  { max_share_of_day: max, share_floor: floor }: RuleSet['settings']['safeguards']['accept'],
  now: number,
): Promise<string | undefined> {
  if (max === undefined || accepts <= floor) return undefined;
  const decided = Math.max(accepts, await decidedToday(tx, now));
  return accepts * 100 > max * decided ? `${max} % of the deliveries of a day` : undefined;
}
