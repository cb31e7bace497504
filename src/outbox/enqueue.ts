/**
 * The door into the outbox. A caller puts the intent into the transaction that also holds the
 * reason for it; from then on the intent is neither lost nor sent twice.
 */
import { canonicalJson, type JsonObject, sha256 } from '../lib/json.ts';
import type { Tx } from '../store/store.ts';

interface Intent {
  readonly kind: string;
  /** Rows of one lane go out one after the other. */
  readonly lane: string;
  /** What makes this intent itself: the same kind and reference is the same intent, for ever. */
  readonly reference: string;
  readonly body: JsonObject;
  /** The status the service must show for the push to make sense; null when it has none. */
  readonly expectedFrom: string | null;
  /** What asked for it, e.g. `decision:17`. */
  readonly cause: string;
}

/** Stores the intent, due at once, and gives its outbox id. */
async function enqueue(tx: Tx, intent: Intent, now: number): Promise<number> {
  const body = canonicalJson(intent.body);
  const row = await tx
    .insertInto('outbox')
    .values({
      kind: intent.kind,
      lane: intent.lane,
      reference: intent.reference,
      body,
      body_hash: sha256(body),
      expected_from: intent.expectedFrom,
      due_at: now,
      in_doubt_since: null,
      created_at: now,
      ended_at: null,
      cause: intent.cause,
      result: null,
      last_error: null,
    })
    .returning('outbox_id')
    .executeTakeFirstOrThrow();
  return row.outbox_id;
}

export const DELIVERY_STATUS_KIND = 'delivery_status';

/** Pushes of one delivery go out one after the other. */
export function deliveryLane(orderDeliveryId: number | ''): string {
  return `delivery/${orderDeliveryId}`;
}

/** One decision has one push. */
export function pushReference(orderDeliveryId: number | '', decisionId: number | ''): string {
  return `delivery/${orderDeliveryId}/decision/${decisionId}`;
}

export type DeliveryStatus = 'pending' | 'accepted' | 'rejected';

export interface DeliveryStatusChange {
  readonly orderId: number;
  readonly orderDeliveryId: number;
  /** The status that the decision was made on. */
  readonly from: string;
  readonly to: DeliveryStatus;
  readonly decisionId: number;
}

/** Puts a decision's push into the outbox. One delivery's pushes go out in order. */
export function enqueueDeliveryStatus(
  tx: Tx,
  change: DeliveryStatusChange,
  now: number,
): Promise<number> {
  const { orderId, orderDeliveryId, from, to, decisionId } = change;
  const intent = {
    kind: DELIVERY_STATUS_KIND,
    lane: deliveryLane(orderDeliveryId),
    reference: pushReference(orderDeliveryId, decisionId),
    body: { orderId, orderDeliveryId, status: to },
    expectedFrom: from,
    cause: `decision:${decisionId}`,
  };
  return enqueue(tx, intent, now);
}
