import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { writeState } from '../../src/store/state.ts';
import type { Db } from '../../src/store/store.ts';
import { kept, type Value } from '../../src/store/transaction/kept.ts';
import { temporaryStore } from '../support/store.ts';

const clock = manualClock();

describe('a kept query', () => {
  it('runs with the values of each run, in whatever order, in any database', async () => {
    let built = 0;
    const between = kept((db: Db, least: Value<string>, most: Value<string>) => {
      built += 1;
      return db
        .selectFrom('daemon_state')
        .select(['key', sql<string>`${most} || ${least} || ${'!'}`.as('both')])
        .where('key', '<=', most)
        .where('key', '>=', least)
        .where('key', 'like', 'k_')
        .orderBy('key')
        .limit(2);
    });
    for (const store of [await temporaryStore(), await temporaryStore()]) {
      for (const key of ['k1', 'k2', 'k3']) await writeState(store.db, key, key, clock);
      expect(await between(store.db, 'k2', 'k9')).toEqual([
        { key: 'k2', both: 'k9k2!' },
        { key: 'k3', both: 'k9k2!' },
      ]);
      const one = await store.snapshot((tx) => between(tx, 'k1', 'k1'));
      expect(one).toEqual([{ key: 'k1', both: 'k1k1!' }]);
    }
    expect(built).toBe(1);
  });
});

describe('a statement', () => {
  it('is not planned by the values bound to it, which SQLite would do at each run', async () => {
    const { db } = await temporaryStore();
    const running = async (outcome: unknown) => {
      const plan = sql<{ readonly detail: string }>`explain query plan
        select run_id from sync_run where outcome = ${outcome}`;
      return (await plan.execute(db)).rows.map(({ detail }) => detail).join();
    };
    expect(await running(sql.lit('running'))).toContain('sync_run_running');
    expect(await running('running')).not.toContain('sync_run_running');
    const limited = sql`select 1 limit ${3}`.compile(db);
    expect(limited).toMatchObject({ sql: 'select 1 limit 3', parameters: [] });
  });
});
