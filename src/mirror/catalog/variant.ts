/**
 * `stock_variant`, what can be sold now, one row a barcode; and `season_variant`, what can be
 * ordered ahead, one row a season and barcode. Absent prices are null, never 0.
 */
import type { SqlRow } from '../../store/bulk.ts';
import type { ListEntity } from '../list.ts';
import { type Members, membersOfOwn } from '../members.ts';

const COLUMNS = [
  'quantity',
  'variant_type',
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
];

/** In the order of {@link COLUMNS}: a million rows pass here, so nothing is made twice. */
function variantValues(members: Members, details: Members): SqlRow {
  return {
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
}

export const STOCK_VARIANT: ListEntity = {
  entity: 'stock_variant',
  table: 'stock_variant',
  key: 'barcode',
  wireKey: 'barcode',
  columns: ['barcode', 'season_name', ...COLUMNS],
  toRow(record) {
    const members = membersOfOwn(record);
    const values = variantValues(members, members.object('details'));
    return { values, extra: members.rest() };
  },
};

/** The key of a variant in a season. */
function seasonBarcode(seasonName: string, barcode: string): string {
  return `${seasonName}/${barcode}`;
}

/** The season in the key; a barcode holds no slash. */
export function seasonOfKey(key: string): string {
  return key.slice(0, key.lastIndexOf('/'));
}

/** The list of one season: the same variant stands in several of them. */
export function seasonVariants(seasonName: string): ListEntity {
  return {
    entity: 'season_variant',
    table: 'season_variant',
    key: 'season_barcode',
    wireKey: 'barcode',
    keyOf: (barcode) => seasonBarcode(seasonName, String(barcode)),
    columns: ['season_barcode', 'season_name', 'barcode', ...COLUMNS],
    toRow(record) {
      const members = membersOfOwn(record);
      const told = variantValues(members, members.object('details'));
      const values = {
        ...told,
        season_barcode: seasonBarcode(seasonName, String(told.barcode)),
        season_name: seasonName,
      };
      return { values, extra: members.rest() };
    },
  };
}
