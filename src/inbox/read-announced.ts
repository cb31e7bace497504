/**
 * Reads an order after an event or for a sweep, and learns from how the service answers: whether it
 * shows what was announced, whether the order is ours, and whose a system key is.
 */

import { z } from 'zod';
import { isNotFound } from '../client/http/answer.ts';
import { type ReadRow, rowReader } from '../client/rows.ts';
import type { Decimals } from '../client/tolerant/decimals.ts';
import { deliverySchema, type SalesOrderDelivery } from '../client/v1/schemas.ts';
import type { Clock } from '../lib/clock.ts';
import { RefusedError, RetryLaterError } from '../lib/errors.ts';
import { tryParseJson } from '../lib/json.ts';
import type { Logger } from '../lib/log.ts';
import { forgetAnnounced, type Unseen, unseenOf } from '../mirror/announced.ts';
import { ORDER_UNREADABLE, ORDERS_UNKNOWN } from '../mirror/refetch-queue.ts';
import { isMirroredContent } from '../mirror/sales-order.ts';
import { endIncidentRows, openDetail, openIncident, updateIncident } from '../store/incidents.ts';
import type { Db, Store, Tx } from '../store/store.ts';
import type { SystemKeys } from '../store/system-keys.ts';
import { kept, type Value } from '../store/transaction/kept.ts';
import { type ParsedEvent, parseEvent } from './event-store.ts';
import type { OrderRefetcherDeps, ReadRequest } from './order-refetcher.ts';

// Orders that an event names and the service does not have. The service may show an order later
// than its events, so it is requested again, ever more rarely, until its reads are used up; nothing
// is kept of it but its row in the refetch queue. An endpoint may receive other accounts' events:
// as long as no order of a system key was there, one of them is requested again, and the others
// wait for what comes of it; once it was missing to the end, each is requested once. Missing orders
// share one incident per system key. A sweep finds later ones.

/**
 * Reads of a missing order that may be late; pauses double from a second on, so the last is after 4
 * to 9 min.
 */
const READS_MAX = 10;
/** Reads of the one order of a key that nobody knows; the last is after 30 to 60 s. */
const READS_MAX_OF_SCOUTS = 7;
const SHOWN_MAX = 20;
const NOT_FOUND = 'service.not_found';
/** Incident key for events without a system key. */
const NO_KEY = 'none';

const HINT =
  'they may be of another account whose events come to this endpoint: see the portal; or the ' +
  'service shows orders minutes after their events: a sweep finds them. Ask for one with: ' +
  '"selvedge api GET /orders/ID"';

/** Causes of reads that name an event: as it arrived, or replayed. */
const OF_EVENT = /^(?:event|replay):/;

const eventWith = kept((db: Db, id: Value<string>) =>
  db.selectFrom('webhook_event').select('body').where('event_id', '=', id),
);

/** Event that requested the read; undefined: something else did. */
export async function askingEvent(db: Db, cause: string): Promise<ParsedEvent | undefined> {
  if (!OF_EVENT.test(cause)) return undefined;
  const [row] = await eventWith(db, cause.replace(OF_EVENT, ''));
  return row && parseEvent(row.body);
}

async function isMirrored(db: Db, orderId: number): Promise<boolean> {
  const row = await db
    .selectFrom('sales_order')
    .select('order_id')
    .where('order_id', '=', orderId)
    .executeTakeFirst();
  return row !== undefined;
}

/** Open incidents that may be about an order: its own, and those of unknown orders. */
const toldOf = kept((db: Db, orderId: Value<string>) =>
  db
    .selectFrom('incident')
    .select(['id', 'kind', 'key', 'detail'])
    .where('resolved_at', 'is', null)
    .where('kind', 'in', [ORDER_UNREADABLE.kind, ORDERS_UNKNOWN.kind])
    .where((eb) => eb.or([eb('kind', '=', ORDERS_UNKNOWN.kind), eb('key', '=', orderId)])),
);

const detailSchema = z.looseObject({ count: z.int(), orders: z.array(z.int()) });

/** A read that an event requested, and that the service refused. */
interface RefusedRead {
  readonly orderId: number;
  /** Number of reads before this one. */
  readonly attempts: number;
  readonly error: RefusedError;
  readonly event: Pick<ParsedEvent, 'systemKey'>;
}

export interface UnknownOrders {
  /**
   * Error of a refused read: RetryLaterError while the order may only be late, else the refusal.
   */
  judge(read: RefusedRead): Promise<Error>;
  /**
   * Error in place of a further read of an order whose system key may be another account's;
   * undefined: it is to be read.
   */
  insteadOf(read: Omit<RefusedRead, 'error'>): Error | undefined;
  /**
   * Records the missing order in the incident of its event's system key; returns whether it is the
   * first there.
   */
  tell(read: Omit<RefusedRead, 'attempts'>): Promise<boolean>;
  /**
   * Ends what was told of an order that could be read: it was only not visible yet. Takes it out of
   * the incidents that name it, and ends those without any.
   */
  found(tx: Tx, orderId: number): Promise<void>;
}

export function createUnknownOrders(
  { db }: Pick<Store, 'db'>,
  clock: Pick<Clock, 'now'>,
  systemKeys: Pick<SystemKeys, 'mayBeLate' | 'note'>,
): UnknownOrders {
  const detailOf = async (key: string) => {
    const text = await openDetail(db, { ...ORDERS_UNKNOWN, key });
    return detailSchema.safeParse(tryParseJson(text ?? '')).data;
  };
  /** Order of each key of which nothing is known that is requested again and again. */
  const scouts = new Map<string, number>();
  const notYet = (orderId: number, cause?: Error): RetryLaterError => {
    const text = `order ${orderId} of an event is not there yet`;
    return new RetryLaterError('inbox.order_not_shown', text, { cause });
  };
  return {
    async judge({ orderId, attempts, error, event: { systemKey } }) {
      if (!isNotFound(error)) return error;
      const key = systemKey ?? NO_KEY;
      const known = await isMirrored(db, orderId);
      const late = known ? 'yes' : systemKeys.mayBeLate(systemKey);
      if (late === 'unknown' && !scouts.has(key)) scouts.set(key, orderId);
      const max = late === 'unknown' ? READS_MAX_OF_SCOUTS : READS_MAX;
      if (late !== 'no' && attempts + 1 < max) return notYet(orderId, error);
      if (scouts.get(key) === orderId) scouts.delete(key);
      if (!known) await systemKeys.note(systemKey, false);
      return error;
    },
    insteadOf({ orderId, attempts, event: { systemKey } }) {
      if (attempts === 0 || attempts > READS_MAX) return undefined;
      const late = systemKeys.mayBeLate(systemKey);
      if (late === 'no') return new RefusedError(NOT_FOUND, `there is no order ${orderId}`);
      const scout = late === 'yes' ? undefined : scouts.get(systemKey ?? NO_KEY);
      return scout === undefined || scout === orderId ? undefined : notYet(orderId);
    },
    async tell({ orderId, error: { code, message }, event }) {
      const key = event.systemKey ?? NO_KEY;
      const told = await detailOf(key);
      const { count = 0, orders = [] } = told ?? {};
      const isKnown = orders.includes(orderId);
      const detail = {
        count: isKnown ? count : count + 1,
        orders: isKnown || orders.length >= SHOWN_MAX ? orders : [...orders, orderId],
        code,
        message,
        hint: HINT,
      };
      await updateIncident(db, { ...ORDERS_UNKNOWN, key, detail }, clock.now());
      return told === undefined;
    },
    async found(tx, orderId) {
      for (const [key, scout] of scouts) if (scout === orderId) scouts.delete(key);
      const open = await toldOf(tx, String(orderId));
      if (open.length === 0) return;
      const own = open.filter(({ kind }) => kind === ORDER_UNREADABLE.kind);
      await endIncidentRows(tx, own, clock.now());
      for (const { id, kind, key, detail: text } of open) {
        const known = detailSchema.safeParse(tryParseJson(text)).data;
        if (kind !== ORDERS_UNKNOWN.kind || !known?.orders.includes(orderId)) continue;
        const orders = known.orders.filter((one) => one !== orderId);
        const detail = { ...known, count: known.count - 1, orders };
        if (detail.count > 0) {
          await updateIncident(tx, { ...ORDERS_UNKNOWN, key, detail }, clock.now());
        } else {
          await endIncidentRows(tx, [{ id }], clock.now());
        }
      }
    },
  };
}

type OrderRead = { readonly order: { readonly reference?: string | null | undefined } } | undefined;

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

/**
 * Reads only the delivery of an event that reports an accepted one, mostly our own push: one
 * request reads it. False: the order must be read in full, as when the lines differ from the
 * mirror's: it was repacked, and another parcel lost them.
 */
async function readOneDelivery(
  { store, readRow, readDelivery }: Parts,
  orderId: number,
  request: AlsoWriting,
  { type, announces, delivery }: ParsedEvent,
): Promise<boolean> {
  if (!request.isOnly || request.refunds || request.look !== undefined) return false;
  if (type !== 'sales_order.delivery_updated' || announces?.status !== 'accepted') return false;
  const read = readRow(delivery);
  if (!('value' in read)) return false;
  if (!(await isMirroredContent(store.db, { ...read.value, orderId }))) return false;
  try {
    await readDelivery(orderId, read.value.orderDeliveryId, request);
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
  const { store, clock, log, systemKeys, unknown, withRefunds } = parts;
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
      // The order is new here, and the event that names it may be another account's.
      const strange =
        event !== undefined &&
        systemKeys.mayBeLate(event.systemKey) !== 'yes' &&
        !(await isMirrored(store.db, orderId));
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
