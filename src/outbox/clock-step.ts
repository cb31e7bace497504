/**
 * What a step of the clock on the wall must not do to pushes. The quiet time of a push in doubt is
 * over when it has passed, not when the clock says so: two absences seen too early would have an
 * order sent twice. And nothing waits an hour more because the clock was set back by one.
 */
import { sql } from 'kysely';
import type { Store } from '../store/store.ts';

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
    }
  });
}
