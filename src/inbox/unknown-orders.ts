/**
 * Orders that an event names and the service does not have. The service may show an order later
 * than its events, so it is requested again, ever more rarely, until its reads are used up; nothing
 * is kept of it but its row in the refetch queue. Orders still missing then share one incident per
 * system key, because an endpoint may receive other accounts' events. A sweep finds later ones.
 */
import { z } from 'zod';
import { isNotFound } from '../client/http/answer.ts';
import type { Clock } from '../lib/clock.ts';
import { type RefusedError, RetryLaterError } from '../lib/errors.ts';
import { tryParseJson } from '../lib/json.ts';
import { ORDERS_UNKNOWN } from '../mirror/refetch-queue.ts';
import { endIncidents, openDetail, openKeys, updateIncident } from '../store/incidents.ts';
import type { Db, Store } from '../store/store.ts';
import type { SystemKeys } from '../store/system-keys.ts';
import { type ParsedEvent, parseEvent } from './event.ts';

/** Reads of a missing order; pauses double from a second on, so the last is after 4 to 9 min. */
const READS_MAX = 10;
/** Reads under a key of which no order was ever there; the last is after 30 to 60 s. */
const READS_MAX_OF_STRANGERS = 7;
/** Reads after which a missing order counts against its key, 4 to 7 s after the first. */
const COUNTED_AT = 4;
const SHOWN_MAX = 20;
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
  /** Records the missing order in the incident of its event's system key. */
  tell(read: Omit<RefusedRead, 'attempts'>): Promise<void>;
  /** Takes an order that was read out of the incidents that name it, and ends those without any. */
  found(orderId: number): Promise<void>;
}

export function createUnknownOrders(
  { db }: Pick<Store, 'db'>,
  clock: Pick<Clock, 'now'>,
  systemKeys: Pick<SystemKeys, 'isStranger' | 'note'>,
): UnknownOrders {
  const detailOf = async (key: string) => {
    const text = await openDetail(db, { ...ORDERS_UNKNOWN, key });
    return detailSchema.safeParse(tryParseJson(text ?? '')).data;
  };
  return {
    async judge({ orderId, attempts, error, event: { systemKey } }) {
      if (!isNotFound(error)) return error;
      const reads = attempts + 1;
      if (reads === COUNTED_AT && !(await isMirrored(db, orderId))) {
        await systemKeys.note(systemKey, false);
      }
      if (reads >= (systemKeys.isStranger(systemKey) ? READS_MAX_OF_STRANGERS : READS_MAX))
        return error;
      const text = `order ${orderId} of an event is not there yet`;
      return new RetryLaterError('inbox.order_not_shown', text, { cause: error });
    },
    async tell({ orderId, error: { code, message }, event }) {
      const key = event.systemKey ?? NO_KEY;
      const { count = 0, orders = [] } = (await detailOf(key)) ?? {};
      const isKnown = orders.includes(orderId);
      const detail = {
        count: isKnown ? count : count + 1,
        orders: isKnown || orders.length >= SHOWN_MAX ? orders : [...orders, orderId],
        code,
        message,
        hint: HINT,
      };
      await updateIncident(db, { ...ORDERS_UNKNOWN, key, detail }, clock.now());
    },
    async found(orderId) {
      for (const key of await openKeys(db, ORDERS_UNKNOWN)) {
        const known = await detailOf(key);
        if (!known?.orders.includes(orderId)) continue;
        const orders = known.orders.filter((id) => id !== orderId);
        const detail = { ...known, count: known.count - 1, orders };
        if (detail.count > 0) {
          await updateIncident(db, { ...ORDERS_UNKNOWN, key, detail }, clock.now());
        } else {
          await endIncidents(db, ORDERS_UNKNOWN, [key], clock.now());
        }
      }
    },
  };
}
