/**
 * Claims of other deliveries: pieces by barcode, credit by account. Two deliveries that each fit
 * must not both be accepted when they do not fit together, so an accept counts from the moment its
 * push is in the outbox until the stock or the ERP's credit figures include it.
 *
 * Claims are computed, never stored: a failed push, and a delivery that is put back, canceled or
 * rejected, release their claims by themselves, also after a kill. The table `claim` only names the
 * deliveries that may have one, so that nobody reads all that an article or a customer ever had.
 */
import { type RawBuilder, sql } from 'kysely';
import { sumOfUnits } from '../../lib/money.ts';
import { currencyOf } from '../../lib/strings.ts';
import { formsText, likelyAmong, spellingStarts } from '../../mirror/catalog/spelt.ts';
import { unreadPaths } from '../../mirror/rows/prepared.ts';
import { claimsSince } from '../../mirror/upkeep.ts';
import type { Db, Tx } from '../../store/store.ts';
import { kept, type Value } from '../../store/transaction/kept.ts';
import { askedTogether, keptAmong } from '../../store/transaction/together.ts';
import { hasOpenPush } from '../push.ts';
import { leaping } from './leap.ts';

// Sums over all deliveries of an order: how many pieces they have, and how many have each status.

/** Pieces by the names of articles; null when a delivery's pieces are unknown. */
export interface DeliveredAs {
  readonly of: (name: string) => number | null;
  /** The pieces at one price; null when a price is unknown, too. */
  readonly at: (name: string, price: number) => number | null;
}

export interface Delivered {
  /** Number of the order's other deliveries by status. */
  readonly others: ReadonlyMap<string, number>;
  /**
   * Pieces in this delivery and in others that are or may be on their way; null when one delivery's
   * pieces are unknown.
   */
  readonly quantity: number | null;
  /** The same number of pieces for each article; `nameOf` gives the article of a barcode. */
  readonly by: (nameOf: (barcode: string) => string) => DeliveredAs;
}

interface Row {
  /** The delivery that asks for those of its order. */
  readonly asked: number;
  readonly id: number;
  readonly status: string;
  readonly unread: string | null;
  /**
   * 1 when a delivery of the order is missing in the mirror, because another order has its number.
   */
  readonly shared: number;
  /** Null when the delivery has no lines. */
  readonly line_no: number | null;
  readonly barcode: string | null;
  readonly pieces: number | null;
  readonly price: number | null;
}

function countByStatus(rows: readonly Row[]): ReadonlyMap<string, number> {
  const deliveries = new Map(rows.map(({ id, status }) => [id, status]));
  const counts = new Map<string, number>();
  for (const status of deliveries.values()) counts.set(status, (counts.get(status) ?? 0) + 1);
  return counts;
}

const linesOfDeliveries = keptAmong(
  (_, among) => sql<Row>`
    select own.order_delivery_id asked, d.order_delivery_id id, d.status, d.unread,
      line.line_no, line.barcode,
      line.fulfilled_quantity pieces, line.price,
      exists (select 1 from shared_number s
        where s.order_id = d.order_id and s.entity = 'delivery') shared
    from delivery own
    cross join delivery d on d.order_id = own.order_id
      and (d.order_delivery_id = own.order_delivery_id or d.deleted_at is null)
    left join delivery_line line on line.order_delivery_id = d.order_delivery_id
    where ${among('own.order_delivery_id')}`,
  'asked',
);

/**
 * Reads all deliveries of its order; the pieces of `orderDeliveryId` count whatever its status is.
 */
export async function deliveredPieces(tx: Tx, orderDeliveryId: number): Promise<Delivered> {
  const rows = await linesOfDeliveries(tx, orderDeliveryId);
  // Deliveries with an unknown status count: their goods may be on their way.
  const isCounted = ({ id, status }: Row): boolean =>
    id === orderDeliveryId || (status !== 'rejected' && status !== 'canceled');
  const counted = rows.filter(isCounted);
  const isUnknown = counted.some(
    ({ shared, unread }) => shared === 1 || unreadPaths(unread).includes('fulfilledLineItems'),
  );
  const lines = counted.filter((row) => row.line_no !== null);
  const piecesOf = (some: readonly Row[]) =>
    isUnknown ? null : sumOfUnits(some.map(({ pieces }) => pieces));
  const isAllRead = lines.every(({ barcode }) => barcode !== null);
  return {
    others: countByStatus(rows.filter(({ id }) => id !== orderDeliveryId)),
    quantity: piecesOf(lines),
    by(nameOf) {
      const byName = Map.groupBy(lines, ({ barcode }) => nameOf(barcode ?? ''));
      const linesOf = (name: string) => byName.get(name) ?? [];
      return {
        of: (name) => (isAllRead ? piecesOf(linesOf(name)) : null),
        at(name, price) {
          const some = linesOf(name);
          const isKnown = isAllRead && some.every((line) => line.price !== null);
          return isKnown ? piecesOf(some.filter((line) => line.price === price)) : null;
        },
      };
    },
  };
}

/**
 * Milliseconds for which an accepted delivery without a tracking number claims its pieces: some
 * never get one, and must not keep the stock for ever.
 */
const SHIPS_WITHIN_MS = 14 * 86_400_000;

/**
 * SQL: time at which a delivery was accepted, by the change feed; if it was never seen pending, the
 * time it was packed.
 */
const ACCEPTED_AT = sql<number>`coalesce((
  select max(c.at) from change c
  where c.entity = 'delivery' and c.key = d.order_delivery_id || ''
    and c.diff->>'$.status[1]' = 'accepted'
), d.created_at, d.first_seen_at)`;

/** SQL: whether an accept of the delivery `d` is on its way. */
const BEING_ACCEPTED = hasOpenPush('d.order_delivery_id', 'accepted');

interface Claim {
  readonly currency: string | null;
  readonly amount: number;
  readonly unpriced: number;
}

/**
 * SQL: a table `found` of the lines with spellings of these barcodes: of deliveries in `claim`, or
 * of all that there ever were.
 */
function linesFound(forms: Value<string>, isWhole: boolean): RawBuilder<unknown> {
  const next = (after: RawBuilder<unknown>) =>
    sql`(select min(barcode) from delivery_line where ${after} and barcode < start || '!')`;
  // From one to the next, for a barcode may be in the lines of years.
  const barcodes = sql`${spellingStarts(forms, 'delivery_line')}, lined(part, start)
    as (select ${next(sql`barcode >= start`)}, start from spelt
    union all select ${next(sql`barcode > part`)}, start from lined where part is not null)`;
  const parts = sql`select distinct part from lined where part is not null`;
  if (isWhole) {
    return sql`${barcodes}, found(barcode, id)
      as (select distinct l.barcode, l.order_delivery_id from (${parts}) p
      cross join delivery_line l on l.barcode = p.part)`;
  }
  const leap = leaping({
    parts,
    own: (from) => sql`(select min(l.order_delivery_id) from delivery_line l
      where l.barcode = part and l.order_delivery_id >= ${from})`,
    other: (from) => sql`(select min(c.order_delivery_id) from claim c
      where c.order_delivery_id >= ${from})`,
  });
  return sql`${barcodes}, ${leap}, found(barcode, id)
    as (select part, own from leap where own = other)`;
}

/** SQL: a table `found` of the customer's orders: of those in `claim`, or all. */
function ordersFound(accountNo: string, isWhole: boolean): RawBuilder<unknown> {
  if (isWhole) {
    return sql`found(id)
      as (select order_id from sales_order where account_no = ${accountNo})`;
  }
  return sql`${leaping({
    parts: sql`select ${accountNo} part`,
    own: (from) => sql`(select min(s.order_id) from sales_order s
      where s.account_no = part and s.order_id >= ${from})`,
    other: (from) => sql`(select min(c.order_id) from claim c where c.order_id >= ${from})`,
  })}, found(id)
    as (select own from leap where own = other)`;
}

interface Reserved {
  readonly barcode: string;
  /** The delivery that has the pieces, where it is not the same for all that ask; else null. */
  readonly apart: number | null;
  /** 1 when they count only for deliveries that were packed later. */
  readonly isLater: number;
  readonly pieces: number | null;
}

/** Makes the query of `reservedPieces`, over deliveries in `claim` or over all. */
function reservedOf(isWhole: boolean) {
  return kept(
    (
      _: Db,
      forms: Value<string>,
      asking: Value<string>,
      first: Value<number>,
      last: Value<number>,
      stockReadAt: Value<number>,
      acceptedSince: Value<number>,
      // CROSS JOIN fixes SQLite's join order: from the few lines with these barcodes to their
      // deliveries, not from all pending deliveries; and from each of these once to its lines.
    ) => sql<Reserved>`
    with recursive ${linesFound(forms, isWhole)},
    claiming(id, claims)
    as materialized (select d.order_delivery_id, case d.status
        when 'pending' then iif(d.order_delivery_id < ${first} or ${BEING_ACCEPTED}, 'all',
          iif(d.order_delivery_id < ${last}, 'later', null))
        -- Accepted or shipped since the stock was read, the stock cannot know.
        when 'accepted' then iif(d.changed_at >= ${stockReadAt}
          -- Most have left long ago: only of the others the order is looked up. One that was
          -- completed since may have been so by a parcel that was not read yet.
          or (d.tracking_numbers = '[]'
            and (select o.completed = 1 and o.changed_at < ${stockReadAt} from sales_order o
              where o.order_id = d.order_id) is not 1
            and ${ACCEPTED_AT} >= ${acceptedSince}), 'all', null)
        end
      from (select distinct id from found) one
      cross join delivery d on d.order_delivery_id = one.id
      where d.deleted_at is null)
    select line.barcode, claims = 'later' isLater,
      iif(claims = 'later' or claiming.id in (select value from json_each(${asking})),
        claiming.id, null) apart,
      iif(count(line.fulfilled_quantity) = count(*), sum(line.fulfilled_quantity), null) pieces
    from claiming
    cross join delivery_line line on line.order_delivery_id = claiming.id
      and +line.barcode in (select barcode from found)
    where claims is not null
    group by 1, 2, 3 order by 1, 2, 3`,
  );
}

const reservedOfOpen = reservedOf(false);
const reservedOfAll = reservedOf(true);

interface Asking {
  readonly orderDeliveryId: number;
  readonly barcodes: readonly string[];
  readonly stockReadAt: number;
}

interface Sum {
  readonly claims: number;
  /** Number of claims whose pieces are unknown. */
  readonly unknown: number;
  readonly pieces: number;
}

const NOTHING: Sum = { claims: 0, unknown: 0, pieces: 0 };

/** Number of those below the limit, of numbers that rise. */
function countBelow(rising: readonly number[], limit: number): number {
  let [from, to] = [0, rising.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (Number(rising[middle]) < limit) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Sums the claims on a barcode, so that who asks need not look at those of all others that ask. */
function claimsOn(barcode: string, rows: readonly Reserved[]) {
  const own = new Map<number | null, Sum>();
  const later: number[] = [];
  const sums: Sum[] = [];
  let sum = NOTHING;
  for (const { apart, isLater, pieces } of rows) {
    const one: Sum = { claims: 1, unknown: Number(pieces === null), pieces: Number(pieces) };
    if (isLater === 1) {
      later.push(Number(apart));
      sums.push(sum);
    } else own.set(apart, one);
    sum = {
      claims: sum.claims + one.claims,
      unknown: sum.unknown + one.unknown,
      pieces: sum.pieces + one.pieces,
    };
  }
  sums.push(sum);
  return {
    barcode,
    /** Null when the pieces of a claim are unknown; undefined: there is no claim of others. */
    piecesFor(id: number): number | null | undefined {
      const all = sums[countBelow(later, id)] ?? NOTHING;
      const mine = own.get(id) ?? NOTHING;
      if (all.claims === mine.claims) return undefined;
      return all.unknown > mine.unknown ? null : all.pieces - mine.pieces;
    },
  };
}

const claimedPieces = askedTogether(async (tx, asking: readonly Asking[]) => {
  const stockReadAt = Math.min(...asking.map((one) => one.stockReadAt));
  const acceptedSince = stockReadAt - SHIPS_WITHIN_MS;
  const query = acceptedSince < (await claimsSince(tx)) ? reservedOfAll : reservedOfOpen;
  const ids = asking.map((one) => one.orderDeliveryId);
  const [first, last] = [Math.min(...ids), Math.max(...ids)];
  const forms = formsText(asking.flatMap(({ barcodes }) => barcodes));
  const asked = JSON.stringify(ids);
  const rows = await query(tx, forms, asked, first, last, stockReadAt, acceptedSince);
  const byBarcode = Map.groupBy(rows, ({ barcode }) => barcode);
  const likely = likelyAmong([...byBarcode].map(([barcode, own]) => claimsOn(barcode, own)));
  return ({ orderDeliveryId: id, barcodes }: Asking) => {
    const claims = new Map<string, number | null>();
    for (const { barcode, piecesFor } of [...likely(barcodes).values()].flat()) {
      const pieces = piecesFor(id);
      if (pieces !== undefined) claims.set(barcode, pieces);
    }
    return claims;
  };
});

/**
 * Pieces that other deliveries claim, by the spellings of these barcodes: older pending ones, those
 * that are being accepted, and accepted ones whose pieces are still in the stock read at
 * `stockReadAt`. Null when the pieces of one of them are unknown.
 */
export function reservedPieces(
  tx: Tx,
  orderDeliveryId: number,
  barcodes: readonly string[],
  stockReadAt: number,
): Promise<ReadonlyMap<string, number | null>> {
  return claimedPieces(tx, { orderDeliveryId, barcodes, stockReadAt });
}

/**
 * Value of the account's other deliveries that were accepted since `since`, in units (lib/money.ts)
 * of `currency`. Null when it is unknown, because a price is missing or a delivery has another
 * currency.
 */
export async function reservedCredit(
  tx: Tx,
  account: { readonly accountNo: string; readonly currency: string | null },
  orderDeliveryId: number,
  since: number,
): Promise<number | null> {
  const isWhole = since < (await claimsSince(tx));
  const { rows } = await sql<Claim>`
    with recursive ${ordersFound(account.accountNo, isWhole)}
    select (select c.currency from order_currency c where c.order_id = o.order_id) currency,
      total(line.price * line.fulfilled_quantity) amount,
      sum(line.price is null) unpriced
    from found
    cross join sales_order o on o.order_id = found.id
    cross join delivery d on d.order_id = o.order_id
    cross join delivery_line line on line.order_delivery_id = d.order_delivery_id
    where d.order_delivery_id <> ${orderDeliveryId} and d.deleted_at is null
      and case d.status
        when 'pending' then ${BEING_ACCEPTED}
        when 'accepted' then d.changed_at >= ${since} and ${ACCEPTED_AT} >= ${since}
        else 0 end
    group by 1`.execute(tx);
  const amounts: number[] = [];
  for (const { currency, amount, unpriced } of rows) {
    if (unpriced > 0 || currency === null || currencyOf(currency) !== account.currency) return null;
    amounts.push(amount);
  }
  // Floating-point sums cannot overflow, and are exact for integers of this size.
  return sumOfUnits(amounts);
}
