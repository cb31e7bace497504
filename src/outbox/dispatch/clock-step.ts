/**
 * What a step of the clock on the wall must not do to pushes. The quiet time of a push in doubt is
 * over when it has passed, not when the clock says so: two absences seen too early would have an
 * order sent twice. And nothing waits an hour more because the clock was set back by one.
 */
import { sql } from 'kysely';
import { RETRY_AFTER_MS_MAX } from '../../client/http/answer.ts';
import type { Db, Store, Tx } from '../../store/store.ts';
import { DELIVERY_STATUS_KIND } from '../enqueue.ts';

/** One that began while the clock was ahead began now at the latest, and waits from now on. */
async function beginDoubts(db: Db | Tx, now: number): Promise<void> {
  await db
    .updateTable('outbox')
    .set({ due_at: now, in_doubt_since: now })
    .where('ended_at', 'is', null)
    .where('in_doubt_since', '>', now)
    .execute();
}

/**
 * What was decided while the clock was ahead must not leave later for it: its facts age all the
 * same. It was decided now at the latest, or earlier by `step` if somebody watched.
 */
async function dateBackPushes(db: Db | Tx, step: number, now: number): Promise<void> {
  const by = sql<number>`min(${step}, ${now} - created_at)`;
  await db
    .updateTable('outbox')
    .set({
      created_at: sql<number>`created_at + ${by}`,
      body: sql<string>`json_set(body,
        '$.sendBefore', cast(body->>'$.sendBefore' + ${by} as integer))`,
    })
    .where('kind', '=', DELIVERY_STATUS_KIND)
    .where('ended_at', 'is', null)
    .where('created_at', '>', now)
    .where(sql<boolean>`body->>'$.sendBefore' is not null`)
    .execute();
}

/** `step` in milliseconds: forth, doubts move along and are looked at; back, due times do. */
export async function followClockStep(store: Store, step: number, now: number): Promise<void> {
  await store.transaction(async (tx) => {
    const open = tx.updateTable('outbox').where('ended_at', 'is', null);
    if (step > 0) {
      await open
        .set({ due_at: now, in_doubt_since: sql<number>`in_doubt_since + ${step}` })
        .where('state', '=', 'in_doubt')
        .execute();
    } else {
      await open
        .set({ due_at: sql<number>`due_at + ${step}` })
        .where('due_at', '>', now)
        .execute();
      await beginDoubts(tx, now);
      await dateBackPushes(tx, step, now);
    }
  });
}

interface Delays {
  readonly retryMsMax: number;
  readonly lookMs: number;
}

/**
 * What is due after more than the longest delay there is was put off before the clock was set
 * back, while nobody worked on it.
 */
export async function bringForward(store: Store, delays: Delays, now: number): Promise<void> {
  const { retryMsMax, lookMs } = delays;
  // Up to a fifth more by chance.
  const longest = Math.max(RETRY_AFTER_MS_MAX, 1.2 * retryMsMax, lookMs);
  await store.db
    .updateTable('outbox')
    .set({ due_at: now })
    .where('ended_at', 'is', null)
    .where('due_at', '>', now + longest)
    .execute();
  await beginDoubts(store.db, now);
  await dateBackPushes(store.db, 0, now);
}
