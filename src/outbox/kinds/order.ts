/**
 * `order`: a new order of the ERP. The service may take a second one with the same reference, so
 * that nothing is sent twice without proof: before the first sending the mirror is searched, and
 * the highest order id is written down; in doubt the list is walked down to it.
 *
 * After success the order is read back with its deliveries, which brings it into the mirror, and
 * compared; what was sold is told to whoever keeps the stock fresh.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { V1Client } from '../../client/v1/client.ts';
import { type FreightSpelling, orderBody } from '../../client/v1/order-body.ts';
import { hasAtLevel, refusalAtLevel } from '../../config/level.ts';
import type { Clock } from '../../lib/clock.ts';
import { RefusedError, RetryLaterError } from '../../lib/errors.ts';
import { type JsonObject, sha256 } from '../../lib/json.ts';
import { readRestored, writeState } from '../../store/state.ts';
import type { Db, Store } from '../../store/store.ts';
import { readResult } from '../document-state.ts';
import { newOrderOf, readBody, referenceKey } from '../documents.ts';
import { isWanted, sortOut } from '../evidence/candidates.ts';
import { isUnlike, knownSpellings, textsFor } from '../evidence/known-spellings.ts';
import { mirroredOrder, mirroredWithLines, type SeenOrder } from '../evidence/mirrored.ts';
import type { Clearance, Finding, OutboxItem, OutboxKind } from '../item.ts';
import { FREIGHT_REQUIRED_KEY } from '../preflight/order.ts';
import type { OrderCheck } from '../preflight/order-check.ts';
import { orderAsSpelt } from '../preflight/spelt.ts';
import { type ReadOrder, turnedOff } from '../service.ts';
import { knownBefore, ordersReadAt } from './baseline.ts';
import { piecesOf } from './compare.ts';
import { mirroredOrders, type OrderFinder } from './find-order.ts';
import {
  conclude,
  judgeAnswered,
  orderResult,
  type SoughtOrder,
  type Window,
} from './judge-order.ts';
import type { NewestOrders } from './newest-orders.ts';

export interface OrderKindDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly v1: Pick<V1Client, 'createOrder' | 'orders'>;
  readonly readOrder: ReadOrder;
  readonly finder: OrderFinder;
  readonly freightSpelling: FreightSpelling;
  /** `service.v1.level`. */
  readonly level: string;
  readonly check: OrderCheck;
  readonly newest: NewestOrders;
  /** Since when this process has been there. */
  readonly watchedSince: () => number;
  /** These were ordered: what is in stock of them has changed. */
  readonly onOrdered: (barcodes: readonly string[]) => void;
}

/**
 * What was made so long after the last attempt is not of it. Longer than any quiet time, and than
 * clocks and time zones are apart: what is left out wrongly would be ordered twice.
 */
const WINDOW_MS = 172_800_000;

/** The order as it is sent. */
async function orderOf(db: Db, item: OutboxItem) {
  const document = await orderAsSpelt(db, readBody.order(item.body));
  return { document, order: newOrderOf(item.reference, document) };
}

async function soughtFor(db: Db, item: OutboxItem): Promise<SoughtOrder> {
  const { order } = await orderOf(db, item);
  return { item, order, pieces: piecesOf(order.lines), known: await knownSpellings(db, item.kind) };
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

interface Seen {
  readonly orders: readonly SeenOrder[];
  /** No order above the floor can have been missed. */
  readonly complete: boolean;
  readonly detail: JsonObject;
}

/** Orders above the floor that may be it, of the service's list and of the mirror. */
async function seenAbove(
  { store: { db }, finder }: OrderKindDeps,
  sought: SoughtOrder,
  floor: number,
  signal: AbortSignal,
): Promise<Seen> {
  const { item, known, order } = sought;
  const search = {
    wants: (shown: SeenOrder, pieces: ReadonlyMap<string, number>) =>
      isWanted(sought, shown.reference, pieces),
    mayBe: (reference: string | undefined) => !isUnlike(known, item.reference, reference),
  };
  const { orders, complete, pages, walkedTo } = await finder.find(search, floor, signal);
  // Many may have walked together; each takes its own turn at the database.
  await nextTurn();
  // What an event told of may not be listed yet.
  const mirrored = await mirroredWithLines(db, order.lines, floor);
  return { orders: [...mirrored, ...orders], complete, detail: { pages, walkedTo } };
}

/** Orders that the mirror has under our reference, however old they are. */
async function seenByReference(db: Db, { item, known }: SoughtOrder): Promise<SeenOrder[]> {
  const found: SeenOrder[] = [];
  for (const id of await mirroredOrders(db, item.reference, textsFor(known, item.reference))) {
    const order = await mirroredOrder(db, id);
    if (order) found.push(order);
  }
  return found;
}

async function finish(
  { onOrdered }: OrderKindDeps,
  { order }: SoughtOrder,
  finding: Finding,
): Promise<Finding> {
  if (finding.found === 'yes') onOrdered(order.lines.map(({ barcode }) => barcode));
  return finding;
}

async function look(deps: OrderKindDeps, item: OutboxItem, signal: AbortSignal): Promise<Finding> {
  const { db } = deps.store;
  const sought = await soughtFor(db, item);
  const { orderId } = readResult(item.result);
  if (typeof orderId === 'number') {
    return finish(deps, sought, await judgeAnswered(deps, sought, orderId, signal));
  }
  const { maxOrderId, firstAt, lastAt } = await knownBefore(db, item);
  const floor = maxOrderId ?? 0;
  const seen = await seenAbove(deps, sought, floor, signal);
  const orders = [...(await seenByReference(db, sought)), ...seen.orders];
  const window: Window = {
    // Where nobody knows which orders were there before, their times must tell.
    ...(maxOrderId === undefined ? { since: (firstAt ?? item.createdAt) - WINDOW_MS } : {}),
    ...(lastAt === undefined ? {} : { until: lastAt + WINDOW_MS }),
  };
  const survey = await sortOut(db, sought, orders, floor);
  const finding = await conclude(deps, sought, survey, window, signal);
  if (finding) return finish(deps, sought, finding);
  const complete = seen.complete && maxOrderId !== undefined;
  return { found: 'no', complete, detail: { ...seen.detail, floor: maxOrderId ?? null } };
}

/**
 * Orders that a restored mirror may not know: they were made since the backup. None are searched
 * for once all orders have been read again.
 */
async function madeSinceBackup(
  deps: OrderKindDeps,
  sought: SoughtOrder,
  signal: AbortSignal,
): Promise<readonly SeenOrder[]> {
  const { db } = deps.store;
  const restored = await readRestored(db);
  if (!restored || (await ordersReadAt(db)) >= restored.at) return [];
  const floor = restored.maxOrderId ?? 0;
  const { orders, complete } = await seenAbove(deps, sought, floor, signal);
  if (!complete) {
    const text = 'the orders that were made since the backup cannot all be seen yet';
    throw new RetryLaterError('outbox.restored', text);
  }
  return orders.filter(({ orderId }) => orderId > floor);
}

/**
 * The same for what waited before this process began: where a snapshot of the machine was put back,
 * it may have been sent since, and nothing tells so. It is looked for as far as can be seen: no
 * restart is to keep an order back for good.
 */
async function madeBeforeStart(
  deps: OrderKindDeps,
  sought: SoughtOrder,
  signal: AbortSignal,
): Promise<readonly SeenOrder[]> {
  const { db } = deps.store;
  const { createdAt } = sought.item;
  const startedAt = deps.watchedSince();
  const readAt = await ordersReadAt(db);
  if (createdAt >= startedAt || readAt >= startedAt) return [];
  // What an earlier start has seen since may be the newest alone.
  const newest = await db
    .selectFrom('sales_order')
    .select((eb) => eb.fn.max('order_id').as('order_id'))
    .where('deleted_at', 'is', null)
    .where('first_seen_at', '<', Math.max(createdAt, readAt))
    .executeTakeFirst();
  const floor = newest?.order_id ?? 0;
  if (floor === 0) return [];
  const { orders } = await seenAbove(deps, sought, floor, signal);
  return orders.filter(({ orderId }) => orderId > floor);
}

/** What is there before the document is sent for the first time, or again. */
async function foundBefore(
  deps: OrderKindDeps,
  sought: SoughtOrder,
  signal: AbortSignal,
): Promise<Finding | undefined> {
  const { db } = deps.store;
  const orders: SeenOrder[] = [];
  for (const unseen of [madeSinceBackup, madeBeforeStart]) {
    orders.push(...(await unseen(deps, sought, signal)));
  }
  const { item, known } = sought;
  const texts = [item.reference, ...textsFor(known, item.reference)];
  orders.push(...(await deps.newest.withReference(texts, signal)));
  // Last: what they leave to the mirror was read into it before they looked.
  orders.push(...(await seenByReference(db, sought)));
  const finding = await conclude(deps, sought, await sortOut(db, sought, orders, 0), {}, signal);
  if (finding?.found === 'maybe') return { ...finding, found: 'unclear' };
  if (finding?.found !== 'no') return finding;
  const reason = 'the mirror has an order with this reference, which the service does not show';
  return { found: 'unclear', reason, detail: finding.detail };
}

async function clear(
  deps: OrderKindDeps,
  item: OutboxItem,
  signal: AbortSignal,
): Promise<Clearance> {
  const sought = await soughtFor(deps.store.db, item);
  const finding = await foundBefore(deps, sought, signal);
  if (finding) return { send: false, finding: await finish(deps, sought, finding) };
  const problems = await deps.check(readBody.order(item.body), item.createdAt, signal);
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
    off(document) {
      const { level } = deps;
      if (document.seasonName === undefined || hasAtLevel(level, 'preOrders')) return undefined;
      return turnedOff(refusalAtLevel(level, 'preOrders'), 'seasonName');
    },
    creates: () => true,
    clear: (item, signal) => clear(deps, item, signal),
    look: (item, signal) => look(deps, item, signal),
    async send(item, request) {
      const { document, order } = await orderOf(deps.store.db, item);
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
