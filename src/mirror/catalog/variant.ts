/**
 * Entities `stock_variant` (variants sold now, keyed by barcode) and `season_variant` (pre-order
 * variants, keyed by season and barcode). Absent prices are null, never 0.
 */
import type { SqlRow, SqlValue } from '../../store/bulk.ts';
import type { ListEntity } from '../list.ts';
import { type Members, membersOfOwn } from '../members.ts';
import type { GuardedColumns } from '../rows/drastic.ts';
import { unreadOf } from '../rows/prepared.ts';

/** Columns that both lists of variants share, besides the key, the season and {@link OWN}. */
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

/**
 * Columns whose sudden changes the change guard watches, because rules and orders depend on them.
 */
const GUARDED: GuardedColumns = {
  groups: ['brand_name', 'season_name'],
  quantity: 'quantity',
  prices: ['price', 'wsp_price', 'net_price', 'price_original', 'b2c_sale_price'],
  needed: ['price', 'wsp_price', 'net_price', 'style_no', 'color_code', 'brand_name'],
  currency: 'currency',
  details: ['style_name', 'color_name', 'size', 'category', 'gender'],
};

/** Columns of a variant in which the sizes of one colour differ. */
const OWN = ['barcode', 'quantity', 'size'];

/** Members that distinguish a variant from its predecessor in the list. */
interface VariantRepeat {
  readonly barcode: string;
  readonly quantity: number;
  readonly size: string | null;
}

export interface VariantEntity extends ListEntity {
  /** Values of `ownColumns` for a row that otherwise repeats its predecessor in the list. */
  ownValues(repeat: VariantRepeat): readonly SqlValue[];
}

/**
 * Wholesale price of a variant. In the season's list its own price is the pre-order price, and
 * `details` has the stock price in both lists. The other price counts where the list's own is
 * absent, but not where that is unreadable: then the price is unknown.
 */
function wholesaleOf(own: Members, other: Members): number | null {
  const price = own.money('wspPrice');
  return price === null && !own.has('wspPrice') ? other.money('wspPrice') : price;
}

/** Columns of one variant. A million rows of a list pass here, so nothing is built twice. */
function variantValues(
  members: Members,
  details: Members,
  wholesale: number | null,
  unread: string | null,
): SqlRow {
  // Only accounts whose API keys have their own prices get `pricing`.
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
    // The percentage is kept in ten-thousandths, exact like an amount.
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
  shown: { plural: 'variants in stock', path: '/variants/stock/{key}' },
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
 * Key of a variant in a season: season, slash, barcode. A barcode that contains a slash is escaped
 * and the key then ends with a slash, as no other key does.
 */
function seasonBarcode(seasonName: string, barcode: string): string {
  if (!barcode.includes('/')) return `${seasonName}/${barcode}`;
  return `${seasonName}/${barcode.replaceAll('~', '~0').replaceAll('/', '~1')}/`;
}

/** Name of the season in a season variant's key. */
export function seasonOfKey(key: string): string {
  return key.slice(0, key.lastIndexOf('/', key.length - 2));
}

/** Barcode in a season variant's key. */
export function barcodeOfKey(key: string): string {
  const written = key.slice(seasonOfKey(key).length + 1);
  if (!written.endsWith('/')) return written;
  return written.slice(0, -1).replaceAll('~1', '/').replaceAll('~0', '~');
}

/** Entity of the variants in one season's list; the same variant may be in several seasons. */
export function seasonVariants(seasonName: string): VariantEntity {
  return {
    entity: 'season_variant',
    table: 'season_variant_row',
    key: 'season_barcode',
    wireKey: 'barcode',
    shown: { plural: 'variants of seasons', path: '/variants/season/{key}' },
    keyOf: (barcode) => seasonBarcode(seasonName, String(barcode)),
    columns: ['season_name', ...COLUMNS, 'unread'],
    ownColumns: ['season_barcode', ...OWN],
    isSummed: true,
    guarded: GUARDED,
    ownValues: ({ barcode, quantity, size }) => [
      seasonBarcode(seasonName, barcode),
      barcode,
      quantity,
      size,
    ],
    toRow(record) {
      const members = membersOfOwn(record);
      const details = members.object('details');
      const wholesale = wholesaleOf(members, details);
      const common = variantValues(members, details, wholesale, unreadOf(record));
      const values = {
        ...common,
        season_barcode: seasonBarcode(seasonName, String(common.barcode)),
        season_name: seasonName,
      };
      return { values, extra: members.rest() };
    },
  };
}
