/**
 * What an event says, as far as the inbox needs it: its type and the order to read again. The
 * body is a hint and never becomes mirrored state, so nothing else of it is interpreted here and
 * nothing in it is an error. Names are those of the wire contract (docs/wire.md, "Events").
 */
import { isUtf8 } from 'node:buffer';
import { isJsonObject, tryParseJson } from '../lib/json.ts';

export interface EventHint {
  /** False: a signed body that is not JSON. */
  readonly json: boolean;
  readonly type: string | null;
  /** Whether we know what events of this type mean. */
  readonly known: boolean;
  /** The order to read again: null for a ping, an unknown type or a body that names none. */
  readonly orderId: number | null;
  /** Whether the event is about a refund: then refunds are read with the order. */
  readonly refunds: boolean;
  /** Somebody waits for it: a packed delivery wants to be decided. */
  readonly urgent: boolean;
}

/** A type beyond this is kept in the body only. */
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

/** Decided within a second where that is possible; everything else may come a little later. */
const URGENT_TYPE = 'sales_order.delivery_created';

/** The members of `data` that name an order by its `orderId`. */
const SUBJECTS = ['salesOrder', 'salesOrderDelivery', 'salesOrderRefund'] as const;

function orderIdOf(data: unknown): number | null {
  for (const name of SUBJECTS) {
    const subject = isJsonObject(data) ? data[name] : undefined;
    const given = isJsonObject(subject) ? subject.orderId : undefined;
    // An id written as text is still an id.
    const id = typeof given === 'string' && /^\d+$/.test(given) ? Number(given) : given;
    if (typeof id === 'number' && Number.isSafeInteger(id) && id > 0) return id;
  }
  return null;
}

export function readEvent(body: Buffer): EventHint {
  const value = isUtf8(body) ? tryParseJson(body.toString('utf8')) : undefined;
  const nothing = { type: null, known: false, orderId: null, refunds: false, urgent: false };
  if (value === undefined) return { json: false, ...nothing };
  const { type, data } = isJsonObject(value) ? value : {};
  if (typeof type !== 'string' || !TYPE.test(type)) {
    return { json: true, ...nothing };
  }
  const known = KNOWN_TYPES.has(type);
  const orderId = known ? orderIdOf(data) : null;
  const refunds = type.startsWith(REFUND_EVENTS);
  return { json: true, type, known, orderId, refunds, urgent: type === URGENT_TYPE };
}
