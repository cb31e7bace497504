/**
 * Limits of rejects by hour, day, customer, amount, share of all deliveries, and against the usual
 * number. Rejects are counted from the database, in the transaction that enqueues the next one: a
 * restart forgets none, and two rejects at the same moment count each other. A day is any 24 hours.
 * A reject counts once it is enqueued, whatever the service answers.
 */
import { sql } from 'kysely';
import { AMOUNT_DECIMALS, formatAmount, sumOfUnits } from '../../lib/money.ts';
import { compareExact, Decimal } from '../../rules/cel/decimal.ts';
import { amountOf, currencyOf } from '../../rules/facts/build.ts';
import type { Facts } from '../../rules/facts/plain.ts';
import type { Rule, RuleSet } from '../../rules/rule.ts';
import type { Tx } from '../../store/store.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MEDIAN_DAYS = 30;

/** Properties of a delivery by which the limits of rejects count it. */
interface Counted {
  readonly accountNo: string | null;
  /** Value of the delivery in units (lib/money.ts); null: not known. */
  readonly amount: number | null;
  readonly currency: string | null;
}

export function countedOf(facts: Facts): Counted {
  const { account_no: accountNo = null } = facts.order;
  return { accountNo, amount: amountOf(facts), currency: currencyOf(facts) };
}

interface Intent {
  readonly intent_at: number;
  readonly rule_id: string;
  readonly account_no: string | null;
  readonly amount: number | null;
  readonly currency: string | null;
}

/** Rejects that were enqueued in the outbox after `since`. */
async function intentsSince(tx: Tx, since: number): Promise<Intent[]> {
  const rows = await tx
    .selectFrom('reject_entry')
    .select(['intent_at', 'rule_id', 'account_no', 'amount', 'currency'])
    .where('intent_at', '>', since)
    .execute();
  return rows.flatMap(({ intent_at, ...row }) =>
    intent_at === null ? [] : [{ intent_at, ...row }],
  );
}

export async function decidedToday(tx: Tx, now: number): Promise<number> {
  const row = await tx
    .selectFrom('evaluation')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where(sql<boolean>`evaluated_at > ${now - DAY_MS}`)
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

/** Median of the rejects on each of 30 days; on most days there are usually none. */
function medianOf(counts: readonly number[]): number {
  const sorted = counts.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle) - 1] ?? 0)) / 2;
}

function countsByDay(intents: readonly Intent[], now: number): readonly number[] {
  const counts = Array.from({ length: MEDIAN_DAYS }, () => 0);
  for (const { intent_at: at } of intents) {
    const day = Math.floor((now - at) / DAY_MS) - 1;
    if (day >= 0 && day < MEDIAN_DAYS) counts[day] = (counts[day] ?? 0) + 1;
  }
  return counts;
}

/** Says by how much a count of rejects exceeds its limit; undefined when it does not. */
function over(what: string, count: number, max: number | undefined): string | undefined {
  return max !== undefined && count > max ? `${what}: ${count}, allowed are ${max}` : undefined;
}

function amountOver(
  today: readonly Intent[],
  rule: Rule,
  { amount, currency }: Counted,
  setMax: number | undefined,
): string | undefined {
  const check = (intents: readonly Intent[], max: number | undefined, what: string) => {
    if (max === undefined) return undefined;
    const same = intents.filter((intent) => intent.currency === currency);
    const sum = sumOfUnits([amount, ...same.map((intent) => intent.amount)]);
    if (sum === null || currency === null) return `${what}: an amount is not known`;
    if (compareExact(new Decimal(BigInt(sum), AMOUNT_DECIMALS), max) <= 0) return undefined;
    return `${what}: ${formatAmount(sum, currency)} ${currency}, allowed are ${max}`;
  };
  const own = today.filter((intent) => intent.rule_id === rule.id);
  return (
    check(today, setMax, 'amount a day') ??
    check(own, rule.reject?.maxAmountPerDay, `amount a day by ${rule.id}`)
  );
}

async function shareOver(
  tx: Tx,
  rejects: number,
  now: number,
  safeguards: RuleSet['settings']['safeguards']['reject'],
): Promise<string | undefined> {
  const { max_share_of_day: max, share_floor: floor } = safeguards;
  // The share is computed only above the floor, because it counts every evaluation of the day.
  if (rejects <= floor) return undefined;
  const decided = Math.max(rejects, await decidedToday(tx, now));
  if (rejects * 100 <= max * decided) return undefined;
  return `share of the day: ${rejects} of ${decided} deliveries, allowed are ${max} %`;
}

function medianOver(
  rejects: number,
  counts: readonly number[],
  safeguards: RuleSet['settings']['safeguards']['reject'],
): string | undefined {
  const { times_median: times, median_floor: floor } = safeguards;
  const median = medianOf(counts);
  if (rejects <= Math.max(floor, times * median)) return undefined;
  return `far above what is usual: ${rejects} today, the median of 30 days is ${median}`;
}

/** Names the limit that a reject by this rule would exceed, with its numbers; undefined: none. */
export async function capExceeded(
  tx: Tx,
  rule: Rule,
  counted: Counted,
  { safeguards }: RuleSet['settings'],
  now: number,
): Promise<{ readonly safeguard: 'cap' | 'usual'; readonly detail: string } | undefined> {
  const { reject } = safeguards;
  const intents = await intentsSince(tx, now - (MEDIAN_DAYS + 1) * DAY_MS);
  const today = intents.filter((intent) => intent.intent_at > now - DAY_MS);
  const hour = today.filter((intent) => intent.intent_at > now - HOUR_MS);
  const same = today.filter((intent) => intent.account_no === counted.accountNo);
  const by = (list: readonly Intent[]) => list.filter((one) => one.rule_id === rule.id).length + 1;
  const limits = rule.reject;
  const detail =
    over('an hour', hour.length + 1, reject.max_per_hour) ??
    over(`an hour by ${rule.id}`, by(hour), limits?.maxPerHour) ??
    over('a day', today.length + 1, reject.max_per_day) ??
    over(`a day by ${rule.id}`, by(today), limits?.maxPerDay) ??
    over('a day for one customer', same.length + 1, reject.max_per_customer_per_day) ??
    over(`a day for one customer by ${rule.id}`, by(same), limits?.maxPerCustomerPerDay) ??
    amountOver(today, rule, counted, reject.max_amount_per_day) ??
    (await shareOver(tx, today.length + 1, now, reject));
  if (detail !== undefined) return { safeguard: 'cap', detail };
  const unusual = medianOver(today.length + 1, countsByDay(intents, now), reject);
  return unusual === undefined ? undefined : { safeguard: 'usual', detail: unusual };
}
