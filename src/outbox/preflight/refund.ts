/** The pre-flight of a pending refund: only what was ordered and not refunded, in whole coins. */
import type { PendingRefund, SalesOrder, SalesOrderRefund } from '../../client/v1/schemas.ts';
import { splitsCoin } from '../../lib/money.ts';
import { currencyOf, nameKey } from '../../lib/strings.ts';
import { type PendingRefundDocument, unitsOf, wholeWanted } from '../documents.ts';
import type { FlightProblem } from '../item.ts';

const OVER = new Set(['rejected', 'canceled']);

/** An order may spell a barcode otherwise than the ERP, or than its own refunds. */
function add(counts: Map<string, number>, barcode: string, quantity: number): void {
  const key = nameKey(barcode);
  counts.set(key, (counts.get(key) ?? 0) + quantity);
}

interface ShownLine {
  readonly barcode: string | null;
  readonly quantity: number | null;
}

/** The lines that can be read: what cannot is asked for before (`isPartial`). */
function readable(lines: readonly ShownLine[] | null) {
  return (lines ?? []).flatMap(({ barcode, quantity }) =>
    barcode === null || quantity === null ? [] : { barcode, quantity },
  );
}

/** Ordered, less what is refunded, less what is asked for already; by barcode. */
function refundable(
  order: SalesOrder,
  lists: {
    readonly pending: readonly PendingRefund[];
    readonly refunds: readonly SalesOrderRefund[];
  },
): Map<string, number> {
  const left = new Map<string, number>();
  for (const { barcode, quantity } of readable(order.orderLineItems)) add(left, barcode, quantity);
  for (const refund of lists.refunds) {
    if (OVER.has(refund.status ?? '')) continue;
    const lines = (refund.refundedLineItems ?? []).map(({ barcode, refundedQuantity }) => ({
      ...{ barcode, quantity: refundedQuantity },
    }));
    for (const { barcode, quantity } of readable(lines)) add(left, barcode, -quantity);
  }
  const refunded = new Set(lists.refunds.map(({ pendingRefundId }) => pendingRefundId));
  for (const pending of lists.pending) {
    // A confirmed one stands among the refunds, also where it was read before it was.
    if (pending.status !== 'pending' || refunded.has(pending.pendingRefundId)) continue;
    for (const { barcode, quantity } of readable(pending.refundLineItems))
      add(left, barcode, -quantity);
  }
  return left;
}

export function refundableProblems(
  document: PendingRefundDocument,
  order: SalesOrder,
  lists: Parameters<typeof refundable>[1],
): FlightProblem[] {
  const left = refundable(order, lists);
  const currency = typeof order.currency === 'string' ? currencyOf(order.currency) : null;
  const ordered = new Set(readable(order.orderLineItems).map(({ barcode }) => nameKey(barcode)));
  return document.lines.flatMap(({ barcode, quantity, price }, index): FlightProblem[] => {
    const at = `lines[${index}]`;
    if (currency !== null && price !== undefined && splitsCoin(unitsOf(price), currency)) {
      return [{ path: `${at}.price`, message: wholeWanted(currency), severity: 'error' }];
    }
    if (!ordered.has(nameKey(barcode))) {
      const message = `is not in order ${order.orderId}`;
      return [{ path: `${at}.barcode`, message, severity: 'error' }];
    }
    const rest = left.get(nameKey(barcode)) ?? 0;
    add(left, barcode, -quantity);
    if (quantity <= rest) return [];
    const message = `only ${Math.max(0, rest)} are left to refund of what was ordered`;
    return [{ path: `${at}.quantity`, message, severity: 'error' }];
  });
}
