/**
 * Finds statements that walk what grows with the past, by the plans that SQLite makes for them.
 * These do not depend on the rows: nobody runs ANALYZE, and without it SQLite takes every table for
 * one of a million rows.
 */
import type Database from 'better-sqlite3';
import { naming, openIndexes, pastTables, rising } from './tables.ts';

export interface Asked {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

/** A step of a plan: what is read, by which index, and what is known of its columns. */
interface Step {
  readonly isScan: boolean;
  readonly alias: string;
  readonly index: string | undefined;
  readonly terms: readonly string[];
}

const KIND = '(?:AUTOMATIC )?(?:PARTIAL )?(?:COVERING )?';
const STEP = new RegExp(
  `^(SCAN|SEARCH) (\\S+)(?: EXISTS)?(?: USING ${KIND}` +
    '(?:INDEX (\\w+)|INTEGER PRIMARY KEY|PRIMARY KEY))?(?: \\((.*)\\))?',
);

function stepOf(detail: string): Step | undefined {
  const [, word, alias, index, terms = ''] = STEP.exec(detail) ?? [];
  if (alias === undefined) return undefined;
  return { isScan: word === 'SCAN', alias, index, terms: terms.split(' AND ').filter(Boolean) };
}

interface Schema {
  readonly tableOfIndex: ReadonlyMap<string, string>;
  readonly tables: ReadonlySet<string>;
  readonly views: ReadonlyMap<string, string>;
}

interface SchemaRow {
  readonly type: string;
  readonly name: string;
  readonly tbl_name: string;
  readonly sql: string | null;
}

export function schemaOf(database: Database.Database): Schema {
  const rows = database
    .prepare<[], SchemaRow>('select type, name, tbl_name, sql from sqlite_schema')
    .all();
  const of = (type: string) => rows.filter((row) => row.type === type);
  return {
    tableOfIndex: new Map(of('index').map(({ name, tbl_name: table }) => [name, table])),
    tables: new Set(of('table').map(({ name }) => name)),
    views: new Map(of('view').map(({ name, sql }) => [name, sql ?? ''])),
  };
}

/** The statement's text and those of the views that it names, however deep. */
function textsOf(sql: string, views: Schema['views']): readonly string[] {
  const texts = new Set([sql]);
  for (const text of texts) {
    for (const [name, own] of views) if (new RegExp(`\\b${name}\\b`).test(text)) texts.add(own);
  }
  return [...texts];
}

const NAMED = /\b(?:from|join|into|update|,)\s+"?(\w+)"?(?:\s+(?:as\s+)?"?(\w+)"?)?/gi;

/** Tables that an alias may stand for; more than one where views use the same letter. */
function tablesOf(sql: string, alias: string, { tables, views }: Schema): readonly string[] {
  const found = new Set<string>();
  for (const text of textsOf(sql, views)) {
    for (const [, table = '', name] of text.matchAll(NAMED)) {
      if (tables.has(table) && (table === alias || name === alias)) found.add(table);
    }
  }
  return [...found];
}

/** Statuses and outcomes of which there are as many as are open. */
const OPEN_WORDS = ['pending', 'in_doubt', 'queued', 'sending', 'sent', 'dead'];
const ENDED_WORDS = ['accepted', 'rejected', 'canceled', 'confirmed', 'complete'];

function asksForOpen({ sql, parameters }: Asked): boolean {
  const given = parameters.flat();
  const said = (word: string) => given.includes(word) || sql.includes(`'${word}'`);
  return OPEN_WORDS.some(said) && !ENDED_WORDS.some(said);
}

/** Whether min() or max() of this table is asked for among some of its rows. */
function isEndAmong(sql: string, alias: string): boolean {
  const from = `from\\s+(?:"?\\w+"?\\s+(?:as\\s+)?)?"?${alias}"?`;
  return new RegExp(`\\b(?:min|max)\\([^()]*\\)[^()]*\\b${from}[^()]*\\bwhere\\b`, 'i').test(sql);
}

function isShort(step: Step, asked: Asked): boolean {
  const { index, isScan, terms } = step;
  if (index !== undefined && openIndexes.has(index)) return true;
  if (isScan) return false;
  const columns = (sign: string) =>
    terms.flatMap((term) => (term.includes(sign) ? [term.split(sign)[0] ?? ''] : []));
  // Only what is open has no end, and an index with it leads to those rows alone.
  const names = columns('=?');
  if (names.some((column) => naming.has(column) || column === 'ended_at')) return true;
  if (columns('>?').some((column) => rising.has(column))) return true;
  // A step without terms takes the first or the last entry of an index: min() or max(). With a
  // condition it goes from there to the first row that meets it, past all others.
  if (terms.length === 0) return !isEndAmong(asked.sql, step.alias);
  return names.some((column) => ['status', 'state'].includes(column)) && asksForOpen(asked);
}

/** The explained plan of a statement, a line each step. */
function planOf(database: Database.Database, { sql, parameters }: Asked): readonly string[] {
  return database
    .prepare<unknown[], { readonly detail: string }>(`explain query plan ${sql}`)
    .all(...parameters)
    .map(({ detail }) => detail);
}

/** A statement for which a walk is right, and why. */
interface Exception {
  readonly of: RegExp;
  readonly why: string;
  /** The steps that may walk; left out: all of the statement. */
  readonly steps?: RegExp;
  /** The walk ends at a limit: not where all is sorted first. */
  readonly isLimited?: true;
}

/**
 * Statements for which a walk is right. Those with a limit go through an index in the order in
 * which they give the rows, and stop.
 */
export const EXCEPTIONS: readonly Exception[] = [
  {
    of: /'dead' union all .* o\.state = 'canceled' and ifnull\(c\.due_at/s,
    steps: /^SEARCH outbox USING COVERING INDEX outbox_ended \(kind=\? AND state=\?\)$/,
    why: 'pushes that were given up are few; the canceled ones come by their claims',
  },
  {
    of: /^select (?!.*where).* from "?\w+"?( as \w+)? order by [\w". ]+(, "event_id")? limit/,
    why: 'the newest, or the oldest, of all there are',
    isLimited: true,
  },
  {
    of: /^delete from .*(< \?|<= \(|< date\(\?).* limit [?\d]|^delete from sync_run .* limit [?\d]/,
    why: 'upkeep deletes the oldest, a slice at a time',
  },
  {
    of: /^delete from change_hour/,
    why: 'the hours of the feed that is kept',
  },
  {
    of: /from event_coverage where .*order_delivery_id >= \(select min/,
    why: 'of the newest 200 deliveries, and the run before that which found each',
    steps: /^SCAN delivery$|USING INDEX sync_run_complete/,
  },
  {
    of: /^select json_array\(\(select max\(seq\) from change/,
    why: 'each max() is the last entry of its index',
    steps: /INDEX outbox_ended/,
  },
  {
    of: /from "?sync_run"? .*by "?run_id"?( desc)? limit|by r\.run_id limit|max\("released_at/,
    why: 'runs of a stream, the newest first; runs are kept for 90 days',
  },
  {
    of: /'suspicious' why/,
    why: 'the last complete run of each stream: the last entry of its index',
    steps: /^SEARCH c USING COVERING INDEX sync_run_complete/,
  },
  {
    of: /from sync_run where stream = \? and outcome = 'complete' and run_id >= coalesce/,
    why: 'the complete runs since the last one before the day',
  },
  {
    of: /outcome <> 'running' order by run_id desc limit 1/,
    why: 'the newest run that has ended; few are under way',
    steps: /^SCAN sync_run$/,
  },
  {
    of: /"shown_reference" is not null and .* order by "o"."ended_at" desc limit/,
    why: 'the newest confirmed documents, nearly all of which were answered',
    steps: /^SEARCH o USING INDEX outbox_ended/,
    isLimited: true,
  },
  {
    of: /group by sales_order.reference collate nocase order by .* limit/,
    why: 'the daily audit of references reads all of them, in slices between which others work',
    steps: /INDEX sales_order_reference_letters/,
    isLimited: true,
  },
  {
    of: /^select count\(\*\) as "count" from "sales_order" where "account_no" = \? and \+order_id/,
    why: "the number of a customer's orders, by an index alone; for rules that read it",
  },
  {
    of: /^select min\(coalesce\(created_at, first_seen_at\)\) as "at" from "sales_order"/,
    why: 'the first entry of the customer in its index',
  },
  {
    of: /from sales_order where account_no = \? and order_id < \? order by order_id desc limit/,
    why: 'the newest 500 orders of the customer',
    steps: /^SEARCH sales_order USING INDEX sales_order_account/,
    isLimited: true,
  },
  {
    of: /in \(select order_id from sales_order where account_no = \? order by order_id desc limit/,
    why: 'a window of the list of one customer: his newest 10,000 orders',
    steps: /^SEARCH sales_order USING COVERING INDEX sales_order_account/,
  },
  {
    of: /^select order_delivery_id id from .* order by order_delivery_id desc limit 1 offset/,
    why: 'the end of a window of 10,000 deliveries',
    isLimited: true,
  },
  {
    of: /from "outbox" where \(?"kind" = \?.* order by "outbox_id" desc limit/,
    why: 'a page of the newest pushes of a kind; those that are not confirmed have own indexes',
    isLimited: true,
  },
  {
    of: /from "outbox" where (\+state = \?|1 = 1) order by "outbox_id" desc limit/,
    why: 'a page of the newest pushes; those that are not confirmed have own indexes',
    isLimited: true,
  },
  {
    of: /from delivery_line l cross join delivery d .* from stock_variant_row v where rowid > \?/,
    why: 'the last sale of each variant, hourly and in slices: the newest entry of its index',
    steps: /^SEARCH l USING COVERING INDEX delivery_line_barcode/,
  },
  {
    of: /from "webhook_event" where "type" in \(\?, \?\) order by "received_at" desc, /,
    why: 'a page of the newest events of a type, of those that are kept',
    isLimited: true,
  },
  {
    of: /indexed by sales_order_closed .* limit [?\d]+$/,
    why: 'the next closed orders in the order in which they are read again',
    isLimited: true,
  },
  {
    of: /from \(select \* from "\w+" order by "\w+" desc limit [?\d]+\)/,
    why: 'the newest 20,000 rows show which members the service sends',
  },
  {
    of: /from \(select order_id from sales_order where account_no = \? order by order_id desc/,
    why: 'the newest 2,000 orders of a customer, on the page of a delivery',
    steps: /^SEARCH sales_order USING COVERING INDEX sales_order_account/,
  },
  {
    of: /^select "hash" from "rule_set" where "hash" >= \? and "hash" < \? limit/,
    why: 'a set of rules by the beginning of its hash',
    isLimited: true,
  },
  {
    of: /^delete from "stock_day" where "day" = \?/,
    why: 'one day of the sums',
  },
  {
    of: /exists \(select 1 from sales_order where account_no = \?\)|^select 1 from sales_order/,
    steps: /^SEARCH sales_order USING COVERING INDEX sales_order_account \(account_no=\?\)$/,
    why: 'the first order of an account says that there is one',
  },
  {
    of: /select min\(barcode\) from delivery_line where barcode >= start and barcode < start/,
    steps:
      /^SEARCH delivery_line (EXISTS )?USING COVERING INDEX delivery_line_barcode \(barcode[<>]/,
    why: 'each spelling by where it begins: the first entry from there on',
  },
  {
    of: /"i"\."at" <= \? and "i"\."resolved_at" >= \?|in \('failed', 'suspicious'\) and started_at/,
    steps: /incident_ended \(resolved_at>\?\)$|sync_run_wrong \(started_at>\? AND started_at<\?\)$/,
    why: 'what went wrong in the time that is asked for',
  },
];

/** The statement in one line. */
export function textOf({ sql }: Asked): string {
  return sql.replaceAll('+?', '?').replaceAll(/\s+/g, ' ').trim();
}

/** Steps of the statement's plan that walk a table of the past. */
export function walksOf(
  database: Database.Database,
  schema: Schema,
  asked: Asked,
): readonly string[] {
  const plan = planOf(database, asked);
  const isSorted = plan.some((detail) => detail === 'USE TEMP B-TREE FOR ORDER BY');
  const exceptions = EXCEPTIONS.filter(
    ({ of, isLimited }) => of.test(textOf(asked)) && !(isLimited && isSorted),
  );
  const isExcepted = (detail: string): boolean =>
    exceptions.some(({ steps }) => steps?.test(detail) ?? true);
  return plan.filter((detail) => {
    if (isExcepted(detail)) return false;
    const step = stepOf(detail);
    if (!step) return false;
    const own = step.index === undefined ? undefined : schema.tableOfIndex.get(step.index);
    const tables = own === undefined ? tablesOf(asked.sql, step.alias, schema) : [own];
    const isPast = tables.some((table) => pastTables.has(table));
    return isPast && !isShort(step, asked);
  });
}
