import type { Examples } from '../examples.ts';

export const syncExamples: Examples = {
  'sync.run': {
    given: async () => ({ stream: 'brands', full: true }),
    nothing: { given: { stream: 'brandz' }, code: 'sync.unknown_stream' },
    without: { command: 'it waits for the end of the run, which is tested in test/cli/sync' },
  },
  'sync.release': {
    async given({ daemon }) {
      const { db } = daemon.store;
      const run = await db
        .selectFrom('sync_run')
        .select('run_id')
        .where('stream', '=', 'brands')
        .where('outcome', '=', 'complete')
        .orderBy('run_id', 'desc')
        .executeTakeFirstOrThrow();
      await db
        .updateTable('sync_run')
        .set({ change_guard: 'open', rows_drastic: 200 })
        .where('run_id', '=', run.run_id)
        .execute();
      return { run: String(run.run_id) };
    },
    nothing: { given: { run: '999999' }, code: 'sync.unknown_run' },
    again: 'sync.not_held',
  },
  'sync.retry-quarantine': { given: async () => ({}) },
};
