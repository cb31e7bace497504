/**
 * Which deliveries must be decided now: pending ones that were never evaluated, or whose own
 * row, order or rule set differs from what they were evaluated on, or whose time has come again.
 * Level-triggered: it follows from the database alone and is safe to ask at any moment.
 */
import { sql } from 'kysely';
import type { Db, Tx } from '../store/store.ts';

export interface DueQuery {
  readonly rulesKey: string;
  readonly now: number;
  /** A delivery that changed less than this ago may still be growing. */
  readonly settleMs: number;
}

export interface DueDelivery {
  readonly orderDeliveryId: number;
  readonly trigger: 'new' | 'changed' | 'rules' | 'tick';
}

function candidates(db: Db, aside: readonly number[]) {
  return db
    .selectFrom('delivery as d')
    .innerJoin('sales_order as o', 'o.order_id', 'd.order_id')
    .leftJoin('evaluation as e', 'e.order_delivery_id', 'd.order_delivery_id')
    .where('d.status', '=', 'pending')
    .where('d.deleted_at', 'is', null)
    .where('d.order_delivery_id', 'not in', aside)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('outbox')
            .select('outbox_id')
            .where('lane', '=', sql<string>`'delivery/' || d.order_delivery_id`)
            .where('ended_at', 'is', null),
        ),
      ),
    );
}

/** The oldest deliveries first: budgets are used up in a fixed order. */
export async function dueDeliveries(
  db: Db,
  query: DueQuery,
  aside: readonly number[],
  limit: number,
): Promise<DueDelivery[]> {
  const rows = await candidates(db, aside)
    .select([
      'd.order_delivery_id',
      'd.content_hash',
      'o.content_hash as order_content_hash',
      'e.delivery_hash',
      'e.order_hash',
      'e.rules_key',
    ])
    .where('d.changed_at', '<=', query.now - query.settleMs)
    .where((eb) =>
      eb.or([
        eb('e.order_delivery_id', 'is', null),
        eb('e.delivery_hash', '!=', eb.ref('d.content_hash')),
        eb('e.order_hash', '!=', eb.ref('o.content_hash')),
        eb('e.rules_key', '!=', query.rulesKey),
        eb('e.due_at', '<=', query.now),
      ]),
    )
    .orderBy('d.order_delivery_id')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    orderDeliveryId: row.order_delivery_id,
    trigger:
      row.delivery_hash === null
        ? 'new'
        : row.delivery_hash !== row.content_hash || row.order_hash !== row.order_content_hash
          ? 'changed'
          : row.rules_key !== query.rulesKey
            ? 'rules'
            : 'tick',
  }));
}

/** When the next delivery falls due, if one waits. */
export async function nextDueDelivery(
  db: Db,
  settleMs: number,
  aside: readonly number[],
): Promise<number | undefined> {
  const row = await candidates(db, aside)
    .select((eb) =>
      eb.fn
        .min(
          sql<number>`case when e.order_delivery_id is null
            or e.delivery_hash <> d.content_hash then d.changed_at + ${settleMs}
            else e.due_at end`,
        )
        .as('due_at'),
    )
    .executeTakeFirst();
  return row?.due_at ?? undefined;
}

/**
 * Whether somebody else put the delivery back to pending. The daemon itself never does, so a
 * change from another status to pending is a person's, and what a person touched is left alone.
 */
export async function wasPutBack(tx: Tx, orderDeliveryId: number): Promise<boolean> {
  const row = await tx
    .selectFrom('change')
    .select('seq')
    .where('entity', '=', 'delivery')
    .where('key', '=', String(orderDeliveryId))
    .where('op', '=', 'update')
    .where(sql<string>`diff->>'$.status[1]'`, '=', 'pending')
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
