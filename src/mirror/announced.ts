/**
 * Things that events have announced and that no read has shown yet. A replica of the service may
 * lag behind its events: the order is read again until it shows what was announced.
 */
import { sql } from 'kysely';
import type { Db, Tx } from '../store/store.ts';
import { putAside } from './quarantine.ts';

export interface Announced {
  readonly thing: 'delivery' | 'refund';
  readonly id: number;
  readonly orderId: number;
  /** Undefined: only that it is there. */
  readonly status?: string | undefined;
  /** Epoch ms, by the relay. */
  readonly sentAt: number;
}

/** For so long a thing that is announced is waited for; a sweep finds it later all the same. */
export const UNSEEN_MS_MAX = 7_200_000;
/** For so long its status is: somebody may have changed it again before we read it. */
const STATUS_MS_MAX = 120_000;

const THINGS = {
  delivery: { table: 'delivery', key: 'order_delivery_id', member: 'orderDeliveryId' },
  refund: { table: 'refund', key: 'order_refund_id', member: 'orderRefundId' },
} as const;

/** The latest word about a thing counts; an older one that comes later says nothing. */
export async function noteAnnounced(
  tx: Tx,
  announced: readonly Announced[],
  now: number,
): Promise<void> {
  for (const { thing, id, orderId, status = null, sentAt } of announced) {
    await tx
      .insertInto('announced')
      .values({ thing, thing_id: id, order_id: orderId, status, sent_at: sentAt, since: now })
      .onConflict((conflict) =>
        conflict
          .columns(['order_id', 'thing', 'thing_id'])
          .doUpdateSet({ status, sent_at: sentAt, since: now })
          .where(sql<boolean>`excluded.sent_at >= announced.sent_at`),
      )
      .execute();
  }
}

interface Waiting {
  readonly thing: 'delivery' | 'refund';
  readonly thing_id: number;
  readonly status: string | null;
  readonly since: number;
}

async function isSeen(db: Db, orderId: number, waiting: Waiting, now: number): Promise<boolean> {
  const { table, key, member } = THINGS[waiting.thing];
  const { rows } = await sql<{ readonly status: string | null }>`
    select status from ${sql.table(table)}
    where ${sql.ref(key)} = ${waiting.thing_id} and order_id = ${orderId}`.execute(db);
  const [row] = rows;
  const id = String(waiting.thing_id);
  // A row that cannot be read proves that the thing is there.
  if (!row) return (await putAside(db, [waiting.thing], member, [id])).has(id);
  const isOver = now - waiting.since > STATUS_MS_MAX;
  return waiting.status === null || waiting.status === row.status || isOver;
}

export interface Unseen {
  readonly thing: string;
  readonly id: number;
  /** Waited for in vain for {@link UNSEEN_MS_MAX}: it is no longer waited for. */
  readonly isGivenUp: boolean;
}

/** Compares what was announced of an order with what a read has brought; forgets what is seen. */
export async function unseenOf(
  db: Db,
  orderId: number,
  now: number,
  withRefunds: boolean,
): Promise<readonly Unseen[]> {
  const waiting = await db
    .selectFrom('announced')
    .select(['thing', 'thing_id', 'status', 'since'])
    .where('order_id', '=', orderId)
    .execute();
  const unseen: Unseen[] = [];
  for (const one of waiting) {
    const isSkipped = one.thing === 'refund' && !withRefunds;
    if (!isSkipped && !(await isSeen(db, orderId, one, now))) {
      const isGivenUp = now - one.since > UNSEEN_MS_MAX;
      unseen.push({ thing: one.thing, id: one.thing_id, isGivenUp });
      if (!isGivenUp) continue;
    }
    await db
      .deleteFrom('announced')
      .where('order_id', '=', orderId)
      .where('thing', '=', one.thing)
      .where('thing_id', '=', one.thing_id)
      .where('since', '=', one.since)
      .execute();
  }
  return unseen;
}

/** The order will not be read: nothing of it is waited for. */
export async function forgetAnnounced(db: Db | Tx, orderId: number): Promise<void> {
  await db.deleteFrom('announced').where('order_id', '=', orderId).execute();
}
