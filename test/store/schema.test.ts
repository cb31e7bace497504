/** Kysely's table types, held against a real database: a column exists in both or in neither. */

import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { filesBelow } from '../support/source.ts';
import { temporaryStore } from '../support/store.ts';

interface Shape {
  readonly base: string | undefined;
  readonly members: ReadonlyMap<string, string>;
}

const text = filesBelow('src/store', ['.ts'])
  .filter(({ path }) => path.startsWith('src/store/tables'))
  .map((file) => file.text)
  .join('\n');

const shapes = new Map<string, Shape>(
  [...text.matchAll(/interface (\w+)(?: extends (\w+))? \{\n([^}]*)\}/g)].map((match) => {
    const members = [...(match[3] ?? '').matchAll(/^ {2}(\w+): ([^;]+);/gm)];
    const named = new Map(members.map((member) => [member[1] ?? '', member[2] ?? '']));
    return [match[1] ?? '', { base: match[2], members: named }];
  }),
);

function membersOf(name: string): Map<string, string> {
  const shape = shapes.get(name);
  if (!shape) throw new Error(`no interface ${name}`);
  return new Map([...(shape.base ? membersOf(shape.base) : []), ...shape.members]);
}

it('has the tables and columns that the types say, null where they say so', async () => {
  const store = await temporaryStore();
  const database = new Database(store.path, { readonly: true });
  const tables = database
    .prepare<[], { readonly name: string; readonly type: string }>(
      `select name, type from sqlite_schema where type in ('table', 'view')
       and name not like 'sqlite_%' and name not glob 'v_*'`,
    )
    .all();
  const typed = [...shapes].filter(([name]) => /Tables$/.test(name)).map(([name]) => name);
  const declared = new Map(typed.flatMap((name) => [...membersOf(name)]));
  expect([...declared.keys()].sort()).toEqual(tables.map(({ name }) => name).sort());
  const views = new Set(tables.filter((one) => one.type === 'view').map(({ name }) => name));
  for (const [table, type] of declared) {
    const columns = database
      .prepare<[], { name: string; notnull: number; pk: number }>(`pragma table_info(${table})`)
      .all();
    // A view says nothing of nulls; its table does.
    const mayBeNull = (is: boolean): boolean => !views.has(table) && is;
    const expected = columns.map(({ name, notnull, pk }) => [
      name,
      mayBeNull(notnull === 0 && pk === 0),
    ]);
    const found = [...membersOf(type)].map(([name, kind]) => [
      name,
      mayBeNull(kind.includes('null')),
    ]);
    expect(found.sort(), table).toEqual(expected.sort());
  }
  database.close();
});
