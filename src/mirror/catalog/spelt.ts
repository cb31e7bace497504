/** Looks up variants by barcodes that orders and the ERP may spell differently than the lists. */
import { nameKey, spellingsOf } from '../../lib/strings.ts';

interface Row {
  readonly barcode: string;
}

/**
 * Looks up rows by barcode: an exact match, else the only row with an equivalent spelling. The
 * result is keyed by the given barcodes.
 */
export async function byBarcode<R extends Row>(
  barcodes: readonly string[],
  query: (barcodes: readonly string[]) => Promise<readonly R[]>,
): Promise<Map<string, R>> {
  const found = new Map((await query(barcodes)).map((row) => [row.barcode, row]));
  const missing = barcodes.filter((barcode) => !found.has(barcode));
  if (missing.length === 0) return found;
  const others = Map.groupBy(await query(missing.flatMap(spellingsOf)), spellingKey);
  for (const barcode of missing) {
    const same = others.get(nameKey(barcode)) ?? [];
    const [only] = same;
    if (only && same.every((row) => row.barcode === only.barcode)) found.set(barcode, only);
  }
  return found;
}

function spellingKey({ barcode }: Row): string {
  return nameKey(barcode);
}
