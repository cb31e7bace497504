/**
 * The event store: persist, then acknowledge. An event and the request to read its order again
 * share one transaction; `accept` resolves only after its commit, and only then may a 2xx be sent.
 * Events that arrive together share a commit, because waiting for the disk once for all makes
 * thousands a second durable. Writes `webhook_event` and, through the mirror, `refresh`. A failing,
 * slow or overloaded database gives a RetryLaterError, so that the relay keeps the event and sends
 * it again.
 */

import { isUtf8 } from 'node:buffer';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../lib/clock.ts';
import { RetryLaterError } from '../lib/errors.ts';
import { isJsonObject, tryParseJson } from '../lib/json.ts';
import { type Announced, noteAnnounced } from '../mirror/announced.ts';
import { requestRefetches } from '../mirror/refetch-queue.ts';
import { insertFew } from '../store/bulk.ts';
import type { Store, Tx } from '../store/store.ts';
import type { SystemKeys } from '../store/system-keys.ts';
import type { Keep } from '../store/transaction/keep.ts';
import type { Meter } from './meter.ts';

// Parses an event as far as the inbox needs it: its type and the order to read again. The body
// never becomes mirrored state, so nothing else is interpreted and nothing in it is an error. Names
// are those of the wire contract (docs/wire.md, "Events").

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

export interface EventStoreLimits {
  /** Most events that may wait for a commit; further ones are refused. */
  readonly queueEventsMax: number;
  /** Most events that share one commit. */
  readonly groupEventsMax: number;
  /** Milliseconds that an event may take from arrival to commit; the relay gives up after 15 s. */
  readonly deadlineMs: number;
}

export const EVENT_STORE_LIMITS: EventStoreLimits = {
  queueEventsMax: 1_024,
  groupEventsMax: 256,
  deadlineMs: 5_000,
};

/** Event ids looked up per SQL statement: a fixed size bounds the number of prepared statements. */
const EVENTS_PER_STATEMENT = 16;

/** An event whose signature is valid; `sentAt` is in epoch ms. */
interface SignedEvent {
  readonly eventId: string;
  readonly sentAt: number;
  readonly secretName: string;
  readonly body: Buffer;
}

export interface EventStore {
  /**
   * Stores the event and a request to read its order again. Resolves once both are durable, also
   * for a counted duplicate; rejects with a RetryLaterError.
   */
  accept(event: SignedEvent): Promise<ParsedEvent>;
}

export interface EventStoreDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly meter: Meter;
  /** System keys of accounts: no order is read for events of other ones. Default: none is known. */
  readonly systemKeys?: Pick<SystemKeys, 'admits'>;
  /** Waited for before an event counts as stored. Left out: the commit is enough. */
  readonly keep?: Keep | undefined;
  /** Called after each commit that requested order reads. */
  readonly onAccepted: (orderIds: readonly number[]) => void;
}

interface Waiting {
  readonly event: SignedEvent;
  readonly parsed: ParsedEvent;
  readonly receivedAt: number;
  readonly settle: (error?: Error) => void;
}

/** Groups events by id: several requests with the same id become one row and its duplicates. */
function rowsOf(group: readonly Waiting[]) {
  const byId = new Map<string, { first: Waiting; times: number }>();
  for (const waiting of group) {
    const known = byId.get(waiting.event.eventId);
    if (known) known.times += 1;
    else byId.set(waiting.event.eventId, { first: waiting, times: 1 });
  }
  return [...byId.values()].map(({ first: { event, parsed, receivedAt }, times }) => ({
    event_id: event.eventId,
    received_at: receivedAt,
    sent_at: event.sentAt,
    type: parsed.type,
    order_id: parsed.orderId,
    body: event.body,
    secret_name: event.secretName,
    duplicates: times - 1,
    last_duplicate_at: times > 1 ? receivedAt : null,
    outcome: parsed.orderId === null ? ('stored' as const) : ('refresh' as const),
  }));
}

/** Deliveries and refunds that the group's events announce. */
function announcedIn(group: readonly Waiting[]): readonly Announced[] {
  return group.flatMap(({ event: { sentAt }, parsed: { announces, orderId } }) =>
    announces === null || orderId === null ? [] : [{ ...announces, orderId, sentAt }],
  );
}

/** Ids of events that came again with another body than the stored one. */
async function changedBodies(
  tx: Tx,
  group: readonly Waiting[],
  known: readonly string[],
): Promise<string[]> {
  const changed = new Set<string>();
  const first = new Map<string, Buffer>();
  for (let start = 0; start < known.length; start += EVENTS_PER_STATEMENT) {
    const ids = known.slice(start, start + EVENTS_PER_STATEMENT);
    const kept = await tx
      .selectFrom('webhook_event')
      .select(['event_id', 'body'])
      .where('event_id', 'in', ids)
      .execute();
    for (const { event_id: id, body } of kept) first.set(id, body);
  }
  for (const { event } of group) {
    const kept = first.get(event.eventId);
    if (kept === undefined) first.set(event.eventId, event.body);
    else if (!kept.equals(event.body)) changed.add(event.eventId);
  }
  return [...changed];
}

interface Written {
  readonly duplicates: number;
  /** Ids of events that came again with another body. */
  readonly changed: readonly string[];
}

const CAME_AGAIN = `on conflict (event_id) do update set
  duplicates = webhook_event.duplicates + excluded.duplicates + 1,
  last_duplicate_at = excluded.received_at`;

async function writeGroup(tx: Tx, group: readonly Waiting[], now: number): Promise<Written> {
  const rows = rowsOf(group);
  let duplicates = group.length - rows.length;
  const known: string[] = [];
  for (let start = 0; start < rows.length; start += EVENTS_PER_STATEMENT) {
    const some = rows.slice(start, start + EVENTS_PER_STATEMENT);
    const written = await insertFew(tx, 'webhook_event', some, CAME_AGAIN, [
      'event_id',
      'duplicates',
    ]);
    const counts = new Map(rows.map((row) => [row.event_id, row.duplicates]));
    const again = written.filter((row) => row.duplicates > (counts.get(row.event_id) ?? 0));
    duplicates += again.length;
    known.push(...again.map((row) => row.event_id));
  }
  const requests = group.flatMap(({ event, parsed: { orderId, refunds, urgent } }) => {
    if (orderId === null) return [];
    return [{ orderId, cause: `event:${event.eventId}`, refunds, urgent }];
  });
  await requestRefetches(tx, requests, now);
  await noteAnnounced(tx, announcedIn(group), now);
  return { duplicates, changed: duplicates === 0 ? [] : await changedBodies(tx, group, known) };
}

export function createEventStore(
  deps: EventStoreDeps,
  limits: EventStoreLimits = EVENT_STORE_LIMITS,
): EventStore {
  const { store, clock, meter, systemKeys } = deps;
  const readByAccount = (body: Buffer): ParsedEvent => {
    const parsed = parseEvent(body);
    if (!systemKeys || parsed.orderId === null || systemKeys.admits(parsed.systemKey))
      return parsed;
    return { ...parsed, orderId: null, announces: null };
  };
  const queue: Waiting[] = [];
  let writing = false;

  /** Acknowledges a group, at once or when a second machine would have it; nothing waits for it. */
  const acknowledge = async (group: readonly Waiting[]): Promise<void> => {
    const kept = deps.keep === undefined ? 'kept' : await deps.keep();
    const message = 'the events are stored here, and perhaps not at the standby';
    const error = kept === 'kept' ? undefined : new RetryLaterError('inbox.not_kept', message);
    for (const waiting of group) waiting.settle(error);
  };

  const commit = async (group: readonly Waiting[]): Promise<void> => {
    try {
      const write = (tx: Tx) => writeGroup(tx, group, clock.now());
      const { duplicates, changed } = await store.transaction(write);
      const events = group.map(({ parsed }) => parsed);
      meter.committed({
        accepted: group.length,
        duplicates,
        unknownType: events.filter((parsed) => parsed.json && !parsed.known).length,
      });
      for (const eventId of changed) meter.changedBody(eventId);
      void acknowledge(group);
      const orderIds = events.flatMap(({ orderId }) => orderId ?? []);
      if (orderIds.length > 0) deps.onAccepted(orderIds);
    } catch (cause) {
      meter.commitFailed(cause, group.length);
      const error = new RetryLaterError('inbox.unwritable', 'events cannot be written', { cause });
      for (const waiting of group) waiting.settle(error);
    }
  };

  const writeGroups = async (): Promise<void> => {
    writing = true;
    while (queue.length > 0) {
      // Yields to the event loop once, so that requests that have arrived by now join the group.
      await nextTurn();
      await commit(queue.splice(0, limits.groupEventsMax));
    }
    writing = false;
  };

  return {
    accept(event) {
      if (queue.length >= limits.queueEventsMax) {
        return Promise.reject(new RetryLaterError('inbox.queue_full', 'too many events wait'));
      }
      const parsed = readByAccount(event.body);
      return new Promise((resolve, reject) => {
        const deadline = clock.after(limits.deadlineMs, () =>
          // The event may still be committed: the relay's next attempt is then a duplicate.
          reject(new RetryLaterError('inbox.deadline', 'the commit takes too long')),
        );
        const settle = (error?: Error): void => {
          deadline.cancel();
          if (error) reject(error);
          else resolve(parsed);
        };
        queue.push({ event, parsed, receivedAt: clock.now(), settle });
        if (!writing) void writeGroups();
      });
    },
  };
}
