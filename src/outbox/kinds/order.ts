/**
 * The kind `order` creates an order. The service may take a second one with the same reference, so
 * nothing is sent again without proof: before the first attempt the mirror is searched and the
 * highest order id is stored; while the outcome is unknown, the order list is walked down to that
 * id.
 *
 * A created order is read back with its deliveries, which brings it into the mirror, and compared
 * with the document; the stock of its articles is refreshed.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { V1Client } from '../../client/v1/client.ts';
import { type FreightSpelling, type NewOrder, orderBody } from '../../client/v1/order-body.ts';
import type { CreatedOrder, SalesOrder, SalesOrderDelivery } from '../../client/v1/schemas.ts';
import { hasAtLevel, refusalAtLevel } from '../../config/level.ts';
import type { Clock } from '../../lib/clock.ts';
import { isStoreUnusable, RefusedError, RetryLaterError } from '../../lib/errors.ts';
import { type JsonObject, sha256 } from '../../lib/json.ts';
import { ordersReadAt } from '../../mirror/order-book.ts';
import { inKeys } from '../../store/bulk.ts';
import { readRestored, writeState } from '../../store/state.ts';
import type { Db, Store } from '../../store/store.ts';
import { readResult } from '../document-state.ts';
import { newOrderOf, readBody, referenceKey } from '../documents.ts';
import {
  type Candidate,
  isFitting,
  isWanted,
  otherOwner,
  type Sought,
  type Survey,
  sortOut,
} from '../evidence/candidates.ts';
import {
  compareOrder,
  describeOrder,
  type OrderDifferences,
  piecesOf,
} from '../evidence/compare.ts';
import type { OrderFinder } from '../evidence/find-order.ts';
import { fitOf, isOurs, isUnlike, knownSpellings, textsFor } from '../evidence/known-spellings.ts';
import {
  mirroredOrder,
  mirroredOrders,
  mirroredWithLines,
  type SeenOrder,
} from '../evidence/mirrored.ts';
import { knownBefore } from '../evidence/records.ts';
import { seasonsShown } from '../evidence/seasons.ts';

import type { Clearance, LookupResult, OutboxItem, OutboxKind } from '../item.ts';
import { FREIGHT_REQUIRED_KEY, type OrderCheck } from '../preflight/check-order.ts';
import type { ProvedNames } from '../preflight/pre-order-names.ts';
import { orderAsSpelt } from '../preflight/spelling.ts';
import { type ReadOrder, turnedOff, unlessGone } from '../service.ts';

export interface OrderKindDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly v1: Pick<V1Client, 'createOrder' | 'orders'>;
  readonly readOrder: ReadOrder;
  readonly finder: OrderFinder;
  readonly freightSpelling: FreightSpelling;
  readonly preOrderNames: ProvedNames;
  readonly level: string;
  readonly check: OrderCheck;
  readonly newest: NewestOrders;
  readonly processStartedAt: () => number;
  /** Called with the barcodes of a created order, whose stock has changed. */
  readonly onOrdered: (barcodes: readonly string[]) => void;
}

/**
 * Milliseconds after the last attempt within which an order may be ours. The time is longer than
 * any settlement delay and than clocks and time zones differ: an order that is left out wrongly
 * would be sent twice.
 */
const WINDOW_MS = 172_800_000;

async function orderOf(db: Db, item: OutboxItem) {
  const document = await orderAsSpelt(db, readBody.order(item.body));
  return { document, order: newOrderOf(item.reference, document) };
}

async function soughtFor(db: Db, item: OutboxItem): Promise<SoughtOrder> {
  const { order } = await orderOf(db, item);
  return { item, order, pieces: piecesOf(order.lines), known: await knownSpellings(db, item.kind) };
}

/** Returns the highest existing order id, from the mirror or else from the service's order list. */
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
  readonly complete: boolean;
  readonly detail: JsonObject;
}

/** Lists orders with ids above the floor that may be the document's, from service and mirror. */
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
  // Many lookups may share one walk; each then waits for its own turn at the database.
  await nextTurn();
  // An order that an event brought into the mirror may not be listed by the service yet.
  const mirrored = await mirroredWithLines(db, order.lines, floor);
  return { orders: [...mirrored, ...orders], complete, detail: { pages, walkedTo } };
}

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
  lookup: LookupResult,
): Promise<LookupResult> {
  if (lookup.outcome === 'matched') onOrdered(order.lines.map(({ barcode }) => barcode));
  return lookup;
}

async function lookUp(
  deps: OrderKindDeps,
  item: OutboxItem,
  signal: AbortSignal,
): Promise<LookupResult> {
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
    // Without a known highest id, only the times of orders can exclude old ones.
    ...(maxOrderId === undefined ? { since: (firstAt ?? item.createdAt) - WINDOW_MS } : {}),
    ...(lastAt === undefined ? {} : { until: lastAt + WINDOW_MS }),
  };
  const survey = await sortOut(db, sought, orders, floor);
  const lookup = await conclude(deps, sought, survey, window, signal);
  if (lookup) return finish(deps, sought, lookup);
  const complete = seen.complete && maxOrderId !== undefined;
  return { outcome: 'not_found', complete, detail: { ...seen.detail, floor: maxOrderId ?? null } };
}

/**
 * Lists orders made since the backup, which a restored mirror may not know. Skipped once all orders
 * have been pulled again.
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
 * Lists orders made since the document was queued, if that was before this process started: after a
 * machine snapshot was restored, the document may have been sent without any record. The search
 * looks as far as it can and never blocks, because no restart may hold an order back for good.
 */
async function madeBeforeStart(
  deps: OrderKindDeps,
  sought: SoughtOrder,
  signal: AbortSignal,
): Promise<readonly SeenOrder[]> {
  const { db } = deps.store;
  const { createdAt } = sought.item;
  const startedAt = deps.processStartedAt();
  const readAt = await ordersReadAt(db);
  if (createdAt >= startedAt || readAt >= startedAt) return [];
  // An earlier start may have read only the newest orders since then.
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

async function foundBefore(
  deps: OrderKindDeps,
  sought: SoughtOrder,
  signal: AbortSignal,
): Promise<LookupResult | undefined> {
  const { db } = deps.store;
  const orders: SeenOrder[] = [];
  for (const unseen of [madeSinceBackup, madeBeforeStart]) {
    orders.push(...(await unseen(deps, sought, signal)));
  }
  const { item, known } = sought;
  const texts = [item.reference, ...textsFor(known, item.reference)];
  orders.push(...(await deps.newest.withReference(texts, signal)));
  // The search by reference comes last, because the lookups above leave some orders to the mirror.
  orders.push(...(await seenByReference(db, sought)));
  const lookup = await conclude(deps, sought, await sortOut(db, sought, orders, 0), {}, signal);
  if (lookup?.outcome === 'possible') return { ...lookup, outcome: 'ambiguous' };
  if (lookup?.outcome !== 'not_found') return lookup;
  const reason = 'the mirror has an order with this reference, which the service does not show';
  return { outcome: 'ambiguous', reason, detail: lookup.detail };
}

async function clear(
  deps: OrderKindDeps,
  item: OutboxItem,
  signal: AbortSignal,
): Promise<Clearance> {
  const sought = await soughtFor(deps.store.db, item);
  if (sought.order.seasonName !== undefined) await deps.preOrderNames.unlessWaiting();
  const lookup = await foundBefore(deps, sought, signal);
  if (lookup) return { send: false, lookup: await finish(deps, sought, lookup) };
  const problems = await deps.check(readBody.order(item.body), item.createdAt, signal);
  if (problems.some(({ severity }) => severity === 'error')) {
    return { send: false, lookup: { outcome: 'invalid', problems } };
  }
  const maxOrderIdBefore = await newestOrderId(deps, signal);
  return { send: true, baseline: { maxOrderIdBefore }, warnings: problems };
}

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
    lookUp: (item, signal) => lookUp(deps, item, signal),
    async send(item, request) {
      const { document, order } = await orderOf(deps.store.db, item);
      const key = idempotencyKey(item);
      const call = { priority: 'push', ...request, idempotencyKey: key } as const;
      try {
        const isAhead = order.seasonName !== undefined;
        const names = isAhead ? await deps.preOrderNames.of(order, request) : undefined;
        const body = orderBody(order, deps.freightSpelling, names);
        const { value } = await deps.v1.createOrder(body, call);
        return orderResult(value.orderId, value.salesOrder?.orderNo, value.deliveries);
      } catch (error) {
        const lines = error instanceof RefusedError ? error.lines : [];
        if (!document.freight && lines.some((line) => /^freight\b/i.test(line))) {
          const now = String(deps.clock.now());
          await writeState(deps.store.db, FREIGHT_REQUIRED_KEY, now, deps.clock);
        }
        throw error;
      }
    },
  };
}

// Judging: decides whether a document has become an order of the service.

interface JudgeDeps {
  readonly store: Store;
  readonly readOrder: ReadOrder;
}

interface SoughtOrder extends Sought {
  readonly order: NewOrder;
}

/** Period in which the order can have been made, in epoch milliseconds. */
interface Window {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

const SHOWN_MAX = 5;

/** Result that an outbox row stores about its order, whether an answer or a lookup showed it. */
export function orderResult(
  orderId: number,
  orderNo: string | null | undefined,
  deliveries: readonly CreatedOrder['deliveries'][number][],
): JsonObject {
  return {
    orderId,
    orderNo: orderNo ?? null,
    deliveries: deliveries.map(({ orderDeliveryId, deliveryNo, status }) => {
      return { orderDeliveryId, deliveryNo: deliveryNo ?? null, status: status ?? null };
    }),
  };
}

function readFresh(
  { readOrder }: JudgeDeps,
  { item }: SoughtOrder,
  orderId: number,
  signal: AbortSignal,
) {
  const request = { cause: `outbox:${item.outboxId}`, priority: 'read', signal } as const;
  return unlessGone(readOrder(orderId, request));
}

interface Read {
  readonly order: SalesOrder;
  readonly deliveries: readonly SalesOrderDelivery[];
}

async function confirmed(
  { store }: JudgeDeps,
  { item, order }: SoughtOrder,
  { order: shown, deliveries }: Read,
  found: OrderDifferences,
  reference: readonly string[],
): Promise<LookupResult> {
  const { orderId, orderNo } = shown;
  const { differences: own, holds } = describeOrder(found, order, await seasonsShown(store.db));
  const differences = [...reference, ...own];
  const isAlike = found.lines.length === 0 || found.isPriceOnly;
  return {
    outcome: 'matched',
    detail: { orderId, orderNo: orderNo ?? null, reference: shown.reference ?? null, differences },
    differences,
    holds,
    result: orderResult(orderId, orderNo, deliveries),
    // If the answered order has other pieces, it may be another one, and teaches no spelling.
    ...(isAlike || item.result === null ? { shownReference: shown.reference ?? '' } : {}),
    ...(order.seasonName === undefined ? {} : { seasonSeen: !found.isSeasonUnseen }),
  };
}

/**
 * Judges the order that the service answered with: it is the document's, however it looks, unless
 * it belongs to another document.
 */
async function judgeAnswered(
  deps: JudgeDeps,
  sought: SoughtOrder,
  orderId: number,
  signal: AbortSignal,
): Promise<LookupResult> {
  const read = await readFresh(deps, sought, orderId, signal);
  if (!read) return { outcome: 'not_found', complete: false, detail: { orderId, shown: false } };
  const { order: shown } = read;
  const other = await otherOwner(deps.store.db, sought, shown);
  if (other) {
    const whose = `the reference of outbox ${other.outboxId} (${other.reference})`;
    const reason = `the service answered with order ${orderId}, which has ${whose}`;
    return { outcome: 'ambiguous', reason, detail: { orderId } };
  }
  const { item, known, order } = sought;
  const text = shown.reference ?? '';
  // While the spelling of references is unknown, this answer teaches it; a reference that no
  // spelling explains is reported.
  const reference = isOurs(known, item.reference, text) ? [] : [`reference: shown ${text}`];
  return confirmed(deps, sought, read, compareOrder(order, shown), reference);
}

async function judgeFound(
  deps: JudgeDeps,
  sought: SoughtOrder,
  { orderId }: Candidate,
  signal: AbortSignal,
): Promise<LookupResult> {
  const read = await readFresh(deps, sought, orderId, signal);
  if (!read) return { outcome: 'not_found', complete: false, detail: { orderId, shown: false } };
  const { order: shown } = read;
  const fit = fitOf(sought.known, sought.item.reference, shown.reference ?? null);
  const found = compareOrder(sought.order, shown);
  const { lines, address, amounts, season } = found;
  const differences = [...lines, ...season, ...address, ...amounts];
  const detail = { orderId, orderNo: shown.orderNo ?? null, differences };
  if (!isFitting(fit)) {
    const reason = `order ${orderId} may be it: it is shown with the reference ${shown.reference}`;
    return { outcome: 'possible', reason, detail };
  }
  const isAlike = lines.length + address.length === 0 && (fit !== 'lossy' || amounts.length === 0);
  if (isAlike) return confirmed(deps, sought, read, found, []);
  const reason = `order ${orderId} has this reference, but is not like this document`;
  return { outcome: 'ambiguous', reason, detail };
}

async function mirror(
  deps: JudgeDeps,
  sought: SoughtOrder,
  orderIds: readonly number[],
  signal: AbortSignal,
) {
  const select = () =>
    deps.store.db
      .selectFrom('sales_order')
      .select(['order_id', 'created_at'])
      .where(inKeys('order_id', orderIds))
      .execute();
  const known = new Set((await select()).map((row) => row.order_id));
  for (const id of orderIds.filter((one) => !known.has(one)).slice(0, SHOWN_MAX)) {
    await readFresh(deps, sought, id, signal);
  }
  return new Map((await select()).map((row) => [row.order_id, row.created_at]));
}

async function several(
  deps: JudgeDeps,
  sought: SoughtOrder,
  ours: readonly Candidate[],
  signal: AbortSignal,
): Promise<LookupResult> {
  const orderIds = ours.map(({ orderId }) => orderId).sort((a, b) => a - b);
  await mirror(deps, sought, orderIds, signal);
  const reason = `${ours.length} orders have this reference: ${orderIds.join(', ')}`;
  return { outcome: 'ambiguous', reason, detail: { orderIds } };
}

async function possible(
  deps: JudgeDeps,
  sought: SoughtOrder,
  candidates: readonly Candidate[],
  { since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY }: Window,
  signal: AbortSignal,
): Promise<LookupResult | undefined> {
  const ids = candidates.map(({ orderId }) => orderId);
  const madeAt = await mirror(deps, sought, ids, signal);
  const left = candidates.filter(({ orderId }) => {
    const at = madeAt.get(orderId) ?? since;
    return at >= since && at <= until;
  });
  const [first] = left;
  if (!first) return undefined;
  const orderIds = left.map(({ orderId }) => orderId).sort((a, b) => a - b);
  const reason =
    left.length === 1
      ? `order ${first.orderId} may be this document: ${first.why}`
      : `${left.length} orders may be this document: ${orderIds.join(', ')}; ${first.why}`;
  return { outcome: 'possible', reason, detail: { orderIds } };
}

/**
 * Draws the lookup's result from all orders seen; undefined: none of them can be the document's.
 */
async function conclude(
  deps: JudgeDeps,
  sought: SoughtOrder,
  { ours, perhaps }: Survey,
  window: Window,
  signal: AbortSignal,
): Promise<LookupResult | undefined> {
  const [first, second] = ours;
  if (second) return several(deps, sought, ours, signal);
  // An order whose shown reference has lost letters counts only if it is the only candidate.
  const isAlone = first && (first.fit !== 'lossy' || perhaps.length === 0);
  if (!isAlone) return possible(deps, sought, [...ours, ...perhaps], window, signal);
  if (!first.isBefore) return judgeFound(deps, sought, first, signal);
  const { orderId } = first;
  await mirror(deps, sought, [orderId], signal);
  const reason = `order ${orderId} has this reference, and was there before this was sent`;
  return { outcome: 'ambiguous', reason, detail: { orderId } };
}

// The newest page of the order list is read before sending: another daemon on the same account (an
// old host that still runs after a move) may have sent the order a moment ago, before any pull or
// event. One request serves all orders that are due within a second. Sending does not depend on it:
// a request that fails or takes long is ignored.

export interface NewestOrders {
  /** Lists orders on the newest page with one of these references, ignoring case. */
  withReference(references: readonly string[], signal: AbortSignal): Promise<readonly SalesOrder[]>;
}

/** Milliseconds for which a page counts as the newest. */
const FRESH_MS = 1_000;
const WAIT_MS_MAX = 5_000;

interface Page {
  readonly startedAt: number;
  readonly orders: Promise<readonly SalesOrder[]>;
}

export function createNewestOrders(deps: {
  readonly v1: Pick<V1Client, 'orders'>;
  readonly clock: Clock;
}): NewestOrders {
  const { v1, clock } = deps;
  let page: Page | undefined;
  const read = (): Page => {
    const orders = v1.orders(undefined, { priority: 'push' }).then(
      ({ rows }) => rows,
      (error: unknown) => {
        if (isStoreUnusable(error)) throw error;
        return [];
      },
    );
    return { startedAt: clock.monotonic(), orders };
  };
  return {
    async withReference(references, signal) {
      if (!page || clock.monotonic() - page.startedAt >= FRESH_MS) page = read();
      const enough = new AbortController();
      const timeUp = clock.sleep(WAIT_MS_MAX, AbortSignal.any([signal, enough.signal])).then(
        () => [],
        () => [],
      );
      const rows = await Promise.race([page.orders, timeUp]);
      enough.abort();
      const keys = new Set(references.map(referenceKey));
      return rows.filter(({ reference }) => reference && keys.has(referenceKey(reference)));
    },
  };
}
