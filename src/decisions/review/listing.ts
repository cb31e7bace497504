/**
 * The list that people decide by: deliveries with customer, country, value, season and what holds
 * them; filtered, sorted and in pages. Serves the console, the read API and the command line.
 */

import { type RawBuilder, sql } from 'kysely';
import { z } from 'zod';
import { RefusedError } from '../../lib/errors.ts';
import { sha256 } from '../../lib/json.ts';
import { decimalOf } from '../../lib/money.ts';
import { containing } from '../../lib/strings.ts';
import type { Db, Tx } from '../../store/store.ts';
import { OUTBOX_STATES } from '../../store/tables.ts';
import { deliveryWaits, IS_UNDECIDABLE } from '../../store/waiting.ts';
import type { Page as ListPage } from '../../surface/lists.ts';
import { as, flag, money, oneOf, time, whole } from '../../surface/members.ts';
import type { Reading } from '../../surface/reading.ts';
import { ESCALATED, HOLD_UNTIL, REFUSAL } from './deliveries.ts';
import type { ReviewFilter, Shown } from './filter.ts';
import { deliveryState } from './state.ts';
import { FIRST_WINDOW, WINDOW_ROWS, type Windowed, windowBefore, windowOf } from './window.ts';

export const SORTS = ['waiting', 'deadline', 'value', 'pieces', 'customer', 'number'] as const;
type Sort = (typeof SORTS)[number];

/** Page of the list; places are {@link ReviewPage.next} and `back` of the pages beside it. */
export interface Page extends Omit<ListPage, 'sort'> {
  readonly sort: Sort;
  readonly rates?: Reading['rates'] | undefined;
}

const text = (title: string, more = {}) => as(z.string(), title, 'text', more);
const optional = (title: string, more = {}) => text(title, more).nullable();

/** Members of a delivery in the list, in the order of the columns of CSV. */
export const reviewRow = {
  orderDeliveryId: whole('ID', { csv: 'delivery_id' }, 1),
  deliveryNo: optional('Delivery'),
  orderNo: optional('Order'),
  reference: optional('Reference'),
  status: text('Status'),
  accountNo: optional('Account'),
  customer: optional('Customer'),
  country: optional('Country'),
  season: optional('Season'),
  pieces: as(z.number(), 'Pieces', 'whole').nullable(),
  value: money('Value', { about: 'Null where a line has no price' }).nullable(),
  currency: optional('Currency'),
  packedAt: time('Packed', { about: 'When it was packed, or first seen here' }),
  outcome: optional('Outcome'),
  rules: z.array(z.string()),
  reason: optional('Reason'),
  deadline: time('Hold ends', { about: 'When its hold ends by itself' }).nullable(),
  overdue: flag('Overdue'),
  note: optional('Note'),
  orderId: whole('Order id', {}, 1),
  decidedBy: optional('Decided by', { about: '`daemon`, `external` or `person:<name>`' }),
  decidedAt: time('Decided').nullable(),
  push: oneOf('Push', OUTBOX_STATES, { about: 'State of its push' }).nullable(),
  refusal: optional('Refusal', { about: 'Why the service did not take the push' }),
  // With the contents' hash, the version that a person saw in the list and acts on.
  decisionId: whole('Decision', {}, 1).nullable(),
  contentHash: text('Version'),
  state: text('State', { about: 'In words; "being sent" until the service has confirmed it' }),
  assignedTo: optional('Assigned to', { about: 'Who sees to it' }),
  noteBy: optional('Note by', { about: 'Author of the latest note' }),
  noteAt: time('Noted').nullable(),
  notes: whole('Notes', { about: 'How many there are' }),
  shipped: flag('Shipped', { about: 'It has a tracking number' }),
};
const reviewRowSchema = z.strictObject(reviewRow);
export type ReviewRow = z.output<typeof reviewRowSchema>;

export interface ReviewPage {
  readonly rows: readonly ReviewRow[];
  /** Position at which the next page begins; null: this is the last page. */
  readonly next: string | null;
  /** Position at which the page before ends; null: this is the first page. */
  readonly back: string | null;
}

const PACKED_AT = sql<number>`coalesce(d.created_at, d.first_seen_at)`;

const SEASON = sql<string | null>`o.season_name`;

/** SQL: value of the delivery in ten-thousandths; null when a line has no price or no quantity. */
const VALUE = sql<number | null>`(select iif(count(*) = count(l.price * l.fulfilled_quantity),
  sum(l.price * l.fulfilled_quantity), null) from delivery_line l
  where l.order_delivery_id = d.order_delivery_id)`;

const PIECES = sql<number | null>`(select sum(l.fulfilled_quantity) from delivery_line l
  where l.order_delivery_id = d.order_delivery_id)`;

/** SQL: who sees to the delivery. */
const ASSIGNED_TO = sql<string | null>`(select a.name from delivery_assignment a
  where a.order_delivery_id = d.order_delivery_id)`;

/** SQL: currency of the order; the slower view is read only for the few orders that name none. */
const CURRENCY = sql<string | null>`case when trim(o.currency) <> '' then o.currency else
  (select c.currency from order_currency c where c.order_id = d.order_id) end`;

const JOINED = sql`left join sales_order o on o.order_id = d.order_id
  left join evaluation e on e.order_delivery_id = d.order_delivery_id
  left join decision n on n.decision_id = e.decision_id`;

const FROM = sql`delivery d ${JOINED}`;

/**
 * SQL values by which each sort orders the list; texts in the form in which people look them up.
 */
const SORT_BY: Readonly<Record<Sort, RawBuilder<string | number | null>>> = {
  waiting: PACKED_AT,
  deadline: sql`coalesce(${HOLD_UNTIL}, 9e15)`,
  value: sql`coalesce(${VALUE}, -1)`, // in its own currency
  pieces: sql`coalesce(${PIECES}, -1)`,
  customer: sql`coalesce(lower(o.company), '')`,
  number: sql`d.order_delivery_id`,
};

const BY_ACCOUNT = sql<string>`coalesce(o.account_no, '')`;

const WHERE_SHOWN: Readonly<Record<Shown, RawBuilder<boolean>>> = {
  waiting: sql`d.status = 'pending' and ${deliveryWaits(sql`d.order_delivery_id`)}`,
  uncovered: sql`d.status = 'pending' and n.outcome = 'no_rule'`,
  held: sql`d.status = 'pending' and n.outcome = 'hold'`,
  undecided: sql`d.status = 'pending' and coalesce(n.outcome, 'no_rule') <> 'hold'`,
  pending: sql`d.status = 'pending'`,
  accepted: sql`d.status = 'accepted'`,
  rejected: sql`d.status = 'rejected'`,
  canceled: sql`d.status = 'canceled'`,
  refused: sql`exists (select 1 from outbox where outbox.decision_id = n.decision_id
    and outbox.state in ('refused', 'dead'))`,
  all: sql`true`,
};

/** SQL: a column of the latest decision's push. */
function ofPush<T>(column: RawBuilder<T>): RawBuilder<T | null> {
  return sql`(select ${column} from outbox where outbox.decision_id = n.decision_id
    order by outbox.outbox_id desc limit 1)`;
}

function decidedBy(rules: readonly string[]) {
  return sql<boolean>`exists (select 1 from json_each(n.rules) r
    where r.value in (${sql.join(rules.length > 0 ? rules : [''])}))`;
}

function searched(q: string, isMasked: boolean) {
  const like = (column: string) => sql`${sql.ref(column)} like ${containing(q)} escape '\\'`;
  const numbers = ['d.delivery_no', 'o.account_no', 'd.reference', 'd.order_no'];
  const columns = isMasked ? numbers : [...numbers, 'o.company'];
  const texts = sql.join(columns.map(like), sql` or `);
  return sql<boolean>`(d.order_delivery_id = ${Number(/^\d{1,15}$/.exec(q)?.[0] ?? -1)}
    or ${texts})`;
}

/** SQL: whether the customer has this number or, where nobody has it, a name that contains it. */
function ofCustomer(named: string, isMasked: boolean): RawBuilder<boolean> {
  // The plus sign keeps SQLite on the window: by the customer it would read all his orders.
  const byNumber = sql<boolean>`+o.account_no = ${named}`;
  if (isMasked) return byNumber;
  return sql`(${byNumber} or (o.company like ${containing(named)} escape '\\'
    and not exists (select 1 from sales_order where account_no = ${named})))`;
}

/** SQL conditions of the filter on the delivery and its order, which no decision can change. */
function lasting(filter: ReviewFilter): RawBuilder<boolean>[] {
  const { country, customer, season, currency, min, max, packedBefore, q, assigned } = filter;
  const all: RawBuilder<boolean>[] = [];
  if (country !== undefined) all.push(sql`o.country_code = ${country}`);
  if (customer !== undefined) all.push(ofCustomer(customer, filter.isMasked === true));
  if (season !== undefined) all.push(sql`${SEASON} = ${season}`);
  if (currency !== undefined) all.push(sql`${CURRENCY} = ${currency}`);
  if (min !== undefined) all.push(sql`${VALUE} >= ${Math.round(min * 10_000)}`);
  if (max !== undefined) all.push(sql`${VALUE} <= ${Math.round(max * 10_000)}`);
  if (assigned !== undefined) all.push(sql`${ASSIGNED_TO} is ${assigned}`);
  if (packedBefore !== undefined) all.push(sql`${PACKED_AT} < ${packedBefore}`);
  if (q !== undefined && q !== '') all.push(searched(q, filter.isMasked === true));
  return all;
}

function conditions(filter: ReviewFilter, { where }: Windowed): RawBuilder<boolean> {
  const { rule, rules } = filter;
  const all = [sql<boolean>`d.deleted_at is null`, WHERE_SHOWN[filter.shown], where];
  all.push(...lasting(filter));
  if (rule !== undefined) all.push(decidedBy([rule]));
  if (rules !== undefined) all.push(decidedBy(rules));
  if (filter.overdue === true) all.push(sql`${ESCALATED}`);
  return sql.join(all, sql` and `);
}

/**
 * SQL: values of different currencies, made comparable by the rates; a currency without a rate is a
 * group of its own behind them, because amounts in two currencies have no order.
 */
function byValue(rates: Reading['rates']) {
  const cases = rates.map(({ currency, rate }) => sql`when ${currency} then ${rate}`);
  const rate =
    cases.length === 0 ? sql`null` : sql`case ${CURRENCY} ${sql.join(cases, sql` `)} end`;
  return {
    by: sql<number>`coalesce(cast(round(${VALUE} * coalesce(${rate}, 1)) as integer), -1)`,
    group: sql<string>`iif(${rate} is null, coalesce(${CURRENCY}, '~'), '')`,
  };
}

/** Position in the list: behind a row, or at the beginning, or end, of a window. */
interface Place {
  /** Delivery below which the window begins. */
  readonly below: number;
  readonly row?: Found | undefined;
}

interface Found {
  readonly id: number;
  readonly place: string | number;
  /** Rows of a group are together, the groups by their names. */
  readonly part: string;
}

function placeOf(after: string): Place | undefined {
  try {
    const place: unknown = JSON.parse(Buffer.from(after, 'base64url').toString());
    if (!Array.isArray(place)) return undefined;
    const [below, value, id, part = '']: unknown[] = place;
    if (!Number.isSafeInteger(below)) return undefined;
    if (value === undefined) return { below: Number(below) };
    const isValue = typeof value === 'string' || typeof value === 'number';
    if (!isValue || !Number.isSafeInteger(id) || typeof part !== 'string') return undefined;
    return { below: Number(below), row: { place: value, id: Number(id), part } };
  } catch {
    return undefined;
  }
}

function textOf({ below, row }: Place): string {
  const place = row ? [below, row.place, row.id, row.part] : [below];
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/** Claims `c` that a list shows in the order of waiting, each part by an index of its own. */
const CLAIMS_SHOWN: Partial<Readonly<Record<Shown, readonly RawBuilder<boolean>[]>>> = {
  held: [sql`c.outcome = 'hold'`],
  uncovered: [sql`c.outcome = 'no_rule'`],
  waiting: [sql`c.waits = 1`, IS_UNDECIDABLE],
};

/** SQL: direction in which rows are read, which is turned around for a page before; and sign. */
function directionOf({ descending, back }: Page) {
  return descending === (back === undefined) ? [sql`desc`, sql`<`] : [sql`asc`, sql`>`];
}

/**
 * SQL: what is held or waits, in the order of waiting: it is read until the page is full, however
 * much there is.
 */
function byWaiting(
  claims: readonly RawBuilder<boolean>[],
  filter: ReviewFilter,
  page: Page,
  windowed: Windowed,
  row: Place['row'],
) {
  const [order, beyond] = directionOf(page);
  const start = row
    ? sql`(c.packed_at, c.order_delivery_id) ${beyond} (${row.place}, ${row.id})`
    : sql`true`;
  const [part, ...others] = claims.map(
    (shown) => sql<Found>`select c.order_delivery_id id, c.packed_at place, '' part
    from claim c cross join delivery d on d.order_delivery_id = c.order_delivery_id
    ${JOINED}
    where ${shown} and ${start} and ${conditions(filter, windowed)}
    order by c.packed_at ${order}, c.order_delivery_id ${order} limit ${page.limit + 1}`,
  );
  if (part === undefined || others.length === 0) return part ?? sql<Found>`select 0 id where false`;
  const all = [part, ...others].map((one) => sql`select * from (${one})`);
  return sql<Found>`${sql.join(all, sql` union all `)}
    order by place ${order}, id ${order} limit ${page.limit + 1}`;
}

/** Ids of the deliveries of one page, and one more when the window has more. */
async function idsOf(
  db: Db,
  filter: ReviewFilter,
  page: Page,
  windowed: Windowed,
  row: Place['row'],
): Promise<readonly Found[]> {
  const claims = CLAIMS_SHOWN[filter.shown];
  if (claims && page.sort === 'waiting') {
    return (await byWaiting(claims, filter, page, windowed, row).execute(db)).rows;
  }
  const isByAccount = page.sort === 'customer' && filter.isMasked === true;
  const alone = { by: isByAccount ? BY_ACCOUNT : SORT_BY[page.sort], group: sql`''` };
  const { by, group } = page.sort === 'value' ? byValue(page.rates ?? []) : alone;
  const [order, beyond] = directionOf(page);
  // Groups keep their order, however their rows are sorted.
  const [parts, behind] = page.back === undefined ? [sql`asc`, sql`>`] : [sql`desc`, sql`<`];
  const start = row
    ? sql`where part ${behind} ${row.part}
        or (part = ${row.part} and (place, id) ${beyond} (${row.place}, ${row.id}))`
    : sql``;
  const { rows } = await sql<Found>`select id, place, part from (
      select d.order_delivery_id id, ${by} place, ${group} part from ${FROM}
      where ${conditions(filter, windowed)}
    ) ${start} order by part ${parts}, place ${order}, id ${order} limit ${page.limit + 1}
    `.execute(db);
  return rows;
}

/** A row as SQL has it: its value is in ten-thousandths. */
interface Raw extends Omit<ReviewRow, 'rules' | 'overdue' | 'shipped' | 'state'> {
  readonly rules: string | null;
  readonly overdue: number;
  readonly shipped: number;
}

async function rowsOf(db: Db, ids: readonly number[]): Promise<ReviewRow[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<Raw>`select d.order_delivery_id orderDeliveryId,
      d.delivery_no deliveryNo, d.order_no orderNo, coalesce(o.reference, d.reference) reference,
      d.status, o.account_no accountNo, o.company customer, o.country_code country,
      ${SEASON} season, ${PIECES} pieces, ${VALUE} value, ${CURRENCY} currency,
      ${PACKED_AT} packedAt, n.outcome, n.rules, n.reason, ${HOLD_UNTIL} deadline,
      ${ESCALATED} overdue, d.tracking_numbers <> '[]' shipped,
      t.text note, t.author noteBy, t.at noteAt, ${ASSIGNED_TO} assignedTo,
      (select count(*) from delivery_note c where c.order_delivery_id = d.order_delivery_id) notes,
      d.order_id orderId, n.actor decidedBy, n.at decidedAt, ${ofPush(sql`outbox.state`)} push,
      ${ofPush(REFUSAL)} refusal, e.decision_id decisionId, d.content_hash contentHash
    from ${FROM} left join delivery_note t on t.note_id = (select max(note_id)
      from delivery_note x where x.order_delivery_id = d.order_delivery_id)
    where d.order_delivery_id in (${sql.join(ids)})`.execute(db);
  const found = rows.map((raw) => ({
    ...raw,
    value: raw.value === null ? null : decimalOf(raw.value),
    rules: raw.rules === null ? [] : JSON.parse(raw.rules),
    overdue: raw.overdue === 1,
    shipped: raw.shipped === 1,
    state: deliveryState({ ...raw, shipped: raw.shipped === 1 }),
  }));
  const byId = new Map(found.map((row) => [row.orderDeliveryId, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

function startOf({ after, back = after }: Page): Place {
  if (back === undefined) return { below: FIRST_WINDOW };
  const place = placeOf(back);
  if (place) return place;
  const hint = 'take "next" or "back" of a page, or leave "after" and "back" out';
  throw new RefusedError('review.place', 'there is no such place in the list', { hint });
}

export async function listForReview(db: Db, filter: ReviewFilter, page: Page): Promise<ReviewPage> {
  const { below, row } = startOf(page);
  const windowed = await windowOf(db, filter, below);
  const found = await idsOf(db, filter, page, windowed, row);
  const isBack = page.back !== undefined;
  const inOrder = found.slice(0, page.limit);
  const shown = isBack ? inOrder.toReversed() : inOrder;
  const hasMore = found.length > page.limit;
  const at = (one: Found | undefined) => one && { below, row: one };
  const further = windowed.next === null ? undefined : { below: windowed.next };
  const before =
    below >= FIRST_WINDOW ? undefined : { below: await windowBefore(db, filter, below) };
  const hasNext = isBack ? row !== undefined : hasMore;
  const hasBack = isBack ? hasMore : row !== undefined;
  const next = (hasNext ? at(shown.at(-1)) : undefined) ?? further;
  const back = (hasBack ? at(shown[0]) : undefined) ?? before;
  return {
    rows: await rowsOf(
      db,
      shown.map(({ id }) => id),
    ),
    next: next ? textOf(next) : null,
    back: back ? textOf(back) : null,
  };
}

export interface Facet {
  readonly name: string;
  readonly count: number;
}

export interface Facets {
  readonly count: number;
  /** Number of the newest deliveries that were counted; null: all were. */
  readonly among: number | null;
  readonly rule: readonly Facet[];
  readonly country: readonly Facet[];
  readonly season: readonly Facet[];
  readonly currency: readonly Facet[];
  readonly assigned: readonly Facet[];
  /** Account numbers, each with a name where the reader may see names. */
  readonly customer: readonly (Facet & { readonly label: string | null })[];
}

interface RawFacet {
  readonly of: string;
  readonly name: string | null;
  readonly count: number;
  readonly label: string | null;
}

/** Most customers that a filter offers: those with the most deliveries. */
const CUSTOMERS_MAX = 100;

const FACETS = ['rule', 'country', 'season', 'currency', 'assigned'] as const;

/**
 * Counts the deliveries that fit the filter, in all and for each rule, country, season, currency
 * and assignee; of what is long decided the newest alone.
 */
export async function reviewFacets(db: Db, filter: ReviewFilter): Promise<Facets> {
  const windowed = await windowOf(db, filter);
  const { rows } = await sql<RawFacet>`
    with found as materialized (select n.rules rules, o.country_code country, ${SEASON} season,
      nullif(trim(o.currency), '') currency, ${ASSIGNED_TO} assigned, o.account_no, o.company
      from ${FROM}
      where ${conditions(filter, windowed)})
    select 'all' as 'of', null as name, count(*) as count, null as label from found
    union all select 'rule', value, count(*), null from found, json_each(found.rules) group by value
    union all select 'country', country, count(*), null from found group by country
    union all select 'season', season, count(*), null from found group by season
    union all select 'currency', currency, count(*), null from found group by currency
    union all select 'assigned', assigned, count(*), null from found group by assigned
    union all select * from (select 'customer', account_no, count(*) n, max(company)
      from found group by account_no order by n desc limit ${CUSTOMERS_MAX})`.execute(db);
  const facet = (of: (typeof FACETS)[number]): Facet[] =>
    rows
      .flatMap((row) => (row.of === of && row.name !== null ? [row] : []))
      .map(({ name, count }) => ({ name: String(name), count: Number(count) }))
      .toSorted((a, b) => b.count - a.count || a.name.localeCompare(b.name));
  return {
    count: Number(rows.find((row) => row.of === 'all')?.count ?? 0),
    among: windowed.next === null ? null : WINDOW_ROWS,
    rule: facet('rule'),
    country: facet('country'),
    season: facet('season'),
    currency: facet('currency'),
    assigned: facet('assigned'),
    customer: rows.flatMap(({ of, name, count, label }) =>
      of === 'customer' && name !== null
        ? [{ name, count, label: filter.isMasked === true ? null : label }]
        : [],
    ),
  };
}

interface SelectedDelivery {
  readonly orderDeliveryId: number;
  readonly deliveryNo: string | null;
  readonly decisionId: number | null;
  readonly contentHash: string;
}

/**
 * All deliveries that fit a filter, as a person saw them: how many, with a digest of their
 * contents; of what is long decided the newest alone, as on the page.
 */
export interface ReviewSelection {
  readonly count: number;
  readonly digest: string;
  /** Id of the latest decision at the time; later decisions may have changed the set. */
  readonly asOf: number;
  /** Sums of the deliveries' values by currency; null when a price is missing. */
  readonly sums: readonly { readonly currency: string | null; readonly value: number | null }[];
  readonly customers: number;
  readonly deliveries: readonly SelectedDelivery[];
}

interface SelectedRow {
  readonly id: number;
  readonly delivery_no: string | null;
  readonly decision_id: number | null;
  readonly content_hash: string;
  readonly account_no: string | null;
  readonly currency: string | null;
  readonly value: number | null;
}

export async function selectForReview(db: Db | Tx, filter: ReviewFilter): Promise<ReviewSelection> {
  const latest = await sql<{ id: number }>`select coalesce(max(decision_id), 0) id
    from decision`.execute(db);
  const { rows } = await sql<SelectedRow>`select d.order_delivery_id id, d.delivery_no,
      e.decision_id, d.content_hash, o.account_no, ${CURRENCY} currency, ${VALUE} value
    from ${FROM} where ${conditions(filter, await windowOf(db, filter))} order by 1`.execute(db);
  const byCurrency = Map.groupBy(rows, ({ currency }) => currency);
  return {
    count: rows.length,
    digest: sha256(rows.map((row) => `${row.id} ${row.content_hash}`).join('\n')).slice(0, 16),
    asOf: latest.rows[0]?.id ?? 0,
    sums: [...byCurrency].map(([currency, of]) => ({
      currency,
      value: of.every(({ value }) => value !== null)
        ? decimalOf(of.reduce((sum, { value }) => sum + (value ?? 0), 0))
        : null,
    })),
    customers: new Set(rows.map((row) => row.account_no)).size,
    deliveries: rows.map((row) => ({
      orderDeliveryId: row.id,
      deliveryNo: row.delivery_no,
      decisionId: row.decision_id,
      contentHash: row.content_hash,
    })),
  };
}

/** A delivery that was decided after a certain decision, with what held it before. */
export interface DecidedSince {
  readonly orderDeliveryId: number;
  readonly deliveryNo: string | null;
  readonly actor: string;
  readonly outcome: string;
  readonly at: number;
  readonly before: { readonly outcome: string; readonly rules: readonly string[] } | null;
}

interface RawSince {
  readonly id: number;
  readonly delivery_no: string | null;
  readonly actor: string;
  readonly outcome: string;
  readonly at: number;
  readonly before_outcome: string | null;
  readonly before_rules: string | null;
}

/**
 * Deliveries decided after `asOf` that fulfil the filter's conditions on delivery and order,
 * whatever the decisions were; the latest decision first, at most `limit`.
 */
export async function decidedSince(
  db: Db | Tx,
  filter: ReviewFilter,
  asOf: number,
  limit: number,
): Promise<readonly DecidedSince[]> {
  // The first condition follows from the second, and leads from the few decisions to deliveries.
  const since = sql`d.order_delivery_id in (
    select order_delivery_id from decision where decision_id > ${asOf})`;
  const where = sql.join([since, sql`n.decision_id > ${asOf}`, ...lasting(filter)], sql` and `);
  const { rows } = await sql<RawSince>`select d.order_delivery_id id, d.delivery_no, n.actor,
      n.outcome, n.at, b.outcome before_outcome, b.rules before_rules
    from ${FROM} left join decision b on b.decision_id = (select max(x.decision_id)
      from decision x where x.order_delivery_id = d.order_delivery_id and x.decision_id <= ${asOf})
    where ${where} order by n.decision_id desc limit ${limit}`.execute(db);
  return rows.map((row) => ({
    orderDeliveryId: row.id,
    deliveryNo: row.delivery_no,
    actor: row.actor,
    outcome: row.outcome,
    at: row.at,
    before:
      row.before_outcome === null
        ? null
        : { outcome: row.before_outcome, rules: JSON.parse(row.before_rules ?? '[]') },
  }));
}
