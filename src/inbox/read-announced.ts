/**
 * Reads an order after an event or for a sweep, and learns from how the service answers: whether it
 * shows what was announced, whether the order is ours, and whose a system key is.
 */
import { isNotFound } from '../client/http/answer.ts';
import { type ReadRow, rowReader } from '../client/rows.ts';
import type { Decimals } from '../client/tolerant/decimals.ts';
import { deliverySchema, type SalesOrderDelivery } from '../client/v1/schemas.ts';
import type { Clock } from '../lib/clock.ts';
import { RefusedError, RetryLaterError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { forgetAnnounced, type Unseen, unseenOf } from '../mirror/announced.ts';
import { isMirroredContent } from '../mirror/delivery.ts';
import { ORDER_UNREADABLE } from '../mirror/refetch-queue.ts';
import { openIncident } from '../store/incidents.ts';
import type { Store, Tx } from '../store/store.ts';
import type { SystemKeys } from '../store/system-keys.ts';
import type { ParsedEvent } from './event.ts';
import type { OrderRefetcherDeps, ReadRequest } from './order-refetcher.ts';
import {
  askingEvent,
  createUnknownOrders,
  isMirrored,
  type UnknownOrders,
} from './unknown-orders.ts';

type OrderRead = { readonly order: { readonly reference?: string | null | undefined } } | undefined;

/**
 * Id of the delivery to read after an event that only reports an accepted one, mostly our own push:
 * one request reads it. Undefined: the order must be read in full, as when
 * the lines differ from the mirror's: it was repacked, and another parcel lost them.
 */
async function acceptedDelivery(
  { store: { db }, readRow }: Parts,
  { type, orderId, announces, delivery }: ParsedEvent,
): Promise<number | undefined> {
  if (type !== 'sales_order.delivery_updated' || announces?.status !== 'accepted') return undefined;
  const read = readRow(delivery);
  if (!('value' in read) || orderId === null) return undefined;
  const isKnown = await isMirroredContent(db, { ...read.value, orderId });
  return isKnown ? read.value.orderDeliveryId : undefined;
}

/** A read, with what is to be written in the transaction that writes what was read. */
type AlsoWriting = ReadRequest & { readonly alsoWrite: (tx: Tx) => Promise<void> };

export interface AnnouncedReaderDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly systemKeys: SystemKeys;
  /** Whether refunds are read with each order. */
  readonly withRefunds: boolean;
  /** Reads an order with its lists into the mirror; undefined: a short look was enough. */
  readonly readOrder: (
    orderId: number,
    request: AlsoWriting & { readonly orderFirst: boolean },
  ) => Promise<OrderRead>;
  /** Reads one delivery of an order into the mirror. */
  readonly readDelivery: (
    orderId: number,
    orderDeliveryId: number,
    request: AlsoWriting,
  ) => Promise<unknown>;
  readonly onRead: OrderRefetcherDeps['onRead'];
  /** How the account writes decimals in texts. */
  readonly decimals?: Decimals | undefined;
}

interface Parts extends AnnouncedReaderDeps {
  readonly unknown: UnknownOrders;
  readonly readRow: ReadRow<SalesOrderDelivery>;
}

/**
 * Records an order that the service refuses to show: with the unknown orders when the mirror does
 * not have it either, else by an incident of its own. Returns whether that is news to people.
 */
async function recordRefused(
  { store, clock, systemKeys, unknown }: Parts,
  { orderId, cause }: { readonly orderId: number; readonly cause: string },
  error: RefusedError,
): Promise<boolean> {
  await forgetAnnounced(store.db, orderId);
  const event = await askingEvent(store.db, cause);
  if (event && isNotFound(error) && !(await isMirrored(store.db, orderId))) {
    return systemKeys.isForeign(event.systemKey) ? false : unknown.tell({ orderId, error, event });
  }
  const { code, message, hint } = error;
  const detail = { code, message, ...(hint === undefined ? {} : { hint }) };
  const incident = { ...ORDER_UNREADABLE, key: String(orderId), detail };
  await openIncident(store.db, incident, clock.now());
  return true;
}

/**
 * Learns that a system key is this account's, from an event whose order could be read and has the
 * event's reference.
 */
async function learnKey(
  { systemKeys }: Parts,
  event: ParsedEvent,
  reference: string | null | undefined,
): Promise<void> {
  const named = event.reference?.trim().toLowerCase();
  if (named === undefined) await systemKeys.acquit(event.systemKey);
  else if (named === reference?.trim().toLowerCase()) await systemKeys.note(event.systemKey, true);
}

/** Whether an order is new here, and the event that names it may be another account's. */
async function isStrange({ store, systemKeys }: Parts, orderId: number, event: ParsedEvent) {
  const isOurs = systemKeys.mayBeLate(event.systemKey) === 'yes';
  return !isOurs && !(await isMirrored(store.db, orderId));
}

/** Reads only an event's delivery where that is enough; false: the whole order is needed. */
async function readOneDelivery(
  parts: Parts,
  orderId: number,
  request: AlsoWriting,
  event: ParsedEvent,
): Promise<boolean> {
  if (!request.isOnly || request.refunds || request.look !== undefined) return false;
  const id = await acceptedDelivery(parts, event);
  if (id === undefined) return false;
  try {
    await parts.readDelivery(orderId, id, request);
    return true;
  } catch (error) {
    // Some accounts cannot read a single delivery, but show it with its order.
    if (error instanceof RefusedError) return false;
    throw error;
  }
}

/**
 * Reads an order after an event; throws RetryLaterError while the service does not show what the
 * event has announced.
 */
async function readAnnounced(parts: Parts, orderId: number, request: ReadRequest): Promise<void> {
  const { store, clock, log, unknown, withRefunds } = parts;
  const { cause, attempts } = request;
  const event = await askingEvent(store.db, cause);
  let unseen: readonly Unseen[] | undefined;
  const alsoWrite = async (tx: Tx): Promise<void> => {
    await unknown.found(tx, orderId);
    unseen = await unseenOf(tx, orderId, clock.now(), withRefunds);
    if (unseen.every(({ isGivenUp }) => isGivenUp)) await request.complete(tx);
  };
  const reading = { ...request, alsoWrite };
  try {
    if (!event || !(await readOneDelivery(parts, orderId, reading, event))) {
      const strange = event !== undefined && (await isStrange(parts, orderId, event));
      const error = strange && unknown.insteadOf({ orderId, attempts, event });
      if (error) throw error;
      // An order that may be missing is asked for first, and its lists once it is there.
      const orderFirst = attempts > 0 || strange;
      const read = await parts.readOrder(orderId, { ...reading, orderFirst });
      if (read && event) await learnKey(parts, event, read.order.reference);
    }
  } catch (error) {
    if (!(error instanceof RefusedError) || !event) throw error;
    throw await unknown.judge({ orderId, attempts, error, event });
  }
  // A short look may have written nothing.
  if (unseen === undefined) await store.transaction(alsoWrite);
  const givenUp = unseen?.filter(({ isGivenUp }) => isGivenUp) ?? [];
  if (givenUp.length > 0) {
    log.warn({ orderId, things: givenUp }, 'what an event announced was never shown');
  }
  const left = unseen?.find(({ isGivenUp }) => !isGivenUp);
  if (!left) return;
  parts.onRead(orderId, []);
  const what = `${left.thing} ${left.id}`;
  const text = `order ${orderId} is shown without ${what} as an event announced it`;
  throw new RetryLaterError('inbox.not_shown', text);
}

/** Creates the reader, as the refetcher asks for it. */
export function createAnnouncedReader(
  deps: AnnouncedReaderDeps,
): Pick<OrderRefetcherDeps, 'readOrder' | 'onRefused'> {
  const { store, clock, systemKeys, decimals } = deps;
  const unknown = createUnknownOrders(store, clock, systemKeys);
  const parts = { ...deps, unknown, readRow: rowReader(deliverySchema, decimals) };
  return {
    readOrder: (orderId, request) => readAnnounced(parts, orderId, request),
    onRefused: (due, error) => recordRefused(parts, due, error),
  };
}
