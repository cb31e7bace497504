import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { insertRow, updateRows, upsertRow } from '../../src/store/bulk.ts';
import { writeState } from '../../src/store/state.ts';
import type { Db, Tx } from '../../src/store/store.ts';
import { kept, keptChange, keptUpTo, type Value } from '../../src/store/transaction/kept.ts';
import {
  askedTogether,
  keptAmong,
  keptForAll,
  keptOf,
  together,
} from '../../src/store/transaction/together.ts';
import { notePlans } from '../support/plans.ts';
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

  it('has the limit of each run in its text, and tells how many rows it changed', async () => {
    const { db } = await temporaryStore();
    for (const key of ['k1', 'k2', 'k3']) await writeState(db, key, key, clock);
    const first = keptUpTo(
      (limit) => (db: Db, from: Value<string>) =>
        db
          .selectFrom('daemon_state')
          .select('key')
          .where('key', '>=', from)
          .orderBy('key')
          .limit(limit),
    );
    expect(await first(1)(db, 'k1')).toEqual([{ key: 'k1' }]);
    expect(await first(2)(db, 'k2')).toEqual([{ key: 'k2' }, { key: 'k3' }]);
    const remove = keptChange((db: Db, from: Value<string>) =>
      db.deleteFrom('daemon_state').where('key', '>=', from).where('key', 'like', 'k_'),
    );
    expect([await remove(db, 'k2'), await remove(db, 'k2')]).toEqual([2, 0]);
  });
});

describe('those who ask together', () => {
  const KEYS = ['k1', 'k2', 'none', 'k2'];

  it('get by one statement what each of them gets alone', async () => {
    const store = await temporaryStore();
    for (const key of ['k1', 'k2', 'k3']) await writeState(store.db, key, `of ${key}`, clock);
    const columns = ['key', 'value'] as const;
    const one = keptAmong(
      (db, among) => db.selectFrom('daemon_state').select(columns).where(among('key')),
      'key',
    );
    const some = keptOf(
      (db, among) => db.selectFrom('daemon_state').select(columns).where(among('key')),
      'key',
    );
    const all = keptForAll((db) =>
      db.selectFrom('daemon_state').select(columns).where('key', 'like', 'k_').orderBy('key'),
    );
    const read = async (tx: Tx, key: string) => [
      await one(tx, key),
      // Whoever leaves a question out keeps nobody waiting.
      key === 'k1' ? [] : await some(tx, [key, 'k3', key]),
      await all(tx),
    ];
    const planned = notePlans(store);
    const found = await planned.store.snapshot((tx) => together(tx, KEYS, (key) => read(tx, key)));
    expect(planned.times(/daemon_state/)).toBe(3);
    const alone = await store.snapshot((tx) => Promise.all(KEYS.map((key) => read(tx, key))));
    expect(found).toEqual(alone.map((value) => ({ status: 'fulfilled', value })));
    expect(alone[1]?.map((rows) => rows.length)).toEqual([1, 2, 3]);
  });

  it('fail together where their question fails, and not with one of them', async () => {
    const store = await temporaryStore();
    const ask = askedTogether(async (_, keys: readonly string[]) => {
      if (keys.includes('bad')) throw new Error('no answer');
      return (key: string) => `${key} of ${keys.length}`;
    });
    const read = async (tx: Tx, key: string) => {
      if (key === 'odd') throw new Error('cannot be read');
      return key === 'late' ? `${await ask(tx, 'first')}, ${await ask(tx, key)}` : ask(tx, key);
    };
    const found = (keys: readonly string[]) =>
      store.snapshot(async (tx) => {
        const all = await together(tx, keys, (key) => read(tx, key));
        return all.map((one) => (one.status === 'fulfilled' ? one.value : 'none'));
      });
    expect(await found(['a', 'odd', 'late'])).toEqual(['a of 2', 'none', 'first of 2, late of 1']);
    expect(await found(['a', 'bad'])).toEqual(['none', 'none']);
    expect(await found(['a'])).toEqual(['a of 1']);
  });
});

describe('a row that is written by its columns', () => {
  it('gets its number, replaces the one with its key, changes only where all is so', async () => {
    const { db } = await temporaryStore();
    const seen = { at: 1, entity: 'test', resolved_at: null };
    const own = { ...seen, kind: 'one', key: 'a', detail: '{}' };
    const [one, two] = [
      await insertRow(db, 'incident', own),
      await insertRow(db, 'incident', { ...own, key: 'b' }),
    ];
    expect(await updateRows(db, 'incident', { resolved_at: 5 }, { id: one, key: 'b' })).toBe(0);
    expect(await updateRows(db, 'incident', { resolved_at: 5 }, { id: two, key: 'b' })).toBe(1);
    const rows = db.selectFrom('incident').select(['id', 'resolved_at']).orderBy('id');
    expect(await rows.execute()).toEqual([
      { id: one, resolved_at: null },
      { id: two, resolved_at: 5 },
    ]);
    for (const value of ['old', 'new']) {
      await upsertRow(db, 'daemon_state', 'key', { key: 'k', value, updated_at: 1 });
    }
    const stored = db.selectFrom('daemon_state').select('value').where('key', '=', 'k');
    expect(await stored.execute()).toEqual([{ value: 'new' }]);
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
