/**
 * "Did you mean" for barcodes: barcodes that differ by one slip are looked up by key, because
 * comparing a hundred thousand would block everything else.
 */
import { inKeys } from '../../store/bulk.ts';
import type { Db } from '../../store/store.ts';

/** Maximum of unknown barcodes that get a hint; a longer list is no slip. */
const BARCODES_MAX = 20;
/** Maximum length of a barcode for which variants are made. */
const CHARS_MAX = 40;
const DIGITS = '0123456789';
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-';
/** Lengths of EAN, UPC and GTIN barcodes, whose leading zeros spreadsheets drop. */
const LENGTHS = [8, 12, 13, 14];

/** Every text that is one slip away: one character more, one fewer, one changed, or two swapped. */
function oneSlipFrom(barcode: string): Set<string> {
  const signs = /^\d+$/.test(barcode) ? DIGITS : DIGITS + LETTERS;
  const near = new Set(LENGTHS.map((length) => barcode.padStart(length, '0')));
  for (let at = 0; at <= barcode.length; at += 1) {
    const [before, after] = [barcode.slice(0, at), barcode.slice(at)];
    near.add(before + after.slice(1));
    near.add(before + after.charAt(1) + after.charAt(0) + after.slice(2));
    for (const sign of signs) {
      near.add(before + sign + after);
      near.add(before + sign + after.slice(1));
    }
  }
  near.delete(barcode);
  return near;
}

async function firstKnown(db: Db, barcodes: ReadonlySet<string>): Promise<string | undefined> {
  for (const table of ['stock_variant', 'season_variant'] as const) {
    const row = await db
      .selectFrom(table)
      .select('barcode')
      .where(inKeys('barcode', [...barcodes]))
      .where('deleted_at', 'is', null)
      .limit(1)
      .executeTakeFirst();
    if (row) return row.barcode;
  }
  return undefined;
}

/** Finds a similar barcode that is sold for each of the first unknown barcodes. */
export async function nearBarcodes(
  db: Db,
  unknown: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const barcode of new Set(unknown.slice(0, BARCODES_MAX))) {
    if (barcode.length > CHARS_MAX) continue;
    const near = await firstKnown(db, oneSlipFrom(barcode));
    if (near !== undefined) found.set(barcode, near);
  }
  return found;
}
