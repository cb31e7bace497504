/** Compares a copied table with the mirror, a range of keys after the other. */
import { type PlaneClient, readRows, withoutNul } from './postgres.ts';
import type { MirrorReader, RowOf } from './source.ts';
import type { CopiedTable } from './tables.ts';

/** Rows of one range. */
export interface Differences {
  /** Rows of the mirror that the copy lacks or has otherwise. */
  readonly missing: readonly RowOf[];
  readonly different: readonly RowOf[];
  /** Keys of rows that only the copy has, each a JSON array. */
  readonly surplus: readonly string[];
  /** Rows of the mirror that were compared. */
  readonly compared: number;
}

export interface Comparison {
  readonly client: PlaneClient;
  readonly reader: MirrorReader;
  readonly account: string;
  readonly table: CopiedTable;
  /** Known to be empty on the plane. */
  readonly isEmpty?: boolean;
  /** Runs in the snapshot of each range. */
  readonly beside?: () => void;
}

const ROWS_AT_ONCE = 4_000;

/** The two engines may write the same value with other escapes. */
function isSame(here: string, there: string): boolean {
  return here === there || JSON.stringify(JSON.parse(here)) === JSON.stringify(JSON.parse(there));
}

/** A key (JSON array), the same text whichever side it comes from. */
export function canonical(key: string): string {
  return JSON.stringify(JSON.parse(withoutNul(key)));
}

export async function* compareTable(comparison: Comparison): AsyncGenerator<Differences> {
  const { client, reader, account, table, isEmpty = false, beside } = comparison;
  let after: string | undefined;
  for (;;) {
    const from = after;
    const rows = reader.snapshot(() => {
      beside?.();
      return reader.rowsBehind(table, from, ROWS_AT_ONCE);
    });
    const last = rows.length === ROWS_AT_ONCE ? rows.at(-1)?.key : undefined;
    if (isEmpty) yield { missing: rows, different: [], surplus: [], compared: rows.length };
    else {
      const there = new Map(await readRows(client, table, account, from, last));
      const missing: RowOf[] = [];
      const different: RowOf[] = [];
      for (const row of rows) {
        const key = canonical(row.key);
        const found = there.get(key);
        if (found === undefined) missing.push(row);
        else if (!isSame(row.row, found)) different.push(row);
        there.delete(key);
      }
      yield { missing, different, surplus: [...there.keys()], compared: rows.length };
    }
    if (last === undefined) return;
    after = last;
  }
}
