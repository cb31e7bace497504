/**
 * Queries that several ask together: where many rows of one kind are looked at in one transaction,
 * what each of them asks is answered by one statement for all. Who asks alone gets the answer of
 * the same query, at once.
 */
import { type RawBuilder, sql } from 'kysely';
import { inKeys } from '../bulk.ts';
import type { Db, Tx } from '../store.ts';
import { type Buildable, kept, type Value } from './kept.ts';

/** Transactions in which several ask together. */
const shared = new WeakSet<Db>();

/**
 * Reads this for each of them, together: a question waits until nothing goes on without an answer.
 * Nothing may be written meanwhile in the transaction.
 */
export async function together<Q, T>(
  tx: Tx,
  all: readonly Q[],
  read: (one: Q) => Promise<T>,
): Promise<readonly PromiseSettledResult<T>[]> {
  shared.add(tx);
  try {
    return await Promise.allSettled(all.map(read));
  } finally {
    shared.delete(tx);
  }
}

/** Waits until nothing goes on any more without an answer, and lets nothing else of the loop in. */
function untilAllAsked(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

interface Round<Q, A> {
  readonly asked: Q[];
  readonly answer: Promise<(one: Q) => A>;
}

/** Makes a question of which `answer` answers any number. */
export function askedTogether<Q, A>(
  answer: (db: Db, asked: readonly Q[]) => Promise<(one: Q) => A>,
): (db: Db, one: Q) => Promise<A> {
  const rounds = new WeakMap<Db, Round<Q, A>>();
  const begin = (db: Db): Round<Q, A> => {
    const asked: Q[] = [];
    const answered = untilAllAsked().then(() => {
      rounds.delete(db);
      return answer(db, asked);
    });
    const round = { asked, answer: answered };
    rounds.set(db, round);
    return round;
  };
  return async (db, one) => {
    if (!shared.has(db)) return (await answer(db, [one]))(one);
    const round = rounds.get(db) ?? begin(db);
    round.asked.push(one);
    return (await round.answer)(one);
  };
}

/** Makes the function that runs a kept query without values: its rows are the same for all. */
export function keptForAll<R>(build: (db: Db) => Buildable<R>): (db: Db) => Promise<readonly R[]> {
  const query = kept<R, typeof build>(build);
  const ask = askedTogether<undefined, readonly R[]>(async (db) => {
    const rows = await query(db);
    return () => rows;
  });
  return (db) => ask(db, undefined);
}

/** SQL: a condition that the column has one of the keys that are asked for. */
export type Among = (column: string) => RawBuilder<boolean>;

type Keyed<C extends string> = Readonly<Record<C, string | number>>;

/** Makes the function that runs a kept query for some keys; each row has its own in this column. */
export function keptOf<R extends Keyed<C>, C extends string>(
  build: (db: Db, among: Among) => Buildable<R>,
  column: C,
): (db: Db, keys: readonly R[C][]) => Promise<readonly R[]> {
  const query = kept<R, (db: Db, keys: Value<string>) => Buildable<R>>((db, keys) =>
    build(db, (name) => inKeys(name, keys)),
  );
  return askedTogether(async (db, asked: readonly (readonly R[C][])[]) => {
    const rows = await query(db, JSON.stringify([...new Set(asked.flat())]));
    if (asked.length === 1) return () => rows;
    const found = Map.groupBy(rows, (row) => row[column]);
    return (keys) => [...new Set(keys)].flatMap((key) => found.get(key) ?? []);
  });
}

/** Makes the function that runs a kept query for one key, which each row has in this column. */
export function keptAmong<R extends Keyed<C>, C extends string>(
  build: (db: Db, among: Among) => Buildable<R>,
  column: C,
): (db: Db, key: R[C]) => Promise<readonly R[]> {
  const one = kept<R, (db: Db, key: Value<R[C]>) => Buildable<R>>((db, key) =>
    build(db, (name) => sql<boolean>`${sql.ref(name)} = ${key}`),
  );
  const some = kept<R, (db: Db, keys: Value<string>) => Buildable<R>>((db, keys) =>
    build(db, (name) => inKeys(name, keys)),
  );
  return askedTogether(async (db, keys: readonly R[C][]) => {
    const [key, ...others] = new Set(keys);
    if (key === undefined) return () => [];
    if (others.length === 0) {
      const rows = await one(db, key);
      return () => rows;
    }
    const rows = await some(db, JSON.stringify([key, ...others]));
    const found = Map.groupBy(rows, (row) => row[column]);
    return (asked) => found.get(asked) ?? [];
  });
}
