/**
 * What a step of the clock on the wall must not do to what was read. Times in the database say what
 * is newer than what; once the clock was set back, those from before lie in a time to come.
 */
import { sql } from 'kysely';
import type { Clock } from '../lib/clock.ts';
import { dateBackRows } from '../mirror/entity.ts';
import type { Store, Tx } from '../store/store.ts';

type Timed = { readonly store: Store; readonly clock: Clock };

/** Where nobody watched how long ago: longer than a reject may rest on what is read once a day. */
const UNWATCHED_MS = 7 * 86_400_000;

/** Not the last one alone: a stop may come between a step and the look that notices it. */
const FEED_ROWS = 1_000;

/** Whether something changed in a time to come: each change has its row in the feed. */
async function isFeedAhead(tx: Tx, now: number): Promise<boolean> {
  const last = tx.selectFrom('change').select('at').orderBy('seq', 'desc').limit(FEED_ROWS);
  const newest = await tx
    .selectFrom(last.as('last'))
    .select((eb) => eb.fn.max('at').as('at'))
    .executeTakeFirst();
  return (newest?.at ?? 0) > now;
}

/**
 * What was read in a time to come was read before the clock was set back, by `step` if somebody
 * watched: else what ships from now on would count as part of a stock that was read before it.
 */
export async function dateBack({ store, clock }: Timed, step: number): Promise<void> {
  const now = clock.now();
  const readAt = step < 0 ? now : now - UNWATCHED_MS;
  await store.transaction(async (tx) => {
    await tx
      .updateTable('stream_state')
      .set({ complete_at: sql<number>`min(complete_at + ${step}, ${readAt})` })
      .where('complete_at', '>', now)
      .execute();
    // Those that may be complete yet.
    await tx
      .updateTable('sync_run')
      .set({ started_at: sql<number>`min(started_at + ${step}, ${now})` })
      .where('started_at', '>', now)
      .where('outcome', 'in', ['running', 'suspicious'])
      .execute();
    // Not at every start: there may be many rows, and no index has their times.
    if (step < 0 || (await isFeedAhead(tx, now))) await dateBackRows(tx, step, now);
  });
}
