/**
 * Detects events that only report an accepted delivery, mostly our own push: one request reads the
 * delivery, and the order with its other deliveries is not read again.
 */
import { rowReader } from '../client/rows.ts';
import { deliverySchema } from '../client/v1/schemas.ts';
import { isMirroredContent } from '../mirror/delivery.ts';
import type { Db } from '../store/store.ts';
import type { ParsedEvent } from './event.ts';

const readDelivery = rowReader(deliverySchema);

/**
 * Id of the delivery to read after the event; undefined: the order must be read in full, as when
 * the lines differ from the mirror's: it was repacked, and another parcel lost them.
 */
export async function acceptedDelivery(
  db: Db,
  { type, orderId, announces, delivery }: ParsedEvent,
): Promise<number | undefined> {
  if (type !== 'sales_order.delivery_updated' || announces?.status !== 'accepted') return undefined;
  const read = readDelivery(delivery);
  if (!('value' in read) || orderId === null) return undefined;
  const isKnown = await isMirroredContent(db, { ...read.value, orderId });
  return isKnown ? read.value.orderDeliveryId : undefined;
}
