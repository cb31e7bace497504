/**
 * The short look of a sweep at an order: one request, for its deliveries. While these are as the
 * mirror has them, nothing was packed, shipped or canceled, and nothing else is asked for. A
 * delivery that is new, changed or missing leads to a read of the whole order, so that no decision
 * sees a delivery beside an order from before it.
 */
import { sql } from 'kysely';
import type { V1Client } from '../client/v1/client.ts';
import type { SalesOrderDelivery } from '../client/v1/schemas.ts';
import type { Clock } from '../lib/clock.ts';
import {
  areMirrored,
  DELIVERY,
  mayHaveShipped,
  noteDeliveriesRead,
  writeDeliveries,
} from '../mirror/sales-order.ts';
import type { ReadSequence } from '../store/state.ts';
import type { Store, Tx } from '../store/store.ts';
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
  readonly alsoWrite?: ((tx: Tx) => Promise<void>) | undefined;
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

/**
 * Tells whether the order may have refunds: some are known, or something of it may have shipped, by
 * these deliveries or by those of the mirror.
 */
export async function mayHaveRefunds(
  { store, clock }: Pick<LookDeps, 'store' | 'clock'>,
  orderId: number,
  deliveries: readonly SalesOrderDelivery[],
): Promise<boolean> {
  const { db } = store;
  if (deliveries.some(isUnderWay)) return true;
  const { rows } = await sql<{ readonly may: number }>`select
    exists (select 1 from delivery d where d.order_id = ${orderId} and d.deleted_at is null
      and ${mayHaveShipped(clock.now())})
    or exists (select 1 from refund where order_id = ${orderId})
    or exists (select 1 from pending_refund where order_id = ${orderId}) may`.execute(db);
  return rows[0]?.may === 1;
}

/** Statuses of a delivery that does not ship, or waits for its parcels. */
const NOT_UNDER_WAY: readonly (string | null)[] = ['pending', 'accepted', 'rejected', 'canceled'];

function isUnderWay({ status, trackAndTrace }: SalesOrderDelivery): boolean {
  if (!NOT_UNDER_WAY.includes(status)) return true;
  return status === 'accepted' && (trackAndTrace?.trackingNumbers.length ?? 0) > 0;
}

/**
 * Reads the deliveries of an order. `alike`: the mirror has them so, and the order counts as looked
 * at; `other`: they differ, or do not tell enough; `whole`: nothing was asked for, because the
 * mirror has the order from a list that is not proved.
 */
export async function lookAtDeliveries(
  deps: LookDeps,
  orderId: number,
  { cause, priority, alsoWrite, signal }: LookCall,
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
    await alsoWrite?.(tx);
    return 'alike';
  });
}
