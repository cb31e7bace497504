/**
 * Looks up variants by barcodes that orders and the ERP may spell differently than the lists: with
 * spaces, in another Unicode form, or without leading zeros, as numbers and spreadsheets have them.
 */
import { nameKey, spellingsOf } from '../../lib/strings.ts';

interface Row {
  readonly barcode: string;
}

type Query<R extends Row> = (barcodes: readonly string[]) => Promise<readonly R[]>;

/** Digits of the longest barcode (GTIN), and of the usual one (EAN): shorter ones lost zeros. */
const DIGITS_MAX = 14;
const DIGITS = 13;

/** Normalizes a barcode for comparison: as a name, and without leading zeros. */
export function barcodeKey(barcode: string): string {
  const key = nameKey(barcode);
  return /^0\d{1,13}$/.test(key) ? key.replace(/^0+(?=\d)/, '') : key;
}

function zeroForms(barcode: string, digitsMax: number): readonly string[] {
  const key = barcodeKey(barcode);
  if (!/^\d{1,14}$/.test(key)) return [];
  const most = Math.max(0, digitsMax - key.length);
  return Array.from({ length: most + 1 }, (_, zeros) => '0'.repeat(zeros) + key);
}

/** Lists likely spellings of a barcode for a database lookup. */
export function barcodeSpellings(barcode: string): readonly string[] {
  return [...new Set([...spellingsOf(barcode), ...zeroForms(barcode, DIGITS_MAX)])];
}

/** A barcode with its forms without leading zeros, and with as many as are usual. */
export function barcodeForms(barcode: string): readonly string[] {
  return [...new Set([barcode, ...zeroForms(barcode, DIGITS)])];
}

/** Finds the spelling of a barcode among these: the exact one, else the only equivalent one. */
export function barcodeIn(barcode: string, barcodes: readonly string[]): string | undefined {
  if (barcodes.includes(barcode)) return barcode;
  const key = barcodeKey(barcode);
  const [only, other] = new Set(barcodes.filter((one) => barcodeKey(one) === key));
  return other === undefined ? only : undefined;
}

/**
 * Looks up rows by barcode: an exact match, else the only row with an equivalent spelling. The
 * result is keyed by the given barcodes.
 */
export async function byBarcode<R extends Row>(
  barcodes: readonly string[],
  query: Query<R>,
): Promise<Map<string, R>> {
  const found = new Map((await query(barcodes)).map((row) => [row.barcode, row]));
  const missing = barcodes.filter((barcode) => !found.has(barcode));
  if (missing.length === 0) return found;
  const rows = await query(missing.flatMap(barcodeSpellings));
  const others = new Map(rows.map((row) => [row.barcode, row]));
  for (const barcode of missing) {
    const row = others.get(barcodeIn(barcode, [...others.keys()]) ?? '');
    if (row) found.set(barcode, row);
  }
  return found;
}

export interface SameBarcodes {
  readonly nameOf: (barcode: string) => string;
  /** Barcodes that are listed, of those that are the same but for leading zeros. */
  readonly listed: (barcode: string) => readonly string[];
}

/**
 * Gives one name to all barcodes that are the same but for leading zeros, also to those that other
 * rows may have. Those that are listed side by side stay apart.
 */
export async function sameBarcodes(
  barcodes: readonly string[],
  query: Query<Row>,
): Promise<SameBarcodes> {
  const groups = Map.groupBy(new Set(barcodes.flatMap(barcodeForms)), barcodeKey);
  const several = [...groups.values()].filter((group) => group.length > 1).flat();
  if (several.length === 0) return { nameOf: (barcode) => barcode, listed: () => [] };
  const live = new Set((await query(several)).map((row) => row.barcode));
  const listed = (barcode: string) =>
    (groups.get(barcodeKey(barcode)) ?? []).filter((one) => live.has(one));
  return {
    listed,
    nameOf(barcode) {
      const [only, other] = listed(barcode);
      return other === undefined ? (only ?? barcodeKey(barcode)) : barcode;
    },
  };
}
