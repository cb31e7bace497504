/** Reads one delivery at the service, with its order, before something is sent about it. */
import { STATUSES } from '../config/statuses.ts';
import { RetryLaterError } from '../lib/errors.ts';
import type { Store } from '../store/store.ts';
import type { DeliveryStatusApi } from './kinds/delivery-status.ts';
import { DELIVERY_MISSING, type ReadOrder, unlessGone, unreadableStatus } from './service.ts';

function mirrored({ db }: Store, orderDeliveryId: number) {
  return db
    .selectFrom('delivery')
    .select(['content_hash', 'deleted_at'])
    .where('order_delivery_id', '=', orderDeliveryId)
    .executeTakeFirst();
}

/**
 * Creates a reader that reads a delivery at the service into the mirror. Its result is undefined
 * when the service has no such order, or when the delivery was marked as deleted before and is
 * missing again.
 */
export function createDeliveryReader(
  { store, readOrder }: { readonly store: Store; readonly readOrder: ReadOrder },
  cause: string,
): DeliveryStatusApi['readDelivery'] {
  return async (orderId, orderDeliveryId, signal) => {
    const read = await unlessGone(readOrder(orderId, { cause, priority: 'push', signal }));
    if (!read) return undefined;
    const found = read.deliveries.find((one) => one.orderDeliveryId === orderDeliveryId);
    const row = await mirrored(store, orderDeliveryId);
    // A status that nobody knows may mean what was asked for, or anything else.
    const status = STATUSES.delivery.find((one) => one === found?.status);
    if (found && !status) throw unreadableStatus(`delivery ${orderDeliveryId}`);
    if (found && status) return { ...found, status, contentHash: row?.content_hash };
    if (typeof row?.deleted_at === 'number') return undefined;
    // Deliveries are never removed: the list was cut short, or its row could not be read.
    const text = `order ${orderId} is shown without its delivery ${orderDeliveryId}`;
    throw new RetryLaterError(DELIVERY_MISSING, text);
  };
}
