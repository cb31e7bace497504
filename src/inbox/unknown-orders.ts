/**
 * Orders that an event names and the service does not have. A new order may not be visible yet, so
 * it is requested again for a while. Orders still missing then share one incident per system key,
 * because an endpoint may receive other accounts' events.
 */
import { z } from 'zod';
import { isNotFound } from '../client/http/answer.ts';
import type { Clock } from '../lib/clock.ts';
import { type RefusedError, RetryLaterError } from '../lib/errors.ts';
import { tryParseJson } from '../lib/json.ts';
import { ORDERS_UNKNOWN } from '../mirror/refetch-queue.ts';
import { openDetail, updateIncident } from '../store/incidents.ts';
import type { Db, Store } from '../store/store.ts';
import { type ParsedEvent, parseEvent } from './event.ts';

/** Milliseconds after its event in which a missing order may only be late. */
const PATIENCE_MS = 30_000;
/** Most missing orders at once that are given time; further ones count as refused at once. */
const PATIENT_MAX = 20;
const SHOWN_MAX = 20;
/** Incident key for events without a system key. */
const NO_KEY = 'none';

const HINT =
  'they may be of another account whose events come to this endpoint: see the portal; ' +
  'ask for one with: "selvedge api GET /orders/ID"';

export interface AskingEvent {
  readonly parsed: ParsedEvent;
  readonly receivedAt: number;
}

/** Event that requested the read; undefined: something else did. */
export async function askingEvent(db: Db, cause: string): Promise<AskingEvent | undefined> {
  if (!cause.startsWith('event:')) return undefined;
  const row = await db
    .selectFrom('webhook_event')
    .select(['body', 'received_at'])
    .where('event_id', '=', cause.slice('event:'.length))
    .executeTakeFirst();
  return row && { parsed: parseEvent(row.body), receivedAt: row.received_at };
}

export async function isMirrored(db: Db, orderId: number): Promise<boolean> {
  const row = await db
    .selectFrom('sales_order')
    .select('order_id')
    .where('order_id', '=', orderId)
    .executeTakeFirst();
  return row !== undefined;
}

const detailSchema = z.object({ count: z.int(), orders: z.array(z.int()) });

export interface UnknownOrders {
  /**
   * Error for an order that the service refused to show: RetryLaterError while it may be late, else
   * the refusal itself.
   */
  judge(orderId: number, error: RefusedError, event: AskingEvent | undefined): Promise<Error>;
  /** Records the missing order in the incident of its event's system key. */
  tell(orderId: number, error: RefusedError, event: AskingEvent | undefined): Promise<void>;
}

export function createUnknownOrders(
  { db }: Pick<Store, 'db'>,
  clock: Pick<Clock, 'now'>,
): UnknownOrders {
  const late = new Set<number>();
  return {
    async judge(orderId, error, event) {
      const ageMs = event ? clock.now() - event.receivedAt : Number.POSITIVE_INFINITY;
      const mayBeLate =
        isNotFound(error) &&
        Math.abs(ageMs) < PATIENCE_MS &&
        (late.has(orderId) || late.size < PATIENT_MAX) &&
        !(await isMirrored(db, orderId));
      if (!mayBeLate) {
        late.delete(orderId);
        return error;
      }
      late.add(orderId);
      const text = `order ${orderId} of an event is not there yet`;
      return new RetryLaterError('inbox.order_not_shown', text, { cause: error });
    },
    async tell(orderId, { code, message }, event) {
      const incident = { ...ORDERS_UNKNOWN, key: event?.parsed.systemKey ?? NO_KEY };
      const open = detailSchema.safeParse(tryParseJson((await openDetail(db, incident)) ?? ''));
      const { count = 0, orders = [] } = open.data ?? {};
      const isKnown = orders.includes(orderId);
      const detail = {
        count: isKnown ? count : count + 1,
        orders: isKnown || orders.length >= SHOWN_MAX ? orders : [...orders, orderId],
        code,
        message,
        hint: HINT,
      };
      await updateIncident(db, { ...incident, detail }, clock.now());
    },
  };
}
