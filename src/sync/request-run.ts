/** Has a stream pulled soon because something waits for it; a pause holds all the same. */
import type { Clock } from '../lib/clock.ts';
import type { Store } from '../store/store.ts';

export interface RunRequestDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** A stream is due. */
  readonly nudge: () => void;
}

/** A long list must not be pulled again and again for whoever waits for it. */
const AT_MOST_EVERY_MS = 900_000;

export async function requestRun(
  { store, clock, nudge }: RunRequestDeps,
  stream: string,
): Promise<void> {
  const now = clock.now();
  const row = await store.db
    .selectFrom('stream_state as state')
    .leftJoin('sync_run as run', 'run.run_id', 'state.last_run_id')
    .select(['state.due_at', 'run.started_at'])
    .where('state.stream', '=', stream)
    .executeTakeFirst();
  if (!row || row.due_at <= now) return;
  const since = now - (row.started_at ?? Number.NEGATIVE_INFINITY);
  if (since < AT_MOST_EVERY_MS) return;
  await store.db
    .updateTable('stream_state')
    .set({ due_at: now })
    .where('stream', '=', stream)
    .where('due_at', '>', now)
    .execute();
  nudge();
}
