/**
 * Queries that are built and compiled once, and then run with other values: to build one takes
 * longer than SQLite needs to answer it. For those that run for each delivery; they must not depend
 * on anything but the values, of which each stands for one parameter.
 */
import { type CompiledQuery, type RawBuilder, sql } from 'kysely';
import type { SqlValue } from '../bulk.ts';
import type { Db } from '../store.ts';

/** A value that is not known yet while the query is built. */
export type Value<T extends SqlValue> = RawBuilder<T>;

interface Buildable<R> {
  compile(db: Db): CompiledQuery<R>;
}

type Build<R> = (db: Db, ...values: Value<never>[]) => Buildable<R>;

/** The values of a run, by the parameters of the function that builds the query. */
type ValuesOf<B> = B extends (db: Db, ...values: infer V) => unknown
  ? { [At in keyof V]: V[At] extends Value<infer T> ? T : never }
  : never;

interface Compiled<R> {
  readonly query: CompiledQuery<R>;
  /** Place of each parameter among the values; -1: it is always the same. */
  readonly places: readonly number[];
}

function compiled<R>(db: Db, build: Build<R>): Compiled<R> {
  const marks: readonly unknown[] = Array.from({ length: build.length - 1 }, () => Symbol());
  const query = build(db, ...marks.map((mark) => sql<never>`${mark}`)).compile(db);
  const places = query.parameters.map((one) => marks.indexOf(one));
  return { query, places };
}

/** Makes the function that runs a query; the first run compiles it, for all databases. */
export function kept<R, B extends (db: Db, ...values: Value<never>[]) => unknown>(
  build: B & Build<R>,
): (db: Db, ...values: ValuesOf<B>) => Promise<readonly R[]> {
  let first: Compiled<R> | undefined;
  return async (db, ...values) => {
    first ??= compiled(db, build);
    const { query, places } = first;
    const parameters = places.map((place, at) =>
      place < 0 ? query.parameters[at] : values[place],
    );
    return (await db.executeQuery<R>({ ...query, parameters })).rows;
  };
}
