/**
 * The refetch queue: orders to read again. An event or a sweep only says "look at this order"; ten
 * requests for an order make one row and one read. `generation` counts the requests, so that a
 * reader that finishes knows whether another one arrived meanwhile and the order must be read
 * again.
 */
import { type Selectable, sql } from 'kysely';
import type { Clock } from '../lib/clock.ts';
import { insertFew } from '../store/bulk.ts';
import { endIncidentRows } from '../store/incidents.ts';
import type { Db, Tx } from '../store/store.ts';
import type { Tables } from '../store/tables.ts';
import { kept, keptChange, keptUpTo, type Value } from '../store/transaction/kept.ts';

export interface DueRefetch {
  readonly orderId: number;
  readonly generation: number;
  readonly attempts: number;
  readonly requestedAt: number;
  readonly cause: string;
  /** Whether the refunds and pending refunds of the order are read as well. */
  readonly refunds: boolean;
  /** Look that a sweep waits for; undefined: none does. */
  readonly look: Look | undefined;
  /** When a decision began to wait for the read; null: none does. */
  readonly urgentAt: number | null;
}

/**
 * Extent of a look: `deliveries` reads no more than these while they are as the mirror has them;
 * `whole` reads the order, its deliveries, and its refunds if it may have any.
 */
export type Look = 'deliveries' | 'whole';

/** Looks by the number that the queue stores; the higher one asks for more. */
const LOOKS: readonly (Look | undefined)[] = [undefined, 'deliveries', 'whole'];

export interface RefetchRequest {
  readonly orderId: number;
  /** Reason of the read: `event:<id>`, `replay:<id>` or `sweep:…`. The rows' source names it. */
  readonly cause: string;
  /** Whether the refunds and pending refunds of the order are read as well; default: yes. */
  readonly refunds?: boolean;
  /** Look that the requester, a sweep, waits for; default: none. */
  readonly look?: Look;
  /** Milliseconds by which the request is dated back. */
  readonly headStartMs?: number;
  /** Whether a decision waits for the read, so that it goes before others. Default: no. */
  readonly urgent?: boolean;
}

/**
 * Incident of an order that the service refuses to show. A read of the order ends it, or a full
 * list without the order ({@link endUnlisted}).
 */
export const ORDER_UNREADABLE = { kind: 'order_unreadable', entity: 'sales_order' } as const;

/**
 * Incident of events that name unknown orders. There is one per system key, because an endpoint
 * that also receives other accounts' events would open one per order.
 */
export const ORDERS_UNKNOWN = { kind: 'orders_unknown', entity: 'system_key' } as const;

/**
 * Ends incidents of unreadable orders that a full list, requested at `listedAt`, does not have,
 * because no read will ever show these orders. The mirror keeps their rows.
 */
export async function endUnlisted(db: Db, listedAt: number, now: number): Promise<void> {
  const over = await db
    .selectFrom('incident')
    .select('id')
    .where('resolved_at', 'is', null)
    .where('at', '<', listedAt)
    .where(({ or, and, eb, not, exists, selectFrom }) =>
      or([
        eb('kind', '=', ORDERS_UNKNOWN.kind),
        and([
          eb('kind', '=', ORDER_UNREADABLE.kind),
          eb('entity', '=', ORDER_UNREADABLE.entity),
          not(
            exists(
              selectFrom('sales_order')
                .select('order_id')
                .where('order_id', '=', sql<number>`cast(incident.key as integer)`)
                .where('deleted_at', 'is', null),
            ),
          ),
        ]),
      ]),
    )
    .execute();
  await endIncidentRows(db, over, now);
}

/**
 * Pattern of the causes whose reads can wait, because sweeps ask for thousands of orders at once.
 */
const SWEEP = 'sweep%';

// A request by an event resets the attempts, because a sweep waits until everything was tried once
// more. The cause of an event is kept, so that a later sweep does not lower the priority of the
// read.
const REQUESTED_AGAIN = `on conflict (order_id) do update set
  generation = refresh.generation + excluded.generation,
  due_at = excluded.due_at,
  requested_at = min(refresh.requested_at, excluded.requested_at),
  attempts = iif(excluded.cause like '${SWEEP}', 0, refresh.attempts),
  refunds = max(refresh.refunds, excluded.refunds),
  look = max(refresh.look, excluded.look),
  urgent_at = coalesce(excluded.urgent_at, refresh.urgent_at),
  cause = iif(excluded.cause like '${SWEEP}' and refresh.cause not like '${SWEEP}',
    refresh.cause, excluded.cause)`;

/** Milliseconds by which a read is delayed at most. */
export const POSTPONE_MS_MAX = 300_000;

/**
 * Requests that one statement writes, which bounds the number of statements of different length.
 */
const REQUESTS_PER_STATEMENT = 16;

/**
 * Requests a read of each order, due now; a row that waits after a failure is due at once, too. The
 * last request's cause replaces the earlier one, unless it is a sweep.
 */
export async function requestRefetches(
  tx: Tx,
  requests: readonly RefetchRequest[],
  now: number,
): Promise<void> {
  const wanted = new Map<number, RefetchRequest & { readonly count: number }>();
  for (const request of requests) {
    const other = wanted.get(request.orderId);
    const refunds = request.refunds !== false || other?.refunds === true;
    const headStartMs = Math.max(request.headStartMs ?? 0, other?.headStartMs ?? 0);
    const look = request.look === 'whole' ? request.look : (other?.look ?? request.look);
    const urgent = request.urgent === true || other?.urgent === true;
    const count = 1 + (other?.count ?? 0);
    wanted.set(request.orderId, {
      ...request,
      refunds,
      headStartMs,
      urgent,
      count,
      ...(look === undefined ? {} : { look }),
    });
  }
  const rows = [...wanted.values()].map((request) => ({
    order_id: request.orderId,
    generation: request.count,
    cause: request.cause,
    requested_at: now - (request.headStartMs ?? 0),
    due_at: now,
    last_error: null,
    refunds: Number(request.refunds),
    look: LOOKS.indexOf(request.look),
    urgent_at: request.urgent ? now : null,
  }));
  for (let start = 0; start < rows.length; start += REQUESTS_PER_STATEMENT) {
    const some = rows.slice(start, start + REQUESTS_PER_STATEMENT);
    await insertFew(tx, 'refresh', some, REQUESTED_AGAIN);
  }
}

const DUE = [
  'order_id',
  'generation',
  'attempts',
  'requested_at',
  'cause',
  'refunds',
  'look',
  'urgent_at',
] as const;

type DueRow = Pick<Selectable<Tables['refresh']>, (typeof DUE)[number]>;

function refetchOf(row: DueRow): DueRefetch {
  return {
    orderId: row.order_id,
    generation: row.generation,
    attempts: row.attempts,
    requestedAt: row.requested_at,
    cause: row.cause,
    refunds: row.refunds === 1,
    look: LOOKS[row.look],
    urgentAt: row.urgent_at,
  };
}

// The plus sign keeps SQLite on the index in this order: by the times it would sort all that is
// due, thousands after a sweep, for the next few.
const dueAt = keptUpTo(
  (limit) => (db: Db, now: Value<number>) =>
    db
      .selectFrom('refresh')
      .select(DUE)
      .where(sql<number>`+due_at`, '<=', now)
      .orderBy(sql`(cause like ${sql.lit(SWEEP)})`)
      .orderBy(sql`(attempts > 0)`)
      .orderBy('requested_at')
      .orderBy('order_id')
      .limit(limit),
);

/**
 * Reads that are due: events before sweeps, untried before failed, then the oldest request first.
 */
export async function dueRefetches(db: Db, now: number, limit: number): Promise<DueRefetch[]> {
  return (await dueAt(limit)(db, now)).map(refetchOf);
}

const urgentAt = keptUpTo(
  (limit) => (db: Db, now: Value<number>) =>
    db
      .selectFrom('refresh')
      .select(DUE)
      .where('urgent_at', 'is not', null)
      .where(sql<number>`+due_at`, '<=', now)
      .orderBy('urgent_at', 'desc')
      .limit(limit),
);

/** Reads that are due and that decisions wait for, the latest first. */
export async function urgentRefetches(db: Db, now: number, limit: number): Promise<DueRefetch[]> {
  return (await urgentAt(limit)(db, now)).map(refetchOf);
}

export interface RefetchBacklog {
  readonly untried: number;
  /** Number of reads that failed and wait for their next attempt. */
  readonly failed: number;
  readonly lastError: string | null;
}

/** Reads that are still to do of those requested at `requestedUpTo` (epoch ms) or before. */
export async function refetchBacklog(db: Db, requestedUpTo: number): Promise<RefetchBacklog> {
  const row = await db
    .selectFrom('refresh')
    .select((eb) => [
      eb.fn.countAll<number>().filterWhere('attempts', '=', 0).as('untried'),
      eb.fn.countAll<number>().filterWhere('attempts', '>', 0).as('failed'),
      eb.fn.max('last_error').as('last_error'),
    ])
    .where('requested_at', '<=', requestedUpTo)
    .executeTakeFirstOrThrow();
  return { untried: row.untried, failed: row.failed, lastError: row.last_error };
}

const dueAfter = kept((db: Db, after: Value<number>) =>
  db
    .selectFrom('refresh')
    .select((eb) => eb.fn.min('due_at').as('due_at'))
    .where('due_at', '>', after),
);

/** Time at which the next read after `after` is due, epoch ms. */
export async function nextRefetchAt(db: Db, after = 0): Promise<number | undefined> {
  const [row] = await dueAfter(db, after);
  return row?.due_at ?? undefined;
}

const removeRead = keptChange((db: Db, orderId: Value<number>, generation: Value<number>) =>
  db.deleteFrom('refresh').where('order_id', '=', orderId).where('generation', '=', generation),
);

/**
 * Removes an order from the queue after its read, unless another request arrived meanwhile; tells
 * whether it did.
 */
export async function completeRefetch(tx: Tx, done: DueRefetch): Promise<boolean> {
  return (await removeRead(tx, done.orderId, done.generation)) > 0;
}

/** Postpones a failed read until `dueAt`. */
export async function postponeRefetch(
  tx: Tx,
  failed: DueRefetch,
  dueAt: number,
  error: string,
): Promise<void> {
  await tx
    .updateTable('refresh')
    .set((eb) => ({ due_at: dueAt, attempts: eb('attempts', '+', 1), last_error: error }))
    .where('order_id', '=', failed.orderId)
    .where('generation', '=', failed.generation)
    .execute();
}

const attemptsOf = kept((db: Db, orderId: Value<number>) =>
  db.selectFrom('refresh').select('attempts').where('order_id', '=', orderId),
);

/** The pending request to read the order, with its attempts. */
export async function pendingRefetch(
  db: Db,
  orderId: number,
): Promise<{ readonly attempts: number } | undefined> {
  return (await attemptsOf(db, orderId))[0];
}

/** Milliseconds for which a read is remembered: longer than any caller's maximum age of a read. */
const REMEMBERED_MS = 10_000;

/** Time at which a read began (monotonic), and its rank among reads and requests. */
interface ReadStart {
  readonly at: number;
  readonly turn: number;
}

/**
 * Recent complete reads of orders, in memory only, so that an order just read is not read again.
 */
export interface RecentReads {
  /** Begins a read; to be called before its first request waits for its slot. */
  begin(): ReadStart;
  /** Notes a read whose result, as of its first request, is in the mirror. */
  note(orderId: number, start: ReadStart): void;
  /**
   * Makes earlier reads of these orders count as outdated, because something requested the orders
   * since.
   */
  outdate(orderIds: Iterable<number>): void;
  /** Milliseconds since the order's last read began; Infinity: none since the last request. */
  ageOf(orderId: number): number;
}

export function createRecentReads(clock: Pick<Clock, 'monotonic'>): RecentReads {
  const read = new Map<number, ReadStart>();
  const asked = new Map<number, ReadStart>();
  let turn = 0;
  const begin = (): ReadStart => {
    turn += 1;
    return { at: clock.monotonic(), turn };
  };
  /** Appends the entry, and drops entries that are too old to count. */
  const set = (starts: Map<number, ReadStart>, orderId: number, start: ReadStart): void => {
    starts.delete(orderId);
    starts.set(orderId, start);
    for (const [id, { at }] of starts) {
      if (clock.monotonic() - at < REMEMBERED_MS) break;
      starts.delete(id);
    }
  };
  return {
    begin,
    note(orderId, start) {
      if ((read.get(orderId)?.turn ?? 0) < start.turn) set(read, orderId, start);
    },
    outdate(orderIds) {
      for (const orderId of orderIds) set(asked, orderId, begin());
    },
    ageOf(orderId) {
      const start = read.get(orderId);
      const isOutdated = (asked.get(orderId)?.turn ?? 0) > (start?.turn ?? 0);
      return start && !isOutdated ? clock.monotonic() - start.at : Number.POSITIVE_INFINITY;
    },
  };
}
