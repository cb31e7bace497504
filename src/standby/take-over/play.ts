/**
 * Plays the record into the copy of a backup: of each recorded row its last state, as the machine
 * that held the lease wrote it. Triggers that would derive rows which are themselves recorded, or
 * forbid it, are away meanwhile; those of counters and claims do their work.
 */
import { CompiledQuery, sql } from 'kysely';
import { z } from 'zod';
import { RefusedError } from '../../lib/errors.ts';
import { tryParseJson } from '../../lib/json.ts';
import type { Trigger } from '../../store/ledger-feed.ts';
import type { Tx } from '../../store/store.ts';
import type { Permitted } from '../../store/upkeep.ts';
import { RECORDED } from '../recorded.ts';

/** A row of the record. */
export interface PlayedRow {
  readonly place: number;
  readonly what: string;
  readonly key: string;
  /** JSON; null: it was deleted. */
  readonly row: string | null;
}

/**
 * The record behind a backup, in its order and in pieces, since a day of it may be larger than
 * memory. It is read several times, and says the same each time.
 */
export interface RecordSource {
  /** All that it has, without rows. */
  keys(): AsyncIterable<readonly Omit<PlayedRow, 'row'>[]>;
  /** Rows that it has of one table, or the permits. */
  rows(what: string): AsyncIterable<readonly PlayedRow[]>;
}

const PERMIT_WHAT = 'permit';
const PERMIT_KEY = z.tuple([z.number().nullable(), z.number()]);
const PERMIT = z.object({ kind: z.string(), reference: z.string(), bodyHash: z.string() });

async function permitsOf(source: RecordSource): Promise<readonly Permitted[]> {
  const permits = new Map<string, Permitted>();
  for await (const piece of source.rows(PERMIT_WHAT)) {
    for (const { key, row } of piece) {
      const [outboxId, attempt] = PERMIT_KEY.parse(tryParseJson(key));
      // A request of a person by hand is no push.
      if (outboxId === null) continue;
      permits.set(key, { ...PERMIT.parse(tryParseJson(row ?? '')), outboxId, attempt });
    }
  }
  return [...permits.values()];
}

const NAMES = new Set(RECORDED.map(({ table }) => table));
const WRITES = /\b(?:INSERT(?: OR \w+)? INTO|UPDATE|DELETE FROM) (\w+)/g;

/** Whether a trigger forbids a change, or writes what the record has anyhow. */
function isInTheWay({ sql: text }: Trigger): boolean {
  const body = text.slice(text.indexOf('BEGIN'));
  if (/\bRAISE\s*\(/.test(body)) return true;
  const written = [...body.matchAll(WRITES)].map(([, table = '']) => table);
  return written.some((table) => NAMES.has(table) || table === 'standby_change');
}

/** Runs the work without the triggers of recorded tables that are in its way. */
async function withoutTriggers(tx: Tx, work: () => Promise<void>): Promise<void> {
  const tables = JSON.stringify([...NAMES]);
  const { rows } = await sql<Trigger>`select name, sql from sqlite_schema
    where type = 'trigger' and tbl_name in (select value from json_each(${tables}))`.execute(tx);
  const away = rows.filter(isInTheWay);
  for (const { name } of away) await sql`drop trigger ${sql.ref(name)}`.execute(tx);
  await work();
  for (const one of away) await sql.raw(one.sql).execute(tx);
}

const BLOB = z.object({ base64: z.string() });
const ROW = z.record(z.string(), z.union([z.string(), z.number(), z.null(), BLOB]));
function cellOf(value: z.output<typeof ROW>[string]): string | number | null | Buffer {
  const isBlob = typeof value === 'object' && value !== null;
  return isBlob ? Buffer.from(value.base64, 'base64') : value;
}

function otherRelease(what: string): RefusedError {
  return new RefusedError('standby.other_release', `the record has ${what}, unknown here`, {
    hint: 'the other machine ran another release: install it here, too',
  });
}

interface Column {
  readonly name: string;
  readonly pk: number;
}

const quoted = (name: string): string => `"${name}"`;

/** Notes the last place of each key; gives the tables of which there is something. */
async function noteLast(tx: Tx, source: RecordSource): Promise<ReadonlySet<string>> {
  await sql`create table standby_played (what text not null, key text not null,
    place integer not null, primary key (what, key)) strict, without rowid`.execute(tx);
  const tables = new Set<string>();
  for await (const piece of source.keys()) {
    const ours = piece.filter(({ what }) => what !== PERMIT_WHAT);
    for (const { what } of ours) tables.add(what);
    const list = JSON.stringify(ours.map(({ what, key, place }) => [what, key, place]));
    await sql`insert or replace into standby_played (what, key, place)
      select value ->> 0, value ->> 1, value ->> 2 from json_each(${list})`.execute(tx);
  }
  return tables;
}

/** The rows among these that are the last of their keys. */
async function lastOf(tx: Tx, piece: readonly PlayedRow[]): Promise<readonly PlayedRow[]> {
  const list = JSON.stringify(piece.map(({ what, key }) => [what, key]));
  const { rows } = await sql<{ place: number }>`select p.place from json_each(${list}) j
    join standby_played p on p.what = j.value ->> 0 and p.key = j.value ->> 1`.execute(tx);
  const places = new Set(rows.map(({ place }) => place));
  return piece.filter(({ place }) => places.has(place));
}

async function playTable(tx: Tx, table: string, source: RecordSource): Promise<void> {
  const { rows: columns } = await sql<Column>`select name, pk from pragma_table_info(${table})
    order by pk`.execute(tx);
  const keys = columns.filter(({ pk }) => pk > 0).map(({ name }) => quoted(name));
  const known = new Set(columns.map(({ name }) => name));
  const values = keys.map((_, index) => `key ->> ${index}`);
  // All are taken out first: a row may have taken over what is unique from another one.
  await tx.executeQuery(
    CompiledQuery.raw(
      `delete from ${quoted(table)} where (${keys.join(', ')}) in
         (select ${values.join(', ')} from standby_played where what = ?)`,
      [table],
    ),
  );
  for await (const piece of source.rows(table)) {
    for (const { row: text } of await lastOf(tx, piece)) {
      if (text === null) continue;
      const row = ROW.parse(tryParseJson(text));
      const names = Object.keys(row);
      const unknown = names.find((name) => !known.has(name));
      if (unknown !== undefined) throw otherRelease(`a column ${table}.${unknown}`);
      const marks = names.map(() => '?').join(', ');
      const into = `insert into ${quoted(table)} (${names.map(quoted).join(', ')})`;
      const cells = Object.values(row).map(cellOf);
      await tx.executeQuery(CompiledQuery.raw(`${into} values (${marks})`, cells));
    }
  }
}

export interface Played {
  /** Ids of the events that were played. */
  readonly events: readonly string[];
  readonly permits: readonly Permitted[];
}

/** Plays the record into the copy. */
export async function play(tx: Tx, source: RecordSource): Promise<Played> {
  const present = await noteLast(tx, source);
  const unknown = [...present].find((table) => !NAMES.has(table));
  if (unknown !== undefined) throw otherRelease(`a table ${unknown}`);
  await withoutTriggers(tx, async () => {
    for (const { table } of RECORDED) if (present.has(table)) await playTable(tx, table, source);
  });
  const { rows } = await sql<{ id: string }>`select e.event_id AS id from standby_played p
    join webhook_event e on e.event_id = p.key ->> 0 where p.what = 'webhook_event'`.execute(tx);
  await sql`drop table standby_played`.execute(tx);
  return { events: rows.map(({ id }) => id), permits: await permitsOf(source) };
}
