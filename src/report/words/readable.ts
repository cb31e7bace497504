/**
 * Makes a report's table one for people: headings and names of states in words, what belongs
 * together in one place, and without the columns that have no value in any row. Programs get the
 * table as the SELECT gave it.
 */
import type { ReportDocument } from '../document.ts';
import { ROW_TOTAL } from '../pivot.ts';
import type { Cell } from '../query.ts';
import { type ReportTable, type TableColumn, TOTAL, TOTAL_OF_SHOWN } from '../table.ts';
import { COLUMNS, headingOf, valueInWords } from './columns.ts';

/** Column for people; `name` is that of the SELECT. */
interface ReadableColumn extends TableColumn {
  readonly heading: string;
}

export interface ReadableTable extends ReportTable {
  readonly columns: readonly ReadableColumn[];
  /** Values that all rows have, above the table. */
  readonly caption?: string | undefined;
  /**
   * Rows over which the first cell of each row reaches, 0 where one above reaches over it; empty:
   * no cell reaches further.
   */
  readonly spans: readonly number[];
  /** Rows with a ground by `heat`; undefined: all. */
  readonly shaded?: readonly number[] | undefined;
}

type Made = Pick<ReportDocument, 'report' | 'table' | 'values'>;

function isEmpty({ report, table: { columns, rows } }: Made, at: number): boolean {
  // A column of one's own may be empty on purpose, to be filled in by hand.
  if (report.isOwn || columns[at]?.isPivoted || rows.length === 0) return false;
  const nothing: readonly Cell[] =
    COLUMNS[columns[at]?.name ?? '']?.isException === true ? [null, '', 0] : [null, ''];
  return rows.every((row) => nothing.includes(row[at] ?? null));
}

function isSame({ table: { rows } }: Made, at: number): boolean {
  return rows.every((row) => row[at] === rows[0]?.[at]);
}

/** Places of columns with these names, in the order of the names. */
function placesOf({ table }: Made, names: readonly string[] = []): number[] {
  return names
    .map((name) => table.columns.findIndex((one) => !one.isPivoted && one.name === name))
    .filter((at) => at >= 0);
}

/** Row of sums with the word for it in its first free place. */
function labelled(row: readonly Cell[]): Cell[] {
  const bare = row.map((cell) => (cell === TOTAL || cell === TOTAL_OF_SHOWN ? null : cell));
  const free = bare.indexOf(null);
  const word = row.includes(TOTAL_OF_SHOWN) ? 'Total of the rows shown' : 'Total';
  return bare.map((cell, index) => (index === free ? word : cell));
}

function joined(row: readonly Cell[], places: readonly number[]): string {
  const parts = places.map((at) => row[at] ?? '').filter((part) => part !== '');
  return [...new Set(parts)].join(' · ');
}

/** Rows over which each row's group reaches, from the first of its rows on. */
function spansOf({ table: { rows } }: Made, group: readonly number[]): number[] {
  if (group.length === 0) return [];
  const names = rows.map((row) => JSON.stringify(group.map((at) => row[at])));
  let below = 0;
  const upwards = names.toReversed().map((name, back) => {
    const span = below + 1;
    const goesOn = name === names[names.length - back - 2];
    below = goesOn ? span : 0;
    return goesOn ? 0 : span;
  });
  return upwards.toReversed();
}

function shadedIn({ report, table }: Made): readonly number[] | undefined {
  const { shade } = report.pivot ?? {};
  if (shade === undefined) return undefined;
  const [at = -1] = placesOf({ report, table, values: {} }, [shade.column]);
  return [...table.rows.keys()].filter((row) => table.rows[row]?.[at] === shade.value);
}

export function readable(made: Made): ReadableTable {
  const { report, table, values } = made;
  const { columns, rows } = table;
  const shown = [...columns.keys()].filter((at) => !isEmpty(made, at));
  const above = placesOf(made, report.above).filter((at) => rows.length > 0 && isSame(made, at));
  const group = placesOf(made, report.groups).filter((at) => shown.includes(at));
  const hidden = new Set([...above, ...group.slice(1)]);
  // The sum of a pivot's row stands behind what it is of.
  const isLast = (at: number): boolean =>
    report.pivot !== undefined &&
    columns[at]?.isPivoted === false &&
    columns[at].name === ROW_TOTAL;
  const others = shown.filter((at) => !hidden.has(at) && at !== group[0]);
  const first = others.filter((at) => !isLast(at));
  const kept = [...group.slice(0, 1), ...first, ...others.filter(isLast)];
  const wordsOf = (row: readonly Cell[]): Cell[] =>
    row.map((cell, at) => {
      const column = columns[at];
      if (!column || column.isPivoted || report.isOwn) return cell;
      return valueInWords(column.name, cell);
    });
  const pick = (row: readonly Cell[]): Cell[] => kept.map((at) => row[at] ?? null);
  const lines = rows.map(wordsOf).map((row) => {
    const [name, ...rest] = pick(row);
    return group.length > 0 ? [joined(row, group), ...rest] : [name ?? null, ...rest];
  });
  return {
    columns: kept
      .flatMap((at) => columns[at] ?? [])
      .map((column) => ({
        ...column,
        heading: column.isPivoted ? column.name : headingOf(report, values, column.name),
      })),
    rows: lines,
    totals: table.totals.map((row) => labelled(pick(row))),
    notes: table.notes,
    caption: above.length > 0 ? joined(rows[0] ?? [], above) : undefined,
    spans: spansOf(made, group),
    shaded: shadedIn(made),
  };
}
