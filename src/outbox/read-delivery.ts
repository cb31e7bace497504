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
import { isMirroredContent } from '../mirror/delivery.ts';
import { quarantinedAmong } from '../mirror/quarantine.ts';
import type { Store } from '../store/store.ts';
import type { DeliveryStatus } from './enqueue.ts';
import type { DeliveryStatusApi } from './kinds/delivery-status.ts';
import { DELIVERY_MISSING, type ReadOrder, unlessGone, unreadableStatus } from './service.ts';

function mirrored({ db }: Pick<Store, 'db'>, orderDeliveryId: number) {
  return db
    .selectFrom('delivery')
    .select(['content_hash', 'delivery_no', 'status', 'deleted_at'])
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

/** Whether no other delivery has the number, so that it tells deliveries apart. */
async function isOnlyOne({ db }: Store, number: string): Promise<boolean> {
  const query = db.selectFrom('delivery').select('order_delivery_id');
  const rows = await query.where('delivery_no', '=', number).limit(2).execute();
  return number.trim() !== '' && rows.length === 1;
}

/** Whether a list has shown a delivery of this id. */
async function isListed({ db }: Store, id: number): Promise<boolean> {
  const row = await mirrored({ db }, id);
  const unread = await quarantinedAmong(db, ['delivery'], 'orderDeliveryId', [String(id)]);
  return row !== undefined || unread.size > 0;
}

/**
 * Finds another id of a delivery: the one that its events name, or under which it answers. What is
 * at that id must be this very delivery as it was decided on, by its number, its status and lines:
 * a status that is set on another one cannot be taken back.
 */
async function otherIdOf(
  { store, service: { v1 } }: SetDeps,
  orderId: number,
  id: number,
  { priority, signal }: CallOptions,
): Promise<number | undefined> {
  const { delivery_no: number, status } = (await mirrored(store, id)) ?? {};
  if (!number || !(await isOnlyOne(store, number))) return undefined;
  const shownAt = async (at: number) => {
    const reading = v1.delivery(orderId, at, { priority, signal });
    const read = await reading.catch((error: unknown) => {
      if (error instanceof RefusedError) return undefined;
      throw error;
    });
    return read?.value;
  };
  const other =
    (await otherAnnouncedId(store.db, orderId, id)) ?? (await shownAt(id))?.orderDeliveryId;
  if (other === undefined || other === id || (await isListed(store, other))) return undefined;
  const found = await shownAt(other);
  if (found?.deliveryNo !== number || found.status !== status) return undefined;
  if (found.orderDeliveryId !== other && found.orderDeliveryId !== id) return undefined;
  const isIt = await isMirroredContent(store.db, { ...found, orderDeliveryId: id });
  return isIt ? other : undefined;
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
