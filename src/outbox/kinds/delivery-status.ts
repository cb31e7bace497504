/**
 * `delivery_status`: a decision on its way to the service. Compare before write: the status is
 * read first and the push is sent only from the status the decision was made on. Setting a status
 * that is already there is a no-op at the service, so that repeating it within one decision is
 * safe; between decisions it is not, because a person may have changed it.
 */
import type { Clock } from '../../lib/clock.ts';
import { BugError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Db, Store } from '../../store/store.ts';
import { DELIVERY_STATUS_KIND, type DeliveryStatus, deliveryLinesHash } from '../enqueue.ts';
import {
  type Clearance,
  clearByLook,
  type Finding,
  type OutboxItem,
  type OutboxKind,
  type SendCall,
} from '../item.ts';

interface DeliveryState {
  readonly orderDeliveryId: number;
  readonly status: string;
}

interface ReadState extends DeliveryState {
  /** Of the mirrored row, after the read. */
  readonly contentHash: string | undefined;
}

export interface DeliveryStatusApi {
  /**
   * Reads the order and its deliveries into the mirror and gives the delivery; undefined when the
   * service does not know the order. Throws RetryLaterError when it cannot tell.
   */
  readDelivery(
    orderId: number,
    orderDeliveryId: number,
    signal: AbortSignal,
  ): Promise<ReadState | undefined>;
  setDeliveryStatus(
    orderId: number,
    orderDeliveryId: number,
    status: DeliveryStatus,
    call: SendCall,
  ): Promise<DeliveryState>;
}

interface Target {
  readonly orderId: number;
  readonly orderDeliveryId: number;
  readonly status: DeliveryStatus;
  /** What the intent was made on, where it is good for exactly that. */
  readonly contentHash: string | undefined;
  readonly linesHash: string | undefined;
  readonly sendBefore: number;
  /** Why it must not be sent again: somebody stopped the decisions while it was on its way. */
  readonly calledOff: string | undefined;
}

function targetOf(item: OutboxItem): Target {
  const { orderId, orderDeliveryId, status, contentHash, linesHash, sendBefore } = item.body;
  const { calledOff } = item.body;
  if (
    typeof orderId !== 'number' ||
    typeof orderDeliveryId !== 'number' ||
    (status !== 'pending' && status !== 'accepted' && status !== 'rejected')
  ) {
    throw new BugError('bug.outbox_body', `outbox ${item.outboxId}: the body is not a status`);
  }
  return {
    ...{ orderId, orderDeliveryId, status },
    contentHash: typeof contentHash === 'string' ? contentHash : undefined,
    linesHash: typeof linesHash === 'string' ? linesHash : undefined,
    sendBefore: typeof sendBefore === 'number' ? sendBefore : Number.POSITIVE_INFINITY,
    calledOff: typeof calledOff === 'string' ? calledOff : undefined,
  };
}

const TOO_LATE = 'it was decided too long ago';

/** For so long the service counts as there after an answer. */
const THERE_MS = 30_000;

const OUTCOME = { pending: 'hold', accepted: 'accept', rejected: 'reject' } as const;

/**
 * Why what waited, or a person had tried again, must not leave: it was decided on other lines than
 * the mirror has after the look, or was decided otherwise since.
 */
async function outdated(db: Db, item: OutboxItem): Promise<string | undefined> {
  const { orderDeliveryId, status, linesHash } = targetOf(item);
  if (linesHash !== undefined && linesHash !== (await deliveryLinesHash(db, orderDeliveryId))) {
    return 'the lines of the delivery have changed since it was decided';
  }
  const latest = await db
    .selectFrom('decision')
    .select(['decision_id', 'outcome', 'reason'])
    .where('order_delivery_id', '=', orderDeliveryId)
    .orderBy('decision_id', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (!latest || latest.outcome === OUTCOME[status]) return undefined;
  return `decided anew: decision ${latest.decision_id} says ${latest.outcome} (${latest.reason})`;
}

export function createDeliveryStatusKind(
  api: DeliveryStatusApi,
  deps: {
    readonly store: Store;
    readonly clock: Pick<Clock, 'now' | 'monotonic'>;
    /** Nothing leaves, and so nothing is too late. */
    readonly dryRun: boolean;
  },
): OutboxKind {
  const { store, clock, dryRun } = deps;
  let answeredAt = Number.NEGATIVE_INFINITY;
  const over = ({ sendBefore, calledOff }: Target): string | undefined => {
    return calledOff ?? (!dryRun && clock.now() >= sendBefore ? TOO_LATE : undefined);
  };
  /** Why a push must not leave although the status is still the one it was decided on. */
  const obstacle = (target: Target, found: ReadState): string | undefined => {
    const { contentHash } = target;
    if (contentHash !== undefined && contentHash !== found.contentHash) {
      return 'the delivery has changed since it was decided';
    }
    return over(target);
  };
  const look: OutboxKind['look'] = async (item, signal): Promise<Finding> => {
    const target = targetOf(item);
    const found = await api.readDelivery(target.orderId, target.orderDeliveryId, signal);
    answeredAt = clock.monotonic();
    const detail: JsonObject = { status: found?.status ?? null, wanted: target.status };
    if (!found) {
      return { found: 'overtaken', reason: 'the delivery is gone at the service', detail };
    }
    if (found.status === target.status) return { found: 'yes', detail };
    if (found.status === item.expectedFrom) {
      // It keeps from leaving: what has left may be there, and not be shown yet.
      const reason = item.state === 'queued' ? obstacle(target, found) : undefined;
      return reason === undefined
        ? { found: 'no', detail }
        : { found: 'overtaken', reason, detail };
    }
    const reason = `decided elsewhere: it was ${item.expectedFrom} and is now ${found.status}`;
    return { found: 'overtaken', reason, detail };
  };
  return {
    kind: DELIVERY_STATUS_KIND,
    conflictEnds: true,
    creates: () => false,
    async clear(item, signal) {
      const overtaken = (reason: string): Clearance => {
        return { send: false, finding: { found: 'overtaken', reason, detail: {} } };
      };
      const target = targetOf(item);
      // Without a look, or a long queue of them would be old again before its end is reached. But
      // while the service is away they wait: they would be decided anew again and again.
      const isThere = clock.monotonic() - answeredAt < THERE_MS;
      const late = target.status === 'accepted' && isThere ? over(target) : undefined;
      if (late !== undefined) return overtaken(late);
      const clearance = await clearByLook(look, item, signal);
      const reason = clearance.send ? await outdated(store.db, item) : undefined;
      return reason === undefined ? clearance : overtaken(reason);
    },
    look,
    async send(item, call) {
      const target = targetOf(item);
      const answer = await api.setDeliveryStatus(
        target.orderId,
        target.orderDeliveryId,
        target.status,
        call,
      );
      return { orderDeliveryId: answer.orderDeliveryId, status: answer.status };
    },
  };
}
