/**
 * Enqueues pushes. The caller writes the push in the same transaction as the reason for it; from
 * then on the push is neither lost nor sent twice.
 */
import type { PushKind } from '../config/words.ts';
import { canonicalJson, type JsonObject, parseJsonObject, sha256 } from '../lib/json.ts';
import { packedLines } from '../mirror/sales-order.ts';
import { insertRow } from '../store/bulk.ts';
import type { Db, Tx } from '../store/store.ts';
import { type DocumentOnFile, meetingOf, reopen } from './corrections.ts';
import { contentHash, type DocumentKind, readBody, referenceKey, thingOf } from './documents.ts';
import { orderIdOf } from './evidence/mirrored.ts';

interface Push {
  readonly kind: PushKind;
  readonly orderingKey: string;
  /** Identity of the push: the same kind and reference mean the same push, for ever. */
  readonly reference: string;
  readonly body: JsonObject;
  /** Form in which a document's reference is compared; null for a push of a decision. */
  readonly referenceKey: string | null;
  /** Status that the service must show for the push to make sense; null: any. */
  readonly expectedFrom: string | null;
  /** Origin of the push, such as `decision:17`, for people to read. */
  readonly cause: string;
  readonly orderDeliveryId?: number;
  readonly decisionId?: number;
}

async function enqueue(tx: Tx, push: Push, now: number): Promise<number> {
  const body = canonicalJson(push.body);
  return insertRow(tx, 'outbox', {
    kind: push.kind,
    ordering_key: push.orderingKey,
    reference: push.reference,
    reference_key: push.referenceKey,
    body,
    body_hash: contentHash(push.body),
    expected_from: push.expectedFrom,
    due_at: now,
    in_doubt_since: null,
    created_at: now,
    ended_at: null,
    cause: push.cause,
    result: null,
    last_error: null,
    blocked_reason: null,
    order_id: null,
    order_delivery_id: push.orderDeliveryId ?? null,
    decision_id: push.decisionId ?? null,
  });
}

export const DELIVERY_STATUS_KIND = 'delivery_status' as const;

export async function deliveryLinesHash(db: Db | Tx, orderDeliveryId: number): Promise<string> {
  return sha256(canonicalJson(await packedLines(db, orderDeliveryId)));
}

export type DeliveryStatus = 'pending' | 'accepted' | 'rejected';

export interface DeliveryStatusChange {
  readonly orderId: number;
  readonly orderDeliveryId: number;
  readonly from: string;
  readonly to: DeliveryStatus;
  readonly decisionId: number;
  /**
   * Content hash of the decided delivery: the push is sent only while the mirrored row still has
   * it.
   */
  readonly contentHash?: string | undefined;
  readonly onlyTheseLines?: boolean;
  /** Digest of what an accept by the rules rests on, by which they know one that was refused. */
  readonly grounds?: string | undefined;
  /** Time, in epoch milliseconds, after which the push is not sent any more. */
  readonly sendBefore?: number | undefined;
}

/** Enqueues the push of a decision. Pushes of one delivery are sent in the order of their rows. */
export async function enqueueDeliveryStatus(
  tx: Tx,
  change: DeliveryStatusChange,
  now: number,
): Promise<number> {
  const { orderId, orderDeliveryId, from, to, decisionId, contentHash } = change;
  const { sendBefore, grounds } = change;
  const linesHash = change.onlyTheseLines
    ? await deliveryLinesHash(tx, orderDeliveryId)
    : undefined;
  const intent = {
    kind: DELIVERY_STATUS_KIND,
    orderingKey: `delivery/${orderDeliveryId}`,
    reference: `delivery/${orderDeliveryId}/decision/${decisionId}`,
    referenceKey: null,
    body: { orderId, orderDeliveryId, status: to, contentHash, linesHash, sendBefore, grounds },
    expectedFrom: from,
    cause: `decision:${decisionId}`,
    orderDeliveryId,
    decisionId,
  };
  return enqueue(tx, intent, now);
}

export interface DocumentIntent {
  readonly kind: DocumentKind;
  readonly reference: string;
  readonly document: JsonObject;
  readonly cause: string;
}

export type Enqueued =
  | {
      readonly outboxId: number;
      /** Whether the same document was submitted before; `outboxId` is its first and only row. */
      readonly repeated: boolean;
      /** Set when a document that was refused or canceled, and never sent, is queued once more. */
      readonly reopened?: true;
    }
  /** Stored document that already has the reference; it stays as it is. */
  | { readonly conflict: DocumentOnFile };

export async function onFile(
  db: Db | Tx,
  kind: DocumentKind,
  reference: string,
): Promise<DocumentOnFile | undefined> {
  const row = await db
    .selectFrom('outbox')
    .select(['outbox_id', 'state', 'body', 'body_hash', 'ended_at'])
    .where('kind', '=', kind)
    .where('reference_key', '=', referenceKey(reference))
    .executeTakeFirst();
  return (
    row && {
      outboxId: row.outbox_id,
      state: row.state,
      isOpen: row.ended_at === null,
      document: parseJsonObject(row.body),
      isSame: (document) => row.body_hash === contentHash(document),
    }
  );
}

/** Finds the reference under which the order with this id was submitted or is mirrored. */
async function referenceOf(tx: Tx, orderId: number): Promise<string | undefined> {
  const own = await tx
    .selectFrom('outbox')
    .select('reference')
    .where('kind', '=', 'order')
    .where('order_id', '=', orderId)
    .executeTakeFirst();
  if (own) return own.reference;
  const order = await tx
    .selectFrom('sales_order')
    .select('reference')
    .where('order_id', '=', orderId)
    .executeTakeFirst();
  return order?.reference ?? undefined;
}

/**
 * Ordering key of a refund. All documents of one order share the key, whether they name the order
 * by reference or id, and also when its reference became known only after the first of them.
 */
async function refundOrderingKey(tx: Tx, document: JsonObject): Promise<string> {
  const { orderId, orderReference } = readBody.pendingRefund(document);
  const id = orderId ?? (await orderIdOf(tx, orderReference ?? ''));
  const reference = orderReference ?? (id === undefined ? undefined : await referenceOf(tx, id));
  const byId = `order/#${id}`;
  if (!reference) return byId;
  const open = await tx
    .selectFrom('outbox')
    .select('outbox_id')
    .where('ordering_key', '=', byId)
    .where('ended_at', 'is', null)
    .limit(1)
    .executeTakeFirst();
  return open ? byId : `order/${referenceKey(reference)}`;
}

/** Orders what is pushed about one thing of the service; each kind of document has its own key. */
function orderingKeyOf(
  tx: Tx,
  { kind, reference, document }: DocumentIntent,
): string | Promise<string> {
  if (kind === 'order') return `order/${referenceKey(reference)}`;
  if (kind === 'pending_refund') return refundOrderingKey(tx, document);
  return thingOf[kind](document);
}

async function expectedFrom(tx: Tx, { kind, document }: DocumentIntent): Promise<string | null> {
  if (kind !== 'refund_status') return null;
  const { expectedStatus, orderRefundId } = readBody.refundStatus(document);
  if (expectedStatus !== undefined) return expectedStatus;
  const refund = await tx
    .selectFrom('refund')
    .select('status')
    .where('order_refund_id', '=', orderRefundId)
    .executeTakeFirst();
  return refund?.status ?? 'pending';
}

async function pushOf(tx: Tx, intent: DocumentIntent, reference: string): Promise<Push> {
  const { kind, document, cause } = intent;
  return {
    kind,
    reference,
    referenceKey: referenceKey(reference),
    body: document,
    cause,
    orderingKey: await orderingKeyOf(tx, intent),
    expectedFrom: await expectedFrom(tx, intent),
  };
}

/**
 * Enqueues a document once per reference: the same document again gets its first row; another
 * document under the reference is refused, unless it corrects one that was never sent.
 */
export async function enqueueDocument(
  tx: Tx,
  intent: DocumentIntent,
  now: number,
): Promise<Enqueued> {
  const { kind, document } = intent;
  const reference = intent.reference.trim().normalize('NFC');
  const existing = await onFile(tx, kind, reference);
  if (existing) {
    const { outboxId } = existing;
    const meeting = await meetingOf(tx, existing, document);
    if (meeting === 'conflict') return { conflict: existing };
    if (meeting === 'repeat') return { outboxId, repeated: true };
    await reopen(tx, existing, await pushOf(tx, intent, reference), now);
    return { outboxId, repeated: false, reopened: true };
  }
  const outboxId = await enqueue(tx, await pushOf(tx, intent, reference), now);
  return { outboxId, repeated: false };
}
