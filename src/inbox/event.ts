/**
 * Parses an event as far as the inbox needs it: its type and the order to read again. The body
 * never becomes mirrored state, so nothing else is interpreted and nothing in it is an error. Names
 * are those of the wire contract (docs/wire.md, "Events").
 */
import { isUtf8 } from 'node:buffer';
import { isJsonObject, tryParseJson } from '../lib/json.ts';

export interface ParsedEvent {
  /** False: a signed body that is not JSON. */
  readonly json: boolean;
  readonly type: string | null;
  /** Whether this program knows the type. */
  readonly known: boolean;
  /** Order to read again; null: a ping, an unknown type, or none named. */
  readonly orderId: number | null;
  /** About a refund, so that refunds are read with the order. */
  readonly refunds: boolean;
  /** A packed delivery waits for its decision. */
  readonly urgent: boolean;
  /** Content that a read of the order must show. */
  readonly announces: Announcement | null;
  /** System key of the account, if given. */
  readonly systemKey: string | null;
  /** Reference of the order, if given. */
  readonly reference: string | null;
  /** Unvalidated delivery of the event; null: the event is about none. */
  readonly delivery: Subject | null;
}

type Subject = Readonly<Record<string, unknown>>;

interface Announcement {
  readonly thing: 'delivery' | 'refund';
  readonly id: number;
  /** A known status; undefined: another word, or none. */
  readonly status: string | undefined;
}

/** A longer type is kept in the body only. */
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

/** Type that should be decided within a second; others may take longer. */
const URGENT_TYPE = 'sales_order.delivery_created';

/** Members of `data` that name an order by its `orderId`. */
const SUBJECTS = ['salesOrder', 'salesOrderDelivery', 'salesOrderRefund'] as const;

/** Accepts an id written as text. */
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
