/** How much a piece of work has to read, in rows: no such number depends on time. */
import Database from 'better-sqlite3';
import type { CompiledQuery } from 'kysely';
import type { SqliteStore, Tx } from '../../src/store/store.ts';
import type { Tables } from '../../src/store/tables.ts';

/** Runs the work on one view of the data, and hands each of its statements to `note`. */
async function reading(
  store: SqliteStore,
  work: (tx: Tx) => Promise<unknown>,
  note: (query: CompiledQuery, rows: readonly unknown[]) => readonly unknown[],
): Promise<void> {
  await store.snapshot((tx) => {
    const run = tx.executeQuery.bind(tx);
    const noting: typeof run = async (query, options) => {
      const result = await run(query, options);
      const compiled = 'sql' in query ? query : query.compile();
      Object.assign(result, { rows: note(compiled, result.rows) });
      return result;
    };
    tx.executeQuery = noting;
    return work(tx);
  });
}

/** Runs the work, and then its statements beside it, where each row that is looked at counts. */
export async function visitsOf<Table extends keyof Tables>(
  store: SqliteStore,
  table: Table,
  key: keyof Tables[Table] & string,
  work: (tx: Tx) => Promise<unknown>,
): Promise<number> {
  const asked: CompiledQuery[] = [];
  await reading(store, work, (query, rows) => {
    asked.push(query);
    return rows;
  });
  const database = new Database(store.path, { readonly: true });
  let visits = 0;
  database.function('visited', (_: unknown) => {
    visits += 1;
    return 1;
  });
  // SQLite takes a view like this apart, and plans as for the table itself.
  database.exec(`create temp view ${table} as select * from main.${table} where visited(${key})`);
  for (const { sql, parameters } of asked) database.prepare(sql).all(...parameters);
  database.close();
  return visits;
}

/** How often the work reads this column of what its statements gave. */
export async function readsOf(
  store: SqliteStore,
  column: string,
  work: (tx: Tx) => Promise<unknown>,
): Promise<number> {
  let reads = 0;
  const get = (row: object, name: string | symbol): unknown => {
    if (name === column) reads += 1;
    return Reflect.get(row, name);
  };
  await reading(store, work, (_, rows) =>
    rows.map((row) => (row instanceof Object ? new Proxy(row, { get }) : row)),
  );
  return reads;
}
