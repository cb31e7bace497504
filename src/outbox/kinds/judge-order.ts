/** Whether an order of the service is what a document became, by everything that it shows. */

import type { NewOrder } from '../../client/v1/order-body.ts';
import type { CreatedOrder, SalesOrder, SalesOrderDelivery } from '../../client/v1/schemas.ts';
import type { JsonObject } from '../../lib/json.ts';
import { inKeys } from '../../store/bulk.ts';
import type { Store } from '../../store/store.ts';
import {
  type Candidate,
  isFitting,
  otherOwner,
  type Sought,
  type Survey,
} from '../evidence/candidates.ts';
import { fitOf } from '../evidence/known-spellings.ts';
import { isPlausible } from '../evidence/learn-spelling.ts';
import { seasonsShown } from '../evidence/seasons.ts';
import type { Finding } from '../item.ts';
import { type ReadOrder, unlessGone } from '../service.ts';
import { compareOrder, type OrderDifferences, tellOrder } from './compare.ts';

export interface JudgeDeps {
  readonly store: Store;
  readonly readOrder: ReadOrder;
}

export interface SoughtOrder extends Sought {
  readonly order: NewOrder;
}

/** When an order may have been made that is ours; epoch milliseconds. */
export interface Window {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

/** Orders that are read for a person to compare. */
const SHOWN_MAX = 5;

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
): Promise<Finding> {
  const { orderId, orderNo } = shown;
  const { differences: own, holds } = tellOrder(found, order, await seasonsShown(store.db));
  const differences = [...reference, ...own];
  const isAlike = found.lines.length === 0 || found.isPriceOnly;
  return {
    found: 'yes',
    detail: { orderId, orderNo: orderNo ?? null, reference: shown.reference ?? null, differences },
    ...{ differences, holds },
    result: orderResult(orderId, orderNo, deliveries),
    // An answer with other pieces may be that to another order.
    ...(isAlike || item.result === null ? { shownReference: shown.reference ?? '' } : {}),
    ...(order.seasonName === undefined ? {} : { seasonSeen: !found.isSeasonUnseen }),
  };
}

/** What the service itself answered with is ours, however it looks, unless it is another's. */
export async function judgeAnswered(
  deps: JudgeDeps,
  sought: SoughtOrder,
  orderId: number,
  signal: AbortSignal,
): Promise<Finding> {
  const read = await readFresh(deps, sought, orderId, signal);
  if (!read) return { found: 'no', complete: false, detail: { orderId, shown: false } };
  const { order: shown } = read;
  const other = await otherOwner(deps.store.db, sought, shown);
  if (other) {
    const whose = `the reference of outbox ${other.outboxId} (${other.reference})`;
    const reason = `the service answered with order ${orderId}, which has ${whose}`;
    return { found: 'unclear', reason, detail: { orderId } };
  }
  const { item, known, order } = sought;
  const sent = item.reference;
  const text = shown.reference ?? '';
  // How it spells references is learned from this one; what is no spelling of ours is told.
  const isOurs = fitOf(known, sent, text) !== 'no' || isPlausible({ sent, shown: text });
  const reference = isOurs ? [] : [`reference: shown ${text}`];
  return confirmed(deps, sought, read, compareOrder(order, shown), reference);
}

/** Reads the only one that bears our reference, and holds it against what was sent. */
async function judgeFound(
  deps: JudgeDeps,
  sought: SoughtOrder,
  { orderId }: Candidate,
  signal: AbortSignal,
): Promise<Finding> {
  const read = await readFresh(deps, sought, orderId, signal);
  if (!read) return { found: 'no', complete: false, detail: { orderId, shown: false } };
  const { order: shown } = read;
  const fit = fitOf(sought.known, sought.item.reference, shown.reference ?? null);
  const found = compareOrder(sought.order, shown);
  const { lines, address, amounts, season } = found;
  const differences = [...lines, ...season, ...address, ...amounts];
  const detail = { orderId, orderNo: shown.orderNo ?? null, differences };
  if (!isFitting(fit)) {
    const reason = `order ${orderId} may be it: it is shown with the reference ${shown.reference}`;
    return { found: 'maybe', reason, detail };
  }
  const isAlike = lines.length + address.length === 0 && (fit !== 'lossy' || amounts.length === 0);
  if (isAlike) return confirmed(deps, sought, read, found, []);
  const reason = `order ${orderId} has this reference, but is not like this document`;
  return { found: 'unclear', reason, detail };
}

/** Into the mirror with them, so that a person can hold them against each other. */
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
): Promise<Finding> {
  const orderIds = ours.map(({ orderId }) => orderId).sort((a, b) => a - b);
  await mirror(deps, sought, orderIds, signal);
  const reason = `${ours.length} orders have this reference: ${orderIds.join(', ')}`;
  return { found: 'unclear', reason, detail: { orderIds } };
}

/** What cannot be told from ours. */
async function possible(
  deps: JudgeDeps,
  sought: SoughtOrder,
  candidates: readonly Candidate[],
  { since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY }: Window,
  signal: AbortSignal,
): Promise<Finding | undefined> {
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
  return { found: 'maybe', reason, detail: { orderIds } };
}

/** What a survey leads to; undefined: nothing that was seen can be the document. */
export async function conclude(
  deps: JudgeDeps,
  sought: SoughtOrder,
  { ours, perhaps }: Survey,
  window: Window,
  signal: AbortSignal,
): Promise<Finding | undefined> {
  const [first, second] = ours;
  if (second) return several(deps, sought, ours, signal);
  // Where letters of ours are lost in it, it must be the only one that can be meant.
  const isAlone = first && (first.fit !== 'lossy' || perhaps.length === 0);
  if (!isAlone) return possible(deps, sought, [...ours, ...perhaps], window, signal);
  if (!first.isBefore) return judgeFound(deps, sought, first, signal);
  const { orderId } = first;
  await mirror(deps, sought, [orderId], signal);
  const reason = `order ${orderId} has this reference, and was there before this was sent`;
  return { found: 'unclear', reason, detail: { orderId } };
}
