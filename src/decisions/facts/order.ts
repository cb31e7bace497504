/** The facts of the order that a delivery belongs to, and of its season. */
import { type RawBuilder, sql } from 'kysely';
import { isJsonObject, tryParseJson } from '../../lib/json.ts';
import { worthOf } from '../../lib/money.ts';
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
} from '../../lib/strings.ts';
import { quarantinedAmong } from '../../mirror/quarantine.ts';
import { unreadPaths } from '../../mirror/rows/prepared.ts';
import type { Facts } from '../../rules/facts/plain.ts';
import { inKeys } from '../../store/bulk.ts';
import type { Db, Tx } from '../../store/store.ts';
import { kept, type Value } from '../../store/transaction/kept.ts';
import { type OrderLine, piecesOf } from './lines.ts';
import type { Delivered } from './reserved.ts';

export class UnknownStatus extends Error {
  override readonly name = 'UnknownStatus';
}

/** Gives the status if it is a known one; null: it is another one, whose meaning nobody knows. */
function statusAmong<S extends string>(known: readonly S[], status: string): S | null {
  return known.find((candidate) => candidate === status) ?? null;
}

export function knownStatus<S extends string>(known: readonly S[], status: string): S {
  const found = statusAmong(known, status);
  if (found === null) throw new UnknownStatus(`unknown status "${status}"`);
  return found;
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

const orderWith = kept((db: Db, orderId: Value<number>) =>
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
    .where('order_id', '=', orderId),
);

export async function orderFacts(
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

/** Whether the service still lists the season; unknown while the list of seasons was never read. */
export async function seasonFacts(tx: Tx, own: string): Promise<Facts['season']> {
  const spelt = await tx
    .selectFrom('season')
    .select(['season_name', 'deleted_at'])
    .where(inKeys('season_name', spellingsOf(own)))
    .execute();
  const isListed = ({ deleted_at }: (typeof spelt)[number]): boolean => deleted_at === null;
  const namesOf = (rows: typeof spelt) => rows.map((row) => row.season_name);
  const found = spellingIn(own, namesOf(spelt.filter(isListed))) ?? spellingIn(own, namesOf(spelt));
  const name = found ?? own;
  const row = await tx
    .selectFrom('season')
    .select(['deleted_at', 'unread'])
    .where('season_name', '=', name)
    .executeTakeFirst();
  const read = await tx
    .selectFrom('stream_state')
    .select('complete_at')
    .where('stream', '=', 'seasons')
    .executeTakeFirst();
  const windows = await tx
    .selectFrom('season_delivery')
    .select('delivery_name')
    .where('season_name', '=', name)
    .orderBy('line_no')
    .execute();
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
