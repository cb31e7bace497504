/**
 * Spells names in a document as the service does: the ERP need not know of a trailing space in the
 * service's list, or of the other Unicode form of a letter. Unknown names stay as they are.
 */
import { spellingIn } from '../../lib/strings.ts';
import { barcodeIn, byBarcode } from '../../mirror/catalog/spelt.ts';
import { inKeys } from '../../store/bulk.ts';
import type { Db } from '../../store/store.ts';
import type { OrderDocument, PendingRefundDocument } from '../documents.ts';

/** Maps barcodes to their mirrored spelling; that of the stock goes before that of a season. */
async function barcodesIn(db: Db, barcodes: readonly string[]): Promise<Map<string, string>> {
  const spelt = new Map<string, string>();
  for (const table of ['season_variant', 'stock_variant'] as const) {
    const found = await byBarcode(db, barcodes, (asked) =>
      db
        .selectFrom(table)
        .select('barcode')
        .distinct()
        .where(inKeys('barcode', asked))
        .where('deleted_at', 'is', null)
        .execute(),
    );
    for (const [own, { barcode }] of found) {
      if (spelt.get(own) !== own) spelt.set(own, barcode);
    }
  }
  return spelt;
}

export async function deliveriesOf(db: Db, seasonName: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('season_delivery')
    .select('delivery_name')
    .where('season_name', '=', seasonName)
    .execute();
  return rows.map((row) => row.delivery_name);
}

export async function freightTypes(db: Db): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('freight_option')
    .select('freight_type')
    .where('deleted_at', 'is', null)
    .execute();
  return rows.map((row) => row.freight_type);
}

async function seasonNames(db: Db): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('season')
    .select('season_name')
    .where('deleted_at', 'is', null)
    .execute();
  return rows.map((row) => row.season_name);
}

async function spelt(name: string | undefined, names: () => Promise<readonly string[]>) {
  return name === undefined ? undefined : (spellingIn(name, await names()) ?? name);
}

export async function orderAsSpelt(db: Db, document: OrderDocument): Promise<OrderDocument> {
  const { freight } = document;
  const barcodes = await barcodesIn(db, [...new Set(document.lines.map((one) => one.barcode))]);
  const seasonName = await spelt(document.seasonName, () => seasonNames(db));
  const deliveries = seasonName === undefined ? [] : await deliveriesOf(db, seasonName);
  const lines = document.lines.map((line) => {
    const { barcode, deliveryName } = line;
    const own = { ...line, barcode: barcodes.get(barcode) ?? barcode };
    if (deliveryName === undefined) return own;
    return { ...own, deliveryName: spellingIn(deliveryName, deliveries) ?? deliveryName };
  });
  const type = await spelt(freight?.type, () => freightTypes(db));
  return {
    ...document,
    lines,
    ...(seasonName === undefined ? {} : { seasonName }),
    ...(freight && type !== undefined ? { freight: { ...freight, type } } : {}),
  };
}

/**
 * Spells the barcodes of a refund as its order does.
 * @param ordered barcodes of the order that is refunded.
 */
export function refundAsSpelt(
  document: PendingRefundDocument,
  ordered: readonly string[],
): PendingRefundDocument {
  const lines = document.lines.map((line) => ({
    ...line,
    barcode: barcodeIn(line.barcode, ordered) ?? line.barcode,
  }));
  return { ...document, lines };
}
