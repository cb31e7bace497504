/** A mirror with its feeds, and a plane beside it, in PGlite (`npm test`) or in a PostgreSQL. */
import { dirname } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { type Connect, planeClient, type Query } from '../../src/plane/postgres.ts';
import { ensureSchema } from '../../src/plane/schema.ts';
import { createSink, type Sink } from '../../src/plane/sink.ts';
import { createSource, type Source } from '../../src/plane/source.ts';
import type { PlaneContent } from '../../src/plane/tables.ts';
import { type TableVerdict, type Verdict, verify } from '../../src/plane/verify.ts';
import { addLedgerFeed } from '../../src/store/ledger-feed.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { startPglite } from '../support/pglite.ts';
import { temporaryStore } from '../support/store.ts';
import { type Churn, churnOnce } from './churn.ts';
import { ALL_CONTENT, SCHEMA } from './world.ts';

/** One PGlite for the tests of a file, since each start takes a second and more. */
export interface Pglite {
  /** Opens a session, which is the only one in truth: sessions must come one after the other. */
  readonly connect: Connect;
  /** Runs statements as they are. */
  readonly query: Query;
  /** Drops the schema with all that a test has left in it. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

export async function openPglite(): Promise<Pglite> {
  const database = await startPglite();
  const query: Query = async (text, params) => {
    if (params === undefined) {
      const results = await database.exec(text);
      const rows: Record<string, unknown>[] = results.at(-1)?.rows ?? [];
      return { rows, count: results.at(-1)?.affectedRows ?? 0 };
    }
    const asked = await database.query<Record<string, unknown>>(text, [...params]);
    return { rows: asked.rows, count: asked.affectedRows ?? 0 };
  };
  return {
    query,
    connect: async () => planeClient(SCHEMA, query, async () => undefined),
    async clear() {
      await database.exec(`rollback; drop schema if exists ${SCHEMA} cascade`);
    },
    close: () => database.close(),
  };
}

export interface PlaneHouse {
  readonly store: SqliteStore;
  readonly source: Source;
  readonly sink: Sink;
  readonly churn: Churn;
  readonly dataDir: string;
  readonly connect: Connect;
  /** Passes until nothing is left to do; gives what they did. */
  settle(): Promise<string[]>;
  verify(deep?: boolean): Promise<Verdict>;
}

export interface HouseOptions {
  readonly connect: Connect;
  readonly clock: Clock;
  readonly seed: number;
  readonly account?: string;
  readonly content?: readonly PlaneContent[];
}

/** The schema is made as `plane init` makes it. */
export async function planeHouse(options: HouseOptions): Promise<PlaneHouse> {
  const { connect, clock, seed, account = 'acme', content = ALL_CONTENT } = options;
  const store = await temporaryStore(clock);
  await store.transaction((tx) => addLedgerFeed(tx, clock.now()));
  const dataDir = dirname(store.path);
  const source = createSource({ path: store.path, busyTimeoutMs: 5_000, content });
  onTestFinished(() => source.close());
  const client = await connect();
  await ensureSchema(client, SCHEMA, source.reader().tables);
  await client.end();
  const settings = { account, schema: SCHEMA, everyMs: 1_000, dataDir };
  const sink = createSink({ source, connect, settings, clock, log: silentLogger() });
  onTestFinished(() => sink.close());
  return {
    store,
    source,
    sink,
    dataDir,
    connect,
    churn: { store, random: seededRandom(seed), at: clock.now(), seq: 0 },
    async settle() {
      const done: string[] = [];
      for (;;) {
        const { did, hasMore } = await sink.pass();
        done.push(did);
        if (!hasMore && did === 'nothing') return done;
      }
    },
    async verify(deep = true) {
      const asked = await connect();
      try {
        return await verify({ client: asked, reader: source.reader(), account, deep });
      } finally {
        await asked.end();
      }
    },
  };
}

export async function changeALot(house: PlaneHouse, count = 40): Promise<void> {
  for (let left = count; left > 0; left -= 1) await churnOnce(house.churn);
}

export const isWrong = ({ missing, different, surplus }: TableVerdict): boolean =>
  missing + different + surplus > 0;

/** Tables that are not equal, by value. */
export async function wrongTables(house: PlaneHouse): Promise<readonly TableVerdict[]> {
  return (await house.verify()).tables.filter(isWrong);
}
