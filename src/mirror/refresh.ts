/**
 * Orders to read again. An event or a sweep only says "look at this order"; ten such hints are one
 * row and one read. `generation` counts the hints, so that a reader that finishes knows whether
 * another one came meanwhile and the order must be read once more.
 */
import { sql } from 'kysely';
import type { Clock } from '../lib/clock.ts';
import { endIncidentRows } from '../store/incidents.ts';
import type { Db, Tx } from '../store/store.ts';

export interface DueRefresh {
  readonly orderId: number;
  readonly generation: number;
  readonly attempts: number;
  readonly requestedAt: number;
  readonly cause: string;
  /** Whether refunds and pending refunds are wanted as well. */
  readonly refunds: boolean;
}

export interface RefreshRequest {
  readonly orderId: number;
  /** Why: `event:<id>`, `replay:<id>` or `sweep:…`; goes into the provenance of what is read. */
  readonly cause: string;
  /** Whether refunds and pending refunds are wanted as well; default: they are. */
  readonly refunds?: boolean;
  /** It counts as asked for so much earlier: what is urgent passes what came just before. */
  readonly headStartMs?: number;
}

/**
 * The incident of an order that the service refuses to show; a read of it ends it, or a list of all
 * orders without it ({@link endUnlisted}).
 */
export const ORDER_UNREADABLE = { kind: 'order_unreadable', entity: 'sales_order' } as const;

/**
 * The incident of orders that events name and nobody knows, one for each system key: an endpoint
 * that receives the events of other accounts, too, would open one for each of their orders.
 */
export const ORDERS_UNKNOWN = { kind: 'orders_unknown', entity: 'system_key' } as const;

/**
 * Ends what was told of orders before a whole list was asked for (`listedAt`) that does not have
 * them: no read will ever show them. The mirror has what it has.
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

/** Causes of reads that can wait: thousands of them come at once. */
const SWEEP = 'sweep%';

/** No read is put off for longer. */
export const POSTPONE_MS_MAX = 300_000;

/** Bounds how many different statements the loop below can make. */
const REQUESTS_PER_STATEMENT = 16;

/**
 * Asks for a read of each order, now; a row that waits after a failure is brought forward. Of
 * several requests for one order the last one's cause stays, unless that is a sweep.
 */
export async function requestRefreshes(
  tx: Tx,
  requests: readonly RefreshRequest[],
  now: number,
): Promise<void> {
  const wanted = new Map<number, RefreshRequest & { readonly count: number }>();
  for (const request of requests) {
    const other = wanted.get(request.orderId);
    const refunds = request.refunds !== false || other?.refunds === true;
    const headStartMs = Math.max(request.headStartMs ?? 0, other?.headStartMs ?? 0);
    const count = 1 + (other?.count ?? 0);
    wanted.set(request.orderId, { ...request, refunds, headStartMs, count });
  }
  const rows = [...wanted.values()].map(({ orderId, cause, refunds, headStartMs = 0, count }) => ({
    order_id: orderId,
    generation: count,
    cause,
    requested_at: now - headStartMs,
    due_at: now,
    last_error: null,
    refunds: Number(refunds),
  }));
  for (let start = 0; start < rows.length; start += REQUESTS_PER_STATEMENT) {
    await tx
      .insertInto('refresh')
      .values(rows.slice(start, start + REQUESTS_PER_STATEMENT))
      .onConflict((conflict) =>
        conflict.column('order_id').doUpdateSet((eb) => ({
          generation: eb('refresh.generation', '+', eb.ref('excluded.generation')),
          due_at: eb.ref('excluded.due_at'),
          requested_at: eb.fn<number>('min', ['refresh.requested_at', 'excluded.requested_at']),
          // A sweep waits until everything was tried once more.
          attempts: eb
            .case()
            .when('excluded.cause', 'like', SWEEP)
            .then(0)
            .else(eb.ref('refresh.attempts'))
            .end(),
          refunds: eb.fn<number>('max', ['refresh.refunds', 'excluded.refunds']),
          // A sweep that comes by does not make an event's read wait with the others.
          cause: eb
            .case()
            .when(
              eb.and([eb('excluded.cause', 'like', SWEEP), eb('refresh.cause', 'not like', SWEEP)]),
            )
            .then(eb.ref('refresh.cause'))
            .else(eb.ref('excluded.cause'))
            .end(),
        })),
      )
      .execute();
  }
}

/**
 * What is due: what events asked for before sweeps, what was never tried before what has failed,
 * then the oldest request first.
 */
export async function dueRefreshes(db: Db, now: number, limit: number): Promise<DueRefresh[]> {
  const rows = await db
    .selectFrom('refresh')
    .select(['order_id', 'generation', 'attempts', 'requested_at', 'cause', 'refunds'])
    .where('due_at', '<=', now)
    .orderBy((eb) => eb('cause', 'like', SWEEP))
    .orderBy((eb) => eb('attempts', '>', 0))
    .orderBy('requested_at')
    .orderBy('order_id')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    orderId: row.order_id,
    generation: row.generation,
    attempts: row.attempts,
    requestedAt: row.requested_at,
    cause: row.cause,
    refunds: row.refunds === 1,
  }));
}

export interface RefreshBacklog {
  /** Reads that were not tried yet. */
  readonly untried: number;
  /** Reads that failed and wait for their next try. */
  readonly failed: number;
  readonly lastError: string | null;
}

/** What is left of the reads that were asked for at `requestedUpTo` (epoch ms) or before. */
export async function refreshBacklog(db: Db, requestedUpTo: number): Promise<RefreshBacklog> {
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

/** When the next refresh falls due, if any waits; those due at `after` already do not count. */
export async function nextRefreshAt(db: Db, after = 0): Promise<number | undefined> {
  const row = await db
    .selectFrom('refresh')
    .select((eb) => eb.fn.min('due_at').as('due_at'))
    .where('due_at', '>', after)
    .executeTakeFirst();
  return row?.due_at ?? undefined;
}

/** Takes a read order off the list, unless another hint came while it was being read. */
export async function completeRefresh(tx: Tx, done: DueRefresh): Promise<void> {
  await tx
    .deleteFrom('refresh')
    .where('order_id', '=', done.orderId)
    .where('generation', '=', done.generation)
    .execute();
}

/** Puts a failed read off until `dueAt`. */
export async function postponeRefresh(
  tx: Tx,
  failed: DueRefresh,
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

/** The wish to read the order that no read has fulfilled yet, and whether one was tried. */
export async function openWish(
  db: Db,
  orderId: number,
): Promise<{ readonly attempts: number } | undefined> {
  return db
    .selectFrom('refresh')
    .select('attempts')
    .where('order_id', '=', orderId)
    .executeTakeFirst();
}

/** Longer than anything that asks for the age of a read. */
const REMEMBERED_MS = 10_000;

/** When a read began (monotonic), and its place among those and the requests for them. */
interface ReadStart {
  readonly at: number;
  readonly turn: number;
}

/** Whole reads of orders that began a moment ago; forgotten with the process. */
export interface RecentReads {
  /** To be called before the first request waits for its turn. */
  begin(): ReadStart;
  /** What this read has shown is in the mirror, as it was when its first request left. */
  note(orderId: number, start: ReadStart): void;
  /** Something has asked for these orders: reads that began before tell nothing any more. */
  outdate(orderIds: Iterable<number>): void;
  /** How long ago the last one began; Infinity: there was none since it was asked for. */
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
  /** Puts it behind the others, and takes those away that are too old to count. */
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
