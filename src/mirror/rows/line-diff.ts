/**
 * Differences between two lists of lines, as the change feed keeps them. Only lines that differ are
 * named: one that is gone or new with all of its columns, a changed one by its number in each list,
 * its barcode and its changed columns. Lines that are not named are the same, in the same order.
 */
import type { SqlRow, SqlValue } from '../../store/bulk.ts';

export type LinesDiff = readonly [before: readonly SqlRow[], after: readonly SqlRow[]];

/** Columns of a line but its number, which moves with the lines above it. */
function contentOf({ line_no: _, ...content }: SqlRow): string {
  return JSON.stringify(content);
}

/** Indexes of old lines by their barcode, in order; each is taken once. */
function placesOf(lines: readonly SqlRow[]): Map<SqlValue, number[]> {
  return Map.groupBy(lines.keys(), (at) => lines[at]?.barcode ?? null);
}

const NAMED_BY: readonly string[] = ['line_no', 'barcode'];

/** Columns of the line that differ from the other one, with those that name it. */
function changedOf(line: SqlRow, other: SqlRow): SqlRow {
  const columns = Object.entries(line).filter(
    ([column, value]) => NAMED_BY.includes(column) || value !== other[column],
  );
  return Object.fromEntries(columns);
}

/** Compares lines that are numbered from 1 in their order; undefined: there is no difference. */
export function linesDiff(
  before: readonly SqlRow[],
  after: readonly SqlRow[],
): LinesDiff | undefined {
  const places = placesOf(before);
  const old: (SqlRow | undefined)[] = [...before];
  const fresh: SqlRow[] = [];
  // Old lines above this one stay where they are, or are named.
  let kept = -1;
  for (const line of after) {
    const at = places.get(line.barcode ?? null)?.shift();
    const former = at === undefined ? undefined : before[at];
    if (at === undefined || former === undefined) {
      fresh.push(line);
      continue;
    }
    if (at > kept && contentOf(former) === contentOf(line)) {
      kept = at;
      old[at] = undefined;
      continue;
    }
    old[at] = changedOf(former, line);
    fresh.push(changedOf(line, former));
  }
  const gone = old.filter((line) => line !== undefined);
  return gone.length === 0 && fresh.length === 0 ? undefined : [gone, fresh];
}
