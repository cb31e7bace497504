/**
 * The short look of a sweep at an order: one request, for its deliveries. While these are as the
 * mirror has them, nothing was packed, shipped or canceled, and nothing else is asked for. A
 * delivery that is new, changed or missing leads to a read of the whole order, so that no decision
 * sees a delivery beside an order from before it.
 */
import type { V1Client } from '../client/v1/client.ts';
import type { SalesOrderDelivery } from '../client/v1/schemas.ts';
import type { Clock } from '../lib/clock.ts';
import { areMirrored, DELIVERY, mayHaveShipped, writeDeliveries } from '../mirror/delivery.ts';
import { noteDeliveriesRead } from '../mirror/sales-order.ts';
import type { ReadSequence } from '../store/state.ts';
import type { Db, Store } from '../store/store.ts';
import type { LevelWatch } from './account-traits.ts';
import { HAS_DELIVERIES, isForeign, keepList, oldestOf } from './order-answers.ts';
import type { OrderLooks } from './order-looks.ts';
import { readSeqAsOf } from './run/answer-age.ts';

export interface LookDeps {
  readonly store: Store;
  readonly v1: Pick<V1Client, 'deliveries'>;
  readonly levels: LevelWatch;
  readonly sequence: ReadSequence;
  readonly clock: Clock;
  readonly looks?: Pick<OrderLooks, 'isListProved' | 'spend'>;
}

interface LookCall {
  readonly cause: string;
  readonly priority: 'push' | 'read' | 'pull';
  readonly signal: AbortSignal;
}

/** Beginning of the source of a row whose content came from a list. */
const FROM_LIST = 'run:';

/** Status of the mirrored order, if the order's content is as good as that of its own address. */
async function statusOf({ store, looks }: LookDeps, orderId: number): Promise<string | undefined> {
  const order = await store.db
    .selectFrom('sales_order')
    .select(['status', 'source'])
    .where('order_id', '=', orderId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  const isFromList = order?.source.startsWith(FROM_LIST) ?? false;
  return isFromList && looks?.isListProved() !== true ? undefined : order?.status;
}

/** Tells whether refunds of the order are in the mirror, or something of it may have shipped. */
export async function mayHaveRefunds(
  db: Db,
  orderId: number,
  deliveries: readonly Pick<SalesOrderDelivery, 'status'>[],
): Promise<boolean> {
  if (deliveries.some(({ status }) => mayHaveShipped(status))) return true;
  const known = await db
    .selectFrom('delivery')
    .select('status')
    .where('order_id', '=', orderId)
    .where('deleted_at', 'is', null)
    .execute();
  if (known.some(({ status }) => mayHaveShipped(status))) return true;
  for (const table of ['refund', 'pending_refund'] as const) {
    const rows = db.selectFrom(table).select('order_id').where('order_id', '=', orderId).limit(1);
    if ((await rows.execute()).length > 0) return true;
  }
  return false;
}

/**
 * Reads the deliveries of an order. `alike`: the mirror has them so, and the order counts as looked
 * at; `other`: they differ, or do not tell enough; `whole`: nothing was asked for, because the
 * mirror has the order from a list that is not proved.
 */
export async function lookAtDeliveries(
  deps: LookDeps,
  orderId: number,
  { cause, priority, signal }: LookCall,
): Promise<'alike' | 'other' | 'whole'> {
  const { store, v1, levels, sequence, clock, looks } = deps;
  const status = await statusOf(deps, orderId);
  if (status === undefined || !levels.isThere('orderParts')) return 'whole';
  const startedAt = clock.now();
  const readSeq = await sequence.next();
  const beforeSend = (): void => looks?.spend(1);
  const call = { priority, signal, beforeSend };
  const list = await v1.deliveries(orderId, call).catch((error: unknown) => {
    // The read of the whole order finds out whether the account lacks the list.
    if (isForeign(error)) return undefined;
    throw error;
  });
  if (list === undefined || list.rejects.length > 0) return 'other';
  if (!list.isUnknown) await levels.answered('orderParts');
  else if (HAS_DELIVERIES.test(status)) return 'other';
  const oldest = oldestOf(orderId, startedAt, [list]);
  const asOf = oldest < startedAt ? await readSeqAsOf(store.db, oldest) : readSeq;
  return store.transaction(async (tx) => {
    if (!(await areMirrored(tx, orderId, list.rows))) return 'other';
    const provenance = { source: `refresh:${cause}`, readSeq: asOf, at: clock.now() };
    const writer = { definition: DELIVERY, write: writeDeliveries };
    const numberOf = (row: SalesOrderDelivery): number => row.orderDeliveryId;
    await keepList(tx, orderId, list, { ...writer, numberOf }, provenance);
    await noteDeliveriesRead(tx, orderId, oldest);
    return 'alike';
  });
}
