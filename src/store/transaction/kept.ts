/**
 * Queries that are built and compiled once, and then run with other values: to build one takes
 * longer than SQLite needs to answer it. For those that run for each delivery; they must not depend
 * on anything but the values, of which each stands for one parameter.
 */
import { type CompiledQuery, type QueryResult, type RawBuilder, sql } from 'kysely';
import type { Db } from '../store.ts';

/** A value that is not known yet while the query is built. */
export type Value<T extends string | number | null> = RawBuilder<T>;

export interface Buildable<R> {
  compile(db: Db): CompiledQuery<R>;
}

type Build = (db: Db, ...values: Value<never>[]) => unknown;

/** The values of a run, by the parameters of the function that builds the query. */
type ValuesOf<B> = B extends (db: Db, ...values: infer V) => unknown
  ? { [At in keyof V]: V[At] extends Value<infer T> ? T : never }
  : never;

interface Compiled<R> {
  readonly query: CompiledQuery<R>;
  /** Place of each parameter among the values; -1: it is always the same. */
  readonly places: readonly number[];
}

function compiled<R>(db: Db, build: Building<R>): Compiled<R> {
  const marks: readonly unknown[] = Array.from({ length: build.length - 1 }, () => Symbol());
  const query = build(db, ...marks.map((mark) => sql<never>`${mark}`)).compile(db);
  const places = query.parameters.map((one) => marks.indexOf(one));
  return { query, places };
}

type Run<B, R> = (db: Db, ...values: ValuesOf<B>) => Promise<R>;

type Building<R> = (db: Db, ...values: Value<never>[]) => Buildable<R>;

function running<R, B extends Build>(build: B & Building<R>): Run<B, QueryResult<R>> {
  let first: Compiled<R> | undefined;
  return (db, ...values) => {
    first ??= compiled(db, build);
    const { query, places } = first;
    const parameters = places.map((place, at) =>
      place < 0 ? query.parameters[at] : values[place],
    );
    return db.executeQuery<R>({ ...query, parameters });
  };
}

/** Makes the function that runs a query; the first run compiles it, for all databases. */
export function kept<R, B extends Build>(build: B & Building<R>): Run<B, readonly R[]> {
  const run = running(build);
  return async (...given) => (await run(...given)).rows;
}

/** Makes the function that runs a change likewise, and gives the number of its rows. */
export function keptChange<B extends Build>(build: B & Building<unknown>): Run<B, number> {
  const run = running(build);
  return async (...given) => Number((await run(...given)).numAffectedRows ?? 0);
}

/** Makes a kept query for each limit that is asked for: the limit stands in the text. */
export function keptUpTo<R, B extends Build>(
  build: (limit: number) => B & Building<R>,
): (limit: number) => Run<B, readonly R[]> {
  const made = new Map<number, Run<B, readonly R[]>>();
  return (limit) => {
    const own = made.get(limit) ?? kept<R, B>(build(limit));
    made.set(limit, own);
    return own;
  };
}
