/**
 * The facts of a past decision for rules that read more than the rules of that time did. A fact
 * that was not gathered is found in the change feed and the journal as it was then; where these do
 * not tell, it stays open, and so does every outcome that depends on it. Facts that follow from the
 * settings are made again, because the settings are on trial with the rules.
 */
import { sql } from 'kysely';
import { localClockOf } from '../../../lib/local-time.ts';
import { notGatheredOf } from '../../../rules/facts/gathered.ts';
import type { Facts } from '../../../rules/facts/plain.ts';
import type { RuleSet } from '../../../rules/rule.ts';
import type { Db } from '../../../store/store.ts';
import type { AcceptedBefore } from '../../accept/accepted.ts';
import { clockFacts, weekdayAt, windowFacts } from '../../calendar.ts';
import { baseRate, sumsOf, valueInBase } from '../../facts/customer.ts';
import type { PastDecision, Period } from '../history.ts';
import { createPastAccepts } from './accepts.ts';
import {
  type AccountRows,
  type AccountThen,
  type AskedOrder,
  createAccountRows,
  ordersThen,
  readAccountThen,
  refundsThen,
  similarThen,
} from './accounts.ts';
import { createPastProducts } from './products.ts';
import { feedBefore, type Moment } from './rows.ts';

type CustomerFacts = NonNullable<Facts['customer']>;

export interface SeenFacts {
  readonly facts: Facts;
  /** Paths of the facts that the rules read and that nobody knows any more. */
  readonly open: ReadonlySet<string>;
  /** Whether facts were found that were not gathered. */
  readonly isFound: boolean;
}

export interface PastFacts {
  of(decision: PastDecision & { readonly facts: Facts }): Promise<SeenFacts>;
}

interface Asked {
  readonly facts: Facts;
  readonly moment: Moment;
  readonly decision: PastDecision;
  /** Account of the order as it was; undefined: that is unclear. */
  readonly account: AccountThen | undefined;
}

/** Finds facts; gives none that are unclear. */
type Source = (asked: Asked) => Promise<Partial<Facts>> | Partial<Facts>;

function withCustomer({ customer, order }: Facts, more: Partial<CustomerFacts>): Partial<Facts> {
  return (order.account_no ?? null) === null ? {} : { customer: { ...customer, ...more } };
}

function orderOfFacts({ order }: Facts): AskedOrder {
  const { id: orderId, created_at: createdAt, reference } = order;
  return { orderId, createdAt, reference };
}

/** Whether amounts in the base currency are worth the same under these settings. */
function isSameRate({ order }: Facts, settings: RuleSet['settings']): boolean {
  const { currency = null, base_rate: rate = null, base_currency: base = null } = order;
  return base === (settings.base_currency ?? null) && rate === baseRate(currency, settings);
}

function similarSource(rows: AccountRows, isRepeated: boolean): Source {
  return async ({ facts, account }) => {
    const none = (facts.order.account_no ?? null) === null;
    const within = none
      ? null
      : account && (await similarThen(rows, account, orderOfFacts(facts), { isRepeated }));
    const name = isRepeated ? 'repeated_within' : 'similar_within';
    return within === undefined ? {} : { order: { ...facts.order, [name]: within } };
  };
}

/** When the stock was last pulled completely before a time, as far as the runs tell. */
async function stockReadAt(db: Db, before: number): Promise<number> {
  const row = await db
    .selectFrom('sync_run')
    .select('started_at')
    .where('stream', '=', 'stock')
    .where('outcome', '=', sql.lit('complete'))
    .where('ended_at', '<', before)
    .orderBy('ended_at', 'desc')
    .executeTakeFirst();
  return row?.started_at ?? 0;
}

function createSources(db: Db, period: Period, after: number, { settings }: RuleSet) {
  const rows = createAccountRows(db, { since: period.since, after });
  const accepts = createPastAccepts(db, period, after, rows);
  const products = createPastProducts(db, after);
  const orders: Source = ({ facts, account }) => {
    if (!account) return {};
    const { before, firstAt } = ordersThen(account, orderOfFacts(facts));
    return withCustomer(facts, { orders_before: before, first_order_at: firstAt });
  };
  const refunds: Source = async ({ facts, account, moment }) => {
    const count = account && (await refundsThen(rows, account, moment));
    return count === undefined ? {} : withCustomer(facts, { refunds_90d: count });
  };
  const values = new WeakMap<AcceptedBefore, number | null>();
  const inBase = (one: AcceptedBefore): number | null => {
    const value = values.get(one) ?? valueInBase(one, settings);
    values.set(one, value);
    return value;
  };
  const accepted: Source = async ({ facts, moment, decision: { decisionId } }) => {
    const before = await accepts.before({ decisionId, orderDeliveryId: facts.delivery.id }, moment);
    if (!before) return {};
    const { account_no: accountNo = null, currency = null } = facts.order;
    const { customer, today } = sumsOf(before, { accountNo, currency }, settings, inBase);
    return { ...withCustomer(facts, customer), today };
  };
  const product: Source = async ({ facts, moment }) => {
    const lines = await products.of(facts, moment);
    if (!lines) return {};
    const told = facts.delivery.lines.map((line, at) => ({ ...line, ...lines[at] }));
    return { delivery: { ...facts.delivery, lines: told } };
  };
  const stock: Source = async ({ facts, moment: { at } }) => {
    const readAt = await stockReadAt(db, at);
    // Only a line that tells the same age proves that no other run came between.
    const isProved = facts.delivery.lines.some(({ stock_age: age }) => age === at - readAt);
    return isProved ? { stock: { age: at - readAt } } : {};
  };
  const similar = similarSource(rows, false);
  const repeated = similarSource(rows, true);
  const sources = { similar, repeated, orders, refunds, accepted, product, stock };
  return { rows, sources };
}

type SourceName = keyof ReturnType<typeof createSources>['sources'];

/** Sources that ask about the account's orders. */
const OF_ACCOUNT: readonly SourceName[] = ['similar', 'repeated', 'orders', 'refunds'];

/** Sources of facts that were not gathered; others are not kept anywhere. */
const SOURCE_OF: Readonly<Record<string, SourceName>> = {
  'order.similar_within': 'similar',
  'order.repeated_within': 'repeated',
  'customer.orders_before': 'orders',
  'customer.first_order_at': 'orders',
  'customer.refunds_90d': 'refunds',
  'customer.accepted_today': 'accepted',
  'customer.amount_today': 'accepted',
  'today.accepted': 'accepted',
  'today.amount': 'accepted',
  'today.amount_base': 'accepted',
  'stock.age': 'stock',
  'delivery.weight': 'product',
  'delivery.lines.weight': 'product',
  'delivery.lines.type': 'product',
  'delivery.lines.country_of_origin': 'product',
};

/** Lines with the delivery windows of these settings. */
function linesUnder(lines: Facts['delivery']['lines'], settings: RuleSet['settings']) {
  const hasNone = settings.season_windows.length === 0;
  if (hasNone && lines.every((line) => line.window_from === null)) return lines;
  return lines.map((line) => {
    const { season = null, delivery_name: name = null } = line;
    return { ...line, ...windowFacts(season, name, settings) };
  });
}

/** Computes again what follows from the settings. */
function underSettings({ settings }: RuleSet, read: readonly string[]): (facts: Facts) => Facts {
  const localTime = localClockOf(settings.timezone);
  const asksWeekday = read.includes('delivery.weekday');
  const packedOn = ({ created_at: at }: Facts['delivery']) =>
    asksWeekday ? { weekday: weekdayAt(at, settings, localTime) } : {};
  return (facts) => {
    const { delivery, order } = facts;
    const base = {
      base_currency: settings.base_currency,
      base_rate: baseRate(order.currency ?? null, settings),
    };
    const { amount_base: _, ...today } = facts.today ?? {};
    return {
      ...facts,
      delivery: {
        ...delivery,
        ...packedOn(delivery),
        lines: linesUnder(delivery.lines, settings),
      },
      order: { ...order, ...base },
      ...(facts.today && !isSameRate(facts, settings) ? { today } : {}),
      clock: clockFacts(facts.clock.now, settings, localTime),
    };
  };
}

/**
 * Makes a reader of past facts as a rule set sees them.
 * @param more paths of facts that no rule of the set reads.
 */
export async function createPastFacts(
  db: Db,
  period: Period,
  ruleSet: RuleSet,
  more: readonly string[] = [],
): Promise<PastFacts> {
  const asking = ruleSet.rules.filter(({ mode }) => mode !== 'off');
  const read = asking.flatMap((rule) => rule.reads).concat(more);
  const notGathered = notGatheredOf([...new Set(read)]);
  const after = await feedBefore(db, period.since);
  const { rows, sources } = createSources(db, period, after, ruleSet);
  const settled = underSettings(ruleSet, read);
  return {
    async of(decision) {
      let facts = settled(decision.facts);
      const missing = notGathered(facts);
      if (missing.size === 0) return { facts, open: missing, isFound: false };
      const moment = { at: facts.clock.now, feed: facts.feed };
      const wanted = new Set([...missing].flatMap((path) => SOURCE_OF[path] ?? []));
      const { account_no: accountNo = null } = facts.order;
      const account =
        accountNo !== null && OF_ACCOUNT.some((name) => wanted.has(name))
          ? await readAccountThen(rows, accountNo, moment)
          : undefined;
      for (const name of wanted) {
        const found = await sources[name]({ facts, moment, decision, account });
        facts = { ...facts, ...found };
      }
      const open = notGathered(facts);
      return { facts, open, isFound: open.size < missing.size };
    },
  };
}
