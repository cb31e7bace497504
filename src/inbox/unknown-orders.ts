/**
 * Orders that an event names and the service does not have. The service may show an order later
 * than its events, so it is requested again, ever more rarely, until its reads are used up; nothing
 * is kept of it but its row in the refetch queue. An endpoint may receive other accounts' events:
 * as long as no order of a system key was there, one of them is requested again, and the others
 * wait for what comes of it; once it was missing to the end, each is requested once. Missing orders
 * share one incident per system key. A sweep finds later ones.
 */
import { z } from 'zod';
import { isNotFound } from '../client/http/answer.ts';
import type { Clock } from '../lib/clock.ts';
import { RefusedError, RetryLaterError } from '../lib/errors.ts';
import { tryParseJson } from '../lib/json.ts';
import { ORDER_UNREADABLE, ORDERS_UNKNOWN } from '../mirror/refetch-queue.ts';
import { endIncidentRows, openDetail, updateIncident } from '../store/incidents.ts';
import type { Db, Store, Tx } from '../store/store.ts';
import type { SystemKeys } from '../store/system-keys.ts';
import { type ParsedEvent, parseEvent } from './event.ts';

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

/** Event that requested the read; undefined: something else did. */
export async function askingEvent(db: Db, cause: string): Promise<ParsedEvent | undefined> {
  if (!OF_EVENT.test(cause)) return undefined;
  const row = await db
    .selectFrom('webhook_event')
    .select('body')
    .where('event_id', '=', cause.replace(OF_EVENT, ''))
    .executeTakeFirst();
  return row && parseEvent(row.body);
}

export async function isMirrored(db: Db, orderId: number): Promise<boolean> {
  const row = await db
    .selectFrom('sales_order')
    .select('order_id')
    .where('order_id', '=', orderId)
    .executeTakeFirst();
  return row !== undefined;
}

/** Open incidents that may be about an order: its own, and those of unknown orders. */
function toldOf(tx: Tx, orderId: number) {
  return tx
    .selectFrom('incident')
    .select(['id', 'kind', 'key', 'detail'])
    .where('resolved_at', 'is', null)
    .where('kind', 'in', [ORDER_UNREADABLE.kind, ORDERS_UNKNOWN.kind])
    .where((eb) => eb.or([eb('kind', '=', ORDERS_UNKNOWN.kind), eb('key', '=', String(orderId))]))
    .execute();
}

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
      const open = await toldOf(tx, orderId);
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
