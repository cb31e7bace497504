/**
 * `stock_variant`, what can be sold now, one row a barcode; and `season_variant`, what can be
 * ordered ahead, one row a season and barcode. Absent prices are null, never 0.
 */
import type { SqlRow, SqlValue } from '../../store/bulk.ts';
import type { ListEntity } from '../list.ts';
import { type Members, membersOfOwn } from '../members.ts';
import type { GuardedColumns } from '../rows/drastic.ts';
import { unreadOf } from '../rows/unread.ts';

/** Besides key, season and {@link OWN}. */
const COLUMNS = [
  'variant_type',
  'style_no',
  'style_name',
  'brand_name',
  'color_code',
  'color_name',
  'currency',
  'price',
  'wsp_price',
  'price_original',
  'b2c_sale_price',
  'net_price',
  'net_currency',
  'price_before_discount',
  'discount_percent',
  'category',
  'gender',
  'b2b_hidden',
  'color_active',
];

/** What rules and orders go by in a variant. */
const GUARDED: GuardedColumns = {
  groups: ['brand_name', 'season_name'],
  quantity: 'quantity',
  prices: ['price', 'wsp_price', 'net_price', 'price_original', 'b2c_sale_price'],
  needed: ['price', 'wsp_price', 'net_price', 'style_no', 'brand_name'],
  currency: 'currency',
  details: ['style_name', 'color_name', 'size', 'category', 'gender'],
};

/** In which the sizes of one colour differ. */
const OWN = ['barcode', 'quantity', 'size'];

/** What makes a variant another one than the variant before it in the list. */
interface VariantRepeat {
  readonly barcode: string;
  readonly quantity: number;
  readonly size: string | null;
}

export interface VariantEntity extends ListEntity {
  /** The values of `ownColumns` of a row that repeats the one before it but for these. */
  ownValues(repeat: VariantRepeat): readonly SqlValue[];
}

/**
 * The wholesale price of the list. The price in the season list is the pre-order price; the one in
 * `details` stays that of the stock in either list. The other one counts where the list's own is
 * absent, and not where it cannot be read: then the price is unknown.
 */
function wholesaleOf(own: Members, other: Members): number | null {
  const price = own.money('wspPrice');
  return price === null && !own.has('wspPrice') ? other.money('wspPrice') : price;
}

/** A million rows pass here, so nothing is made twice. */
function variantValues(
  members: Members,
  details: Members,
  wholesale: number | null,
  unread: string | null,
): SqlRow {
  // Only a key with prices of its own is told of them.
  const pricing = members.has('pricing') ? members.object('pricing') : undefined;
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
    wsp_price: wholesale,
    price_original: members.money('priceOriginal'),
    b2c_sale_price: members.money('b2cSalePrice'),
    net_price: pricing?.money('wspPriceWithDiscount') ?? null,
    net_currency: pricing?.text('currency') ?? null,
    price_before_discount: pricing?.money('wspPriceOriginal') ?? null,
    // Exact as an amount is: ten-thousandths.
    discount_percent: pricing?.money('discountPercentage') ?? null,
    category: details.text('category'),
    gender: details.text('gender'),
    b2b_hidden: details.flag('b2bHidden'),
    color_active: details.flag('colorActive'),
    unread,
  };
}

export const STOCK_VARIANT: VariantEntity = {
  entity: 'stock_variant',
  table: 'stock_variant_row',
  key: 'barcode',
  wireKey: 'barcode',
  columns: ['season_name', ...COLUMNS, 'unread'],
  ownColumns: OWN,
  isSummed: true,
  guarded: GUARDED,
  ownValues: ({ barcode, quantity, size }) => [barcode, quantity, size],
  toRow(record) {
    const members = membersOfOwn(record);
    const details = members.object('details');
    const wholesale = wholesaleOf(details, members);
    const values = variantValues(members, details, wholesale, unreadOf(record));
    return { values, extra: members.rest() };
  },
};

/**
 * The key of a variant in a season. A barcode that has a slash itself is written without, and with
 * one behind it: no other key ends like that.
 */
function seasonBarcode(seasonName: string, barcode: string): string {
  if (!barcode.includes('/')) return `${seasonName}/${barcode}`;
  return `${seasonName}/${barcode.replaceAll('~', '~0').replaceAll('/', '~1')}/`;
}

/** The season in the key. */
export function seasonOfKey(key: string): string {
  return key.slice(0, key.lastIndexOf('/', key.length - 2));
}

/** The barcode in the key. */
export function barcodeOfKey(key: string): string {
  const written = key.slice(seasonOfKey(key).length + 1);
  if (!written.endsWith('/')) return written;
  return written.slice(0, -1).replaceAll('~1', '/').replaceAll('~0', '~');
}

/** The list of one season: the same variant stands in several of them. */
export function seasonVariants(seasonName: string): VariantEntity {
  return {
    entity: 'season_variant',
    table: 'season_variant_row',
    key: 'season_barcode',
    wireKey: 'barcode',
    keyOf: (barcode) => seasonBarcode(seasonName, String(barcode)),
    columns: ['season_name', ...COLUMNS, 'unread'],
    ownColumns: ['season_barcode', ...OWN],
    isSummed: true,
    guarded: GUARDED,
    ownValues: ({ barcode, quantity, size }) => [
      seasonBarcode(seasonName, barcode),
      ...[barcode, quantity, size],
    ],
    toRow(record) {
      const members = membersOfOwn(record);
      const details = members.object('details');
      const wholesale = wholesaleOf(members, details);
      const told = variantValues(members, details, wholesale, unreadOf(record));
      const values = {
        ...told,
        season_barcode: seasonBarcode(seasonName, String(told.barcode)),
        season_name: seasonName,
      };
      return { values, extra: members.rest() };
    },
  };
}
