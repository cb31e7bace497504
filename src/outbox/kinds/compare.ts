/** Whether what the service shows is what was sent; what it leaves out is not compared. */
import type { NewOrder } from '../../client/v1/order-body.ts';
import type { NewPendingRefund } from '../../client/v1/refunds.ts';
import { amountUnits, formatAmount } from '../../lib/money.ts';
import { referenceKey } from '../documents.ts';

interface Line {
  readonly barcode: string;
  readonly quantity: number;
  readonly priceUnits: number | null;
  readonly more: string | null;
}

function textOf(line: Line, withPrice: boolean, withMore: boolean): string {
  const price = withPrice && line.priceUnits !== null ? ` at ${formatAmount(line.priceUnits)}` : '';
  const more = withMore && line.more !== null ? ` for ${line.more}` : '';
  return `${line.quantity} × ${line.barcode}${price}${more}`;
}

function counted(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}

/** What stands in one of both only, as a multiset; members that the other side omits are left. */
function lineDifferences(sent: readonly Line[], shown: readonly Line[]): string[] {
  const withPrice = [...sent, ...shown].every(({ priceUnits }) => priceUnits !== null);
  const withMore = [...sent, ...shown].every(({ more }) => more !== null);
  const own = counted(sent.map((line) => textOf(line, withPrice, withMore)));
  const other = counted(shown.map((line) => textOf(line, withPrice, withMore)));
  const differences: string[] = [];
  for (const [text, count] of own) {
    const missing = count - (other.get(text) ?? 0);
    if (missing > 0) differences.push(`not at the service: ${text}`);
  }
  for (const [text, count] of other) {
    if (count > (own.get(text) ?? 0)) differences.push(`only at the service: ${text}`);
  }
  return differences;
}

interface ShownLine {
  readonly barcode: string;
  readonly quantity: number;
  /** With decimals, as in all answers of the service. */
  readonly price?: number | null | undefined;
}

/** What is compared of an order that the service shows. */
export interface ShownOrder {
  readonly freight?: { readonly freightAmount?: number | null | undefined } | null | undefined;
  readonly SeasonName?: string | null | undefined;
  readonly orderLineItems: readonly (ShownLine & {
    readonly delivery?: string | null | undefined;
  })[];
}

/** What is compared of a pending refund that the service shows. */
export interface ShownPendingRefund {
  readonly refundLineItems: readonly (ShownLine & {
    readonly refundType?: string | null | undefined;
  })[];
}

export interface OrderDifferences {
  /** Other lines are another order. */
  readonly lines: readonly string[];
  /** The same order, taken in otherwise than it was sent. */
  readonly rest: readonly string[];
}

/** That it is shown under another reference; letters make no difference. */
export function otherReference(sent: string, shown: string | null | undefined): string[] {
  const isSame = referenceKey(shown ?? '') === referenceKey(sent);
  return isSame ? [] : [`reference: shown ${shown}`];
}

export function compareOrder(sent: NewOrder, shown: ShownOrder): OrderDifferences {
  const rest: string[] = [];
  const freight = amountUnits(shown.freight?.freightAmount);
  if (sent.freight && freight !== null && freight !== sent.freight.freightAmountUnits) {
    const own = formatAmount(sent.freight.freightAmountUnits);
    rest.push(`freight: sent ${own}, shown ${formatAmount(freight)}`);
  }
  const season = shown.SeasonName ?? undefined;
  if (sent.seasonName !== undefined && season !== undefined && season !== sent.seasonName) {
    rest.push(`season: sent ${sent.seasonName}, shown ${season}`);
  }
  const lines = lineDifferences(
    sent.lines.map((line) => ({ ...line, more: line.deliveryName ?? null })),
    shown.orderLineItems.map(({ barcode, quantity, price, delivery }) => ({
      ...{ barcode, quantity, priceUnits: amountUnits(price), more: delivery ?? null },
    })),
  );
  return { lines, rest };
}

export function comparePendingRefund(sent: NewPendingRefund, shown: ShownPendingRefund): string[] {
  return lineDifferences(
    sent.lines.map(({ barcode, quantity, priceUnits, refundType }) => ({
      ...{ barcode, quantity, priceUnits: priceUnits ?? null, more: refundType ?? null },
    })),
    shown.refundLineItems.map(({ barcode, quantity, price, refundType }) => ({
      ...{ barcode, quantity, priceUnits: amountUnits(price), more: refundType ?? null },
    })),
  );
}
