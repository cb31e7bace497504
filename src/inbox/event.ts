/**
 * Parses an event as far as the inbox needs it: its type and the order to read again. The body
 * never becomes mirrored state, so nothing else is interpreted and nothing in it is an error. Names
 * are those of the wire contract (docs/wire.md, "Events").
 */
import { isUtf8 } from 'node:buffer';
import { isJsonObject, tryParseJson } from '../lib/json.ts';

export interface ParsedEvent {
  /** Whether the signed body is JSON. */
  readonly json: boolean;
  readonly type: string | null;
  /** Whether this version of the program knows the event's type. */
  readonly known: boolean;
  /** Order to read again; null: the event is a ping, of an unknown type, or names no order. */
  readonly orderId: number | null;
  /** Whether the event is about a refund, so that refunds are read with the order. */
  readonly refunds: boolean;
  /** Whether the event announces a packed delivery, which waits for its decision. */
  readonly urgent: boolean;
  /** Delivery or refund that the event announces: a read of the order must show it. */
  readonly announces: Announcement | null;
  /** System key of the account that the event is of; null: the event has none. */
  readonly systemKey: string | null;
  /** Reference of the order; null: the event has none. */
  readonly reference: string | null;
  /** Delivery as the event shows it, unvalidated; null: the event is about no delivery. */
  readonly delivery: Subject | null;
}

type Subject = Readonly<Record<string, unknown>>;

interface Announcement {
  readonly thing: 'delivery' | 'refund';
  readonly id: number;
  /** Announced status; undefined: the event has none, or one that this program does not know. */
  readonly status: string | undefined;
}

/** Form of an event type; anything else, such as a longer one, is kept in the body only. */
const TYPE = /^[a-zA-Z0-9\-_.]{1,256}$/;

export const KNOWN_TYPES: ReadonlySet<string> = new Set([
  'ping',
  'sales_order.order_created',
  'sales_order.order_completed',
  'sales_order.delivery_created',
  'sales_order.delivery_updated',
  'sales_order.delivery_canceled',
  'sales_order.refund_created',
  'sales_order.refund_updated',
  'sales_order.refund_canceled',
]);

const REFUND_EVENTS = 'sales_order.refund_';

const NAME_CHARS_MAX = 256;

/** Event type of a packed delivery, to be decided within a second; others may take longer. */
const URGENT_TYPE = 'sales_order.delivery_created';

/** Members of an event's `data` that name an order by its `orderId`. */
const SUBJECTS = ['salesOrder', 'salesOrderDelivery', 'salesOrderRefund'] as const;

/** Reads an id of the service, also one that is written as text. */
function idOf(given: unknown): number | null {
  const id = typeof given === 'string' && /^\d+$/.test(given) ? Number(given) : given;
  return typeof id === 'number' && Number.isSafeInteger(id) && id > 0 ? id : null;
}

function subjectOf(data: unknown): { readonly orderId: number; readonly subject: Subject } | null {
  for (const name of SUBJECTS) {
    const subject = isJsonObject(data) ? data[name] : undefined;
    const orderId = isJsonObject(subject) ? idOf(subject.orderId) : null;
    if (isJsonObject(subject) && orderId !== null) return { orderId, subject };
  }
  return null;
}

const STATUSES: ReadonlySet<string> = new Set(['pending', 'accepted', 'rejected', 'canceled']);

function announcedBy(subject: Subject): Announcement | null {
  const deliveryId = idOf(subject.orderDeliveryId);
  const refundId = idOf(subject.orderRefundId);
  const word = typeof subject.status === 'string' ? subject.status.trim().toLowerCase() : '';
  const given = word === 'cancelled' ? 'canceled' : word;
  const status = STATUSES.has(given) ? given : undefined;
  if (deliveryId !== null) return { thing: 'delivery', id: deliveryId, status };
  return refundId === null ? null : { thing: 'refund', id: refundId, status };
}

function textOf(given: unknown): string | null {
  return typeof given === 'string' && given !== '' && given.length <= NAME_CHARS_MAX ? given : null;
}

export function parseEvent(body: Buffer): ParsedEvent {
  const value = isUtf8(body) ? tryParseJson(body.toString('utf8')) : undefined;
  const none = { announces: null, systemKey: null, reference: null, delivery: null } as const;
  const nothing = {
    type: null,
    known: false,
    orderId: null,
    refunds: false,
    urgent: false,
    ...none,
  };
  if (value === undefined) return { json: false, ...nothing };
  const { type, data, references } = isJsonObject(value) ? value : {};
  if (typeof type !== 'string' || !TYPE.test(type)) {
    return { json: true, ...nothing };
  }
  const known = KNOWN_TYPES.has(type);
  const named = known ? subjectOf(data) : null;
  const announced = named && announcedBy(named.subject);
  return {
    json: true,
    type,
    known,
    orderId: named?.orderId ?? null,
    refunds: type.startsWith(REFUND_EVENTS),
    urgent: type === URGENT_TYPE,
    announces: announced,
    systemKey: isJsonObject(references) ? textOf(references.systemKey) : null,
    reference: textOf(named?.subject.reference),
    delivery: announced?.thing === 'delivery' ? (named?.subject ?? null) : null,
  };
}
