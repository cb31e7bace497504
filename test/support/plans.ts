/** What SQLite is going to do for the statements of a piece of work; none of it depends on time. */
import {
  CompiledQuery,
  type KyselyPlugin,
  type RootOperationNode,
  SqliteQueryCompiler,
} from 'kysely';
import type { SqliteStore, Store } from '../../src/store/store.ts';

export interface Planned {
  /** To be given to the work in place of its own. */
  readonly store: Store;
  /** The steps of the statements so far whose text matches this, each once. */
  steps(text: RegExp): Promise<string[]>;
}

/** Notes what is asked of the store. */
export function notePlans(store: SqliteStore): Planned {
  const queries = new Map<string, CompiledQuery>();
  const compiler = new SqliteQueryCompiler();
  const note = (node: RootOperationNode, id: { readonly queryId: string }): void => {
    const query = compiler.compileQuery(node, id);
    if (/^\s*(select|update|delete|insert|with)/i.test(query.sql)) queries.set(query.sql, query);
  };
  const plugin: KyselyPlugin = {
    transformQuery: ({ node, queryId }) => {
      note(node, queryId);
      return node;
    },
    transformResult: ({ result }) => Promise.resolve(result),
  };
  return {
    store: {
      get db() {
        return store.db.withPlugin(plugin);
      },
      path: store.path,
      transaction: (work) =>
        store.transaction((tx, onCommit) => work(tx.withPlugin(plugin), onCommit)),
      snapshot: (read) => store.snapshot((tx) => read(tx.withPlugin(plugin))),
      close: () => store.close(),
    },
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
