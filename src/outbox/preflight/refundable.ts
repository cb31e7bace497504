/**
 * Pre-flight of a pending refund: only what was delivered, or ordered, and is not refunded yet may
 * be asked for, in whole coins.
 */
import type { PendingRefund, SalesOrder, SalesOrderRefund } from '../../client/v1/schemas.ts';
import { amountUnits, splitsCoin } from '../../lib/money.ts';
import { nearestName } from '../../lib/nearest.ts';
import { currencyOf } from '../../lib/strings.ts';
import { keysAmong } from '../../mirror/catalog/spelt.ts';
import type { Db, Store } from '../../store/store.ts';
import { type PendingRefundDocument, unitsOf, wholeWanted } from '../documents.ts';
import type { FlightProblem } from '../item.ts';
import { farPrice, farPrices, listPrices } from './far-price.ts';

const OVER = new Set(['rejected', 'canceled']);

function add(counts: Map<string, number>, key: string, quantity: number): void {
  counts.set(key, (counts.get(key) ?? 0) + quantity);
}

interface ShownLine {
  readonly barcode: string | null;
  readonly quantity: number | null;
}

/** Keeps the readable lines; a list with unreadable ones was refused before (`isPartial`). */
function readable(lines: readonly ShownLine[] | null) {
  return (lines ?? []).flatMap(({ barcode, quantity }) =>
    barcode === null || quantity === null ? [] : { barcode, quantity },
  );
}

type Pieces = ReadonlyMap<string, number>;
/** Gives the key of a barcode, because order, refunds and ERP may spell barcodes differently. */
type KeyOf = (barcode: string) => string;

/** Pieces of the order's accepted deliveries that the mirror has, by barcode. */
export async function acceptedPieces({ db }: Store, orderId: number): Promise<Pieces> {
  const rows = await db
    .selectFrom('delivery as d')
    .innerJoin('delivery_line as l', 'l.order_delivery_id', 'd.order_delivery_id')
    .select(['l.barcode', 'l.fulfilled_quantity as quantity'])
    .where('d.order_id', '=', orderId)
    .where('d.status', '=', 'accepted')
    .where('d.deleted_at', 'is', null)
    .execute();
  const pieces = new Map<string, number>();
  for (const { barcode, quantity } of readable(rows)) add(pieces, barcode, quantity);
  return pieces;
}

function orderedPieces(order: SalesOrder, keyOf: KeyOf): Pieces {
  const pieces = new Map<string, number>();
  for (const { barcode, quantity } of readable(order.orderLineItems)) {
    add(pieces, keyOf(barcode), quantity);
  }
  return pieces;
}

/**
 * Pieces that have left, by barcode: what the order tells as fulfilled, or its accepted deliveries,
 * if these are more. An order that tells it of no line leaves only the deliveries, and if there is
 * none either, what was ordered: then nobody knows. Of a canceled order that is nothing.
 */
function deliveredPieces(order: SalesOrder, accepted: Pieces, keyOf: KeyOf): Pieces {
  const lines = order.orderLineItems ?? [];
  const isTold = lines.some(({ fulfilledQuantity }) => typeof fulfilledQuantity === 'number');
  if (!isTold && accepted.size === 0 && order.status !== 'canceled') {
    return orderedPieces(order, keyOf);
  }
  const told = new Map<string, number>();
  for (const { barcode, fulfilledQuantity } of lines) {
    if (barcode !== null) add(told, keyOf(barcode), fulfilledQuantity ?? 0);
  }
  const left = new Map<string, number>();
  for (const [barcode, count] of accepted) add(left, keyOf(barcode), count);
  for (const [key, count] of left) told.set(key, Math.max(count, told.get(key) ?? 0));
  return told;
}

/** Quantities that can still be refunded, by barcode: less what is refunded and asked for. */
function refundable(
  pieces: Pieces,
  lists: {
    readonly pending: readonly PendingRefund[];
    readonly refunds: readonly SalesOrderRefund[];
  },
  keyOf: KeyOf,
): Map<string, number> {
  const left = new Map(pieces);
  for (const refund of lists.refunds) {
    if (OVER.has(refund.status ?? '')) continue;
    const lines = refund.refundedLineItems ?? [];
    for (const { barcode, refundedQuantity: quantity } of lines) {
      if (barcode !== null && quantity !== null) add(left, keyOf(barcode), -quantity);
    }
  }
  const refunded = new Set(lists.refunds.map(({ pendingRefundId }) => pendingRefundId));
  for (const pending of lists.pending) {
    // A confirmed pending refund counts among the refunds, also if the list still shows it as
    // pending.
    if (pending.status !== 'pending' || refunded.has(pending.pendingRefundId)) continue;
    for (const { barcode, quantity } of readable(pending.refundLineItems)) {
      add(left, keyOf(barcode), -quantity);
    }
  }
  return left;
}

function tooMany(rest: number, gone: number, ordered: number): string {
  if (gone >= ordered) return `only ${rest} are left to refund of what was ordered`;
  const left = gone === 0 ? 'none of it has left' : `${gone} of ${ordered} have left`;
  const way = 'if goods that never left are meant, set outbox.refundsUpTo: ordered';
  return `only ${rest} are left to refund of what was delivered (${left}); ${way}`;
}

/** @param accepted pieces of accepted deliveries; undefined: all that was ordered counts. */
export function refundableProblems(
  document: PendingRefundDocument,
  order: SalesOrder,
  lists: Parameters<typeof refundable>[1],
  accepted?: Pieces,
): FlightProblem[] {
  const barcodes = readable(order.orderLineItems).map(({ barcode }) => barcode);
  const keyOf = keysAmong(barcodes);
  const wanted = orderedPieces(order, keyOf);
  const gone = accepted === undefined ? wanted : deliveredPieces(order, accepted, keyOf);
  const left = refundable(gone, lists, keyOf);
  const currency = typeof order.currency === 'string' ? currencyOf(order.currency) : null;
  return document.lines.flatMap(({ barcode, quantity, price }, index): FlightProblem[] => {
    const at = `lines[${index}]`;
    const key = keyOf(barcode);
    if (currency !== null && price !== undefined && splitsCoin(unitsOf(price), currency)) {
      return [{ path: `${at}.price`, message: wholeWanted(currency), severity: 'error' }];
    }
    const ordered = wanted.get(key);
    if (ordered === undefined) {
      const near = nearestName(barcode, barcodes);
      const hint = near === undefined ? '' : `; did you mean ${near}?`;
      const message = `${barcode} is not in order ${order.orderId}${hint}`;
      return [{ path: `${at}.barcode`, message, severity: 'error' }];
    }
    const rest = left.get(key) ?? 0;
    add(left, key, -quantity);
    if (quantity <= rest) return [];
    const message = tooMany(Math.max(0, rest), gone.get(key) ?? 0, ordered);
    return [{ path: `${at}.quantity`, message, severity: 'error' }];
  });
}

/**
 * Lists prices that cannot be meant, beside those of the order and of the lists. A reduction may be
 * small; what has no type may be one.
 */
export async function refundPriceProblems(
  db: Db,
  { lines }: PendingRefundDocument,
  order: SalesOrder,
  priceFactor: number | null,
): Promise<FlightProblem[]> {
  if (priceFactor === null || !lines.some(({ price }) => price !== undefined)) return [];
  const barcodes = lines.map(({ barcode }) => barcode);
  const listed = await listPrices(db, barcodes);
  const currency = typeof order.currency === 'string' ? currencyOf(order.currency) : null;
  const items = order.orderLineItems ?? [];
  const keyOf = keysAmong(items.map(({ barcode }) => barcode ?? ''));
  const found = lines.map((line, index) => {
    const own = listed.get(line.barcode) ?? [];
    const ordered = items.flatMap(({ barcode, price }) => {
      const units = keyOf(barcode ?? '') === keyOf(line.barcode) ? amountUnits(price) : null;
      return units === null || units <= 0 ? [] : [{ units, currency }];
    });
    const isReduction = line.refundType?.includes('price_reduction') ?? true;
    return farPrice({ ...line, index, currency, isReduction }, [...ordered, ...own], priceFactor);
  });
  return farPrices(found);
}
