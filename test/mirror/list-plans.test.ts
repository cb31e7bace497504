/** Rows that a list no longer has are found at its end without reading all of the list. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { PDM } from '../../src/mirror/catalog/pdm.ts';
import { endList, unlistedAmong } from '../../src/mirror/list.ts';
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

it.each([
  [2, /^CORRELATED/],
  [100, /^LIST SUBQUERY/],
])('walks over the keys of a list once for many rows, not for each: %i', async (count, walk) => {
  const store = await temporaryStore();
  await sql`insert into style (style_id, style_color_ids, extra, content_hash, first_seen_at,
      changed_at, read_seq, source)
    select value, '[]', '{}', 'x', 1, 1, 1, 'run:1' from json_each('["1", "2", "3"]')`.execute(
    store.db,
  );
  await sql`insert into sync_run (run_id, stream, cause, started_at, read_seq, options, checkpoint,
      outcome) values (1, 'styles', 'schedule', 1, 2, '{}', '{}', 'complete')`.execute(store.db);
  await sql`replace into stream_state (stream, due_at, last_run_id)
    values ('styles', 0, 1)`.execute(store.db);
  await sql`insert into chunk (stream, part, first_row, row_count, keys)
    values ('styles', '', 0, 1, '["1"]')`.execute(store.db);
  const planned = notePlans(store);
  const keys = Array.from({ length: count }, (_, at) => `${at + 1}`);
  const unlisted = await planned.store.transaction((tx) =>
    unlistedAmong(tx, PDM.styles, 'styles', keys),
  );
  expect([...unlisted]).toEqual(['2', '3'].slice(0, count - 1));
  expect(await planned.steps(/from chunk/)).toContainEqual(expect.stringMatching(walk));
});
