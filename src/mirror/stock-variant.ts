/** `stock_variant`: what can be sold now, one row a barcode. Absent prices are null, never 0. */
import type { Tx } from '../store/store.ts';
import {
  type EntityDefinition,
  type MirrorRow,
  type Provenance,
  type WriteCounts,
  writeRows,
} from './entity.ts';
import { membersOf } from './members.ts';
import type { VariantRecord } from './records.ts';

export const STOCK_VARIANT: EntityDefinition = {
  entity: 'stock_variant',
  table: 'stock_variant',
  key: 'barcode',
  columns: [
    'barcode',
    'quantity',
    'variant_type',
    'season_name',
    'style_no',
    'style_name',
    'brand_name',
    'color_code',
    'color_name',
    'size',
    'currency',
    'price',
    'wsp_price',
    'price_original',
    'b2c_sale_price',
    'category',
    'gender',
    'b2b_hidden',
    'color_active',
  ],
};

function toRow(record: VariantRecord): MirrorRow {
  const members = membersOf(record);
  const details = members.object('details');
  const values = {
    barcode: members.text('barcode'),
    quantity: members.integer('quantity'),
    variant_type: members.text('variantType'),
    season_name: members.text('seasonName'),
    style_no: details.text('styleNo'),
    style_name: details.text('styleName'),
    brand_name: details.text('brandName'),
    color_code: members.text('colorCode'),
    color_name: details.text('colorName'),
    size: details.text('size'),
    currency: details.text('currency'),
    price: details.money('price'),
    wsp_price: details.money('wspPrice'),
    price_original: members.money('priceOriginal'),
    b2c_sale_price: members.money('b2cSalePrice'),
    category: details.text('category'),
    gender: details.text('gender'),
    b2b_hidden: details.flag('b2bHidden'),
    color_active: details.flag('colorActive'),
  };
  return { values, extra: members.rest() };
}

export function writeStockVariants(
  tx: Tx,
  records: readonly VariantRecord[],
  provenance: Provenance,
): Promise<WriteCounts> {
  return writeRows(tx, STOCK_VARIANT, records.map(toRow), provenance);
}
