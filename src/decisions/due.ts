/**
 * Which deliveries must be decided now: pending ones that were never evaluated, or whose own row,
 * order or rule set differs from what they were evaluated on, whose push came to nothing, or whose
 * time has come again; where rules ask about such, also accepted ones whose time has come.
 *
 * Level-triggered: it follows from the database alone and is safe to ask at any moment.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import { inKeys } from '../store/bulk.ts';
import type { Db } from '../store/store.ts';
import type { DueWhy } from '../store/tables.ts';
import { orderHash } from './facts/order.ts';
import { hasFailedPush, hasOpenPush } from './push.ts';

export interface DueQuery {
  readonly rulesKey: string;
  readonly now: number;
  /** A delivery that changed less than this ago may still be growing. */
  readonly settleMs: number;
  /** Whether rules ask about accepted deliveries as well. */
  readonly accepted: boolean;
}

export interface DueDelivery {
  readonly orderDeliveryId: number;
  readonly trigger: 'new' | 'changed' | 'rules' | 'push' | DueWhy;
}

/** Pending deliveries that are looked at before others have their turn. */
const LOOK_ROWS = 2_000;

/** Ids of deliveries: behind `after`, up to `upTo` and with it. */
interface Span {
  readonly after: number;
  readonly upTo: number;
}

/** All that is pending, the oldest first; there may be tens of thousands that are held. */
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

function candidates(db: Db, aside: readonly number[], { after, upTo }: Span) {
  return db
    .selectFrom('delivery as d')
    .innerJoin('sales_order as o', 'o.order_id', 'd.order_id')
    .leftJoin('evaluation as e', 'e.order_delivery_id', 'd.order_delivery_id')
    .where('d.status', '=', 'pending')
    .where('d.order_delivery_id', '>', after)
    .where('d.order_delivery_id', '<=', upTo)
    .where('d.deleted_at', 'is', null)
    .where((eb) => eb.not(inKeys('d.order_delivery_id', aside)))
    .where((eb) => eb.not(hasOpenPush('d.order_delivery_id')));
}

/** What was looked at in a time to come was looked at before the clock was set back. */
function isLookDue(now: number): RawBuilder<boolean> {
  return sql<boolean>`(e.due_at <= ${now} or e.evaluated_at > ${now})`;
}

/**
 * Accepted deliveries whose time has come; only what has not shipped still has one. They are not
 * left to settle: what is taken back too early comes back by itself, what has shipped does not.
 */
async function dueAccepted(
  db: Db,
  { now }: DueQuery,
  aside: readonly number[],
  limit: number,
): Promise<DueDelivery[]> {
  const rows = await db
    .selectFrom('evaluation as e')
    .innerJoin('delivery as d', 'd.order_delivery_id', 'e.order_delivery_id')
    .select(['e.order_delivery_id', 'e.due_why'])
    .where('e.due_at', 'is not', null)
    .where(isLookDue(now))
    // The plus keeps SQLite from going through every accepted delivery there ever was.
    .where(sql<boolean>`+d.status = 'accepted'`)
    .where('d.deleted_at', 'is', null)
    .where((eb) => eb.not(inKeys('d.order_delivery_id', aside)))
    .where((eb) => eb.not(hasOpenPush('d.order_delivery_id')))
    .orderBy('e.order_delivery_id')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    orderDeliveryId: row.order_delivery_id,
    trigger: row.due_why ?? 'tick',
  }));
}

interface Compared {
  readonly content_hash: string;
  readonly order_content_hash: string;
  readonly changed_at: number;
  readonly delivery_hash: string | null;
  readonly order_hash: string | null;
  readonly evaluated_at: number | null;
  readonly rules_key: string | null;
  readonly due_why: DueWhy | null;
  readonly failed_push: number;
}

function triggerOf(row: Compared, { rulesKey, now }: DueQuery): DueDelivery['trigger'] {
  if (row.evaluated_at === null) return 'new';
  const changed =
    row.delivery_hash !== row.content_hash ||
    row.order_hash !== row.order_content_hash ||
    (row.changed_at > row.evaluated_at && row.changed_at <= now);
  if (changed) return 'changed';
  if (row.rules_key !== rulesKey) return 'rules';
  return row.failed_push === 1 ? 'push' : (row.due_why ?? 'tick');
}

/**
 * Told by its own rows: it is new, it changed (or changed and changed back: somebody did
 * something), the rules did, or its push came to nothing.
 */
function isFresh({ rulesKey, now }: DueQuery): RawBuilder<boolean> {
  return sql<boolean>`(e.order_delivery_id is null or e.delivery_hash <> d.content_hash
    or (d.changed_at > e.evaluated_at and d.changed_at <= ${now})
    or e.order_hash <> ${orderHash('o')} or e.rules_key <> ${rulesKey} or ${hasFailedPush(now)})`;
}

/** A time to come is that of a clock that was set back meanwhile: that change is no news. */
function isSettled({ now, settleMs }: DueQuery): RawBuilder<boolean> {
  return sql<boolean>`(d.changed_at <= ${now - settleMs} or d.changed_at > ${now + settleMs})`;
}

async function pendingThat(
  db: Db,
  which: RawBuilder<boolean>,
  query: DueQuery,
  aside: readonly number[],
  limit: number,
) {
  const found: (Compared & { readonly order_delivery_id: number })[] = [];
  for await (const span of pendingSpans(db)) {
    const rows = await candidates(db, aside, span)
      .select([
        'd.order_delivery_id',
        'd.content_hash',
        orderHash('o').as('order_content_hash'),
        'e.delivery_hash',
        'e.order_hash',
        'd.changed_at',
        'e.evaluated_at',
        'e.rules_key',
        'e.due_why',
        sql<number>`${hasFailedPush(query.now)}`.as('failed_push'),
      ])
      .where(isSettled(query))
      .where(which)
      .orderBy('d.order_delivery_id')
      .limit(limit - found.length)
      .execute();
    found.push(...rows);
    if (found.length >= limit) break;
  }
  return found;
}

/** Looked at again beside deliveries that are new or changed, which should not wait for them. */
const AGAIN_BESIDE_FRESH = 10;

/**
 * The oldest deliveries first: budgets are used up in a fixed order. A few places are for those
 * that are looked at again, so that neither a backlog of these nor one of new deliveries keeps the
 * other waiting.
 */
export async function dueDeliveries(
  db: Db,
  query: DueQuery,
  aside: readonly number[],
  limit: number,
): Promise<DueDelivery[]> {
  const fresh = await pendingThat(db, isFresh(query), query, aside, limit);
  const places = fresh.length > 0 ? AGAIN_BESIDE_FRESH : limit;
  const again = await pendingThat(db, isLookDue(query.now), query, aside, places);
  const rows = new Map([...fresh, ...again].map((row) => [row.order_delivery_id, row]));
  const pending = [...rows.values()].map((row) => ({
    orderDeliveryId: row.order_delivery_id,
    trigger: triggerOf(row, query),
  }));
  const accepted = query.accepted ? await dueAccepted(db, query, aside, places) : [];
  return [...pending, ...accepted].sort((a, b) => a.orderDeliveryId - b.orderDeliveryId);
}

/** When the next delivery falls due, if one waits. */
export async function nextDueDelivery(
  db: Db,
  settleMs: number,
  aside: readonly number[],
): Promise<number | undefined> {
  let next: number | undefined;
  for await (const span of pendingSpans(db)) {
    const row = await candidates(db, aside, span)
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
    const dueAt = row?.due_at ?? undefined;
    if (dueAt !== undefined && dueAt < (next ?? Infinity)) next = dueAt;
  }
  return next;
}
