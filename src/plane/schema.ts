/**
 * The plane's schema: a table for each copied one, with `account` first, the cursors, and the
 * views. Everything may run again at any time; a table that lacks a column gets it, and no row or
 * column is ever taken away. `plane_meta` holds the layout, so that an older program beside a newer
 * one leaves the newer's views as they are.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { StoreError } from '../lib/errors.ts';
import { sha256, tryParseJson } from '../lib/json.ts';
import { inTransaction, type PlaneClient, quoted, requireUsage } from './postgres.ts';
import type { CopiedTable } from './tables.ts';
import { makeViews } from './views.ts';

/** Grows with each change of a table or view; the program with the highest number has the word. */
const LAYOUT = 2;

const SHIPPED = fileURLToPath(new URL('../../migrations/plane/', import.meta.url));

const OWN_TABLES = `
create table if not exists plane_meta (
  id integer primary key check (id = 1),
  layout integer not null,
  hash text not null
);
-- The names of the views that were made, a JSON array.
alter table plane_meta add column if not exists views text;
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
  written_at bigint not null
);
alter table plane_cursor
  -- Machine and data folder of who wrote last, and the age that it allows each stream (JSON, ms).
  add column if not exists place text,
  add column if not exists freshness text,
  -- When the row was written, by the clock of PostgreSQL.
  add column if not exists touched_at timestamptz`;

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

function addColumns({ name, columns }: CopiedTable): string {
  const adds = columns.map(
    (column) => `add column if not exists ${quoted(column.name)} ${column.type}`,
  );
  return `alter table ${quoted(name)} ${adds.join(', ')}`;
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
  const ofTables = [OWN_TABLES, ...tables.flatMap((one) => [createTable(one), addColumns(one)])];
  const hash = sha256([...ofTables, views, indexes].join(';'));
  const found = await readMeta(client);
  if (found.layout > LAYOUT || (found.layout === LAYOUT && found.hash === hash)) return false;
  await inTransaction(client, async () => {
    await client.query(`create schema if not exists ${quoted(schema)}`);
    for (const statement of ofTables) await client.query(statement);
    const made = await makeViews(client, views, found.views);
    await client.query(indexes);
    await client.query(
      `insert into plane_meta (id, layout, hash, views) values (1, $1, $2, $3)
       on conflict (id) do update
       set layout = excluded.layout, hash = excluded.hash, views = excluded.views`,
      [LAYOUT, hash, JSON.stringify(made)],
    );
  });
  return true;
}

/** Throws where `plane init` has not run. */
export async function requireSchema(client: PlaneClient): Promise<void> {
  if ((await readMeta(client)).layout > 0) return;
  await requireUsage((text) => client.query(text));
  throw new StoreError('plane.no_schema', 'there is no plane in this schema of the database', {
    hint: 'run "selvedge plane init"',
  });
}
