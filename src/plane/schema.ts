/**
 * The plane's schema: a table for each copied one, with `account` first, the cursors, and the
 * views. Everything may run again at any time; a table that lacks a column gets it, and no row or
 * column is ever taken away. `plane_meta` holds the layout, so that an older program beside a newer
 * one leaves the newer's views as they are. Readers queue behind a change that waits for a
 * lock: it gives up soon, names the session in the way, and is tried again.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import { SelvedgeError, StoreError } from '../lib/errors.ts';
import { sha256, tryParseJson } from '../lib/json.ts';
import { type PlaneClient, quoted, requireUsage } from './postgres.ts';
import type { CopiedTable } from './tables.ts';
import { makeViews } from './views.ts';

/** Grows with each change of a table or view; the program with the highest number has the word. */
const LAYOUT = 2;

const SHIPPED = fileURLToPath(new URL('../../migrations/plane/', import.meta.url));

const OWN_TABLES = `
create table if not exists plane_meta (
  id integer primary key check (id = 1),
  layout integer not null,
  hash text not null,
  -- The names of the views that were made, a JSON array.
  views text
);
create table if not exists plane_cursor (
  account text primary key,
  -- Which database the copy is of, and which of its pasts: another one after a restore.
  database text not null,
  epoch text not null,
  -- The form of the copied rows: columns and content.
  shape text not null,
  -- The last entry of the change feed that is in the copy, and what it said.
  seq bigint not null,
  entry text,
  -- The same of ledger_change.
  ledger_seq bigint not null,
  ledger_entry text,
  -- The last entries of both feeds when rows were read: they may be newer than the cursor.
  seen text not null,
  -- The oldest entry of the change feed that the copy keeps.
  first_seq bigint not null,
  -- When the copy last had every change, and when the sink last said so (epoch ms).
  complete_at bigint,
  written_at bigint not null,
  -- Machine and data folder of who wrote last, and the age that it allows each stream (JSON, ms).
  place text,
  freshness text,
  -- When the row was written, by the clock of PostgreSQL.
  touched_at timestamptz
)`;

/** Columns that planes of before lack. */
const LATER_COLUMNS = [
  { name: 'plane_meta', columns: [{ name: 'views', type: 'text' }] },
  {
    name: 'plane_cursor',
    columns: [
      { name: 'place', type: 'text' },
      { name: 'freshness', type: 'text' },
      { name: 'touched_at', type: 'timestamptz' },
    ],
  },
] as const;

/**
 * A change waits so long for a table or view. Shorter than PostgreSQL's deadlock_timeout, because
 * of two that wait for each other it would end the reader.
 */
const LOCK_MS_MAX = 800;

function createTable({ name, keys, columns }: CopiedTable): string {
  const typed = columns.map((column) => {
    const isKey = keys.includes(column.name);
    return `${quoted(column.name)} ${column.type}${isKey ? ' not null' : ''}`;
  });
  const key = keys.map(quoted).join(', ');
  const first = 'account text collate "C" not null';
  return `create table if not exists ${quoted(name)}
    (${[first, ...typed].join(', ')}, primary key (account, ${key}))`;
}

type Named = Pick<CopiedTable, 'name'> & {
  readonly columns: readonly Pick<CopiedTable['columns'][number], 'name' | 'type'>[];
};

function addColumns({ name, columns }: Named): string {
  const adds = columns.map(
    (column) => `add column if not exists ${quoted(column.name)} ${column.type}`,
  );
  return `alter table ${quoted(name)} ${adds.join(', ')}`;
}

/** Names of the tables, indexes and columns (`table.column`) that are there. */
async function readPresent(client: PlaneClient): Promise<ReadonlySet<unknown>> {
  const { rows } = await client.query(
    `select c.relname::text AS name from pg_class c
     where c.relnamespace = to_regnamespace(current_setting('search_path'))
     union all select c.relname || '.' || a.attname from pg_class c
     join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relnamespace = to_regnamespace(current_setting('search_path')) and c.relkind = 'r'`,
  );
  return new Set(rows.map(({ name }) => name));
}

/** Makes what is missing, and touches nothing else: even a needless change keeps readers out. */
async function makeTables(client: PlaneClient, tables: readonly CopiedTable[]): Promise<void> {
  for (const table of [OWN_TABLES, ...tables.map(createTable)]) await client.query(table);
  const present = await readPresent(client);
  for (const { name, columns } of [...LATER_COLUMNS, ...tables]) {
    const missing = columns.filter((column) => !present.has(`${name}.${column.name}`));
    if (missing.length > 0) await client.query(addColumns({ name, columns: missing }));
  }
}

/** In transactions of their own: an index takes minutes, in which readers go on. */
async function makeIndexes(client: PlaneClient, text: string): Promise<void> {
  const present = await readPresent(client);
  for (const [statement, name] of text.matchAll(/^CREATE INDEX IF NOT EXISTS (\w+)[^;]*;/gm)) {
    if (!present.has(name)) await client.query(statement);
  }
}

function shipped(name: 'views.sql' | 'indexes.sql'): string {
  return readFileSync(SHIPPED + name, 'utf8');
}

const META = z.object({
  layout: z.coerce.number(),
  hash: z.string(),
  views: z.string().nullish(),
});
const NAMES = z.array(z.string()).catch([]);

async function readMeta(client: PlaneClient) {
  const there = await client.query("select to_regclass('plane_meta') is not null AS there");
  if (there.rows[0]?.there !== true) return { layout: 0, hash: '', views: [] };
  const { rows } = await client.query('select * from plane_meta');
  const { layout, hash, views } = META.parse(rows[0] ?? { layout: 0, hash: '' });
  return { layout, hash, views: NAMES.parse(tryParseJson(views ?? '')) };
}

/** Makes the plane's schema what this program needs; gives whether anything was done. */
export async function ensureSchema(
  client: PlaneClient,
  schema: string,
  tables: readonly CopiedTable[],
): Promise<boolean> {
  const [views, indexes] = [shipped('views.sql'), shipped('indexes.sql')];
  const shape = [...tables, ...LATER_COLUMNS].map(addColumns);
  const hash = sha256([OWN_TABLES, ...tables.map(createTable), ...shape, views, indexes].join(';'));
  const found = await readMeta(client);
  if (found.layout > LAYOUT || (found.layout === LAYOUT && found.hash === hash)) return false;
  const made = await client.transaction(async () => {
    await client.query(`set local lock_timeout = ${LOCK_MS_MAX}`);
    const there = await client.query(
      'select to_regnamespace(quote_ident($1)) is not null AS there',
      [schema],
    );
    // Even where it is there, it takes the right to make one.
    if (there.rows[0]?.there !== true)
      await client.query(`create schema if not exists ${quoted(schema)}`);
    await makeTables(client, tables);
    return makeViews(client, views, found.views);
  });
  await makeIndexes(client, indexes);
  await client.query(
    `insert into plane_meta (id, layout, hash, views) values (1, $1, $2, $3)
     on conflict (id) do update
     set layout = excluded.layout, hash = excluded.hash, views = excluded.views`,
    [LAYOUT, hash, JSON.stringify(made)],
  );
  return true;
}

const TRIES = 4;
const TRY_AGAIN_MS = 2_000;

/** The same for a person who waits: asks a few times for a lock that is not free. */
export async function ensureSchemaNow(
  client: PlaneClient,
  schema: string,
  tables: readonly CopiedTable[],
  clock: Clock,
): Promise<boolean> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await ensureSchema(client, schema, tables);
    } catch (thrown) {
      const isLocked = thrown instanceof SelvedgeError && thrown.code === 'plane.locked';
      if (!isLocked || tries === TRIES) throw thrown;
      await clock.sleep(TRY_AGAIN_MS);
    }
  }
}

/** Throws where `plane init` has not run. */
export async function requireSchema(client: PlaneClient): Promise<void> {
  if ((await readMeta(client)).layout > 0) return;
  await requireUsage((text) => client.query(text));
  throw new StoreError('plane.no_schema', 'there is no plane in this schema of the database', {
    hint: 'run "selvedge plane init"',
  });
}
