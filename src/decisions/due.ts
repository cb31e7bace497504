/**
 * Finds pending deliveries that are due by their own rows: they were never evaluated; their content
 * or their order changed; their push failed; a planned time has come; their evaluation failed.
 * Everything else that can change a decision is found by the passes (reevaluation.ts).
 *
 * Triggers keep the time at which each is due (`claim.due_at`), in the transaction of what makes it
 * so: the search looks at what is due alone, however many are held. It reads the database alone,
 * so it may be repeated at any moment. A sweep compares the rows themselves, a slice at a time, so
 * that no fault of a trigger leaves a delivery forgotten.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import { makeDue } from '../mirror/upkeep.ts';
import { inKeys } from '../store/bulk.ts';
import type { Db, Store } from '../store/store.ts';
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
  /** Deliveries that may still grow, and the time at which the first of them is settled. */
  readonly unsettled: readonly number[];
  readonly settledAt: number;
}

/** Number of deliveries that one query searches, before other work gets its turn. */
const LOOK_ROWS = 200;
/** Where the sweep begins: below every id. */
export const FIRST = Number.MIN_SAFE_INTEGER;
/** Number of pending deliveries that one step of the sweep looks at. */
const SWEEP_ROWS = 2_000;
/**
 * Number of planned evaluations in one round with new deliveries, so that neither kind waits long.
 */
const AGAIN_BESIDE_NEW = 10;

/**
 * SQL: the delivery or its order changed since it was evaluated. Future timestamps are ignored:
 * they were written before the clock was set back.
 */
function hasChanged(now: number): RawBuilder<boolean> {
  return sql<boolean>`(e.delivery_hash <> d.content_hash or e.order_hash <> ${orderHash('o')}
    or (d.changed_at > e.evaluated_at and d.changed_at <= ${now}))`;
}

/** SQL: pending deliveries whose push is not on its way, with why they may be due. */
function pendingWith(db: Db, now: number) {
  return db
    .selectFrom('claim as c')
    .innerJoin('delivery as d', 'd.order_delivery_id', 'c.order_delivery_id')
    .innerJoin('sales_order as o', 'o.order_id', 'd.order_id')
    .leftJoin('evaluation as e', 'e.order_delivery_id', 'd.order_delivery_id')
    .select(['d.order_delivery_id as id', 'd.changed_at', 'c.due_at'])
    .select(['e.evaluated_at', 'e.due_why'])
    .select(sql<number>`coalesce(${hasChanged(now)}, 0)`.as('has_changed'))
    .select(sql<number>`e.rules_key = '' or ${hasFailedPush(now)}`.as('has_failed'))
    .where('d.status', '=', 'pending')
    .where('d.deleted_at', 'is', null)
    .where((eb) => eb.not(hasOpenPush('d.order_delivery_id')));
}

function pendingAmong(db: Db, now: number, ids: readonly number[]) {
  return pendingWith(db, now).where(inKeys('c.order_delivery_id', ids)).execute();
}

type DueRow = Awaited<ReturnType<typeof pendingAmong>>[number];

/**
 * Yields what is due from `from` to `upTo`, in the order of time. The join stays on `claim`: from
 * the few that are due to their rows.
 */
async function* dueBetween(
  db: Db,
  now: number,
  from: number,
  upTo: number,
): AsyncGenerator<DueRow> {
  for (let after = { at: from, id: FIRST }; ; ) {
    const slice = await db
      .selectFrom('claim')
      .select(['order_delivery_id as id', 'due_at as at'])
      .where('due_at', 'is not', null)
      .where('due_at', '<=', upTo)
      .where(sql<boolean>`(due_at, order_delivery_id) > (${after.at}, ${after.id})`)
      .orderBy('due_at')
      .orderBy('order_delivery_id')
      .limit(LOOK_ROWS)
      .execute();
    const ids = slice.map(({ id }) => id);
    const rows = ids.length === 0 ? [] : await pendingAmong(db, now, ids);
    const found = new Map(rows.map((row) => [row.id, row]));
    for (const id of ids) {
      const row = found.get(id);
      if (row) yield row;
    }
    const last = slice.at(-1);
    if (!last || slice.length < LOOK_ROWS) return;
    after = { at: last.at ?? upTo, id: last.id };
    await nextTurn();
  }
}

function triggerOf({ evaluated_at, has_changed, has_failed, due_why }: DueRow): Trigger {
  if (evaluated_at === null) return 'new';
  if (has_changed === 1) return 'changed';
  return has_failed === 1 ? 'push' : (due_why ?? 'hold');
}

/** Time of the next planned evaluation of a pending delivery; Infinity when none is planned. */
export async function nextDueAt(db: Db, now: number): Promise<number> {
  const row = await db
    .selectFrom('claim')
    .select((eb) => eb.fn.min('due_at').as('due_at'))
    .where('due_at', '>', now)
    .executeTakeFirst();
  return row?.due_at ?? Infinity;
}

/** Sorts rows into what is due first, what is due later, and what may still grow. */
function createSorter({ now, settleMs }: DueQuery, aside: ReadonlySet<number>) {
  const first: DueDelivery[] = [];
  const later: DueDelivery[] = [];
  const unsettled: number[] = [];
  let settledAt = Infinity;
  return {
    first,
    later,
    take(row: DueRow): void {
      if (aside.has(row.id)) return;
      const at = row.changed_at + settleMs;
      // After the clock was set back no delivery waits longer than its own settling time.
      const isSettled = at <= now || at > now + 2 * settleMs;
      const due = { orderDeliveryId: row.id, trigger: triggerOf(row) };
      if (!isSettled) {
        unsettled.push(row.id);
        settledAt = Math.min(settledAt, at);
      } else if (['new', 'changed', 'push'].includes(due.trigger)) first.push(due);
      else later.push(due);
    },
    sorted: (limit: number, places: number): Due => {
      return { first: first.slice(0, limit), later: later.slice(0, places), unsettled, settledAt };
    },
  };
}

/** Those of these deliveries that are due. */
export async function dueAmong(
  db: Db,
  query: DueQuery,
  aside: ReadonlySet<number>,
  ids: readonly number[],
): Promise<Due> {
  const sorter = createSorter(query, aside);
  for (const row of await pendingAmong(db, query.now, ids)) {
    if (row.due_at !== null && row.due_at <= query.now) sorter.take(row);
  }
  return sorter.sorted(ids.length, ids.length);
}

/** All deliveries that are due, up to `limit` of each kind. */
export async function dueDeliveries(
  db: Db,
  query: DueQuery,
  aside: ReadonlySet<number>,
  limit: number,
): Promise<Due> {
  const { now } = query;
  const sorter = createSorter(query, aside);
  const { first, later, take } = sorter;
  // What is due at once, before all that was planned: new ones, then changed ones.
  for await (const row of dueBetween(db, now, -1, 0)) {
    take(row);
    if (first.length >= limit || later.length >= limit) break;
  }
  const places = first.length > 0 ? AGAIN_BESIDE_NEW : limit;
  for await (const row of dueBetween(db, now, 1, now)) {
    if (later.length >= places) break;
    take(row);
  }
  const failed = (await evaluationErrorIds(db)).filter((id) => !aside.has(id));
  if (failed.length > 0 && later.length < places) {
    const known = new Set([...first, ...later].map((due) => due.orderDeliveryId));
    for (const row of await pendingAmong(db, now, failed)) if (!known.has(row.id)) take(row);
  }
  return sorter.sorted(limit, places);
}

/**
 * Looks whether some of the pending deliveries above `after` are due by their own rows and nobody
 * was told: all have their turn, a slice each time. Gives where the next one begins, and the ids of
 * what was found, which is due at once.
 */
export async function sweepPending(
  store: Store,
  now: number,
  after: number,
): Promise<{ readonly next: number; readonly found: readonly number[] }> {
  const slice = await store.db
    .selectFrom('delivery')
    .select('order_delivery_id as id')
    .where('status', '=', 'pending')
    .where('order_delivery_id', '>', after)
    .orderBy('order_delivery_id')
    .limit(SWEEP_ROWS)
    .execute();
  const upTo = slice.at(-1)?.id;
  if (upTo === undefined) return { next: FIRST, found: [] };
  const rows = await store.db
    .selectFrom('delivery as d')
    .innerJoin('sales_order as o', 'o.order_id', 'd.order_id')
    .leftJoin('evaluation as e', 'e.order_delivery_id', 'd.order_delivery_id')
    .leftJoin('claim as c', 'c.order_delivery_id', 'd.order_delivery_id')
    .select('d.order_delivery_id as id')
    .where('d.status', '=', 'pending')
    .where('d.order_delivery_id', '>', after)
    .where('d.order_delivery_id', '<=', upTo)
    .where('d.deleted_at', 'is', null)
    // An evaluation with a future timestamp was made before the clock was set back.
    .where(
      sql<boolean>`(e.order_delivery_id is null or e.due_at <= ${now} or e.evaluated_at > ${now}
        or ${hasChanged(now)} or e.rules_key = '' or ${hasFailedPush(now)})`,
    )
    .where(sql<boolean>`coalesce(c.due_at > ${now}, 1)`)
    .where((eb) => eb.not(hasOpenPush('d.order_delivery_id')))
    .execute();
  const found = rows.map(({ id }) => id);
  if (found.length > 0) await store.transaction((tx) => makeDue(tx, found));
  return { next: slice.length < SWEEP_ROWS ? FIRST : upTo, found };
}
