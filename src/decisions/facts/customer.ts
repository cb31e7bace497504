/** The facts of the customer: figures of the ERP, and the credit left after accepts by Selvedge. */

import { sql } from 'kysely';
import { isJsonObject } from '../../lib/json.ts';
import { sumOfUnits } from '../../lib/money.ts';
import { currencyOf } from '../../lib/strings.ts';
import { barcodeKeyIn } from '../../mirror/catalog/spelt.ts';
import { inBase } from '../../rules/facts/build.ts';
import type { Facts } from '../../rules/facts/plain.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Db, Tx } from '../../store/store.ts';
import { kept, type Value } from '../../store/transaction/kept.ts';
import { keptAmong } from '../../store/transaction/together.ts';
import { type AcceptedBefore, acceptedSince, DAY_MS } from '../accept/accepted.ts';
import { leaping } from './leap.ts';
import { reservedCredit } from './reserved.ts';

type CustomerFacts = NonNullable<Facts['customer']>;
type ExtraFields = RuleSet['settings']['customer_fields'];
type ExtraValue = string | number | boolean;

export interface Customer {
  readonly facts: CustomerFacts;
  /** Sentences on the ERP's fields of the customer whose values are not of their declared kind. */
  readonly invalidFields: readonly string[];
}

function fits(value: unknown, kind: ExtraFields[string]): value is ExtraValue {
  if (kind === 'text') return typeof value === 'string';
  if (kind === 'true/false') return typeof value === 'boolean';
  if (kind === 'whole number') return Number.isSafeInteger(value);
  return typeof value === 'number' && /^-?\d+(\.\d+)?$/.test(String(value));
}

/**
 * A stand-in of another type than the declared kind, which the CEL engine refuses: the fact is then
 * unknown, not absent.
 */
function oddValue(value: unknown, kind: ExtraFields[string]): ExtraValue {
  if (kind !== 'text') return `no ${kind}: ${shown(value)}`;
  return typeof value === 'number' ? value : value === true;
}

function shown(value: unknown): string {
  return JSON.stringify(value).slice(0, 80);
}

function extraOf(
  text: string,
  fields: ExtraFields,
): Pick<Customer, 'invalidFields'> & {
  readonly extra: Record<string, ExtraValue | null>;
} {
  const parsed: unknown = JSON.parse(text);
  const members = isJsonObject(parsed) ? parsed : {};
  const extra: Record<string, ExtraValue | null> = {};
  const invalidFields: string[] = [];
  for (const [name, kind] of Object.entries(fields)) {
    const value: unknown = Object.hasOwn(members, name) ? members[name] : null;
    extra[name] = value === null || fits(value, kind) ? value : oddValue(value, kind);
    if (value !== null && !fits(value, kind))
      invalidFields.push(`${name} should be a ${kind}, it is ${shown(value)}`);
  }
  return { extra, invalidFields };
}

const goneWith = keptAmong(
  (db, among) =>
    db
      .selectFrom('erp_customer')
      .select('account_no')
      .where(among('account_no'))
      .where('deleted_at', 'is not', null),
  'account_no',
);

/**
 * Whether the ERP knew the account and has removed it: then it is not known whether it is blocked,
 * which is another thing than that the ERP never said anything about it.
 */
export async function isCustomerGone(tx: Tx, accountNo: string): Promise<boolean> {
  return (await goneWith(tx, accountNo)).length > 0;
}

const customerWith = keptAmong(
  (db, among) =>
    db
      .selectFrom('erp_customer')
      .selectAll()
      .where(among('account_no'))
      .where('deleted_at', 'is', null),
  'account_no',
);

/** Reads the facts of the customer account; undefined when the ERP does not know the account. */
export async function customerFacts(
  tx: Tx,
  accountNo: string,
  orderDeliveryId: number,
  fields: ExtraFields,
): Promise<Customer | undefined> {
  const [row] = await customerWith(tx, accountNo);
  if (!row) return undefined;
  const { credit_limit: limit, balance, currency, overdue_days: overdue } = row;
  const { extra, invalidFields } = extraOf(row.extra, fields);
  const saysNothing = [limit, balance, overdue].every((value) => value === null);
  // Credit figures are as old as their arrival at least, whatever the clock or the zone of the ERP
  // says.
  const since = Math.min(row.as_of ?? row.changed_at, row.changed_at);
  const account = { accountNo, currency };
  const credit = saysNothing
    ? null
    : {
        limit,
        balance,
        reserved: await reservedCredit(tx, account, orderDeliveryId, since),
        overdue_days: overdue,
        currency,
        as_of: row.as_of,
      };
  const blocked = row.blocked === null ? null : row.blocked === 1;
  return { facts: { account_no: accountNo, blocked, credit, extra }, invalidFields };
}

// Facts from earlier days and deliveries: the account's orders and refunds, and the accepts of the
// last 24 hours. Each of them reads many rows, so only facts that a rule reads are computed.

type TodayFacts = NonNullable<Facts['today']>;
type Settings = RuleSet['settings'];

/** Tells whether some rule reads the fact with this path. */
export type IsRead = (path: string) => boolean;

export const REFUNDS_MS = 90 * DAY_MS;
export const SIMILAR_MS = 30 * DAY_MS;
/** Number of the account's newest orders among which one with the same lines is searched for. */
export const SIMILAR_ORDERS_MAX = 500;

interface Account {
  readonly accountNo: string;
  readonly orderId: number;
}

async function ordersBefore(tx: Tx, { accountNo, orderId }: Account): Promise<number> {
  const row = await tx
    .selectFrom('sales_order')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('account_no', '=', accountNo)
    // The plus sign keeps SQLite on the index of just these orders, whose rows it need not read.
    .where(sql<number>`+order_id`, '<', orderId)
    .where('deleted_at', 'is', null)
    .where('status', '<>', sql.lit('canceled'))
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

async function firstOrderAt(tx: Tx, { accountNo }: Account): Promise<number | null> {
  const row = await tx
    .selectFrom('sales_order')
    .select(sql<number | null>`min(coalesce(created_at, first_seen_at))`.as('at'))
    .where('account_no', '=', accountNo)
    .where('deleted_at', 'is', null)
    // As the text of the index, whose first entry it is.
    .where('status', '<>', sql.lit('canceled'))
    .executeTakeFirst();
  return row?.at ?? null;
}

/** Number of the account's refunds since a time, in epoch milliseconds, that were not refused. */
export async function refundsSince(
  tx: Db,
  { accountNo }: Pick<Account, 'accountNo'>,
  since: number,
): Promise<number> {
  const { rows } = await sql<{ readonly count: number }>`
    with recursive ${leaping({
      parts: sql`select ${accountNo} part`,
      own: (from) => sql`(select min(s.order_id) from sales_order s
        where s.account_no = part and s.order_id >= ${from})`,
      other: (from) => sql`(select min(f.order_id) from refund f where f.order_id >= ${from})`,
    })}
    select count(*) count from leap
    cross join refund r on r.order_id = leap.own
    where leap.own = leap.other and r.deleted_at is null
      and r.status not in ('rejected', 'canceled')
      and coalesce(r.created_at, r.first_seen_at) > ${since}`.execute(tx);
  return Number(rows[0]?.count ?? 0);
}

/** Facts of the account that the mirror knows and some rule reads; undefined: no rule reads any. */
export async function accountFacts(
  tx: Tx,
  account: Account,
  isRead: IsRead,
  now: number,
): Promise<Partial<CustomerFacts> | undefined> {
  const facts = {
    ...(isRead('customer.orders_before') && { orders_before: await ordersBefore(tx, account) }),
    ...(isRead('customer.first_order_at') && { first_order_at: await firstOrderAt(tx, account) }),
    ...(isRead('customer.refunds_90d') && {
      refunds_90d: await refundsSince(tx, account, now - REFUNDS_MS),
    }),
  };
  return Object.keys(facts).length > 0 ? facts : undefined;
}

/**
 * Sum of the accepted deliveries' values in one currency; null when a value, or the currency of an
 * accepted delivery, is not known.
 */
function amountIn(currency: string | null, accepts: readonly AcceptedBefore[]): number | null {
  if (currency === null) return null;
  // A day has few currencies, each written in few ways.
  const isMeant = new Map<string | null, boolean>();
  const amounts: (number | null)[] = [];
  for (const { currency: written, amount } of accepts) {
    const known = isMeant.get(written) ?? [null, currency].includes(currencyOf(written));
    isMeant.set(written, known);
    if (known) amounts.push(written === null ? null : amount);
  }
  return sumOfUnits(amounts);
}

/** Value of one unit of the currency in the base currency, as decimal text; null without a rate. */
export function baseRate(
  currency: string | null,
  { base_currency: base, rates }: Pick<Settings, 'base_currency' | 'rates'>,
): string | null {
  if (base === undefined || currency === null) return null;
  if (currency === base) return '1';
  const rate = rates[currency];
  return rate === undefined ? null : String(rate);
}

/** Value of an accepted delivery in the base currency; null: not known. */
export function valueInBase({ currency, amount }: AcceptedBefore, settings: Settings) {
  return inBase(amount, baseRate(currencyOf(currency), settings));
}

/** Sums over accepts of 24 hours, for the account and in all. */
export function sumsOf(
  all: readonly AcceptedBefore[],
  { accountNo, currency }: Pick<AcceptsOf, 'accountNo' | 'currency'>,
  settings: Settings,
  inBaseCurrency = (one: AcceptedBefore) => valueInBase(one, settings),
): {
  readonly customer: Pick<CustomerFacts, 'accepted_today' | 'amount_today'>;
  readonly today: TodayFacts;
} {
  const own = all.filter((one) => one.accountNo === accountNo);
  const hasBase = settings.base_currency !== undefined;
  return {
    customer: { accepted_today: own.length, amount_today: amountIn(currency, own) },
    today: {
      accepted: all.length,
      amount: amountIn(currency, all),
      amount_base: hasBase ? sumOfUnits(all.map((one) => inBaseCurrency(one))) : null,
    },
  };
}

/** A delivery with the account and the currency of its order. */
export interface AcceptsOf {
  readonly orderDeliveryId: number;
  readonly accountNo: string | null;
  readonly currency: string | null;
}

const OF_ACCOUNT = ['customer.accepted_today', 'customer.amount_today'];
const OF_ALL = ['today.accepted', 'today.amount', 'today.amount_base'];

/**
 * Facts on accepts by the rules in the last 24 hours, for the account and in all; the delivery
 * itself does not count.
 */
export async function acceptFacts(
  tx: Tx,
  { orderDeliveryId, accountNo, currency }: AcceptsOf,
  isRead: IsRead,
  { now, settings }: { readonly now: number; readonly settings: Settings },
): Promise<{
  readonly customer?: Pick<CustomerFacts, 'accepted_today' | 'amount_today'>;
  readonly today?: TodayFacts;
}> {
  const ofAccount = accountNo !== null && OF_ACCOUNT.some(isRead);
  const ofAll = OF_ALL.some(isRead);
  if (!ofAccount && !ofAll) return {};
  const all = await acceptedSince(tx, orderDeliveryId, now - DAY_MS);
  const { customer, today } = sumsOf(all, { accountNo, currency }, settings);
  return { ...(ofAccount && { customer }), ...(ofAll && { today }) };
}

/**
 * SQL: the barcodes of an order, as they are compared, with their pieces, as one text; null if a
 * line's barcode or quantity is unknown.
 */
export function linesOf(orderId: 'o.order_id' | number | Value<number>) {
  const id = orderId === 'o.order_id' ? sql.ref(orderId) : sql`${orderId}`;
  return sql<string | null>`(select iif(count(barcode) = count(*) and count(pieces) = count(*),
    nullif(group_concat(barcode || char(31) || pieces, char(30) order by barcode), ''), null)
    from (select ${barcodeKeyIn('l.barcode')} barcode,
        iif(count(l.quantity) = count(*), sum(l.quantity), null) pieces
      from sales_order_line l where l.order_id = ${id} group by 1))`;
}

/**
 * SQL: condition that an order has the same reference as `orderId`; an empty reference matches
 * none.
 */
function sameReference(orderId: Value<number>) {
  return sql`and trim(reference) <> ''
        and reference = (select reference from sales_order where order_id = ${orderId})`;
}

/** Makes the query of `similarWithin`. */
function similarOf(isRepeated: boolean) {
  return kept(
    (
      _: Db,
      accountNo: Value<string>,
      orderId: Value<number>,
      since: Value<number>,
      // Nearly all orders differ in the first line already; CASE keeps SQLite from comparing them
      // whole.
    ) => sql<{ readonly at: number }>`
    select o.at from (
      select order_id, status, deleted_at, coalesce(created_at, first_seen_at) at
      from sales_order
      where ${isRepeated ? sql`+account_no` : sql`account_no`} = ${accountNo}
        and order_id < ${orderId}
        ${isRepeated ? sameReference(orderId) : sql``}
      order by order_id desc limit ${SIMILAR_ORDERS_MAX}
    ) o
    where o.deleted_at is null and o.status <> 'canceled' and o.at > ${since}
      and case when exists (select 1 from sales_order_line l where l.order_id = o.order_id
          and ${barcodeKeyIn('l.barcode')} =
            (select ${barcodeKeyIn('f.barcode')} from sales_order_line f
              where f.order_id = ${orderId} order by f.line_no limit 1))
        then ${linesOf('o.order_id')} = ${linesOf(orderId)} else 0 end
    order by o.order_id desc limit 1`,
  );
}

const similarOrder = similarOf(false);
const repeatedOrder = similarOf(true);

/**
 * Milliseconds between the order and the newest earlier order (by id) of the account with the same
 * lines; with `isRepeated` the reference must be the same, too. So of two equal orders only the
 * later one has this fact.
 */
export async function similarWithin(
  tx: Tx,
  { accountNo, orderId, createdAt }: Account & { readonly createdAt: number },
  { isRepeated }: { readonly isRepeated: boolean },
): Promise<number | null> {
  const query = isRepeated ? repeatedOrder : similarOrder;
  const [found] = await query(tx, accountNo, orderId, createdAt - SIMILAR_MS);
  const at = found?.at;
  return at === undefined ? null : Math.max(0, createdAt - at);
}
