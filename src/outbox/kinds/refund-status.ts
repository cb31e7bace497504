/**
 * The kind `refund_status` accepts or rejects a refund that the service has made. Like a delivery's
 * status, the refund's status is compared before it is set, and set only from the status that the
 * change was decided on.
 */
import type { V1Client } from '../../client/v1/client.ts';
import { readBody } from '../documents.ts';
import { clearByLookup, type LookupResult, type OutboxKind } from '../item.ts';
import {
  type Levels,
  type ReadOrder,
  turnedOff,
  unlessGone,
  unreadableStatus,
} from '../service.ts';

export interface RefundStatusKindDeps {
  readonly v1: Pick<V1Client, 'refund' | 'setRefundStatus'>;
  readonly readOrder: ReadOrder;
  readonly levels: Pick<Levels, 'whyNot'>;
}

export function createRefundStatusKind({
  v1,
  readOrder,
  levels,
}: RefundStatusKindDeps): OutboxKind {
  const lookUp: OutboxKind['lookUp'] = async (item, signal): Promise<LookupResult> => {
    const { orderId, orderRefundId, status: wanted } = readBody.refundStatus(item.body);
    const call = { priority: 'push', signal } as const;
    const read = await unlessGone(v1.refund(orderId, orderRefundId, call));
    const status = read?.value.status ?? null;
    const detail = { orderId, orderRefundId, status, wanted };
    if (read && status === null) throw unreadableStatus(`refund ${orderRefundId}`);
    if (status === null) {
      const reason = `the service has no refund ${orderRefundId} of order ${orderId}`;
      return { outcome: 'superseded', reason, detail };
    }
    if (status === wanted) {
      const cause = `outbox:${item.outboxId}`;
      await readOrder(orderId, { cause, priority: 'read', refunds: true, signal });
      return { outcome: 'matched', detail, result: { orderId, orderRefundId } };
    }
    if (status === item.expectedFrom) return { outcome: 'not_found', detail };
    const reason = `decided elsewhere: it was ${item.expectedFrom} and is now ${status}`;
    return { outcome: 'superseded', reason, detail };
  };
  return {
    kind: 'refund_status',
    off: () => turnedOff(levels.whyNot('orderParts')),
    conflictEnds: true,
    creates: () => false,
    clear: (item, signal) => clearByLookup(lookUp, item, signal),
    lookUp,
    async send(item, request) {
      const { orderId, orderRefundId, status } = readBody.refundStatus(item.body);
      const call = { priority: 'push', ...request } as const;
      await v1.setRefundStatus(orderId, orderRefundId, status, call);
      return { orderId, orderRefundId };
    },
  };
}
