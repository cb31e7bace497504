/** The stock of a barcode or a style, now or in the past, as commands and pages show it. */
import { RefusedError } from '../lib/errors.ts';
import { type SqlRow, selectByKeys } from '../store/bulk.ts';
import type { Db } from '../store/store.ts';
import { leftStyleSince, type RowChange, rowAsOf, stockKnownSince } from './point-in-time.ts';

export interface StockVariant {
  readonly row: SqlRow;
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

/**
 * Rows of the style's variants, also of those that belonged to it at the time `at` and to another
 * style now.
 */
async function rowsOfStyle(
  db: Db,
  style: string,
  at: number | undefined,
): Promise<readonly SqlRow[]> {
  const rows = await selectByKeys(db, 'stock_variant', 'style_no', [style], 'barcode');
  if (at === undefined) return rows;
  const known = new Set(rows.map((row) => row.barcode));
  const keys = (await leftStyleSince(db, style, at)).filter((key) => !known.has(key));
  return [...rows, ...(await selectByKeys(db, 'stock_variant', 'barcode', keys, 'barcode'))];
}

/**
 * Reads the variant of a barcode; a text that is no barcode is taken as a style, with all its
 * variants.
 * @throws RefusedError `stock.unknown`
 */
export async function readStockVariants(
  db: Db,
  wanted: string,
  at: number | undefined,
): Promise<StockVariant[]> {
  const byBarcode = await selectByKeys(db, 'stock_variant', 'barcode', [wanted]);
  const rows = byBarcode.length > 0 ? byBarcode : await rowsOfStyle(db, wanted, at);
  if (rows.length === 0) {
    throw new RefusedError('stock.unknown', `no barcode and no style ${wanted} is known`, {
      hint: 'selvedge sync list tells whether the stock was read',
    });
  }
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
  if (byBarcode.length > 0) return found;
  return found.filter((one) => (stockStateAt(one, at) ?? one.row).style_no === wanted);
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
