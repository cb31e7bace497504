/** The stock of a barcode or a style, now or in the past, as commands and pages show it. */
import { RefusedError } from '../../lib/errors.ts';
import { type SqlRow, selectByKeys } from '../../store/bulk.ts';
import type { Db } from '../../store/store.ts';
import { leftStyleSince, type RowChange, rowAsOf, stockKnownSince } from '../point-in-time.ts';

export interface StockVariant {
  readonly row: SqlRow;
  /** Changes in the order of the feed; none where only the present is asked for. */
  readonly changes: readonly RowChange[];
}

/** The variant's row as it was at the time `at`, or is now; undefined: the list did not have it. */
export function stockStateAt(
  { row, changes }: StockVariant,
  at: number | undefined,
): SqlRow | undefined {
  if (at !== undefined) return rowAsOf(row, changes, at);
  return row.deleted_at === null ? row : undefined;
}

async function withChanges(
  db: Db,
  rows: readonly SqlRow[],
  at: number | undefined,
): Promise<StockVariant[]> {
  if (at === undefined) return rows.map((row) => ({ row, changes: [] }));
  const found: StockVariant[] = [];
  for (const row of rows) {
    const changes = await db
      .selectFrom('change')
      .select(['at', 'op', 'diff'])
      .where('entity', '=', 'stock_variant')
      .where('key', '=', String(row.barcode))
      .orderBy('seq')
      .execute();
    found.push({ row, changes });
  }
  return found;
}

/** Variant of a barcode, also one that the list does not have any more; none: it never had it. */
export async function variantOfBarcode(
  db: Db,
  barcode: string,
  at: number | undefined,
): Promise<StockVariant[]> {
  return withChanges(db, await selectByKeys(db, 'stock_variant', 'barcode', [barcode]), at);
}

/**
 * Variants that the style has had in the stock list, also those that belonged to it at the time
 * `at` and to another style now.
 */
export async function variantsOfStyle(
  db: Db,
  style: string,
  at: number | undefined,
): Promise<StockVariant[]> {
  const rows = await selectByKeys(db, 'stock_variant', 'style_no', [style], 'barcode');
  if (at === undefined) return withChanges(db, rows, at);
  const known = new Set(rows.map((row) => row.barcode));
  const keys = (await leftStyleSince(db, style, at)).filter((key) => !known.has(key));
  const left = await selectByKeys(db, 'stock_variant', 'barcode', keys, 'barcode');
  const found = await withChanges(db, [...rows, ...left], at);
  return found.filter((one) => (stockStateAt(one, at) ?? one.row).style_no === style);
}

/**
 * Refuses a time before the first change that is kept, for which no stock and nothing known would
 * look the same, and a time in the future.
 * @throws RefusedError `stock.too_late`, `stock.too_early`
 */
export async function requireStockKnown(db: Db, at: number, now: number): Promise<void> {
  if (at > now) {
    throw new RefusedError('stock.too_late', 'nobody knows the stock of a time to come', {
      hint: 'without a time it is the stock of now',
    });
  }
  const first = await stockKnownSince(db);
  if (first === undefined || at >= first) return;
  const since = new Date(first).toISOString();
  throw new RefusedError('stock.too_early', `nothing is known of the stock before ${since}`, {
    hint: 'name a later time',
  });
}
