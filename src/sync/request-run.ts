/** Requests an early pull of a stream that something waits for; pauses still apply. */
import type { Clock } from '../lib/clock.ts';
import type { Store } from '../store/store.ts';

export interface RunRequestDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Wakes the planner. */
  readonly nudge: () => void;
}

/** Minimum interval, so that a long list is not pulled over and over for whoever waits. */
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
