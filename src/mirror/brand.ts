/** `brand`: the brands of the account. */
import type { Tx } from '../store/store.ts';
import { type EntityDefinition, type Provenance, type WriteCounts, writeRows } from './entity.ts';
import { membersOf } from './members.ts';
import type { BrandRecord } from './records.ts';

export const BRAND: EntityDefinition = {
  entity: 'brand',
  table: 'brand',
  key: 'brand_name',
  columns: ['brand_name'],
};

export function writeBrands(
  tx: Tx,
  records: readonly BrandRecord[],
  provenance: Provenance,
): Promise<WriteCounts> {
  const rows = records.map((record) => {
    const members = membersOf(record);
    return { values: { brand_name: members.text('brandName') }, extra: members.rest() };
  });
  return writeRows(tx, BRAND, rows, provenance);
}
