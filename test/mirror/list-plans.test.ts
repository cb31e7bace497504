/** Rows that a list no longer has are found at its end without reading all of the list. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { endList } from '../../src/mirror/list.ts';
import { notePlans } from '../support/plans.ts';
import { temporaryStore } from '../support/store.ts';

it('takes off parts that are no more and what stands behind the end of the others', async () => {
  const store = await temporaryStore();
  const planned = notePlans(store);
  await sql`insert into chunk (stream, part, first_row, row_count, keys)
    select 'season', part.value, first.value, 2, '["a","b"]'
    from json_each('["", "AW25", "AW26", "SS26", "SS27"]') part, json_each('[0, 2, 4]') first
    union all select 'stock', '', 0, 2, '["a","b"]'`.execute(store.db);
  const left = async () => {
    const rows = await store.db
      .selectFrom('chunk')
      .select(['stream', 'part', 'first_row'])
      .orderBy('stream')
      .orderBy('part')
      .orderBy('first_row')
      .execute();
    return rows.map(({ stream, part, first_row: row }) => `${stream} ${part} ${row}`);
  };
  const end = (parts: readonly (readonly [string, number])[]) =>
    planned.store.transaction((tx) => endList(tx, 'season', new Map(parts)));
  await end([
    ['AW26', 6],
    ['SS26', 2],
    ['SS28', 0],
  ]);
  expect(await left()).toEqual([
    ...['season AW26 0', 'season AW26 2', 'season AW26 4', 'season SS26 0', 'stock  0'],
  ]);
  const steps = await planned.steps(/^delete from chunk/);
  expect(steps).toContain('SEARCH chunk USING PRIMARY KEY (stream=? AND part=?)');
  await end([]);
  expect(await left()).toEqual(['stock  0']);
});
