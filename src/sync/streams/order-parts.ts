/**
 * Lists that the service has per order only: deliveries, refunds and pending refunds. The service
 * removes none of their rows, so lists that lost many open ones are wrong. A few are marked as
 * deleted when two full walks in a row and all reads between missed them, and their own addresses
 * do not know them.
 */
import { type RawBuilder, sql } from 'kysely';
import { isNotFound } from '../../client/http/answer.ts';
import type { V1Client } from '../../client/v1/client.ts';
import { PENDING_REFUND, REFUND } from '../../mirror/refund.ts';
import type { EntityDefinition } from '../../mirror/rows/prepared.ts';
import { DELIVERY, orderSlices } from '../../mirror/sales-order.ts';
import type { SqlValue } from '../../store/bulk.ts';
import type { Db } from '../../store/store.ts';
import type { ReadAlso } from '../read-order.ts';
import type { SeenBy, StreamRun } from '../stream.ts';

export type PartAddresses = Pick<V1Client, 'delivery' | 'refund' | 'pendingRefund'>;

type Call = StreamRun['call'];

export interface OrderPart {
  readonly entity: EntityDefinition;
  /** Name of the member that identifies a record in the service's answer. */
  readonly wireKey: string;
  /** Statuses of rows that are open. */
  readonly open: readonly string[];
  /** SQL condition on the row `p`: the service need not show it any more. */
  readonly isOver?: RawBuilder<boolean>;
  readonly ask: (v1: PartAddresses, orderId: number, id: number, call: Call) => Promise<unknown>;
  /** Plural name of the rows, for messages. */
  readonly words: string;
}

const DELIVERIES: OrderPart = {
  entity: DELIVERY,
  wireKey: 'orderDeliveryId',
  open: ['pending', 'accepted'],
  ask: (v1, ...at) => v1.delivery(...at),
  words: 'open deliveries',
};
const REFUNDS: OrderPart = {
  entity: REFUND,
  wireKey: 'orderRefundId',
  open: ['pending', 'accepted'],
  ask: (v1, ...at) => v1.refund(...at),
  words: 'open refunds',
};
const PENDING_REFUNDS: OrderPart = {
  entity: PENDING_REFUND,
  wireKey: 'pendingRefundId',
  open: ['pending'],
  // A pending refund is over when a refund came of it.
  isOver: sql`exists (select 1 from refund r
    where r.order_id = p.order_id and r.pending_refund_id = p.pending_refund_id)`,
  ask: (v1, ...at) => v1.pendingRefund(...at),
  words: 'pending refunds',
};

export function orderParts({ refunds, pendingRefunds }: ReadAlso): readonly OrderPart[] {
  return [DELIVERIES, ...(refunds ? [REFUNDS] : []), ...(pendingRefunds ? [PENDING_REFUNDS] : [])];
}

export interface PartCount {
  readonly known: number;
  /** Rows that no read has seen since the walk. */
  readonly missing: number;
}

/**
 * SQL condition: the row is live and open. The plus keeps SQLite from scanning, by the index of
 * statuses, all rows ever accepted.
 */
function isOpen({ open, isOver = sql`false` }: OrderPart): RawBuilder<boolean> {
  return sql<boolean>`(p.deleted_at is null and +p.status in (${sql.join(open)})
    and not ${isOver})`;
}

/**
 * SQL condition: the full pull of orders did not see the part; an unreadable part counts as seen.
 */
function isMissing(
  { entity, wireKey }: OrderPart,
  { readSeq, startedAt }: SeenBy,
): RawBuilder<boolean> {
  const id = sql`raw->>${wireKey}`;
  return sql<boolean>`(p.read_seq < ${readSeq} and p.${sql.ref(entity.key)} not in (
    select ${id} from quarantine
    where entity = ${entity.entity} and last_seen_at >= ${startedAt}
      and json_valid(raw) and ${id} is not null))`;
}

/** Counts the open rows of these orders, and how many of them the walk missed. */
export async function countOpen(
  db: Db,
  part: OrderPart,
  orderIds: readonly number[],
  walk: SeenBy,
): Promise<PartCount> {
  const { rows } = await sql<PartCount>`
    select count(*) known, count(*) filter (where ${isMissing(part, walk)}) missing
    from ${sql.table(part.entity.table)} p
    where p.order_id in (select value from json_each(${JSON.stringify(orderIds)}))
      and ${isOpen(part)}`.execute(db);
  return rows[0] ?? { known: 0, missing: 0 };
}

/**
 * Keys of open rows that are missing from orders whose details were read since the walk, or from
 * deleted orders.
 */
export async function missingOpen(db: Db, part: OrderPart, walk: SeenBy): Promise<SqlValue[]> {
  const missing: SqlValue[] = [];
  for await (const { from, before } of orderSlices(db)) {
    const { rows } = await sql<{ readonly key: SqlValue }>`
      select p.${sql.ref(part.entity.key)} key from sales_order o
      cross join ${sql.table(part.entity.table)} p on p.order_id = o.order_id
      where o.order_id >= ${from} and o.order_id < ${before}
        and (o.details_read_at > ${walk.startedAt} or o.deleted_at is not null)
        and ${isOpen(part)} and ${isMissing(part, walk)}`.execute(db);
    missing.push(...rows.map(({ key }) => key));
  }
  return missing;
}

/** Tells whether a row's own address does not know it; an inconclusive answer means no. */
export async function isGone(
  { db, v1 }: { readonly db: () => Db; readonly v1: PartAddresses },
  { entity, ask }: OrderPart,
  key: SqlValue,
  call: Call,
): Promise<boolean> {
  const { rows } = await sql<{ readonly id: number }>`select order_id id
    from ${sql.table(entity.table)} where ${sql.ref(entity.key)} = ${key}`.execute(db());
  try {
    await ask(v1, rows[0]?.id ?? 0, Number(key), call);
    return false;
  } catch (error) {
    call.signal.throwIfAborted();
    return isNotFound(error);
  }
}
