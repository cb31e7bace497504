/**
 * Decision tables: CSV files with one or more key columns, one value column and, if rows apply to
 * some days only, columns of their first and last day. `*` in a key column marks the default row.
 * Files may be as spreadsheets write them: `;` or `,` between cells, a decimal point or comma.
 */
import { CsvError, parse } from 'csv-parse/sync';
import { canonicalJson } from '../lib/json.ts';
import { nearestName } from '../lib/nearest.ts';
import {
  DEFAULT_KEY,
  FIRST_DAY,
  findGaps,
  LAST_DAY,
  type TableNode,
  treeOf,
} from './table-tree.ts';
import type { Problem } from './text/problem.ts';
import type { ReadTable, TableFile, TableRow } from './text/settings-schema.ts';

/** Maximum of problems of a table that are told singly; thousands of rows may share one mistake. */
const ROW_PROBLEMS_MAX = 100;
/** Maximum of digits in a number; one with more could be read as another number. */
const DIGITS_MAX = 15;

interface Reader {
  readonly file: string;
  readonly lines: readonly string[];
  readonly problems: Problem[];
}

function report(
  { file, lines, problems }: Reader,
  line: number,
  message: string,
  more: { readonly hint?: string | undefined; readonly isWarning?: boolean } = {},
): void {
  const source = lines[line - 1] ?? '';
  const place = { file, line, column: 1, source, length: Math.max(1, source.length) };
  const severity = more.isWarning === true ? 'warning' : 'error';
  problems.push({ severity, ...place, message, hint: more.hint });
}

/** Delimiter of the cells: spreadsheets of countries with a decimal comma use a semicolon. */
function delimiterOf(header: string): string {
  return header.includes(';') ? ';' : ',';
}

/** Cells of the rows; undefined: a line is broken, which keeps all others from being known. */
function cellsOf(reader: Reader, text: string): readonly (readonly string[])[] | undefined {
  try {
    return parse(text, {
      bom: true,
      delimiter: delimiterOf(reader.lines[0] ?? ''),
      relax_column_count: true,
      trim: true,
    });
  } catch (thrown) {
    // A quote that nobody closes is found at the end of the file, far from its row.
    const rows = thrown instanceof CsvError ? Number(thrown.records) : 0;
    report(reader, rows + 1, 'this is no row of a CSV file', {
      hint: 'put a cell with quotes or line breaks in double quotes',
    });
    return undefined;
  }
}

/** Reads a cell as true or false, as a number with a decimal point or comma, or else as a text. */
function parseValue(reader: Reader, line: number, cell: string): TableRow['value'] {
  if (/^(true|false)$/i.test(cell)) return cell.toLowerCase() === 'true';
  if (/^-?\d{1,3}([.,' ]\d{3})+([.,]\d+)?$/.test(cell)) {
    const hint = 'write 15000 for fifteen thousand, 15.0 or 15,0 for fifteen';
    report(reader, line, `${cell} may be a thousand or a fraction`, { hint });
  }
  if (!/^-?\d+([.,]\d+)?$/.test(cell)) return cell;
  if (cell.replaceAll(/\D/g, '').length > DIGITS_MAX) {
    report(reader, line, `${cell} has more than ${DIGITS_MAX} digits`, { hint: 'write fewer' });
  }
  return Number(cell.replace(',', '.'));
}

/**
 * Reads a day such as 2026-12-24 or, as spreadsheets show it with the day first, 24.12.2026 or
 * 24/12/2026.
 */
function dayOf(reader: Reader, line: number, cell: string): string | undefined {
  if (cell === '') return undefined;
  const [, day = '', month = '', year = ''] =
    /^(\d{1,2})[./](\d{1,2})[./](\d{4})$/.exec(cell) ?? [];
  const iso = year === '' ? cell : `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  const time = Date.parse(`${iso}T00:00:00Z`);
  if (/^\d{4}-\d\d-\d\d$/.test(iso) && new Date(time).toISOString().startsWith(iso)) return iso;
  report(reader, line, `${cell} is no day`, { hint: 'write a day such as 2026-12-24' });
  return undefined;
}

interface Columns {
  readonly keys: readonly number[];
  readonly value: number;
  readonly from: number | undefined;
  readonly until: number | undefined;
}

function columnsOf(
  reader: Reader,
  header: readonly string[],
  spec: TableFile,
): Columns | undefined {
  let complete = true;
  const find = (name: string): number => {
    const at = header.findIndex((cell) => cell.toLowerCase() === name.toLowerCase());
    if (at >= 0) return at;
    complete = false;
    const nearest = nearestName(name, header);
    const hint =
      nearest === undefined ? `it has: ${header.join(', ')}` : `did you mean: ${nearest}?`;
    report(reader, 1, `the table has no column "${name}"`, { hint });
    return 0;
  };
  const columns = {
    keys: spec.keys.map(find),
    value: find(spec.value),
    from: spec.from === undefined ? undefined : find(spec.from),
    until: spec.until === undefined ? undefined : find(spec.until),
  };
  return complete ? columns : undefined;
}

function rowOf(
  reader: Reader,
  cells: readonly string[],
  line: number,
  columns: Columns,
): TableRow | undefined {
  if (cells.every((cell) => cell === '')) return undefined;
  const cell = (at: number | undefined): string => (at === undefined ? '' : (cells[at] ?? ''));
  const keys = columns.keys.map(cell);
  if (keys.includes('')) {
    report(reader, line, 'a key is empty', { hint: `write ${DEFAULT_KEY} for every other value` });
    return undefined;
  }
  if (cell(columns.value) === '') {
    report(reader, line, 'the row has no value', { hint: 'remove the row, or write its value' });
    return undefined;
  }
  const from = dayOf(reader, line, cell(columns.from));
  const until = dayOf(reader, line, cell(columns.until));
  if (from !== undefined && until !== undefined && from > until) {
    report(reader, line, `the row ends on ${until}, before it begins on ${from}`);
  }
  return { line, keys, value: parseValue(reader, line, cell(columns.value)), from, until };
}

function nextDay(day: string): string {
  if (day >= LAST_DAY) return day;
  return new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10);
}

/**
 * Refuses rows with the same keys that apply to the same day; warns of days between them without a
 * row.
 */
function checkDays(reader: Reader, rows: readonly TableRow[]): void {
  for (const [key, same] of Map.groupBy(rows, ({ keys }) => keys.join(', '))) {
    const sorted = same.toSorted((a, b) =>
      (a.from ?? FIRST_DAY) < (b.from ?? FIRST_DAY) ? -1 : 1,
    );
    for (const [index, row] of sorted.entries()) {
      const before = sorted[index - 1];
      if (before === undefined) continue;
      const [end, start] = [before.until ?? LAST_DAY, row.from ?? FIRST_DAY];
      if (start <= end) {
        const message = `${key}: this row and the one in line ${before.line} hold at the same time`;
        report(reader, row.line, message, { hint: 'remove one, or give each its days' });
      } else if (nextDay(end) < start) {
        const message = `${key}: no row holds between ${end} and ${start}`;
        report(reader, row.line, message, { isWarning: true });
      }
    }
  }
}

/**
 * Warns of combinations of keys without any row, default rows included: a condition that looks one
 * up becomes unknown.
 */
function checkGaps(reader: Reader, tree: TableNode, rows: readonly TableRow[]): void {
  const [first] = rows;
  if (first === undefined || first.keys.length < 2) return;
  const { shown, count } = findGaps(tree, rows);
  if (shown.length === 0) return;
  const others = count === undefined ? ' and more' : ` and ${count - shown.length} more`;
  const more = count === shown.length ? '' : others;
  const hint = `add these rows, or a row with ${DEFAULT_KEY}`;
  const named = shown.map((keys) => keys.join(' and ')).join('; ');
  report(reader, 1, `no row for ${named}${more}`, { hint, isWarning: true });
}

/** A table as it was read from its file, with what is made of its rows once. */
export interface LoadedTable {
  readonly table: ReadTable;
  /** Text of the file: while it and the columns are the same, so is the table. */
  readonly text: string;
  /** Whether its rows are not known, so that no rule can be judged. */
  readonly isUnread: boolean;
  /** Canonical JSON of the table, which the hashes of the set and of its rules contain. */
  readonly json: string;
  readonly tree: TableNode;
  readonly problems: readonly Problem[];
}

/** Takes the first problems as they are; one more says how many there are beyond them. */
export function firstProblems(problems: readonly Problem[]): readonly Problem[] {
  const last = problems[ROW_PROBLEMS_MAX - 1];
  const more = problems.length - ROW_PROBLEMS_MAX;
  if (last === undefined || more <= 0) return problems;
  const isError = problems.some(({ severity }) => severity === 'error');
  const severity = isError ? 'error' : 'warning';
  const note: Problem = { ...last, severity, column: 2, message: `and ${more} more in this file` };
  return [...problems.slice(0, ROW_PROBLEMS_MAX), note];
}

/** Rows of a table; undefined: they cannot be known. */
function rowsOf(spec: TableFile, reader: Reader, text: string): readonly TableRow[] | undefined {
  const all = cellsOf(reader, text);
  const [header = [], ...cells] = all ?? [];
  const columns = all && columnsOf(reader, header, spec);
  if (!columns) return undefined;
  const rows = cells.flatMap((row, index) => rowOf(reader, row, index + 2, columns) ?? []);
  const kinds = new Map(rows.map((row) => [typeof row.value, row] as const));
  const [, odd] = kinds.values();
  if (odd) {
    const hint = 'use one kind of value';
    report(reader, odd.line, 'the table mixes texts, numbers or true/false', { hint });
  }
  if (rows.length === 0) report(reader, 1, 'the table has no rows', { isWarning: true });
  checkDays(reader, rows);
  return rows;
}

/**
 * Reads a table from a CSV file; every mistake becomes a problem with its line. `before` is given
 * back if it is the same table of the same text.
 */
export function readTable(
  spec: TableFile,
  file: { readonly path: string; readonly text: string },
  before: LoadedTable | undefined,
): LoadedTable {
  const isSame =
    before?.text === file.text && canonicalJson(before.table.spec) === canonicalJson(spec);
  if (before !== undefined && isSame) return before;
  const problems: Problem[] = [];
  const reader = { file: file.path, lines: file.text.split(/\r?\n/), problems };
  const rows = rowsOf(spec, reader, file.text);
  const table = { spec, rows: rows ?? [] };
  const tree = treeOf(table.rows);
  checkGaps(reader, tree, table.rows);
  return {
    table,
    text: file.text,
    isUnread: rows === undefined,
    json: canonicalJson(table),
    tree,
    problems: firstProblems(problems),
  };
}

export function hasDays({ rows }: ReadTable): boolean {
  return rows.some(({ from, until }) => from !== undefined || until !== undefined);
}
