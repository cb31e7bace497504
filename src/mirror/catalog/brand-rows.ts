/** Stock variants by brand. */
import { sql } from 'kysely';
import type { SqlValue } from '../../store/bulk.ts';
import type { Db } from '../../store/store.ts';

/** Counts the barcodes per brand; those without a brand are left out. */
export async function rowsByBrand(
  db: Db,
  barcodes: readonly SqlValue[],
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ readonly brand: string; readonly n: number }>`
    select brand_name brand, count(*) n from stock_variant_row
    where brand_name is not null
      and barcode in (select value from json_each(${JSON.stringify(barcodes)}))
    group by brand_name`.execute(db);
  return new Map(rows.map(({ brand, n }) => [brand, n]));
}
