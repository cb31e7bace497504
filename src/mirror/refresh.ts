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

/** Asks for a read of an order, now; a row that waits after a failure is brought forward. */
export async function requestRefresh(
  tx: Tx,
  orderId: number,
  cause: string,
  now: number,
): Promise<void> {
  await tx
    .insertInto('refresh')
    .values({ order_id: orderId, requested_at: now, due_at: now, cause, last_error: null })
    .onConflict((conflict) =>
      conflict.column('order_id').doUpdateSet((eb) => ({
        generation: eb('refresh.generation', '+', 1),
        due_at: now,
        cause,
      })),
    )
    .execute();
}

/** What is due, oldest request first. */
export async function dueRefreshes(db: Db, now: number, limit: number): Promise<DueRefresh[]> {
  const rows = await db
    .selectFrom('refresh')
    .select(['order_id', 'generation', 'attempts', 'requested_at', 'cause'])
    .where('due_at', '<=', now)
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

/** When the next refresh falls due, if any waits. */
export async function nextRefreshAt(db: Db): Promise<number | undefined> {
  const row = await db
    .selectFrom('refresh')
    .select((eb) => eb.fn.min('due_at').as('due_at'))
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
