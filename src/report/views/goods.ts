/** Views of styles, stock, seasons and what is left to sell. */
import { LISTED, NET, PACKED, SIZE_RANK, TIME, VARIANT, type ViewSpec } from './columns.ts';

export const GOODS_VIEWS: readonly ViewSpec[] = [
  {
    name: 'v_stock',
    about: 'What is in stock, a row per variant.',
    columns: {
      ...LISTED,
      season_name: 'season',
      category: 'category',
      gender: 'gender',
      quantity: 'pieces',
      currency: 'of the prices',
      price: 'price; null when there is none',
      wsp_price: 'wholesale price',
      price_original: 'price before a reduction',
      b2c_sale_price: 'price for consumers',
      ...NET,
      color_active: '1: the color is still sold',
      changed_at: `when the row last changed (${TIME})`,
      on_order: '1: none in stock, it is listed because a running order has it',
      ...SIZE_RANK,
    },
    example: 'SELECT brand_name, sum(quantity) FROM v_stock GROUP BY brand_name',
  },
  {
    name: 'v_stock_grid',
    about: 'Stock by style and color, with the sizes as a JSON object.',
    columns: {
      style_no: VARIANT.style_no,
      style_name: VARIANT.style_name,
      brand_name: 'brand',
      color_code: 'code of the color',
      color_name: 'name of the color',
      sizes: 'number of sizes',
      quantity: 'pieces over all sizes',
      by_size: '{"size": pieces}, in the order of v_size; "" for what has no size',
    },
    example:
      "SELECT color_name, by_size ->> '$.M' AS m FROM v_stock_grid WHERE style_no = 'S-1001'",
  },
  {
    name: 'v_stock_day',
    about:
      'The stock of each day in sums, a row a day, brand, season and currency: as counted ' +
      'last on that day, every quarter of an hour in which something changed.',
    columns: {
      day: 'day',
      brand_name: 'brand',
      season_name: 'season',
      currency: 'of the value',
      variants: 'variants in the list',
      in_stock: 'variants with more than 0 pieces',
      pieces: 'pieces',
      wsp_value: 'value of the pieces above 0 at wholesale prices',
      unpriced: 'pieces above 0 without such a price, not in the value',
      counted_at: `when (${TIME})`,
    },
    example:
      'SELECT brand_name, currency, sum(wsp_value) FROM v_stock_day ' +
      'WHERE day = (SELECT max(day) FROM v_stock_day) GROUP BY 1, 2',
  },
  {
    name: 'v_stock_age',
    about:
      'The stock in sums by how long it has not sold, as counted last: every quarter of an hour ' +
      'in which something changed, and each new day.',
    columns: {
      brand_name: 'brand',
      season_name: 'season',
      currency: 'of the value',
      unsold_days:
        'days since the variant was packed last in an accepted delivery, else since the list ' +
        'first had it, at least: 0, 30, 90, 180 or 365',
      variants: 'variants with more than 0 pieces',
      pieces: 'pieces of these',
      wsp_value: 'value of the pieces at wholesale prices',
      unpriced: 'pieces without such a price, not in the value',
      counted_at: `when (${TIME})`,
    },
    example: 'SELECT brand_name, sum(pieces) FROM v_stock_age WHERE unsold_days >= 180 GROUP BY 1',
  },
  {
    name: 'v_style_stock_day',
    about:
      'The stock of a style at the end of each day on which something changed, by the ' +
      'change feed (`store.retention.changes`): a row a day and variant that was listed then. ' +
      'Ask for a style; variants are those that are of it now.',
    columns: { day: 'day', ...LISTED, ...SIZE_RANK, quantity: 'pieces' },
    example:
      "SELECT day, sum(quantity) FROM v_style_stock_day WHERE style_no = 'S-1001' GROUP BY day",
  },
  {
    name: 'v_season',
    about: 'Seasons with their delivery windows, a row a window.',
    columns: {
      season_name: 'season',
      place: 'place of the window in its season, from 1; null: the season has no windows',
      delivery_name: 'delivery window',
      from_day: 'its first day, by `season_windows` of the rules (settings.yaml); null: not given',
      to_day: 'its last day',
      gone: '1: the service no longer has the season',
    },
    example: 'SELECT season_name, delivery_name, from_day FROM v_season ORDER BY from_day',
  },
  {
    name: 'v_season_variant',
    about:
      'What can be ordered ahead, a row per season and variant, with the prices of pre-orders.',
    columns: {
      season_name: 'season',
      ...LISTED,
      category: 'category',
      gender: 'gender',
      quantity: 'pieces',
      currency: 'of the prices',
      price: 'price; null when there is none',
      wsp_price: 'wholesale price of pre-orders',
      ...NET,
      color_active: '1: the color is still sold',
      changed_at: `when the row last changed (${TIME})`,
      ...SIZE_RANK,
    },
    example: "SELECT barcode, wsp_price FROM v_season_variant WHERE season_name = 'SS27'",
  },
  {
    name: 'v_season_cover',
    about: 'Open pre-orders of each variant against the stock.',
    columns: {
      season_name: 'season',
      ...VARIANT,
      color_name: 'name of the color',
      size: 'size',
      open_preorders: 'pieces ordered and not delivered',
      in_stock: 'pieces in stock',
      missing: 'pieces that the stock does not cover',
      cover_percent: 'share that it covers',
    },
    example: 'SELECT barcode, missing FROM v_season_cover WHERE missing > 0 ORDER BY missing DESC',
  },
  {
    name: 'v_style',
    about: 'Every style of the lists of stock and seasons, and of V2 where that is read.',
    columns: {
      style_no: VARIANT.style_no,
      style_name: VARIANT.style_name,
      brand_name: 'brand; null when two brands use the number',
      category: 'category',
      gender: 'gender',
      designer: 'designer, by V2',
      type: 'type, by V2',
      active: '1: active, by V2',
      colors: 'colors in the stock list',
      variants: 'variants in the stock list',
      quantity: 'pieces in stock',
      seasons: 'seasons in which it can be ordered ahead',
    },
    example: "SELECT style_name, brand_name, quantity FROM v_style WHERE style_no = 'S-1001'",
  },
  {
    name: 'v_size',
    about:
      'Sizes in the order in which people lay them out, or that of `reports.sizeOrder`. A new ' +
      'size has its place within a quarter of an hour.',
    columns: { size: 'size', rank: 'place, from 1' },
    example: 'SELECT size FROM v_size ORDER BY rank',
  },
  {
    name: 'v_reserved',
    about: 'What open orders have packed and not shipped, by barcode.',
    columns: {
      barcode: VARIANT.barcode,
      ...PACKED,
    },
    example: 'SELECT sum(pending), sum(accepted) FROM v_reserved',
  },
  {
    name: 'v_availability',
    about: 'Stock against what is packed and not shipped: only barcodes that are.',
    columns: {
      ...VARIANT,
      color_name: 'name of the color',
      size: 'size',
      in_stock: 'pieces in stock',
      ...PACKED,
      free: 'what is left; negative when there is too little',
    },
    example: 'SELECT barcode, free FROM v_availability WHERE free < 0',
  },
  {
    name: 'v_ats',
    about:
      'Available to sell, by size, season and window. From stock (no season): the stock less ' +
      'what is packed and not shipped, less what orders without a season still want. Of a ' +
      'season, by its windows: its list less what pre-orders still want up to that window. ' +
      'Where the service has taken that off already (`reports.stockQuantity`, ' +
      '`reports.seasonQuantity`), the quantity is what is left. Ask for a style.',
    columns: {
      ...LISTED,
      ...SIZE_RANK,
      season_name: 'season; null: from stock',
      delivery_name: 'delivery window; null: from stock, or a season without windows',
      quantity: 'pieces in the list of stock, or of the season',
      packed: 'pieces packed and not shipped (v_reserved); 0 of a season',
      to_pack: 'pieces that open orders still want; of a season up to this window',
      ats: 'pieces left to sell; negative: oversold; null: the list does not tell',
    },
    example:
      "SELECT color_name, size, ats FROM v_ats WHERE style_no = 'S-1001' AND season_name IS NULL " +
      'ORDER BY color_name, size_rank',
  },
  {
    name: 'v_oversold',
    about: 'What is sold beyond what there is: rows of v_ats below 0 that something is wanted of.',
    columns: {
      ...LISTED,
      ...SIZE_RANK,
      season_name: 'season; null: from stock',
      quantity: 'pieces in the list of stock, or of the season; 0 when sold out',
      packed: 'pieces packed and not shipped',
      to_pack: 'pieces that open orders still want',
      missing: 'pieces too few',
    },
    example: 'SELECT style_no, size, missing FROM v_oversold ORDER BY missing DESC',
  },
];
