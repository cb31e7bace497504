/** The record of a packed line in the fact table: see `table.ts` for what a field is. */

export const line = {
  barcode: { type: 'string', optional: true, about: 'Barcode of the variant.', source: 'barcode' },
  quantity: {
    type: 'int',
    optional: true,
    unit: 'pieces',
    about: 'Pieces packed of the barcode; an assortment counts as one.',
    source: 'fulfilledQuantity',
  },
  size_quantity: {
    type: 'int',
    optional: true,
    unit: 'pieces',
    about: 'Single pieces packed; of an assortment, those that are in it.',
    source: 'fulfilledSizeQuantity',
  },
  price: {
    type: 'money',
    optional: true,
    unit: 'delivery.currency',
    about: 'Price of one piece on the delivery.',
    source: 'price',
  },
  order_price: {
    type: 'money',
    optional: true,
    unit: 'delivery.currency',
    about:
      'Price of one piece on the order line with the same barcode, and the same delivery window ' +
      'where the line names one; absent when several such lines differ.',
    source: 'price of the order line',
  },
  price_diff_pct: {
    type: 'percent',
    optional: true,
    derived: true,
    unit: '%',
    min: 0,
    about: 'How far the price is from the order’s, up or down; 2.5 means 2.5 %. Never negative.',
    source: 'line.price against line.order_price',
  },
  list_price: {
    type: 'money',
    optional: true,
    unit: 'delivery.currency',
    about: 'Wholesale price that the service lists now; absent when it is in another currency.',
    source: 'wspPrice of the stock, or of the season for a pre-order',
  },
  list_price_diff_pct: {
    type: 'percent',
    optional: true,
    derived: true,
    unit: '%',
    min: 0,
    about: 'How far the price is from the listed one, up or down. Never negative.',
    source: 'line.price against line.list_price',
  },
  net_price: {
    type: 'money',
    optional: true,
    unit: 'delivery.currency',
    about:
      'Wholesale price that the service asks of your own API key, after its discount; absent ' +
      'without detailedPricing, or in another currency.',
    source: 'pricing.wspPriceWithDiscount, as list_price',
  },
  discount: {
    type: 'percent',
    optional: true,
    unit: '%',
    about: 'Discount of your own API key; 12.5 means 12.5 %. Absent without detailedPricing.',
    source: 'pricing.discountPercentage, as list_price',
  },
  ordered: {
    type: 'int',
    optional: true,
    unit: 'pieces',
    about: 'Pieces ordered of this barcode.',
    source: 'quantity of the order line',
  },
  stock_free: {
    type: 'int',
    optional: true,
    unit: 'pieces',
    about: 'Pieces in stock that no older pending and no accepted, unshipped delivery needs.',
    source:
      'stock mirror less other deliveries; where it lists no such variant: streams.stock.unlisted',
  },
  missing: {
    type: 'int',
    optional: true,
    derived: true,
    unit: 'pieces',
    min: 0,
    about: 'Pieces of this line that the free stock does not cover; 0 when it is covered.',
    source: 'line.quantity - line.stock_free',
  },
  style_no: { type: 'string', optional: true, about: 'Style number.', source: 'details.styleNo' },
  brand: { type: 'string', optional: true, about: 'Brand.', source: 'details.brandName' },
  season: { type: 'string', optional: true, about: 'Season of the line.', source: 'season' },
  delivery_name: {
    type: 'string',
    optional: true,
    about: 'Delivery window of the line of a pre-order.',
    source: 'delivery of the line',
  },
  style_active: {
    type: 'bool',
    optional: true,
    about: 'The style is still sold.',
    source: 'active of the style',
  },
  noos: {
    type: 'bool',
    optional: true,
    about: 'Never out of stock: the color of the style is always re-ordered.',
    source: 'noosType of the style color',
  },
  color_active: {
    type: 'bool',
    optional: true,
    about: 'The color is still sold in this style.',
    source: 'details.colorActive, or active of the style color',
  },
} as const;
