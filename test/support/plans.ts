/** Plans of SQLite for the statements of a piece of work; none of them depends on time. */
import { CompiledQuery, type KyselyPlugin } from 'kysely';
import type { Db, SqliteStore, Store } from '../../src/store/store.ts';

export interface Planned {
  /** Store to give to the work in place of its own. */
  readonly store: Store;
  /** The steps of the statements so far whose text matches this, each once. */
  steps(text: RegExp): Promise<string[]>;
  /** How often statements were asked whose text matches this. */
  times(text: RegExp): number;
  /** The most rows that one of these statements gave. */
  rows(text: RegExp): number;
}

/** Notes what is asked of the store. */
export function notePlans(store: SqliteStore): Planned {
  const queries = new Map<string, CompiledQuery>();
  const asked = new Map<string, string>();
  const given = new Map<string, number>();
  // The store's own: the plan depends on how a parameter is written.
  const compiler = store.db.getExecutor();
  const note = (query: CompiledQuery): void => {
    asked.set(query.queryId.queryId, query.sql);
    if (/^\s*(select|update|delete|insert|with)/i.test(query.sql)) queries.set(query.sql, query);
  };
  const plugin: KyselyPlugin = {
    transformQuery: ({ node, queryId }) => {
      note(compiler.compileQuery(node, queryId));
      return node;
    },
    transformResult: async ({ result, queryId: { queryId } }) => {
      const text = asked.get(queryId) ?? '';
      given.set(text, Math.max(given.get(text) ?? 0, result.rows.length));
      return result;
    },
  };
  /** Queries that were compiled before pass by the plugin. */
  const noting = <D extends Db>(db: D): D => {
    const run = db.executeQuery.bind(db);
    db.executeQuery = (query, options) => {
      note('sql' in query ? query : query.compile());
      return run(query, options);
    };
    return db;
  };
  return {
    store: {
      get db() {
        return noting(store.db.withPlugin(plugin));
      },
      path: store.path,
      transaction: (work) =>
        store.transaction((tx, onCommit) => work(noting(tx.withPlugin(plugin)), onCommit)),
      snapshot: (read) => store.snapshot((tx) => read(noting(tx.withPlugin(plugin)))),
      close: () => store.close(),
    },
    times: (text) => [...asked.values()].filter((sql) => text.test(sql)).length,
    rows: (text) =>
      Math.max(0, ...[...given].flatMap(([sql, rows]) => (text.test(sql) ? [rows] : []))),
    async steps(text) {
      const steps = new Set<string>();
      for (const { sql, parameters } of queries.values()) {
        if (!text.test(sql)) continue;
        const plan = CompiledQuery.raw(`explain query plan ${sql}`, [...parameters]);
        const { rows } = await store.db.executeQuery<{ readonly detail: string }>(plan);
        for (const { detail } of rows) steps.add(detail);
      }
      return [...steps].sort();
    },
  };
}
