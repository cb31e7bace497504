/**
 * Orders to read again. An event, a sweep or a finished push only says "look at this order";
 * ten such hints are one row and one read. `generation` grows with every hint, so that a reader
 * that finishes knows whether another one came meanwhile and the order must be read once more.
 */
import type { Db, Tx } from '../store/store.ts';

export interface DueRefresh {
  readonly orderId: number;
  readonly generation: number;
  readonly attempts: number;
  readonly requestedAt: number;
  readonly cause: string;
}

export interface RefreshRequest {
  readonly orderId: number;
  /** Why: `event:<id>`, `push:<id>` or `sweep`; goes into the provenance of what is read. */
  readonly cause: string;
}

/** Causes of reads that can wait: thousands of them come at once. */
const SWEEP = 'sweep%';

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
  const causes = new Map(requests.map(({ orderId, cause }) => [orderId, cause]));
  const rows = [...causes].map(([order_id, cause]) => ({
    order_id,
    cause,
    requested_at: now,
    due_at: now,
    last_error: null,
  }));
  for (let start = 0; start < rows.length; start += REQUESTS_PER_STATEMENT) {
    await tx
      .insertInto('refresh')
      .values(rows.slice(start, start + REQUESTS_PER_STATEMENT))
      .onConflict((conflict) =>
        conflict.column('order_id').doUpdateSet((eb) => ({
          generation: eb('refresh.generation', '+', 1),
          due_at: eb.ref('excluded.due_at'),
          // A sweep that comes by does not make an event's read wait with the others.
          cause: eb
            .case()
            .when('excluded.cause', 'like', SWEEP)
            .then(eb.ref('refresh.cause'))
            .else(eb.ref('excluded.cause'))
            .end(),
        })),
      )
      .execute();
  }
}

/** Asks for a read of one order, now. */
export async function requestRefresh(
  tx: Tx,
  orderId: number,
  cause: string,
  now: number,
): Promise<void> {
  await requestRefreshes(tx, [{ orderId, cause }], now);
}

/** What is due: what events and pushes asked for before sweeps, then the oldest request first. */
export async function dueRefreshes(db: Db, now: number, limit: number): Promise<DueRefresh[]> {
  const rows = await db
    .selectFrom('refresh')
    .select(['order_id', 'generation', 'attempts', 'requested_at', 'cause'])
    .where('due_at', '<=', now)
    .orderBy((eb) => eb('cause', 'like', SWEEP))
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
  }));
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
