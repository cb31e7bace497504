/** The mirrored things whose rows may not be understood, and how people call them. */
import type { StatusOf } from '../../config/statuses.ts';

export interface Thing {
  readonly entity: string;
  readonly table: string;
  readonly key: string;
  /** Several of them. */
  readonly words: string;
  /** Its name in service.v1.statuses. */
  readonly of?: StatusOf;
  /** By the member that they stand in: the table of its lines. */
  readonly lines?: Readonly<Record<string, string>>;
  /** Where a row is shown by the service. */
  readonly path: string;
}

export const THINGS: readonly Thing[] = [
  {
    ...{ entity: 'delivery', table: 'delivery', key: 'order_delivery_id', words: 'deliveries' },
    ...{ of: 'delivery', path: '/orders/{order}/deliveries' },
    lines: { fulfilledLineItems: 'delivery_line' },
  },
  {
    ...{ entity: 'sales_order', table: 'sales_order', key: 'order_id', words: 'orders' },
    ...{ of: 'order', path: '/orders/{order}' },
    lines: { orderLineItems: 'sales_order_line' },
  },
  {
    ...{ entity: 'refund', table: 'refund', key: 'order_refund_id', words: 'refunds' },
    ...{ of: 'refund', path: '/orders/{order}/refunds' },
    lines: { refundedLineItems: 'refund_line' },
  },
  {
    ...{ entity: 'pending_refund', table: 'pending_refund', key: 'pending_refund_id' },
    ...{ words: 'pending refunds', of: 'pendingRefund', path: '/orders/{order}/pending-refunds' },
    lines: { refundLineItems: 'pending_refund_line' },
  },
  {
    ...{ entity: 'stock_variant', table: 'stock_variant_row', key: 'barcode' },
    ...{ words: 'variants in stock', path: '/variants/stock/{key}' },
  },
  {
    ...{ entity: 'season_variant', table: 'season_variant_row', key: 'season_barcode' },
    ...{ words: 'variants of seasons', path: '/variants/season/{key}' },
  },
];
