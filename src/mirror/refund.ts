/**
 * Entities `refund` and `pending_refund` with their lines. Like a delivery, a rejected or canceled
 * refund is final: an answer that says otherwise opens an incident and changes nothing.
 */
import type { SqlRow } from '../store/bulk.ts';
import type { Tx } from '../store/store.ts';
import { upsertRows, type WriteCounts } from './entity.ts';
import {
  declared,
  flag,
  integer,
  money,
  name,
  type OpenRecord,
  orElse,
  text,
  time,
} from './members.ts';
import { NOT_READ, type Provenance, unreadOf } from './rows/prepared.ts';
import { contradicts } from './sales-order.ts';

interface RefundRecord extends OpenRecord {
  readonly orderRefundId: number;
  readonly orderId: number | null;
  readonly status: string | null;
  readonly refundedLineItems: readonly OpenRecord[] | null;
}

interface PendingRefundRecord extends OpenRecord {
  readonly pendingRefundId: number;
  readonly orderId: number | null;
  readonly status: string | null;
  readonly refundLineItems: readonly OpenRecord[] | null;
}

export const REFUND = declared({
  entity: 'refund',
  table: 'refund',
  key: 'order_refund_id',
  columns: {
    order_refund_id: integer('orderRefundId'),
    refund_no: text('refundNo'),
    order_id: integer('orderId'),
    reference: text('reference'),
    order_no: text('orderNo'),
    status: orElse(text('status'), NOT_READ),
    pending_refund_id: integer('pendingRefundId'),
    created_at: time('createdAt'),
    unread: (_left, record) => unreadOf(record),
  },
  lines: {
    table: 'refund_line',
    member: 'refundedLineItems',
    columns: {
      barcode: text('barcode'),
      refunded_quantity: integer('refundedQuantity'),
      refunded_size_quantity: integer('refundedSizeQuantity'),
      price: money('price'),
      restock: flag('restock'),
      refund_type: name('refundType'),
    },
  },
  isOfOrder: true,
  shown: { plural: 'refunds', path: '/orders/{order}/refunds', of: 'refund' },
  contradiction: (before: SqlRow, after: SqlRow) => contradicts('refund', before, after),
});

export const PENDING_REFUND = declared({
  entity: 'pending_refund',
  table: 'pending_refund',
  key: 'pending_refund_id',
  isOfOrder: true,
  shown: {
    plural: 'pending refunds',
    path: '/orders/{order}/pending-refunds',
    of: 'pendingRefund',
  },
  columns: {
    pending_refund_id: integer('pendingRefundId'),
    order_id: integer('orderId'),
    reference: text('reference'),
    status: orElse(text('status'), NOT_READ),
    comment: text('comment'),
    created_at: time('createdAt'),
    unread: (_left, record) => unreadOf(record),
  },
  lines: {
    table: 'pending_refund_line',
    member: 'refundLineItems',
    columns: {
      barcode: text('barcode'),
      quantity: integer('quantity'),
      price: money('price'),
      restock: flag('restock'),
      refund_type: name('refundType'),
    },
  },
});

export function writeRefunds(
  tx: Tx,
  records: readonly RefundRecord[],
  provenance: Provenance,
): Promise<WriteCounts> {
  return upsertRows(tx, REFUND, records.map(REFUND.toRow), provenance);
}

export function writePendingRefunds(
  tx: Tx,
  records: readonly PendingRefundRecord[],
  provenance: Provenance,
): Promise<WriteCounts> {
  return upsertRows(tx, PENDING_REFUND, records.map(PENDING_REFUND.toRow), provenance);
}
