/** Descriptions of columns that several views share, and the type of a view's description. */

export const TIME = 'ISO 8601, UTC';

export const DELIVERY = {
  order_delivery_id: 'id of the delivery in the service',
  delivery_no: 'number that people see',
  order_id: 'id of its order',
  order_no: 'number of its order',
  reference: 'reference of its order',
  account_no: 'account of the buyer',
  company: 'company that it goes to',
  country_code: 'country that it goes to',
  packed_at: `when it was packed, or first seen (${TIME})`,
} as const;

export const WORTH = {
  pieces: 'pieces packed',
  amount: 'value without freight; null when a line has no price',
  currency: 'of the amount',
} as const;

export const DECIDED = {
  decided: 'last outcome: accept, hold, reject, release or no_rule; null: not decided yet',
  reason: 'why, in words',
  decided_by: 'daemon, or who',
  decided_at: `when (${TIME})`,
} as const;

export const VARIANT = {
  barcode: 'barcode of the variant',
  style_no: 'number of the style',
  style_name: 'name of the style',
} as const;

/** Columns that all lists of variants have. */
export const LISTED = {
  ...VARIANT,
  brand_name: 'brand',
  color_code: 'code of the color',
  color_name: 'name of the color',
  size: 'size',
} as const;

export const SIZE_RANK = {
  size_rank: 'place of the size (v_size); null: not ranked yet',
} as const;

/** Columns of what customs ask of an article; null where the service does not tell. */
export const CUSTOMS = {
  tariff_no: 'customs tariff number of the article; null: not told',
  origin: 'country of origin of the article; null: not told',
  weight: 'grams of a piece; null: not told',
} as const;

export const ORDER = {
  order_id: 'id of the order in the service',
  order_no: 'number that people see',
  reference: 'reference that the ERP gave',
  account_no: 'account of the buyer',
  company: 'company that it goes to',
  country_code: 'country that it goes to',
} as const;

export const WINDOW = {
  season_name: 'season of the line, else of its order; null: from stock',
  delivery_name: 'delivery window',
} as const;

/** Columns with the price for the account's own API key; null where the service gives none. */
export const NET = {
  net_price: 'your own price, after discount; only with `detailedPricing`, else null',
  net_currency: 'of your own price',
  price_before_discount: 'your own price before the discount',
  discount_percent: 'your discount; 12.5 means 12.5 %',
} as const;

export const PACKED = {
  pending: 'pieces in pending deliveries',
  accepted: 'pieces in accepted ones: no tracking number yet, or changed since the stock was read',
} as const;

export interface ViewSpec {
  readonly name: string;
  readonly about: string;
  /** Description of each column, by its name. */
  readonly columns: Readonly<Record<string, string>>;
  readonly example: string;
}
