/**
 * The tables that the plane holds a copy of: from which feed each is followed, and which of its
 * columns stay out. Columns, and their types, are those of the mirror's own schema, so that a new
 * column needs no word here. A column that tells of people keeps its place and is empty unless
 * `plane.content` names it: statements on the plane are the same for every content.
 */
import type Database from 'better-sqlite3';
import type { Config } from '../config/schema.ts';
import { sha256 } from '../lib/json.ts';
import { LEDGER_TABLES } from '../store/ledger-feed.ts';
import { MIRRORED_TABLES, peopleIn, quotesIn } from '../store/tables/people.ts';

/** Parts that a plane may hold; the last two are columns of the others. */
export type PlaneContent = Config['plane']['content'][number];
type Group = 'mirror' | 'changes' | 'ledgers';
type Private = Exclude<PlaneContent, Group>;

export interface PlaneTable {
  readonly name: string;
  /** Behind `account`, the primary key; empty: that of the mirror's own table. */
  readonly keys: readonly string[];
  readonly group: Group;
  /** In the change feed; left out: its changes stand in `ledger_change`. */
  readonly entity?: string;
  /** Its rows are parts of a row of this table, and go and come with it. */
  readonly linesOf?: string;
  /** Condition on the alias `row`. */
  readonly where?: string;
  /** The daemon's own marks, which change without an entry in a feed, and names of secrets. */
  readonly omitted?: readonly string[];
  /** Columns of the plane that are an expression over the alias `row`. */
  readonly values?: Readonly<Record<string, string>>;
  /** Value of a column as long as the content does not name the word. */
  readonly hidden?: Partial<Record<Private, Readonly<Record<string, string>>>>;
}

const MARKS = ['read_seq', 'content_hash'];

function mirrored(name: string, more: Partial<PlaneTable> = {}): PlaneTable {
  const omitted = [...MARKS, ...(more.omitted ?? [])];
  return { name, keys: [], group: 'mirror', entity: name, ...more, omitted };
}

function linesOf(parent: string, name: string, key: string) {
  return { name, keys: [key, 'line_no'], group: 'mirror', linesOf: parent } as const;
}

/**
 * Sizes of a colour share their members without a column; on the plane each row has its own, as
 * the view `stock_variant` gives them. `row_no`: the order in which rows came to the mirror.
 */
const VARIANT = {
  omitted: ['extra_id'],
  values: {
    extra:
      'coalesce((select e.extra from variant_extra e where e.extra_id = row.extra_id), row.extra)',
    row_no: 'row.rowid',
  },
};

const NUMBERED = { values: { row_no: 'row.rowid' } };
const WITH_PEOPLE = ['sales_order', 'delivery', 'refund', 'pending_refund', 'erp_customer'];
const QUOTED_NAMES = WITH_PEOPLE.map((name) => `'${name}'`).join(', ');
const PRIVATE_MEMBERS = new Set(WITH_PEOPLE.flatMap((name) => Object.keys(peopleIn(name))));

/** Changed members, without those that tell of people, and the lines, whose rest may. */
const OPEN_DIFF = `case when row.entity in (${QUOTED_NAMES}) then json_remove(row.diff, ${[
  ...PRIVATE_MEMBERS,
  'lines',
]
  .map((member) => `'$.${member}'`)
  .join(', ')}) || '' else row.diff end`;

const OPEN_BODY = `case when row.order_delivery_id is not null
  then json_object('status', row.body ->> '$.status') || '' else '{}' end`;
const OPEN_RESULT = `case when json_valid(row.result) then json_object(
  'orderId', row.result ->> '$.orderId', 'orderNo', row.result ->> '$.orderNo') || '' end`;

/** Mirrored tables with something of their own, and tables of lines. */
const MIRRORED: readonly PlaneTable[] = [
  linesOf('season', 'season_delivery', 'season_name'),
  mirrored('stock_variant_row', { entity: 'stock_variant', ...VARIANT }),
  mirrored('season_variant_row', { entity: 'season_variant', ...VARIANT }),
  mirrored('sales_order', { omitted: ['details_read_at', 'whole_read_at'] }),
  linesOf('sales_order', 'sales_order_line', 'order_id'),
  linesOf('delivery', 'delivery_line', 'order_delivery_id'),
  linesOf('refund', 'refund_line', 'order_refund_id'),
  linesOf('pending_refund', 'pending_refund_line', 'pending_refund_id'),
  mirrored('style', NUMBERED),
  mirrored('style_color', NUMBERED),
];

/** Tables of the ledger feed that belong to the mirror or to its history. */
const GROUPS: Readonly<Record<string, Group>> = {
  daemon_state: 'mirror',
  pause: 'mirror',
  stream_state: 'mirror',
  season_window: 'mirror',
  size_rank: 'mirror',
  zone_offset: 'mirror',
  stock_day: 'mirror',
  stock_age: 'mirror',
  shared_number: 'mirror',
  quarantine: 'mirror',
  change_hour: 'changes',
};

/** Columns that tell of people and keep a part; store/tables/people.ts has the others. */
const OPEN_PARTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  outbox: { body: OPEN_BODY, result: OPEN_RESULT },
  change: { diff: OPEN_DIFF },
};

function sqlText(value: string | null): string {
  return value === null ? 'null' : `'${value}'`;
}

/** Columns that tell of people, by the word of the content that shows them, and their values. */
function hiddenIn(table: string): Required<PlaneTable>['hidden'] {
  const people = Object.entries(peopleIn(table)).map(([name, value]) => [name, sqlText(value)]);
  const quotes = quotesIn(table).map((name) => [name, `without_quotes(row."${name}")`]);
  const columns = { ...Object.fromEntries([...quotes, ...people]), ...OPEN_PARTS[table] };
  return { [table === 'webhook_event' ? 'bodies' : 'addresses']: columns };
}

export const PLANE_TABLES: readonly PlaneTable[] = [
  ...MIRRORED,
  ...MIRRORED_TABLES.filter((name) => MIRRORED.every((one) => one.name !== name)).map((name) =>
    mirrored(name),
  ),
  { name: 'change', keys: ['seq'], group: 'changes' as const },
  ...LEDGER_TABLES.map(({ table, keys, where }) => ({
    name: table,
    keys,
    group: GROUPS[table] ?? ('ledgers' as const),
    ...(where !== undefined && { where }),
    ...(table === 'webhook_event' && { omitted: ['secret_name'] }),
  })),
].map((table) => ({ ...table, hidden: hiddenIn(table.name) }));

interface PlaneColumn {
  readonly name: string;
  /** Type in PostgreSQL. */
  readonly type: string;
  /** SQLite's expression over the alias `row`. */
  readonly value: string;
}

/** A table as one plane has it. */
export interface CopiedTable extends PlaneTable {
  readonly columns: readonly PlaneColumn[];
  /** False: the content does not name it, and it stays empty. */
  readonly isCopied: boolean;
}

/** Bytes order text as SQLite does, whatever the locale of the PostgreSQL database. */
const TYPES: Readonly<Record<string, string>> = {
  INTEGER: 'bigint',
  TEXT: 'text collate "C"',
  REAL: 'double precision',
  BLOB: 'bytea',
};

interface SqliteColumn {
  readonly name: string;
  readonly type: string;
}

function columnsOf(
  database: Database.Database,
  table: PlaneTable,
  content: readonly PlaneContent[],
): PlaneColumn[] {
  const { name, omitted = [], values = {}, hidden = {} } = table;
  const found = database
    .prepare<[string], SqliteColumn>('select name, type from pragma_table_xinfo(?)')
    .all(name);
  const kept = found.filter((column) => !omitted.includes(column.name));
  const added = Object.keys(values).filter((column) => !found.some((one) => one.name === column));
  const closed = Object.entries(hidden).flatMap(([word, columns]) =>
    content.some((one) => one === word) ? [] : Object.entries(columns),
  );
  const instead = new Map([...Object.entries(values), ...closed]);
  const columns = [...kept, ...added.map((column) => ({ name: column, type: 'INTEGER' }))];
  return columns.map((column) => {
    const value = instead.get(column.name) ?? `row."${column.name}"`;
    // The text form that PostgreSQL reads as bytes.
    const isBytes = column.type === 'BLOB' && value !== 'null';
    return {
      name: column.name,
      type: TYPES[column.type] ?? 'text collate "C"',
      value: isBytes ? `'\\x' || lower(hex(${value}))` : value,
    };
  });
}

function keysOf(database: Database.Database, { name }: PlaneTable): readonly string[] {
  const keys = database
    .prepare<[string], string>('select name from pragma_table_info(?) where pk > 0 order by pk')
    .pluck();
  return keys.all(name);
}

/** The tables with their columns, as this database has them and this content shows them. */
export function copiedTables(
  database: Database.Database,
  content: readonly PlaneContent[],
): readonly CopiedTable[] {
  return PLANE_TABLES.map((table) => ({
    ...table,
    keys: table.keys.length > 0 ? table.keys : keysOf(database, table),
    columns: columnsOf(database, table, content),
    isCopied: content.includes(table.group),
  }));
}

/** Another shape: rows that were copied before say something else than those that come now. */
export function shapeOf(tables: readonly CopiedTable[]): string {
  return sha256(JSON.stringify(tables)).slice(0, 16);
}
