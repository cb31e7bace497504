/**
 * `order`: a new order of the ERP. The service may take a second one with the same reference, so
 * that nothing is sent twice without proof: before the first sending the mirror is searched, and
 * the highest order id is written down; in doubt the list is walked down to it.
 *
 * After success the order is read back with its deliveries, which brings it into the mirror, and
 * compared; what was sold is told to whoever keeps the stock fresh.
 */

import type { V1Client } from '../../client/v1/client.ts';
import { type FreightSpelling, orderBody } from '../../client/v1/order-body.ts';
import type { CreatedOrder } from '../../client/v1/schemas.ts';
import type { Clock } from '../../lib/clock.ts';
import { RefusedError, RetryLaterError } from '../../lib/errors.ts';
import { type JsonObject, sha256 } from '../../lib/json.ts';
import { readRestored, writeState } from '../../store/state.ts';
import type { Store } from '../../store/store.ts';
import { readResult } from '../document-state.ts';
import { newOrderOf, readBody, referenceKey } from '../documents.ts';
import type { Clearance, Finding, OutboxItem, OutboxKind } from '../item.ts';
import { FREIGHT_REQUIRED_KEY } from '../preflight/order.ts';
import type { OrderCheck } from '../preflight/order-check.ts';
import { type ReadOrder, unlessGone } from '../service.ts';
import { disowned, knownBefore, ordersReadAt } from './baseline.ts';
import { compareOrder, otherReference } from './compare.ts';
import { mirroredOrders, type OrderFinder } from './find-order.ts';
import type { NewestOrders } from './newest-orders.ts';
import { ownerOf } from './owner.ts';

export interface OrderKindDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly v1: Pick<V1Client, 'createOrder' | 'orders'>;
  readonly readOrder: ReadOrder;
  readonly finder: OrderFinder;
  readonly freightSpelling: FreightSpelling;
  readonly check: OrderCheck;
  readonly newest: NewestOrders;
  /** Since when this process has been there. */
  readonly watchedSince: () => number;
  /** These were ordered: what is in stock of them has changed. */
  readonly onOrdered: (barcodes: readonly string[]) => void;
}

/** Orders with the same reference that are read for a person to compare. */
const SHOWN_MAX = 5;

function orderOf(item: OutboxItem) {
  const document = readBody.order(item.body);
  return { document, order: newOrderOf(item.reference, document) };
}

/** What is kept of an order that the service has, whoever told of it. */
export function orderResult(
  orderId: number,
  orderNo: string | null | undefined,
  deliveries: readonly CreatedOrder['deliveries'][number][],
): JsonObject {
  return {
    orderId,
    orderNo: orderNo ?? null,
    deliveries: deliveries.map(({ orderDeliveryId, deliveryNo, status }) => ({
      ...{ orderDeliveryId, deliveryNo: deliveryNo ?? null, status: status ?? null },
    })),
  };
}

/** The highest order id that is there now: from the mirror, else from the list. */
async function newestOrderId(deps: OrderKindDeps, signal: AbortSignal): Promise<number> {
  const row = await deps.store.db
    .selectFrom('sales_order')
    .select((eb) => eb.fn.max('order_id').as('order_id'))
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  if (row?.order_id) return row.order_id;
  const { rows, rejects } = await deps.v1.orders(undefined, { priority: 'push', signal });
  if (rejects.length > 0) {
    throw new RetryLaterError('outbox.orders_unreadable', 'the newest orders cannot be read');
  }
  return Math.max(0, ...rows.map(({ orderId }) => orderId));
}

/** Reads the only candidate and holds it against what was sent. */
async function judge(
  deps: OrderKindDeps,
  item: OutboxItem,
  orderId: number,
  signal: AbortSignal,
): Promise<Finding> {
  const request = { cause: `outbox:${item.outboxId}`, priority: 'read', signal } as const;
  const read = await unlessGone(deps.readOrder(orderId, request));
  if (!read) return { found: 'no', complete: false, detail: { orderId, shown: false } };
  const { order: shown, deliveries } = read;
  const { order, document } = orderOf(item);
  const reference = otherReference(item.reference, shown.reference);
  const { lines, rest } = compareOrder(order, shown);
  const differences = [...reference, ...lines];
  const detail = {
    orderId,
    orderNo: shown.orderNo ?? null,
    differences: [...differences, ...rest],
  };
  const other = await ownerOf(deps.store, item, shown.reference);
  if (other) {
    const whose = `the reference of outbox ${other.outboxId} (${other.reference})`;
    const reason = `the service answered with order ${orderId}, which has ${whose}`;
    return { found: 'unclear', reason, detail };
  }
  // What the service itself answered with is ours, however it looks; that is for a person to see.
  if (differences.length > 0 && item.result === null) {
    const reason = `order ${orderId} has this reference, but is not like this document`;
    return { found: 'unclear', reason, detail };
  }
  deps.onOrdered(document.lines.map(({ barcode }) => barcode));
  return {
    found: 'yes',
    detail,
    differences: detail.differences,
    result: orderResult(orderId, shown.orderNo, deliveries),
  };
}

async function among(
  deps: OrderKindDeps,
  item: OutboxItem,
  candidates: ReadonlySet<number>,
  signal: AbortSignal,
): Promise<Finding | undefined> {
  if (candidates.size === 0) return undefined;
  const ids = candidates.difference(await disowned(deps.store.db, item.outboxId));
  const [first] = ids;
  if (first === undefined) return undefined;
  if (ids.size === 1) return judge(deps, item, first, signal);
  const orderIds = [...ids].sort((a, b) => a - b);
  // Into the mirror with them, so that a person can hold them against each other.
  const request = { cause: `outbox:${item.outboxId}`, priority: 'read', signal } as const;
  for (const id of orderIds.slice(0, SHOWN_MAX)) await unlessGone(deps.readOrder(id, request));
  const reason = `${ids.size} orders have this reference: ${orderIds.join(', ')}`;
  return { found: 'unclear', reason, detail: { orderIds } };
}

async function look(deps: OrderKindDeps, item: OutboxItem, signal: AbortSignal): Promise<Finding> {
  const { orderId } = readResult(item.result);
  if (typeof orderId === 'number') return judge(deps, item, orderId, signal);
  const { maxOrderId } = await knownBefore(deps.store.db, item);
  const walked = await deps.finder.find(item.reference, maxOrderId ?? 0, signal);
  const ids = new Set(walked.orders.map((order) => order.orderId));
  for (const id of await mirroredOrders(deps.store.db, item.reference)) ids.add(id);
  const { pages, walkedTo } = walked;
  const detail: JsonObject = { pages, walkedTo, floor: maxOrderId ?? null };
  const complete = walked.complete && maxOrderId !== undefined;
  return (await among(deps, item, ids, signal)) ?? { found: 'no', complete, detail };
}

/**
 * Orders with this reference that a restored mirror may not know: they were made since the backup.
 * None are searched for once all orders have been read again.
 */
async function madeSinceBackup(
  { store, finder }: OrderKindDeps,
  { reference }: OutboxItem,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const restored = await readRestored(store.db);
  if (!restored || (await ordersReadAt(store.db)) >= restored.at) return [];
  const { orders, complete } = await finder.find(reference, restored.maxOrderId ?? 0, signal);
  if (!complete) {
    const text = 'the orders that were made since the backup cannot all be seen yet';
    throw new RetryLaterError('outbox.restored', text);
  }
  return orders.map(({ orderId }) => orderId);
}

/**
 * The same for what waited before this process began: where a snapshot of the machine was put back,
 * it may have been sent since, and nothing tells so. It is looked for as far as can be seen: no
 * restart is to keep an order back for good.
 */
async function madeBeforeStart(
  { store: { db }, finder, watchedSince }: OrderKindDeps,
  { reference, createdAt }: OutboxItem,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const startedAt = watchedSince();
  const readAt = await ordersReadAt(db);
  if (createdAt >= startedAt || readAt >= startedAt) return [];
  // What an earlier start has seen since may be the newest alone.
  const newest = await db
    .selectFrom('sales_order')
    .select((eb) => eb.fn.max('order_id').as('order_id'))
    .where('deleted_at', 'is', null)
    .where('first_seen_at', '<', Math.max(createdAt, readAt))
    .executeTakeFirst();
  if (!newest?.order_id) return [];
  const { orders } = await finder.find(reference, newest.order_id, signal);
  return orders.map(({ orderId }) => orderId);
}

async function clear(
  deps: OrderKindDeps,
  item: OutboxItem,
  signal: AbortSignal,
): Promise<Clearance> {
  const known = new Set<number>();
  for (const unseen of [madeSinceBackup, madeBeforeStart]) {
    for (const id of await unseen(deps, item, signal)) known.add(id);
  }
  for (const id of await deps.newest.withReference(item.reference, signal)) known.add(id);
  // Last: what they leave to the mirror was read into it before they looked.
  for (const id of await mirroredOrders(deps.store.db, item.reference)) known.add(id);
  const finding = await among(deps, item, known, signal);
  if (finding?.found === 'no') {
    const reason = 'the mirror has an order with this reference, which the service does not show';
    return { send: false, finding: { ...finding, found: 'unclear', reason } };
  }
  if (finding) return { send: false, finding };
  const problems = await deps.check(orderOf(item).document, item.createdAt, signal);
  if (problems.some(({ severity }) => severity === 'error')) {
    return { send: false, finding: { found: 'unfit', problems } };
  }
  const maxOrderIdBefore = await newestOrderId(deps, signal);
  return { send: true, baseline: { maxOrderIdBefore }, warnings: problems };
}

/** The same for every attempt at this document, and for no other one. */
function idempotencyKey({ kind, reference }: OutboxItem): string {
  return sha256(`selvedge ${kind} ${referenceKey(reference)}`);
}

export function createOrderKind(deps: OrderKindDeps): OutboxKind {
  return {
    kind: 'order',
    creates: () => true,
    clear: (item, signal) => clear(deps, item, signal),
    look: (item, signal) => look(deps, item, signal),
    async send(item, request) {
      const { document, order } = orderOf(item);
      const key = idempotencyKey(item);
      const call = { priority: 'push', ...request, idempotencyKey: key } as const;
      try {
        const body = orderBody(order, deps.freightSpelling);
        const { value } = await deps.v1.createOrder(body, call);
        return orderResult(value.orderId, value.salesOrder?.orderNo, value.deliveries);
      } catch (error) {
        const lines = error instanceof RefusedError ? error.lines : [];
        if (!document.freight && lines.some((line) => /^freight\b/i.test(line))) {
          await writeState(deps.store.db, FREIGHT_REQUIRED_KEY, '1', deps.clock);
        }
        throw error;
      }
    },
  };
}
