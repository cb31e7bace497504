/**
 * Finds pending deliveries that are due by their own rows: they were never evaluated; their content
 * or their order changed; their push failed; a planned time has come; their evaluation failed.
 * Everything else that can change a decision is found by the passes (reevaluation.ts).
 *
 * The search reads the database alone, so it may be repeated at any moment.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import { inKeys } from '../store/bulk.ts';
import type { Db } from '../store/store.ts';
import { orderHash } from './facts/order.ts';
import { evaluationErrorIds } from './incidents.ts';
import type { Trigger } from './judgement.ts';
import { hasFailedPush, hasOpenPush } from './push.ts';

export interface DueQuery {
  readonly now: number;
  /**
   * Milliseconds without a change after which a delivery counts as settled: before, it may still
   * grow.
   */
  readonly settleMs: number;
}

export interface DueDelivery {
  readonly orderDeliveryId: number;
  readonly trigger: Trigger;
}

export interface Due {
  /** Deliveries that are new, changed, or whose push failed; the oldest first. */
  readonly first: readonly DueDelivery[];
  /** Deliveries whose planned time of evaluation has come; the oldest first. */
  readonly later: readonly DueDelivery[];
  /**
   * Time at which the next delivery is due, in epoch milliseconds, if this list leaves none out.
   */
  readonly nextAt: number;
}

/** Number of pending deliveries that one query searches, before other work gets its turn. */
const LOOK_ROWS = 2_000;
/**
 * Number of planned evaluations in one round with new deliveries, so that neither kind waits long.
 */
const AGAIN_BESIDE_NEW = 10;

/** Range of delivery ids: above `after`, up to and including `upTo`. */
interface Span {
  readonly after: number;
  readonly upTo: number;
}

/**
 * Yields the ids of pending deliveries in ranges, the oldest first: tens of thousands may be held.
 */
async function* pendingSpans(db: Db): AsyncGenerator<Span> {
  for (let after = Number.MIN_SAFE_INTEGER; ; ) {
    const end = await db
      .selectFrom('delivery')
      .select('order_delivery_id as upTo')
      .where('status', '=', 'pending')
      .where('order_delivery_id', '>', after)
      .orderBy('order_delivery_id')
      .limit(1)
      .offset(LOOK_ROWS - 1)
      .executeTakeFirst();
    yield { after, upTo: end?.upTo ?? Number.MAX_SAFE_INTEGER };
    if (!end) return;
    after = end.upTo;
    await nextTurn();
  }
}

/**
 * SQL: the delivery or its order changed since it was evaluated. Future timestamps are ignored:
 * they were written before the clock was set back.
 */
function hasChanged(now: number): RawBuilder<boolean> {
  return sql<boolean>`(e.delivery_hash <> d.content_hash or e.order_hash <> ${orderHash('o')}
    or (d.changed_at > e.evaluated_at and d.changed_at <= ${now}))`;
}

async function dueIn(db: Db, { after, upTo }: Span, now: number, failed: readonly number[]) {
  return (
    db
      .selectFrom('delivery as d')
      .innerJoin('sales_order as o', 'o.order_id', 'd.order_id')
      .leftJoin('evaluation as e', 'e.order_delivery_id', 'd.order_delivery_id')
      .select(['d.order_delivery_id as id', 'd.changed_at', 'e.evaluated_at', 'e.due_why'])
      .select(sql<number>`coalesce(${hasChanged(now)}, 0)`.as('has_changed'))
      .select(sql<number>`e.rules_key = '' or ${hasFailedPush(now)}`.as('has_failed'))
      .where('d.status', '=', 'pending')
      .where('d.order_delivery_id', '>', after)
      .where('d.order_delivery_id', '<=', upTo)
      .where('d.deleted_at', 'is', null)
      // An evaluation with a future timestamp was made before the clock was set back.
      .where(
        sql<boolean>`(e.order_delivery_id is null or e.due_at <= ${now} or e.evaluated_at > ${now}
        or ${hasChanged(now)} or e.rules_key = '' or ${hasFailedPush(now)}
        or ${inKeys('d.order_delivery_id', failed)})`,
      )
      .where((eb) => eb.not(hasOpenPush('d.order_delivery_id')))
      .orderBy('d.order_delivery_id')
      .execute()
  );
}

type DueRow = Awaited<ReturnType<typeof dueIn>>[number];

function triggerOf({ evaluated_at, has_changed, has_failed, due_why }: DueRow): Trigger {
  if (evaluated_at === null) return 'new';
  if (has_changed === 1) return 'changed';
  return has_failed === 1 ? 'push' : (due_why ?? 'hold');
}

/** Time of the next planned evaluation of a pending delivery; Infinity when none is planned. */
async function nextDueAt(db: Db, now: number): Promise<number> {
  const row = await db
    .selectFrom('evaluation')
    .select((eb) => eb.fn.min('due_at').as('due_at'))
    .where('due_at', '>', now)
    .executeTakeFirst();
  return row?.due_at ?? Infinity;
}

export async function dueDeliveries(
  db: Db,
  { now, settleMs }: DueQuery,
  aside: ReadonlySet<number>,
  limit: number,
): Promise<Due> {
  const failed = await evaluationErrorIds(db);
  const first: DueDelivery[] = [];
  const later: DueDelivery[] = [];
  let nextAt = await nextDueAt(db, now);
  for await (const span of pendingSpans(db)) {
    for (const row of await dueIn(db, span, now, failed)) {
      const settledAt = row.changed_at + settleMs;
      // After the clock was set back no delivery waits longer than its own settling time.
      const isSettled = settledAt <= now || settledAt > now + 2 * settleMs;
      const due = { orderDeliveryId: row.id, trigger: triggerOf(row) };
      if (aside.has(row.id)) continue;
      if (!isSettled) nextAt = Math.min(nextAt, settledAt);
      else if (['new', 'changed', 'push'].includes(due.trigger)) first.push(due);
      else later.push(due);
    }
    if (first.length >= limit) break;
  }
  const places = first.length > 0 ? AGAIN_BESIDE_NEW : limit;
  return { first: first.slice(0, limit), later: later.slice(0, places), nextAt };
}
