/**
 * Which deliveries must be decided now: pending ones that were never evaluated, or whose own
 * row, order or rule set differs from what they were evaluated on, whose push came to nothing, or
 * whose time has come again.
 * Level-triggered: it follows from the database alone and is safe to ask at any moment.
 */
import { sql } from 'kysely';
import { inKeys } from '../store/bulk.ts';
import type { Db, Tx } from '../store/store.ts';
import { hasFailedPush, hasOpenPush, wasUndone } from './push.ts';

export interface DueQuery {
  readonly rulesKey: string;
  readonly now: number;
  /** A delivery that changed less than this ago may still be growing. */
  readonly settleMs: number;
}

export interface DueDelivery {
  readonly orderDeliveryId: number;
  readonly trigger: 'new' | 'changed' | 'rules' | 'push' | 'tick';
}

function candidates(db: Db, aside: readonly number[]) {
  return db
    .selectFrom('delivery as d')
    .innerJoin('sales_order as o', 'o.order_id', 'd.order_id')
    .leftJoin('evaluation as e', 'e.order_delivery_id', 'd.order_delivery_id')
    .where('d.status', '=', 'pending')
    .where('d.deleted_at', 'is', null)
    .where((eb) => eb.not(inKeys('d.order_delivery_id', aside)))
    .where((eb) => eb.not(hasOpenPush('d.order_delivery_id')));
}

interface Compared {
  readonly content_hash: string;
  readonly order_content_hash: string;
  readonly changed_at: number;
  readonly delivery_hash: string | null;
  readonly order_hash: string | null;
  readonly evaluated_at: number | null;
  readonly rules_key: string | null;
  readonly failed_push: number;
}

function triggerOf(row: Compared, rulesKey: string): DueDelivery['trigger'] {
  if (row.evaluated_at === null) return 'new';
  const changed =
    row.delivery_hash !== row.content_hash ||
    row.order_hash !== row.order_content_hash ||
    row.changed_at > row.evaluated_at;
  if (changed) return 'changed';
  if (row.rules_key !== rulesKey) return 'rules';
  return row.failed_push === 1 ? 'push' : 'tick';
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
      'd.changed_at',
      'e.evaluated_at',
      'e.rules_key',
      sql<number>`${hasFailedPush()}`.as('failed_push'),
    ])
    .where('d.changed_at', '<=', query.now - query.settleMs)
    .where((eb) =>
      eb.or([
        eb('e.order_delivery_id', 'is', null),
        eb('e.delivery_hash', '!=', eb.ref('d.content_hash')),
        // Changed and changed back: somebody did something, though the row looks as before.
        eb('d.changed_at', '>', eb.ref('e.evaluated_at')),
        hasFailedPush(),
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
    trigger: triggerOf(row, query.rulesKey),
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
            or e.delivery_hash <> d.content_hash or d.changed_at > e.evaluated_at
            or e.due_at < d.changed_at + ${settleMs} then d.changed_at + ${settleMs}
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
 * It shows in the change feed, or, when it came before we read the accept back, in a push that
 * was answered and refused.
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
  return row !== undefined || (await wasUndone(tx, orderDeliveryId));
}
