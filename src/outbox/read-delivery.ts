/**
 * Reads one delivery at the service, with its order, before something is sent about it, and sets
 * its status.
 */
import type { CallOptions } from '../client/calls.ts';
import { isNotFound } from '../client/http/answer.ts';
import type { V1Client } from '../client/v1/client.ts';
import { STATUSES } from '../config/statuses.ts';
import { RefusedError, RetryLaterError } from '../lib/errors.ts';
import { otherAnnouncedId } from '../mirror/announced.ts';
import type { Store } from '../store/store.ts';
import type { DeliveryStatus } from './enqueue.ts';
import type { DeliveryStatusApi } from './kinds/delivery-status.ts';
import { DELIVERY_MISSING, type ReadOrder, unlessGone, unreadableStatus } from './service.ts';

function mirrored({ db }: Store, orderDeliveryId: number) {
  return db
    .selectFrom('delivery')
    .select(['content_hash', 'delivery_no', 'deleted_at'])
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

interface SetDeps {
  readonly store: Store;
  readonly service: { readonly v1: Pick<V1Client, 'delivery' | 'setDeliveryStatus'> };
}

/**
 * Finds another id of a delivery: the one that its events name, or under which it answers. Only the
 * same number in the same order makes it the same delivery.
 */
async function otherIdOf(
  { store, service: { v1 } }: SetDeps,
  orderId: number,
  id: number,
  { priority, signal }: CallOptions,
): Promise<number | undefined> {
  const number = (await mirrored(store, id))?.delivery_no;
  if (number === undefined || number === null) return undefined;
  const announced = await otherAnnouncedId(store.db, orderId, { id, number });
  if (announced !== undefined) return announced;
  const shown = await v1.delivery(orderId, id, { priority, signal }).catch((error: unknown) => {
    if (error instanceof RefusedError) return undefined;
    throw error;
  });
  const { orderDeliveryId = id, deliveryNo } = shown?.value ?? {};
  return orderDeliveryId !== id && deliveryNo === number ? orderDeliveryId : undefined;
}

/**
 * Sets a delivery's status. Where the service has no delivery of this id, it is set under the other
 * one that the account has for it; that answer is no row of the mirror.
 */
export async function setDeliveryStatus(
  deps: SetDeps,
  target: { readonly orderId: number; readonly id: number; readonly status: DeliveryStatus },
  call: CallOptions,
): ReturnType<V1Client['setDeliveryStatus']> {
  const { orderId, id, status } = target;
  try {
    return await deps.service.v1.setDeliveryStatus(orderId, id, status, call);
  } catch (error) {
    const other = isNotFound(error) ? await otherIdOf(deps, orderId, id, call) : undefined;
    if (other === undefined) throw error;
    const set = await deps.service.v1.setDeliveryStatus(orderId, other, status, call);
    return { ...set, value: { ...set.value, delivery: undefined } };
  }
}
