/**
 * Plays the record into the copy of a backup: of each recorded row its last state, as the machine
 * that held the lease wrote it. Triggers that would derive rows which are themselves recorded, or
 * forbid it, are away meanwhile; those of counters and claims do their work.
 */
import { sql } from 'kysely';
import { z } from 'zod';
import { RefusedError } from '../../lib/errors.ts';
import { tryParseJson } from '../../lib/json.ts';
import type { Tx } from '../../store/store.ts';
import type { Permitted } from '../../store/upkeep.ts';
import { RECORDED } from '../recorded.ts';

/** A row of the record, without those of before the backup. */
export interface PlayedRow {
  readonly what: string;
  readonly key: string;
  readonly row: string | null;
}

export interface Gathered {
  /** The last state of each row, by table and key; null: it was deleted. */
  readonly tables: ReadonlyMap<string, ReadonlyMap<string, string | null>>;
  readonly permits: readonly Permitted[];
}

const PERMIT_KEY = z.tuple([z.number().nullable(), z.number()]);
const PERMIT = z.object({ kind: z.string(), reference: z.string(), bodyHash: z.string() });

/** Gathers rows in the order of the record. */
export function createGathering(): { add(row: PlayedRow): void; done(): Gathered } {
  const tables = new Map<string, Map<string, string | null>>();
  const permits = new Map<string, Permitted>();
  return {
    add({ what, key, row }) {
      if (what === 'permit') {
        const [outboxId, attempt] = PERMIT_KEY.parse(tryParseJson(key));
        // A request of a person by hand is no push.
        if (outboxId === null) return;
        permits.set(key, { ...PERMIT.parse(tryParseJson(row ?? '')), outboxId, attempt });
        return;
      }
      const rows = tables.get(what) ?? new Map<string, string | null>();
      tables.set(what, rows);
      rows.set(key, row);
    },
    done: () => ({ tables, permits: [...permits.values()] }),
  };
}

interface Trigger {
  readonly name: string;
  readonly sql: string;
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
const KEY = z.array(z.union([z.string(), z.number()]));

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

async function playTable(
  tx: Tx,
  table: string,
  rows: ReadonlyMap<string, string | null>,
): Promise<void> {
  const { rows: columns } = await sql<Column>`select name, pk from pragma_table_info(${table})
    order by pk`.execute(tx);
  const keys = columns.filter(({ pk }) => pk > 0).map(({ name }) => sql.ref(name));
  const known = new Set(columns.map(({ name }) => name));
  const isKey = sql.join(keys);
  // All are taken out first: a row may have taken over what is unique from another one.
  for (const key of rows.keys()) {
    const values = KEY.parse(tryParseJson(key));
    await sql`delete from ${sql.table(table)}
      where (${isKey}) = (${sql.join(values)})`.execute(tx);
  }
  for (const text of rows.values()) {
    if (text === null) continue;
    const row = ROW.parse(tryParseJson(text));
    const unknown = Object.keys(row).find((name) => !known.has(name));
    if (unknown !== undefined) throw otherRelease(`a column ${table}.${unknown}`);
    const names = Object.keys(row).map((name) => sql.ref(name));
    await sql`insert into ${sql.table(table)} (${sql.join(names)})
      values (${sql.join(Object.values(row).map(cellOf))})`.execute(tx);
  }
}

/** Plays what was gathered; gives the events that were played. */
export async function play(
  tx: Tx,
  { tables }: Pick<Gathered, 'tables'>,
): Promise<{ readonly events: readonly string[] }> {
  const unknown = [...tables.keys()].find((table) => !NAMES.has(table));
  if (unknown !== undefined) throw otherRelease(`a table ${unknown}`);
  await withoutTriggers(tx, async () => {
    for (const { table } of RECORDED) {
      const rows = tables.get(table);
      if (rows) await playTable(tx, table, rows);
    }
  });
  const events = [...(tables.get('webhook_event') ?? [])];
  return {
    events: events.flatMap(([key, row]) =>
      row === null ? [] : String(KEY.parse(JSON.parse(key))[0]),
    ),
  };
}
