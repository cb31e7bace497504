/**
 * The event store: persist, then acknowledge. An event and the request to read its order again
 * share one transaction; `accept` resolves only after its commit, and only then may a 2xx be sent.
 * Events that arrive together share a commit, because waiting for the disk once for all makes
 * thousands a second durable. Writes `webhook_event` and, through the mirror, `refresh`. A failing,
 * slow or overloaded database gives a RetryLaterError, so that the relay keeps the event and sends
 * it again.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../lib/clock.ts';
import { RetryLaterError } from '../lib/errors.ts';
import { type Announced, noteAnnounced } from '../mirror/announced.ts';
import { requestRefetches } from '../mirror/refetch-queue.ts';
import type { Store, Tx } from '../store/store.ts';
import type { SystemKeys } from '../store/system-keys.ts';
import type { Keep } from '../store/transaction/keep.ts';
import { type ParsedEvent, parseEvent } from './event.ts';
import type { Meter } from './meter.ts';

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

/** Deliveries and refunds that the group's events announce, each with its latest state. */
function announcedBy(group: readonly Waiting[]): readonly Announced[] {
  const latest = new Map<string, Announced>();
  for (const { event, parsed } of group) {
    if (parsed.announces === null || parsed.orderId === null) continue;
    const one = { ...parsed.announces, orderId: parsed.orderId, sentAt: event.sentAt };
    const name = `${one.thing} ${one.id} ${one.orderId}`;
    if ((latest.get(name)?.sentAt ?? 0) <= one.sentAt) latest.set(name, one);
  }
  return [...latest.values()];
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

async function writeGroup(tx: Tx, group: readonly Waiting[], now: number): Promise<Written> {
  const rows = rowsOf(group);
  let duplicates = group.length - rows.length;
  const known: string[] = [];
  for (let start = 0; start < rows.length; start += EVENTS_PER_STATEMENT) {
    const written = await tx
      .insertInto('webhook_event')
      .values(rows.slice(start, start + EVENTS_PER_STATEMENT))
      .onConflict((conflict) =>
        conflict.column('event_id').doUpdateSet((eb) => ({
          duplicates: eb('webhook_event.duplicates', '+', eb('excluded.duplicates', '+', 1)),
          last_duplicate_at: eb.ref('excluded.received_at'),
        })),
      )
      .returning(['event_id', 'duplicates'])
      .execute();
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
  await noteAnnounced(tx, announcedBy(group), now);
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
