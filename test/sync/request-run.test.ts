/** A pull that something waits for comes soon, and not again and again. */
import { expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { requestRun } from '../../src/sync/planner.ts';
import { temporaryStore } from '../support/store.ts';

async function startStock() {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const later = clock.now() + 86_400_000;
  const state = { stream: 'stock', due_at: later, complete_at: 1, complete_rows: 1 };
  await store.db
    .insertInto('stream_state')
    .values({ ...state, last_run_id: null, last_error: null, requested: null })
    .execute();
  const nudges: string[] = [];
  const request = async () => {
    await requestRun({ store, clock, wakeUp: () => nudges.push('wakeUp') }, 'stock');
    const { due_at } = await store.db
      .selectFrom('stream_state')
      .select('due_at')
      .executeTakeFirstOrThrow();
    return due_at <= clock.now();
  };
  const runBegan = async (at: number) => {
    const run = { run_id: 1, stream: 'stock', cause: 'schedule', started_at: at, ended_at: at };
    await store.db
      .insertInto('sync_run')
      .values({
        ...run,
        read_seq: 1,
        options: '{}',
        checkpoint: '{}',
        released_at: null,
        reason: null,
      })
      .execute();
    await store.db.updateTable('stream_state').set({ last_run_id: 1, due_at: later }).execute();
  };
  return { clock, nudges, request, runBegan };
}

it('a stream that something waits for is due at once, and its planner hears of it', async () => {
  const { nudges, request } = await startStock();
  expect(await request()).toBe(true);
  expect(nudges).toHaveLength(1);
});

it('a pull that has just begun is not followed by another one for whoever waits', async () => {
  const { clock, request, runBegan } = await startStock();
  await runBegan(clock.now() - 60_000);
  expect(await request()).toBe(false);
  await clock.advance(900_000);
  expect(await request()).toBe(true);
});
