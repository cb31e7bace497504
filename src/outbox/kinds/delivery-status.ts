/**
 * The kind `delivery_status` pushes a decision. The status is read first, and the push is sent only
 * from the status that the decision was made on. Repeating a push within one decision is safe,
 * because setting the current status does nothing at the service; a push of an earlier decision is
 * not, because a person may have changed the status since.
 */
import { z } from 'zod';
import type { CallOptions } from '../../client/calls.ts';
import { isNotFound } from '../../client/http/answer.ts';
import type { V1Client } from '../../client/v1/client.ts';
import { STATUSES } from '../../config/statuses.ts';
import type { Clock } from '../../lib/clock.ts';
import { RefusedError, RetryLaterError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { otherAnnouncedId } from '../../mirror/announced.ts';
import { quarantinedAmong } from '../../mirror/quarantine.ts';
import { pendingRefetch, type RecentReads } from '../../mirror/refetch-queue.ts';
import { isMirroredContent, writeDeliveries } from '../../mirror/sales-order.ts';
import type { ReadSequence } from '../../store/state.ts';
import type { Db, Store, Tx } from '../../store/store.ts';
import { kept, type Value } from '../../store/transaction/kept.ts';
import { DELIVERY_STATUS_KIND, type DeliveryStatus, deliveryLinesHash } from '../enqueue.ts';
import {
  type Clearance,
  clearByLookup,
  type LookupResult,
  type OutboxItem,
  type OutboxKind,
  type SendCall,
} from '../item.ts';
import {
  DELIVERY_MISSING,
  READ_TOO_OLD,
  type ReadOrder,
  unlessGone,
  unreadableStatus,
} from '../service.ts';

// Reads one delivery at the service, with its order, before something is sent about it, and sets
// its status.

function mirrored({ db }: Pick<Store, 'db'>, orderDeliveryId: number) {
  return db
    .selectFrom('delivery')
    .select(['content_hash', 'delivery_no', 'status', 'deleted_at'])
    .where('order_delivery_id', '=', orderDeliveryId)
    .executeTakeFirst();
}

/**
 * Creates a reader that reads a delivery at the service into the mirror. Its result is undefined
 * when the service has no such order, or when the delivery was marked as deleted before and is
 * missing again.
 */
export function createDeliveryReader(
  { store, readOrder }: { readonly store: Store; readonly readOrder: ReadOrder },
  cause: string,
): DeliveryStatusApi['readDelivery'] {
  return async (orderId, orderDeliveryId, signal) => {
    const read = await unlessGone(readOrder(orderId, { cause, priority: 'push', signal }));
    if (!read) return undefined;
    const found = read.deliveries.find((one) => one.orderDeliveryId === orderDeliveryId);
    const row = await mirrored(store, orderDeliveryId);
    // A status that nobody knows may mean what was asked for, or anything else.
    const status = STATUSES.delivery.find((one) => one === found?.status);
    if (found && !status) throw unreadableStatus(`delivery ${orderDeliveryId}`);
    if (found && status) return { ...found, status, contentHash: row?.content_hash };
    if (typeof row?.deleted_at === 'number') return undefined;
    // Deliveries are never removed: the list was cut short, or its row could not be read.
    const text = `order ${orderId} is shown without its delivery ${orderDeliveryId}`;
    throw new RetryLaterError(DELIVERY_MISSING, text);
  };
}

interface SetDeps {
  readonly store: Store;
  readonly service: { readonly v1: Pick<V1Client, 'delivery' | 'setDeliveryStatus'> };
}

/** Whether no other delivery has the number, so that it tells deliveries apart. */
async function isOnlyOne({ db }: Store, number: string): Promise<boolean> {
  const query = db.selectFrom('delivery').select('order_delivery_id');
  const rows = await query.where('delivery_no', '=', number).limit(2).execute();
  return number.trim() !== '' && rows.length === 1;
}

/** Whether a list has shown a delivery of this id. */
async function isListed({ db }: Store, id: number): Promise<boolean> {
  const row = await mirrored({ db }, id);
  const unread = await quarantinedAmong(db, ['delivery'], 'orderDeliveryId', [String(id)]);
  return row !== undefined || unread.size > 0;
}

/**
 * Finds another id of a delivery: the one that its events name, or under which it answers. What is
 * at that id must be this very delivery as it was decided on, by its number, its status and lines:
 * a status that is set on another one cannot be taken back.
 */
async function otherIdOf(
  { store, service: { v1 } }: SetDeps,
  orderId: number,
  id: number,
  { priority, signal }: CallOptions,
): Promise<number | undefined> {
  const { delivery_no: number, status } = (await mirrored(store, id)) ?? {};
  if (!number || !(await isOnlyOne(store, number))) return undefined;
  const shownAt = async (at: number) => {
    const reading = v1.delivery(orderId, at, { priority, signal });
    const read = await reading.catch((error: unknown) => {
      if (error instanceof RefusedError) return undefined;
      throw error;
    });
    return read?.value;
  };
  const other =
    (await otherAnnouncedId(store.db, orderId, id)) ?? (await shownAt(id))?.orderDeliveryId;
  if (other === undefined || other === id || (await isListed(store, other))) return undefined;
  const found = await shownAt(other);
  if (found?.deliveryNo !== number || found.status !== status) return undefined;
  if (found.orderDeliveryId !== other && found.orderDeliveryId !== id) return undefined;
  const isIt = await isMirroredContent(store.db, { ...found, orderDeliveryId: id });
  return isIt ? other : undefined;
}

/**
 * Sets a delivery's status. Where the service has no delivery of this id, it is set under the other
 * one that the account has for it; that answer is no row of the mirror.
 */
export async function setDeliveryStatus(
  deps: SetDeps,
  target: { readonly orderId: number; readonly id: number; readonly status: DeliveryStatus },
  call: CallOptions,
): ReturnType<V1Client['setDeliveryStatus']> {
  const { orderId, id, status } = target;
  try {
    return await deps.service.v1.setDeliveryStatus(orderId, id, status, call);
  } catch (error) {
    const other = isNotFound(error) ? await otherIdOf(deps, orderId, id, call) : undefined;
    if (other === undefined) throw error;
    const set = await deps.service.v1.setDeliveryStatus(orderId, other, status, call);
    return { ...set, value: { ...set.value, delivery: undefined } };
  }
}

interface DeliveryState {
  readonly orderDeliveryId: number;
  readonly status: string | null;
}

interface ReadState extends DeliveryState {
  readonly status: string;
  /**
   * Content hash of the mirrored delivery after the read; only unsent pushes are compared with it.
   */
  readonly contentHash: string | undefined;
}

/** Answer to a push; `shown` is set when it shows this very delivery in the status that was set. */
interface Answered extends DeliveryState {
  readonly shown?: AnsweredRow | undefined;
}

interface AnsweredRow {
  /** Read number taken before the request, so that the answer never overwrites a later read. */
  readonly readSeq: number;
  readonly write: (tx: Tx) => Promise<void>;
}

export interface DeliveryStatusApi {
  /**
   * Reads the order and its deliveries into the mirror; undefined when the service does not have
   * the order. Throws a RetryLaterError when the service cannot tell now.
   */
  readDelivery(
    orderId: number,
    orderDeliveryId: number,
    signal: AbortSignal,
  ): Promise<ReadState | undefined>;
  readBack: DeliveryStatusApi['readDelivery'];
  setDeliveryStatus(
    orderId: number,
    orderDeliveryId: number,
    status: DeliveryStatus,
    call: SendCall,
  ): Promise<Answered>;
}

interface ApiDeps extends SetDeps {
  readonly clock: Clock;
  readonly sequence: ReadSequence;
  readonly readOrder: ReadOrder;
  /** Reads a single delivery into the mirror, which some accounts cannot show. */
  readonly readDelivery: (
    orderId: number,
    orderDeliveryId: number,
    request: Omit<Parameters<ReadOrder>[1], 'refunds'>,
  ) => Promise<{ readonly status: string | null }>;
}

const CAUSE = 'outbox';

export function createDeliveryStatusApi(deps: ApiDeps): DeliveryStatusApi {
  const { sequence, clock } = deps;
  const readDelivery = createDeliveryReader(deps, CAUSE);
  return {
    readDelivery,
    async readBack(orderId, orderDeliveryId, signal) {
      const call = { cause: CAUSE, priority: 'push', signal } as const;
      try {
        const { status } = await deps.readDelivery(orderId, orderDeliveryId, call);
        const known = STATUSES.delivery.find((one) => one === status);
        if (!known) throw unreadableStatus(`delivery ${orderDeliveryId}`);
        return { orderDeliveryId, status: known, contentHash: undefined };
      } catch (error) {
        // Such an account shows the delivery with its order.
        if (!(error instanceof RefusedError)) throw error;
        return readDelivery(orderId, orderDeliveryId, signal);
      }
    },
    async setDeliveryStatus(orderId, orderDeliveryId, status, request) {
      const readSeq = await sequence.next();
      const call = { priority: 'push', ...request } as const;
      const set = await setDeliveryStatus(deps, { orderId, id: orderDeliveryId, status }, call);
      const { delivery } = set.value;
      const answer = { orderDeliveryId, status: set.value.status };
      if (!delivery) return answer;
      const write = async (tx: Tx): Promise<void> => {
        const from = { source: `refresh:${CAUSE}`, readSeq, at: clock.now() };
        await writeDeliveries(tx, [delivery], from);
      };
      return { ...answer, shown: { readSeq, write } };
    },
  };
}

const targetSchema = z.object({
  orderId: z.number(),
  orderDeliveryId: z.number(),
  status: z.enum(['pending', 'accepted', 'rejected']),
  /** Content hash that the decision was made on, if it is valid only for exactly that content. */
  contentHash: z.string().optional(),
  linesHash: z.string().optional(),
  sendBefore: z.number().optional(),
  /** Reason of a cancellation while the push was being sent: it must not be sent again. */
  cancelRequested: z.string().optional(),
});

type Target = z.output<typeof targetSchema>;

/** The delivery that the push is about, and the status that it sets. */
export function targetOf({ body }: Pick<OutboxItem, 'body'>): Target {
  return targetSchema.parse(body);
}

const TOO_LATE = 'it was decided too long ago';

/** Milliseconds for which a read of the order replaces the lookup before sending. */
const RECENT_MS = 2_000;

/** Milliseconds after an answer for which the service counts as reachable. */
const THERE_MS = 30_000;

const CLEARED_BY_RECENT_READ: Clearance = {
  send: true,
  baseline: {},
  warnings: [],
  isByRecentRead: true,
};

const OUTCOME = { pending: 'hold', accepted: 'accept', rejected: 'reject' } as const;

interface Standing {
  /** Why the push must not be sent. */
  readonly outdated?: string;
  /** Key of the rules by which the delivery was last judged; undefined: a person decided. */
  readonly rulesKey?: string | undefined;
}

const latestDecision = kept((db: Db, orderDeliveryId: Value<number>) =>
  db
    .selectFrom('decision as n')
    .leftJoin('evaluation as e', 'e.order_delivery_id', 'n.order_delivery_id')
    .select(['n.decision_id', 'n.outcome', 'n.reason', 'n.actor', 'e.rules_key'])
    .where('n.order_delivery_id', '=', orderDeliveryId)
    .orderBy('n.decision_id', 'desc')
    .limit(1),
);

/**
 * Finds why an unsent or retried push must not be sent: the lines have changed since the decision,
 * or a later decision says otherwise. Else names the rules behind it; a revocation has none, for
 * pending harms nobody.
 */
async function standingOf(
  db: Db,
  { orderDeliveryId, status, linesHash }: Target,
): Promise<Standing> {
  if (linesHash !== undefined && linesHash !== (await deliveryLinesHash(db, orderDeliveryId))) {
    return { outdated: 'the lines of the delivery have changed since it was decided' };
  }
  const [latest] = await latestDecision(db, orderDeliveryId);
  if (!latest) return {};
  const { decision_id: id, outcome, reason, actor, rules_key: rulesKey } = latest;
  if (outcome !== OUTCOME[status]) {
    return { outdated: `decided again: decision ${id} says ${outcome} (${reason})` };
  }
  const isByRules = actor === 'daemon' && status !== 'pending';
  return { rulesKey: isByRules ? (rulesKey ?? undefined) : undefined };
}

interface DeliveryStatusDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly recentReads: Pick<RecentReads, 'ageOf'>;
  /** Whether these rules, in this mode, are in force. */
  readonly isInForce: (rulesKey: string) => boolean;
  /** Whether nothing is sent at all, so that no push is too late. */
  readonly dryRun: boolean;
}

const CHANGED = 'the delivery has changed since it was decided';

const readSince = kept(
  (db: Db, orderDeliveryId: Value<number>, status: Value<string>, readSeq: Value<number>) =>
    db
      .selectFrom('delivery')
      .select(['status', 'content_hash as contentHash'])
      .where('order_delivery_id', '=', orderDeliveryId)
      .where('status', '=', status)
      .where('read_seq', '>', readSeq)
      .where('deleted_at', 'is', null),
);

/**
 * Returns the mirrored row if a read that began after the push shows its effect; else reads the
 * order from the service.
 */
async function readBack(
  db: Db,
  api: DeliveryStatusApi,
  { readSeq, target }: { readonly readSeq: number; readonly target: Target },
  signal: AbortSignal,
) {
  const [row] = await readSince(db, target.orderDeliveryId, target.status, readSeq);
  return row ?? api.readBack(target.orderId, target.orderDeliveryId, signal);
}

function superseded(reason: string, detail: JsonObject): LookupResult {
  return { outcome: 'superseded', reason, detail };
}

function overtaken(reason: string): Clearance {
  return { send: false, lookup: superseded(reason, {}) };
}

const decidedLast = kept((db: Db, orderDeliveryId: Value<number>) =>
  db
    .selectFrom('delivery as d')
    .innerJoin('decision as n', 'n.order_delivery_id', 'd.order_delivery_id')
    .select(['d.status', 'n.actor'])
    .where('d.order_delivery_id', '=', orderDeliveryId)
    .where('d.deleted_at', 'is', null)
    .orderBy('n.decision_id', 'desc')
    .limit(1),
);

/**
 * Whether the read on which the rules have just decided replaces the lookup before the first try of
 * an accept.
 */
async function isJustRead(
  { store, recentReads }: DeliveryStatusDeps,
  { attempts, expectedFrom }: OutboxItem,
  { orderId, orderDeliveryId, status }: Target,
): Promise<boolean> {
  if (attempts > 0 || status !== 'accepted' || expectedFrom !== 'pending') return false;
  if (recentReads.ageOf(orderId) > RECENT_MS) return false;
  const [row] = await decidedLast(store.db, orderDeliveryId);
  const isByRules = row?.actor === 'daemon' && row.status === 'pending';
  return isByRules && (await pendingRefetch(store.db, orderId)) === undefined;
}

/**
 * Puts pushes off whose rules were replaced since: the decider judges them by the rules in force,
 * or takes them back. It asks when a push is cleared, and when its request has its turn.
 */
function createJudged({ isInForce }: DeliveryStatusDeps) {
  /** Keys of the rules behind pushes that were cleared, by outbox id. */
  const keys = new Map<number, string>();
  const require = (key: string | undefined): void => {
    if (key === undefined || isInForce(key)) return;
    const message = 'other rules are in force since it was decided; it is judged again first';
    throw new RetryLaterError('outbox.other_rules', message);
  };
  return {
    require({ outboxId }: OutboxItem, key: string | undefined): void {
      require(key);
      if (key !== undefined) keys.set(outboxId, key);
    },
    take({ outboxId }: OutboxItem): () => void {
      const key = keys.get(outboxId);
      keys.delete(outboxId);
      return () => require(key);
    },
  };
}

export function createDeliveryStatusKind(
  api: DeliveryStatusApi,
  deps: DeliveryStatusDeps,
): OutboxKind {
  const { store, clock, dryRun, recentReads } = deps;
  /** Read numbers from before sending, by outbox id, of pushes whose answer is in the mirror. */
  const mirrored = new Map<number, number>();
  const judged = createJudged(deps);
  let answeredAt = Number.NEGATIVE_INFINITY;
  const over = ({ sendBefore = Number.POSITIVE_INFINITY, cancelRequested }: Target) =>
    cancelRequested ?? (!dryRun && clock.now() >= sendBefore ? TOO_LATE : undefined);
  const lookUp: OutboxKind['lookUp'] = async (item, signal): Promise<LookupResult> => {
    const target = targetOf(item);
    const readSeq = item.state === 'sent' ? mirrored.get(item.outboxId) : undefined;
    const found =
      readSeq === undefined
        ? await api.readDelivery(target.orderId, target.orderDeliveryId, signal)
        : await readBack(store.db, api, { readSeq, target }, signal);
    mirrored.delete(item.outboxId);
    answeredAt = clock.monotonic();
    const detail: JsonObject = { status: found?.status ?? null, wanted: target.status };
    if (!found) return superseded('the delivery is gone at the service', detail);
    if (found.status === target.status) return { outcome: 'matched', detail };
    if (found.status === item.expectedFrom) {
      // Only an unsent push is stopped: one that was sent may have an effect that is not shown yet.
      const { contentHash = found.contentHash } = target;
      const obstacle = contentHash === found.contentHash ? over(target) : CHANGED;
      const reason = item.state === 'queued' ? obstacle : undefined;
      return reason === undefined ? { outcome: 'not_found', detail } : superseded(reason, detail);
    }
    const to = `it was ${item.expectedFrom} and is now ${found.status}`;
    return superseded(`decided elsewhere: ${to}`, detail);
  };
  return {
    kind: DELIVERY_STATUS_KIND,
    conflictEnds: true,
    echo: {
      orderOf: (item) => targetOf(item).orderId,
      isAwaited: ({ outboxId }) => mirrored.has(outboxId),
    },
    creates: () => false,
    async clear(item, signal) {
      const target = targetOf(item);
      // Late accepts end without a lookup, else a long queue is late again before its end. While
      // the service is unreachable they wait, because each would be decided again and again.
      const isThere = clock.monotonic() - answeredAt < THERE_MS;
      const late = over(target);
      if (late !== undefined && isThere && target.status === 'accepted') return overtaken(late);
      const clearance =
        late === undefined && (await isJustRead(deps, item, target))
          ? CLEARED_BY_RECENT_READ
          : await clearByLookup(lookUp, item, signal);
      if (!clearance.send) return clearance;
      const { outdated, rulesKey } = await standingOf(store.db, target);
      if (outdated !== undefined) return overtaken(outdated);
      judged.require(item, rulesKey);
      return clearance;
    },
    lookUp,
    async send(item, call) {
      const target = targetOf(item);
      const { orderId, orderDeliveryId, status } = target;
      const requireStill = judged.take(item);
      const beforeSend = (): void => {
        call.beforeSend();
        requireStill();
        // Pushes may have waited for a slot or a log-in, or the machine slept: they may be late.
        const reason = over(target);
        if (reason !== undefined) throw new RetryLaterError('outbox.too_late', reason);
        if (call.isByRecentRead && recentReads.ageOf(orderId) > RECENT_MS) {
          throw new RetryLaterError(READ_TOO_OLD, 'it is looked up once more before it is sent');
        }
      };
      const request = { ...call, beforeSend };
      const answer = await api.setDeliveryStatus(orderId, orderDeliveryId, status, request);
      if (answer.shown) {
        call.alsoWrite(answer.shown.write);
        mirrored.set(item.outboxId, answer.shown.readSeq);
      }
      return { orderDeliveryId: answer.orderDeliveryId, status: answer.status };
    },
  };
}
