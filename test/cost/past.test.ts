/** Tables that grow with the past; past.slow.test.ts looks at each statement of a day. */
import { expect, it } from 'vitest';
import { temporaryStore } from '../support/store.ts';
import { knownTables } from './tables.ts';

it('each table is said to grow with the past, or not', async () => {
  const store = await temporaryStore();
  const tables = await store.db.introspection.getTables();
  const names = tables.flatMap(({ name, isView }) => (isView ? [] : [name]));
  expect(names.filter((name) => !knownTables.has(name))).toEqual([]);
  expect([...knownTables].filter((name) => !names.includes(name))).toEqual([]);
});
