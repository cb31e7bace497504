/**
 * The mirror as the plane reads it: a connection that cannot write, and short snapshots, because a
 * long one keeps the write-ahead log from being written back. Rows leave it as JSON texts that
 * SQLite has made, and no number passes through one of JavaScript's.
 */
import type Database from 'better-sqlite3';
import { StoreError } from '../lib/errors.ts';
import { openReader } from '../store/connection.ts';
import { LEDGER_FEED_KEY } from '../store/ledger-feed.ts';
import { idOf } from '../store/writers/in-place.ts';
import { withoutNul } from './postgres.ts';
import { type CopiedTable, copiedTables, type PlaneContent, shapeOf } from './tables.ts';

/** The last entry of a feed, and what it says: the same number may be given twice. */
export interface FeedPlace {
  readonly seq: number;
  /** Null: before the first, or it is deleted by now. */
  readonly entry: string | null;
}

export interface Feed {
  readonly first: number;
  readonly last: FeedPlace;
}

/** Identity of the database, and the ends of its feeds. */
export interface SourceState {
  readonly database: string;
  readonly epoch: string;
  readonly change: Feed;
  readonly ledger: Feed;
}

export interface Entry {
  readonly seq: number;
  readonly at: number;
  readonly entry: string;
  readonly table: CopiedTable;
  /** JSON arrays; more than one if the entry tells of the figures of many rows. */
  readonly keys: readonly string[];
}

export interface RowOf {
  /** JSON array. */
  readonly key: string;
  /** JSON object. */
  readonly row: string;
}

export type FeedName = 'change' | 'ledger_change';

const ENTRY = {
  change: "json_array(at, entity, key) || ''",
  ledger_change: 'json_array(at, "table", key) || \'\'',
};

/** Keys of all rows that an entry of the change feed tells the figures of; null: another entry. */
const FIGURES_OF = `iif(change.key = '', (select json_group_array(json_array(value) || '')
  from json_each(diff, '$.figures_of')), null)`;

/** An open database; statements are prepared once. */
export class MirrorReader {
  readonly tables: readonly CopiedTable[];
  readonly shape: string;
  readonly #database: Database.Database;
  readonly #byEntity: ReadonlyMap<string, CopiedTable>;
  readonly #byName: ReadonlyMap<string, CopiedTable>;
  readonly #lines: ReadonlyMap<string, readonly CopiedTable[]>;
  readonly #prepared = new Map<string, Database.Statement<unknown[]>>();

  constructor(database: Database.Database, content: readonly PlaneContent[]) {
    this.#database = database;
    this.tables = copiedTables(database, content);
    this.shape = shapeOf(this.tables);
    const entities = this.tables.flatMap((table) => (table.entity ? [table] : []));
    this.#byEntity = new Map(entities.map((table) => [table.entity ?? '', table]));
    this.#lines = Map.groupBy(this.tables, ({ linesOf }) => linesOf ?? '');
    this.#byName = new Map(this.tables.map((table) => [table.name, table]));
  }

  linesOf({ name }: CopiedTable): readonly CopiedTable[] {
    return this.#lines.get(name) ?? [];
  }

  /** Reads that belong together. Synchronous, so that nothing waits while it is open. */
  snapshot<T>(read: () => T): T {
    return this.#database.transaction(read).deferred();
  }

  #statement(text: string): Database.Statement<unknown[]> {
    const known = this.#prepared.get(text);
    if (known) return known;
    const made = this.#database.prepare<unknown[]>(text);
    this.#prepared.set(text, made);
    return made;
  }

  #value(text: string, ...params: unknown[]): unknown {
    return this.#statement(text)
      .pluck()
      .get(...params);
  }

  #state(key: string): string {
    return String(this.#value('select value from daemon_state where key = ?', key) ?? '');
  }

  state(): SourceState {
    const made = this.#value('select applied_at from schema_migration order by version limit 1');
    if (this.#state(LEDGER_FEED_KEY) === '') {
      throw new StoreError('plane.no_ledger_feed', 'the mirror has no feed of its ledgers', {
        hint: 'run "selvedge plane init" while the daemon runs',
      });
    }
    return {
      database: String(made ?? ''),
      epoch: JSON.stringify([this.#state('restored'), this.#state(LEDGER_FEED_KEY)]),
      change: this.#feed('change'),
      ledger: this.#feed('ledger_change'),
    };
  }

  #feed(name: FeedName): Feed {
    const given = this.given(name);
    const first = this.#value(`select min(seq) from ${name}`);
    const last = Number(this.#value(`select max(seq) from ${name}`) ?? given);
    return {
      first: Number(first ?? given + 1),
      last: { seq: last, entry: this.entryAt(name, last) },
    };
  }

  /** The highest number that was ever given out. */
  given(name: FeedName): number {
    return Number(this.#value('select seq from sqlite_sequence where name = ?', name) ?? 0);
  }

  entryAt(name: FeedName, seq: number): string | null {
    const found = this.#value(`select ${ENTRY[name]} from ${name} where seq = ?`, seq);
    return found === undefined ? null : String(found);
  }

  /** Entries behind `after`, in order. Those of tables that no plane has count as well. */
  entries(name: FeedName, after: number, limit: number): readonly (Entry | Omit<Entry, 'table'>)[] {
    const [what, key] =
      name === 'change'
        ? ['entity', `json_array(key) || '', json_array(cast(key AS integer)) || '', ${FIGURES_OF}`]
        : ['"table"', 'key, key, null'];
    const rows = this.#statement(
      `select seq, at, ${ENTRY[name]}, ${what}, ${key} from ${name}
       where seq > ? order by seq limit ?`,
    )
      .raw()
      .all(after, limit);
    return rows.map((row) => {
      const [seq, at, entry, of, asText, asNumber, figures] = Array.isArray(row) ? row : [];
      const table = (name === 'change' ? this.#byEntity : this.#byName).get(String(of));
      const isNumber = table?.columns.find((one) => one.name === table.keys[0])?.type === 'bigint';
      const common = { seq: Number(seq), at: Number(at), entry: String(entry) };
      const found: unknown[] =
        figures === null ? [isNumber ? asNumber : asText] : JSON.parse(figures);
      const keys = found.map(String);
      return table ? { ...common, table, keys } : { ...common, keys };
    });
  }

  #select({ name, keys, columns }: CopiedTable, where: string, order = ''): string {
    const members = columns.map((column) => `'${column.name}', ${column.value}`);
    const key = keys.map((one) => `row."${one}"`).join(', ');
    return `select json_array(${key}), json_object(${members.join(', ')})
      from "${name}" AS row where ${where} ${order}`;
  }

  #rows(text: string, params: readonly unknown[]): readonly RowOf[] {
    const found = this.#statement(text)
      .raw()
      .all(...params);
    return found.map((row) => {
      const [key, text] = Array.isArray(row) ? row : [];
      return { key: String(key), row: withoutNul(String(text)) };
    });
  }

  /** Rows as they are now, by the first so many of their keys. */
  rowsOf(table: CopiedTable, by: readonly string[], keys: readonly string[]): readonly RowOf[] {
    const columns = by.map((key) => `row."${key}"`).join(', ');
    const values = by.map((_, at) => `value->>${at}`).join(', ');
    const where = `(${columns}) in (select ${values} from json_each(?))`;
    const also = table.where === undefined ? '' : ` and ${table.where}`;
    return this.#rows(this.#select(table, where + also), [`[${keys.join(',')}]`]);
  }

  /** The next rows in the order of their keys, behind the one with the key `after`. */
  rowsBehind(table: CopiedTable, after: string | undefined, limit: number): readonly RowOf[] {
    const keys = table.keys.map((key) => `row."${key}"`).join(', ');
    const values = table.keys.map((_, at) => `?->>${at}`).join(', ');
    const behind = after === undefined ? 'true' : `(${keys}) > (${values})`;
    const where = `${behind} and ${table.where ?? 'true'}`;
    const text = this.#select(table, where, `order by ${keys} limit ?`);
    const place = after === undefined ? [] : table.keys.map(() => after);
    return this.#rows(text, [...place, limit]);
  }

  count({ name, where = 'true' }: CopiedTable): number {
    return Number(this.#value(`select count(*) from "${name}" AS row where ${where}`));
  }

  close(): void {
    this.#database.close();
  }
}

export interface SourceOptions {
  /** Path of mirror.db. */
  readonly path: string;
  readonly busyTimeoutMs: number;
  readonly content: readonly PlaneContent[];
}

/** Opens the mirror, and opens it again once another file is in its place (a restore). */
export function createSource({ path, busyTimeoutMs, content }: SourceOptions) {
  let open: { readonly id: string | undefined; readonly reader: MirrorReader } | undefined;
  const close = (): void => {
    open?.reader.close();
    open = undefined;
  };
  return {
    reader(): MirrorReader {
      const id = idOf(path);
      if (open && open.id === id) return open.reader;
      close();
      open = { id, reader: new MirrorReader(openReader(path, { busyTimeoutMs }), content) };
      return open.reader;
    },
    close,
  };
}

export type Source = ReturnType<typeof createSource>;
