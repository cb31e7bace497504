/**
 * Table `standby_change`: the keys of rows that changed and that PostgreSQL may not have yet, noted
 * by triggers in the transaction of the change itself. Table and triggers exist only where there
 * is a standby. An entry has no values: rows are read as they are when they are sent, all of a
 * piece in one snapshot.
 */

import type Database from 'better-sqlite3';
import { sql } from 'kysely';
import type { Clock } from '../lib/clock.ts';
import { sha256 } from '../lib/json.ts';
import { openReader } from '../store/connection.ts';
import { dropTriggers, presentTriggers, type Trigger } from '../store/ledger-feed.ts';
import { deleteState, readState, writeState } from '../store/state.ts';
import type { Db, Store, StoreOptions, Tx } from '../store/store.ts';
import { FEED_KEY, RECORDED } from './recorded.ts';

/** Name of the state that says up to which place of the record this database has all. */
export const PLACE_KEY = 'standby_place';

/** Name of the state with a digest of the triggers, by which one that was dropped is noticed. */
const DIGEST_KEY = 'standby_triggers';

const PREFIX = 'standby_change_';

async function keysOf(db: Db | Tx, table: string): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`select name from pragma_table_info(${table})
    where pk > 0 order by pk`.execute(db);
  return rows.map(({ name }) => name);
}

async function wantedTriggers(db: Db | Tx): Promise<readonly Trigger[]> {
  const made: Trigger[] = [];
  for (const { table, deletes, where } of RECORDED) {
    const keys = await keysOf(db, table);
    for (const event of ['INSERT', 'UPDATE', ...(deletes ? ['DELETE'] : [])]) {
      const row = event === 'DELETE' ? 'OLD' : 'NEW';
      const when = where === undefined ? '' : ` WHEN ${where.replaceAll('row.', `${row}.`)}`;
      const key = `json_array(${keys.map((name) => `${row}.${name}`).join(', ')})`;
      const name = `${PREFIX}${table}_${event.toLowerCase()}`;
      const body = `INSERT INTO standby_change ("table", key) VALUES ('${table}', ${key});`;
      const text = `CREATE TRIGGER ${name} AFTER ${event} ON ${table}${when} BEGIN ${body} END`;
      made.push({ name, sql: text });
    }
  }
  return made;
}

const digestOf = (triggers: readonly string[]): string => sha256(triggers.toSorted().join('\n'));

/**
 * Makes the feed, or makes it again after an upgrade. Where changes may have gone by it, it is
 * given another name, which is recorded first: a backup with the name of before is too old to begin
 * from.
 */
export async function beginFeed(store: Store, clock: Clock, name: string): Promise<void> {
  const wanted = await wantedTriggers(store.db);
  const digest = digestOf(wanted.map((one) => one.sql));
  const present = digestOf([...(await presentTriggers(store.db, PREFIX)).values()]);
  if (present === digest) return;
  // An older program made all that is there, and nothing of it was dropped.
  const isUpgrade = present === (await readState(store.db, DIGEST_KEY));
  await store.transaction(async (tx) => {
    await dropTriggers(tx, (await presentTriggers(tx, PREFIX)).keys());
    await sql`create table if not exists standby_change (
      seq integer primary key autoincrement,
      "table" text not null,
      key text not null
    ) strict`.execute(tx);
    for (const one of wanted) await sql.raw(one.sql).execute(tx);
    await writeState(tx, DIGEST_KEY, digest, clock);
    if (!isUpgrade) await writeState(tx, FEED_KEY, name, clock);
  });
}

/** Ends the feed: the next one has another name, and another beginning in the record. */
export async function endFeed(tx: Tx): Promise<void> {
  await dropTriggers(tx, (await presentTriggers(tx, PREFIX)).keys());
  await sql`drop table if exists standby_change`.execute(tx);
  await deleteState(tx, FEED_KEY);
  await deleteState(tx, DIGEST_KEY);
  await deleteState(tx, PLACE_KEY);
}

/**
 * Gives the feed another name and another beginning in the record, which has lost what is forgotten
 * here: a backup of before is no beginning any more.
 */
export async function renameFeed(store: Store, clock: Clock, name: string): Promise<void> {
  await store.transaction(async (tx) => {
    await writeState(tx, FEED_KEY, name, clock);
    await writeState(tx, PLACE_KEY, '0', clock);
  });
}

export async function readPlace(db: Db | Tx): Promise<number> {
  return Number((await readState(db, PLACE_KEY)) ?? 0);
}

/** Forgets all entries: the record has all that this database has. */
export async function clearFeed(tx: Tx): Promise<void> {
  await sql`delete from standby_change`.execute(tx);
}

/** Forgets entries that PostgreSQL has, and notes up to where it is in this database. */
export async function forgetKept(
  store: Store,
  clock: Clock,
  { seq, place }: { readonly seq: number; readonly place: number },
): Promise<void> {
  await store.transaction(async (tx) => {
    await sql`delete from standby_change where seq <= ${seq}`.execute(tx);
    await writeState(tx, PLACE_KEY, String(place), clock);
  });
}

/** A changed row, as it is now. */
export interface RecordedRow {
  readonly seq: number;
  readonly what: string;
  /** JSON array. */
  readonly key: string;
  /** JSON object; null: it was deleted. */
  readonly row: string | null;
}

interface Piece {
  readonly rows: readonly RecordedRow[];
  /** Whether it reaches the end: with it, the record has all that is committed. */
  readonly isWhole: boolean;
  /** Last entry of the piece; 0: it is empty. */
  readonly last: number;
}

export interface PieceLimits {
  readonly entriesMax: number;
  /** Characters of rows after which the piece ends. */
  readonly charsMax: number;
}

const PIECE_LIMITS: PieceLimits = { entriesMax: 500, charsMax: 500_000 };

export interface FeedReader {
  /** Reads the rows behind this entry, in one snapshot. Synchronous and short. */
  read(after: number): Piece;
  /** Last entry; what is committed later has a higher one. */
  last(): number;
  /** Last number that was drawn for an entry, forgotten ones included. */
  drawn(): number;
  close(): void;
}

/** Text of a row: blobs become base64, as JSON has none. */
function textOf(row: Readonly<Record<string, unknown>>): string {
  const entries = Object.entries(row).map(([name, value]): [string, unknown] => [
    name,
    Buffer.isBuffer(value) ? { base64: value.toString('base64') } : value,
  ]);
  return JSON.stringify(Object.fromEntries(entries));
}

type Statement = Database.Statement<unknown[], Record<string, unknown>>;

interface Entry {
  readonly seq: number;
  readonly table: string;
  readonly key: string;
}

/** Reader with a connection of its own, which cannot write and makes nobody wait. */
export function openFeed(options: StoreOptions, limits: PieceLimits = PIECE_LIMITS): FeedReader {
  const database = openReader(options.path, options);
  const byTable = new Map<string, Statement>();
  const rowOf = (table: string): Statement => {
    const known = byTable.get(table);
    if (known) return known;
    const keys = database
      .prepare<[string], string>('select name from pragma_table_info(?) where pk > 0 order by pk')
      .pluck()
      .all(table);
    const where = keys.map((name) => `"${name}" = ?`).join(' and ');
    const made: Statement = database.prepare(`select * from "${table}" where ${where}`);
    byTable.set(table, made);
    return made;
  };
  const entries = database.prepare<[number, number], Entry>(
    'select seq, "table", key from standby_change where seq > ? order by seq limit ?',
  );
  const newest = database.prepare<[], number>('select max(seq) from standby_change').pluck();
  const drawn = database
    .prepare<[], number>("select seq from sqlite_sequence where name = 'standby_change'")
    .pluck();
  const readPiece = (after: number): Piece => {
    const found = entries.all(after, limits.entriesMax);
    // The last entry of a row stands for all of them: they would have the same content.
    const lastOf = new Map(found.map(({ seq, table, key }) => [`${table} ${key}`, seq]));
    const rows: RecordedRow[] = [];
    let chars = 0;
    let last = 0;
    for (const { seq, table, key } of found) {
      if (chars > limits.charsMax) break;
      last = seq;
      if (lastOf.get(`${table} ${key}`) !== seq) continue;
      const keys: unknown[] = JSON.parse(key);
      const row = rowOf(table).get(...keys);
      const text = row === undefined ? null : textOf(row);
      chars += text?.length ?? 0;
      rows.push({ seq, what: table, key, row: text });
    }
    const end = Number(newest.get() ?? 0);
    return { rows, last, isWhole: last === 0 ? end <= after : last === end };
  };
  const snapshot = database.transaction(readPiece);
  return {
    read: (after) => snapshot.deferred(after),
    last: () => Number(newest.get() ?? 0),
    drawn: () => Number(drawn.get() ?? 0),
    close: () => database.close(),
  };
}
