/**
 * Entities `refund` and `pending_refund` with their lines. Like a delivery, a rejected or canceled
 * refund is final: an answer that says otherwise opens an incident and changes nothing.
 */
import type { SqlRow } from '../store/bulk.ts';
import type { Tx } from '../store/store.ts';
import { contradicts } from './delivery.ts';
import { upsertRows, type WriteCounts } from './entity.ts';
import { membersOf, type OpenRecord } from './members.ts';
import type { EntityDefinition, MirrorRow, Provenance } from './rows/prepared.ts';
import { NOT_READ, unreadOf } from './rows/unread.ts';

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

export const REFUND: EntityDefinition = {
  entity: 'refund',
  table: 'refund',
  key: 'order_refund_id',
  columns: [
    'order_refund_id',
    'refund_no',
    'order_id',
    'reference',
    'order_no',
    'status',
    'pending_refund_id',
    'created_at',
    'unread',
  ],
  lines: {
    table: 'refund_line',
    columns: [
      'line_no',
      'barcode',
      'refunded_quantity',
      'refunded_size_quantity',
      'price',
      'restock',
      'refund_type',
      'extra',
    ],
  },
  isOfOrder: true,
  contradiction: (before, after) => contradicts('refund', before, after),
};

export const PENDING_REFUND: EntityDefinition = {
  entity: 'pending_refund',
  table: 'pending_refund',
  key: 'pending_refund_id',
  isOfOrder: true,
  columns: [
    'pending_refund_id',
    'order_id',
    'reference',
    'status',
    'comment',
    'created_at',
    'unread',
  ],
  lines: {
    table: 'pending_refund_line',
    columns: ['line_no', 'barcode', 'quantity', 'price', 'restock', 'refund_type', 'extra'],
  },
};

function refundRow(record: RefundRecord): MirrorRow {
  const { refundedLineItems, ...head } = record;
  const lines = (refundedLineItems ?? []).map((item, index): SqlRow => {
    const line = membersOf(item);
    const columns = {
      line_no: index + 1,
      barcode: line.text('barcode'),
      refunded_quantity: line.integer('refundedQuantity'),
      refunded_size_quantity: line.integer('refundedSizeQuantity'),
      price: line.money('price'),
      restock: line.flag('restock'),
      refund_type: line.name('refundType'),
    };
    return { ...columns, extra: JSON.stringify(line.rest()) };
  });
  const refund = membersOf(head);
  const values = {
    order_refund_id: refund.integer('orderRefundId'),
    refund_no: refund.text('refundNo'),
    order_id: refund.integer('orderId'),
    reference: refund.text('reference'),
    order_no: refund.text('orderNo'),
    status: refund.text('status') ?? NOT_READ,
    pending_refund_id: refund.integer('pendingRefundId'),
    created_at: refund.time('createdAt'),
    unread: unreadOf(record),
  };
  return { values, extra: refund.rest(), lines };
}

function pendingRefundRow(record: PendingRefundRecord): MirrorRow {
  const { refundLineItems, ...head } = record;
  const lines = (refundLineItems ?? []).map((item, index): SqlRow => {
    const line = membersOf(item);
    const columns = {
      line_no: index + 1,
      barcode: line.text('barcode'),
      quantity: line.integer('quantity'),
      price: line.money('price'),
      restock: line.flag('restock'),
      refund_type: line.name('refundType'),
    };
    return { ...columns, extra: JSON.stringify(line.rest()) };
  });
  const pending = membersOf(head);
  const values = {
    pending_refund_id: pending.integer('pendingRefundId'),
    order_id: pending.integer('orderId'),
    reference: pending.text('reference'),
    status: pending.text('status') ?? NOT_READ,
    comment: pending.text('comment'),
    created_at: pending.time('createdAt'),
    unread: unreadOf(record),
  };
  return { values, extra: pending.rest(), lines };
}

export function writeRefunds(
  tx: Tx,
  records: readonly RefundRecord[],
  provenance: Provenance,
): Promise<WriteCounts> {
  return upsertRows(tx, REFUND, records.map(refundRow), provenance);
}

export function writePendingRefunds(
  tx: Tx,
  records: readonly PendingRefundRecord[],
  provenance: Provenance,
): Promise<WriteCounts> {
  return upsertRows(tx, PENDING_REFUND, records.map(pendingRefundRow), provenance);
}
