/**
 * The facts of one delivery, from the mirror and the ERP's customers, in the transaction that
 * decides on them. Arithmetic that needs other rows (free stock, credit that is reserved, other
 * deliveries of the order) is done here, in SQL; what follows from the facts alone is computed by
 * the rules. What is not known is null, and never a zero or a false. The head of
 * `rules/facts/table.ts` names all places of a new fact.
 */
import { type RawBuilder, sql } from 'kysely';
import { isJsonObject, tryParseJson } from '../lib/json.ts';
import { worthOf } from '../lib/money.ts';
import {
  countryOf,
  currencyOf,
  emptyToNull,
  nameKey,
  nameOf,
  needsCity,
  needsPostalCode,
  spellingIn,
  spellingsOf,
} from '../lib/strings.ts';
import { othersWith, quarantinedAmong } from '../mirror/quarantine.ts';
import { unreadPaths } from '../mirror/rows/prepared.ts';
import type { Facts } from '../rules/facts/plain.ts';
import type { Rule, RuleSet } from '../rules/rule.ts';
import type { Tx } from '../store/store.ts';
import { keptAmong, keptForAll, keptOf } from '../store/transaction/together.ts';
import { clockFacts, weekdayAt } from './calendar.ts';
import { areCustomersRead, stylesReadBy } from './fact-streams.ts';
import {
  acceptFacts,
  accountFacts,
  baseRate,
  customerFacts,
  type IsRead,
  isCustomerGone,
  similarWithin,
} from './facts/customer.ts';
import {
  lineFacts,
  type OrderLine,
  orderLines,
  piecesOf,
  readStock,
  stockFacts,
} from './facts/lines.ts';
import { type Delivered, deliveredPieces } from './facts/reserved.ts';

// The facts of the order that a delivery belongs to, and of its season.

export class UnknownStatus extends Error {
  override readonly name = 'UnknownStatus';
}

/** Gives the status if it is a known one; null: it is another one, whose meaning nobody knows. */
function statusAmong<S extends string>(known: readonly S[], status: string): S | null {
  return known.find((candidate) => candidate === status) ?? null;
}

const ORDER_STATUSES = ['pending', 'fulfilled', 'partially_fulfilled', 'canceled'] as const;

function distinct(values: readonly (string | null)[]): string[] {
  return [...new Set(values.flatMap((value) => (value === null ? [] : [value])))];
}

/** Season of a pre-order: the order's own, else the season that all of its lines share. */
function seasonOf(head: string | null, lines: readonly OrderLine[]): string | null {
  if (head !== null) return head;
  const ahead = lines.length > 0 && lines.every((line) => line.delivery_name !== null);
  const [season, other] = distinct(lines.map((line) => line.season_name));
  return ahead && other === undefined ? (season ?? null) : null;
}

/**
 * SQL: hash of the order's content, with a mark if the service has deleted the order. A decision
 * rests on it.
 */
export function orderHash(order: string): RawBuilder<string> {
  const column = (name: string) => sql.ref(`${order}.${name}`);
  return sql<string>`${column('content_hash')}
    || iif(${column('deleted_at')} is null, '', ':gone')`;
}

/** Facts of the delivery address; null if the service sends nothing of the address at all. */
function addressFacts(text: string) {
  const parsed = tryParseJson(text);
  const address = isJsonObject(parsed) ? parsed : {};
  const member = (name: 'address' | 'address2' | 'city' | 'zip' | 'countryCode') => {
    const value = address[name];
    return typeof value === 'string' ? nameOf(value) : null;
  };
  const isTold = Object.values(address).some((value) => value !== null);
  const [zip, city] = [member('zip'), member('city')];
  const country = countryOf(member('countryCode'));
  const isWhole =
    country !== null &&
    (member('address') ?? member('address2')) !== null &&
    (city !== null || !needsCity(country)) &&
    (zip !== null || !needsPostalCode(country));
  return { zip, city, address_complete: isTold ? isWhole : null };
}

interface MirroredOrder {
  readonly facts: Facts['order'];
  /** Paths of the order's members that a decision needs and that could not be read. */
  readonly unread: readonly string[];
  readonly hash: string;
  /** Whether the service no longer has the order. */
  readonly isGone: boolean;
}

const orderWith = keptAmong(
  (db, among) =>
    db
      .selectFrom('sales_order')
      .selectAll()
      .select(orderHash('sales_order').as('hash'))
      .select(({ selectFrom }) =>
        selectFrom('order_currency as c')
          .select('c.currency')
          .whereRef('c.order_id', '=', 'sales_order.order_id')
          .as('agreed_currency'),
      )
      .where(among('order_id')),
  'order_id',
);

async function orderFacts(
  tx: Tx,
  orderId: number,
  lines: readonly OrderLine[],
  delivered: Delivered,
): Promise<MirroredOrder | undefined> {
  const [order] = await orderWith(tx, orderId);
  if (!order) return undefined;
  const unread = unreadPaths(order.unread);
  const areLinesRead = !unread.includes('orderLineItems');
  const currency = currencyOf(order.agreed_currency);
  const sized = lines.every((line) => line.size_quantity !== null);
  const status = statusAmong(ORDER_STATUSES, order.status);
  // An order whose season cannot be read may be a pre-order: its season is unknown, not absent.
  const mayBeAhead = unread.some((path) =>
    /^(SeasonName|orderLineItems(\.\d+\.(season|delivery))?)$/.test(path),
  );
  const season = seasonOf(nameOf(order.season_name), lines);
  const { others } = delivered;
  const facts: Facts['order'] = {
    id: order.order_id,
    number: order.order_no ?? '',
    reference: order.reference ?? '',
    status,
    created_at: order.created_at ?? order.first_seen_at,
    country: countryOf(order.country_code),
    ...addressFacts(order.shipping_address),
    currency,
    amount: areLinesRead ? worthOf(lines) : null,
    quantity: areLinesRead ? piecesOf(lines) : null,
    delivered_quantity: delivered.quantity,
    size_quantity: sized ? lines.reduce((sum, line) => sum + (line.size_quantity ?? 0), 0) : null,
    freight_amount: order.freight_amount,
    freight_type: order.freight_type,
    preorder: mayBeAhead ? null : season !== null,
    season,
    delivery_names: distinct(lines.map((line) => line.delivery_name)),
    comment: order.comment,
    other_pending: others.get('pending') ?? 0,
    rejected_before: others.get('rejected') ?? 0,
    accepted_before: others.get('accepted') ?? 0,
    account_no: emptyToNull(order.account_no),
    company: order.company,
  };
  const odd = status === null && order.status !== '' ? [`status (${order.status})`] : [];
  return {
    facts,
    unread: [...unread, ...odd],
    hash: order.hash,
    isGone: order.deleted_at !== null,
  };
}

const seasonsWith = keptOf(
  (db, among) =>
    db
      .selectFrom('season')
      .select(['season_name', 'deleted_at', 'unread'])
      .where(among('season_name')),
  'season_name',
);

const seasonsState = keptForAll((db) =>
  db.selectFrom('stream_state').select('complete_at').where('stream', '=', sql.lit('seasons')),
);

const windowsOf = keptAmong(
  (db, among) =>
    db
      .selectFrom('season_delivery')
      .select(['season_name', 'delivery_name'])
      .where(among('season_name'))
      .orderBy('line_no'),
  'season_name',
);

/** Whether the service still lists the season; unknown while the list of seasons was never read. */
async function seasonFacts(tx: Tx, own: string): Promise<Facts['season']> {
  const spelt = await seasonsWith(tx, spellingsOf(own));
  const isListed = ({ deleted_at }: (typeof spelt)[number]): boolean => deleted_at === null;
  const namesOf = (rows: typeof spelt) => rows.map((row) => row.season_name);
  const found = spellingIn(own, namesOf(spelt.filter(isListed))) ?? spellingIn(own, namesOf(spelt));
  const name = found ?? own;
  const row = spelt.find((one) => one.season_name === name);
  const [read] = await seasonsState(tx);
  const windows = await windowsOf(tx, name);
  const listed = row?.deleted_at === null;
  const isRead = typeof read?.complete_at === 'number';
  const known =
    row !== undefined ||
    (isRead && !(await quarantinedAmong(tx, ['season'], 'seasonName', [name])).has(name));
  return {
    name: own,
    listed: known ? listed : null,
    delivery_names:
      listed && row.unread === null ? windows.map((one) => nameKey(one.delivery_name)) : null,
  };
}

const DELIVERY_STATUSES = ['pending', 'accepted', 'rejected', 'canceled'] as const;

/** Earlier decisions about a delivery, as far as the next decision asks for it. */
interface Past {
  /** The latest decision and its basis; null: none was made. */
  readonly decision_id: number | null;
  readonly basis: string | null;
  readonly rules_key: string | null;
  readonly isDecided: boolean;
  /** Whether a push of it is on its way. */
  readonly isPushed: boolean;
  /** Whether it ever was in the queue of rejects, and whether others of its order were. */
  readonly wasQueued: boolean;
  readonly wereOthersQueued: boolean;
  /** Digest of the lines that a person has decided about; null: none has. */
  readonly lines_hash: string | null;
  /** The person who stopped it after the backup that was restored, and how; null: nobody did. */
  readonly stopped_by: string | null;
  readonly stopped_as: string | null;
}

export interface Subject {
  readonly past: Past;
  readonly delivery: {
    readonly order_delivery_id: number;
    readonly order_id: number;
    readonly content_hash: string;
    readonly status: string;
    readonly changed_at: number;
    /** JSON text of the list of tracking numbers. */
    readonly tracking_numbers: string;
  };
  readonly orderHash: string;
  /** Whether the service no longer has the order. */
  readonly orderIsGone: boolean;
  readonly facts: Facts;
  /** Sentences on the ERP's fields of the customer whose values are not of their declared kind. */
  readonly invalidFields: readonly string[];
}

/** Sums over a delivery's lines are unknown (null) if the lines could not be read. */
const NO_SUMS = { quantity: null, size_quantity: null, amount: null, weight: null };

/** Inputs that the facts of a delivery need besides the database. */
export interface FactsContext {
  /** Time at which the facts hold, in epoch milliseconds. */
  readonly now: number;
  /** Settings of the rule set: calendar, windows, rates, fields that the ERP adds to customers. */
  readonly settings: RuleSet['settings'];
  /**
   * Rules that will read the facts: costly facts are computed only if one of these rules reads
   * them; undefined: all are computed.
   */
  readonly rules?: readonly Rule[] | undefined;
}

const readsOf = new WeakMap<readonly Rule[], ReadonlySet<string>>();

function isReadBy(rules: readonly Rule[] | undefined): IsRead {
  if (rules === undefined) return () => true;
  const reads = readsOf.get(rules) ?? new Set(rules.flatMap((rule) => rule.reads));
  readsOf.set(rules, reads);
  return (path) => reads.has(path);
}

const LOST = 'the customer (erp_customer had the account and has it no more)';

/** Facts of the customer account: what the ERP says of it, and what the mirror has. */
async function customerOf(
  tx: Tx,
  order: Facts['order'],
  orderDeliveryId: number,
  { now, settings, rules }: FactsContext,
  isRead: IsRead,
) {
  const { account_no: accountNo = null, currency = null } = order;
  const asked = { orderDeliveryId, accountNo, currency };
  const accepts = await acceptFacts(tx, asked, isRead, { now, settings });
  if (accountNo === null) {
    return { facts: null, today: accepts.today, invalidFields: [], unread: [] };
  }
  const erp = await customerFacts(tx, accountNo, orderDeliveryId, settings.customer_fields);
  const mirrored = await accountFacts(tx, { accountNo, orderId: order.id }, isRead, now);
  const isKnown = erp ?? mirrored ?? accepts.customer;
  const facts = { ...erp?.facts, ...mirrored, ...accepts.customer };
  // Rules may rest on a customer that the ERP has removed.
  const mayBeLost = erp === undefined && areCustomersRead({ rules: rules ?? [], settings });
  return {
    facts: isKnown === undefined ? null : facts,
    today: accepts.today,
    invalidFields: erp?.invalidFields ?? [],
    unread: mayBeLost && (await isCustomerGone(tx, accountNo)) ? [LOST] : [],
  };
}

/** Facts of the order that need the settings or other orders of the account. */
async function moreOfOrder(
  tx: Tx,
  order: Facts['order'],
  { settings }: FactsContext,
  isRead: IsRead,
): Promise<Partial<Facts['order']>> {
  const {
    account_no: accountNo = null,
    currency = null,
    id: orderId,
    created_at: createdAt,
  } = order;
  const within = async (isRepeated: boolean) =>
    accountNo === null
      ? null
      : similarWithin(tx, { accountNo, orderId, createdAt }, { isRepeated });
  const base = settings.base_currency;
  return {
    ...(isRead('order.similar_within') && { similar_within: await within(false) }),
    ...(isRead('order.repeated_within') && { repeated_within: await within(true) }),
    ...(base !== undefined && {
      base_currency: base,
      base_rate: baseRate(currency, settings),
    }),
  };
}

const is = (of: RawBuilder<unknown>) => sql<number>`exists (select 1 from ${of})`;

const deliveryOf = keptAmong((db, among) => {
  const own = sql.ref('d.order_delivery_id');
  return db
    .selectFrom('delivery as d')
    .leftJoin('evaluation as e', 'e.order_delivery_id', 'd.order_delivery_id')
    .leftJoin('review as r', 'r.order_delivery_id', 'd.order_delivery_id')
    .leftJoin('restored_stop as s', 's.order_delivery_id', 'd.order_delivery_id')
    .selectAll('d')
    .select(['e.decision_id', 'e.basis', 'e.rules_key', 'r.lines_hash'])
    .select(['s.actor as stopped_by', 's.action as stopped_as'])
    .select([
      is(sql`decision n where n.order_delivery_id = ${own}`).as('isDecided'),
      is(sql`outbox where outbox.order_delivery_id = ${own} and ended_at is null`).as('isPushed'),
      is(sql`reject_entry q where q.order_delivery_id = ${own}`).as('wasQueued'),
      is(sql`delivery o cross join reject_entry q on q.order_delivery_id = o.order_delivery_id
        where o.order_id = d.order_id and o.order_delivery_id <> ${own}`).as('wereOthersQueued'),
    ])
    .where(among('d.order_delivery_id'));
}, 'order_delivery_id');

/** Reads a delivery and its past in one statement. */
async function readDelivery(tx: Tx, orderDeliveryId: number) {
  const [row] = await deliveryOf(tx, orderDeliveryId);
  if (!row) return undefined;
  const { decision_id, basis, rules_key, lines_hash, stopped_by, stopped_as, ...delivery } = row;
  const past: Past = {
    decision_id,
    basis,
    rules_key,
    lines_hash,
    stopped_by,
    stopped_as,
    isDecided: row.isDecided === 1,
    isPushed: row.isPushed === 1,
    wasQueued: row.wasQueued === 1,
    wereOthersQueued: row.wereOthersQueued === 1,
  };
  return { delivery, past };
}

/** Reads a delivery with its facts; undefined while its order is not mirrored yet. */
export async function readSubject(
  tx: Tx,
  orderDeliveryId: number,
  context: FactsContext,
): Promise<Subject | undefined> {
  const { now, settings, rules } = context;
  const own = await readDelivery(tx, orderDeliveryId);
  if (!own) return undefined;
  const { delivery, past } = own;
  const lines = await orderLines(tx, delivery.order_id);
  const delivered = await deliveredPieces(tx, orderDeliveryId);
  const order = await orderFacts(tx, delivery.order_id, lines, delivered);
  if (!order) return undefined;
  const isRead = isReadBy(rules);
  const { currency = null, season = null } = order.facts;
  const customer = await customerOf(tx, order.facts, orderDeliveryId, context, isRead);
  const read = await readStock(tx);
  const stylesRead = stylesReadBy(rules);
  const ofLines = { delivered, read, isRead, stylesRead, settings, now };
  const line = await lineFacts(tx, orderDeliveryId, { lines, currency, season }, ofLines);
  const others = await othersWith(tx, orderDeliveryId);
  const unread = [
    ...unreadPaths(delivery.unread),
    ...others.map((orderId) => `orderDeliveryId (order ${orderId} has it as well)`),
    ...order.unread.map((path) => `order.${path}`),
    ...customer.unread,
    ...line.unread,
  ];
  const packedAt = delivery.created_at ?? delivery.first_seen_at;
  const status = statusAmong(DELIVERY_STATUSES, delivery.status);
  if (status === null) throw new UnknownStatus(`unknown status "${delivery.status}"`);
  const facts: Facts = {
    delivery: {
      id: delivery.order_delivery_id,
      number: delivery.delivery_no ?? '',
      status,
      created_at: packedAt,
      ...(isRead('delivery.weekday') && { weekday: weekdayAt(packedAt, settings) }),
      currency,
      lines: line.lines,
      ...(unread.length > 0 ? { unread } : {}),
      ...(unread.includes('fulfilledLineItems') ? NO_SUMS : {}),
    },
    order: { ...order.facts, ...(await moreOfOrder(tx, order.facts, context, isRead)) },
    customer: customer.facts,
    season: season === null ? null : await seasonFacts(tx, season),
    stock: stockFacts(read, now),
    ...(customer.today && { today: customer.today }),
    clock: clockFacts(now, settings),
  };
  const { hash, isGone } = order;
  const { invalidFields } = customer;
  return { delivery, past, orderHash: hash, orderIsGone: isGone, facts, invalidFields };
}
