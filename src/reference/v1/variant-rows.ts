/**
 * Rows of the variant lists as JSON. Content that a style or a color has in common is encoded once
 * and reused for its rows; only barcode, quantity and size are inserted per row. That is several
 * times faster than serializing objects, and a list has a million rows.
 */
import type { Style } from '../world/catalog/catalog.ts';
import { elementAt } from '../world/catalog/hash.ts';
import { wireAmount } from '../world/catalog/prices.ts';
import { COLOR_NAMES, type Currency, GENDERS, STYLE_TYPES } from '../world/catalog/words.ts';
import type { World } from '../world/world.ts';
import type { ByteSink } from './bytes.ts';

export interface RowOptions {
  readonly detailed: boolean;
  readonly currency: Currency;
  /** Discount on prices, percent; undefined leaves `pricing` out. */
  readonly discountPercentage: number | undefined;
  /** Season whose pre-order prices the rows have; undefined: prices from stock. */
  readonly season: string | undefined;
  /** Season that the rows name, if it is not that of their prices or of their style. */
  readonly label?: string;
}

/** Appends one row to the output. */
export type RowWriter = (sink: ByteSink, variant: number, quantity: number) => void;

/** JSON texts of one style, cut where color and size are inserted. */
interface StyleText {
  readonly style: Style;
  /** Members of the row, up to the opening brace of `details`. */
  readonly row: string;
  /** Members of `details`, without braces. */
  readonly details: string;
  /** Text `,"pricing":{…}`, or nothing. */
  readonly pricing: string;
  /** Parts per row of the style: the kind of variant, and the text after the color's part. */
  readonly kinds: readonly string[];
  readonly ends: readonly string[];
}

const COLOR_CODE_FIRST = 1_000;

function members(value: object): string {
  return JSON.stringify(value).slice(1, -1);
}

function rowMembers(world: World, style: Style, options: RowOptions): string {
  const money = (minor: number): number => world.prices.wire(minor, options.currency);
  const { prices, care } = style;
  return members({
    seasonName: options.label ?? options.season ?? world.catalog.seasons[style.season]?.name,
    b2cSalePrice: money(prices.sale),
    priceOriginal: money(prices.retail),
    wspPrice: money(options.season === undefined ? prices.wholesale : prices.preOrder),
    careLabelWash: care.wash,
    careLabelIron: care.iron,
    careLabelDry: care.dry,
    careLabelDryClean: care.dryClean,
    careLabelBleach: care.bleach,
  });
}

function detailMembers(world: World, style: Style, options: RowOptions): string {
  const money = (minor: number): number => world.prices.wire(minor, options.currency);
  const kind = elementAt(STYLE_TYPES, style.type);
  return members({
    styleNo: style.styleNo,
    brandName: world.catalog.brandName(style.brand),
    styleName: style.styleName,
    styleNameWebshop: `${style.styleName} ${style.styleNo}`,
    price: money(style.prices.retail),
    wspPrice: money(style.prices.wholesale),
    currency: options.currency,
    designer: style.designer,
    styleDescription: style.description,
    wash: style.care.text,
    category: kind.category,
    quality: style.quality,
    type: kind.name,
    gender: elementAt(GENDERS, style.gender),
    b2bHidden: style.b2bHidden,
    tags: style.noos ? ['NOOS'] : [],
    customsTariffNumber: kind.tariff,
    countryOfOrigin: style.origin,
    weight: style.grams,
  });
}

function pricingText(world: World, style: Style, options: RowOptions): string {
  const { discountPercentage, currency, season } = options;
  if (discountPercentage === undefined) return '';
  const { wholesale, preOrder } = style.prices;
  const list = Math.round(world.prices.of(season === undefined ? wholesale : preOrder, currency));
  const discounted = Math.round(list * (1 - discountPercentage / 100));
  const pricing = JSON.stringify({
    currency,
    wspPriceOriginal: wireAmount(list),
    discountPercentage,
    wspPriceWithDiscount: wireAmount(discounted),
  });
  return `,"pricing":${pricing}`;
}

function styleText(world: World, index: number, options: RowOptions): StyleText {
  const { catalog } = world;
  const style = catalog.style(index);
  const rows = Array.from({ length: catalog.size.sizes }, (_, row) => row);
  const pricing = pricingText(world, style, options);
  if (!options.detailed) return { style, row: '', details: '', pricing, kinds: [], ends: [] };
  return {
    style,
    pricing,
    row: rowMembers(world, style, options),
    details: detailMembers(world, style, options),
    kinds: rows.map((row) => (catalog.isAssortment(style, row) ? 'assortment' : 'size')),
    ends: rows.map((row) => `,"size":${JSON.stringify(catalog.sizeLabel(style, row))}}${pricing}}`),
  };
}

/** The part of a row that all sizes of a color share, encoded. */
function colorBytes({ catalog }: World, text: StyleText, color: number): Uint8Array {
  const { style } = text;
  const palette = catalog.colorOf(style.index, color);
  const code = COLOR_CODE_FIRST + palette;
  const name = JSON.stringify(COLOR_NAMES[palette]);
  const active = catalog.isColorActive(style.index, color);
  const image = JSON.stringify(`https://images.example/${style.styleNo}/${code}.jpg`);
  const own = `"colorName":${name},"colorActive":${active},"images":[${image}]`;
  return Buffer.from(`${text.row},"colorCode":"${code}","details":{${text.details},${own}`);
}

/** Writer of rows without details: barcode and quantity only. */
function plainWriter({ catalog }: World): RowWriter {
  return (sink, variant, quantity) => {
    sink.ascii(`{"barcode":"${catalog.barcodeOf(variant)}","quantity":${quantity}}`);
  };
}

/** Creates a writer of rows in any order, which is fastest when neighbours follow each other. */
export function createRowWriter(world: World, options: RowOptions): RowWriter {
  const { catalog } = world;
  const { rowsPerStyle } = catalog;
  const { sizes } = catalog.size;
  if (!options.detailed && options.discountPercentage === undefined) return plainWriter(world);
  let text: StyleText | undefined;
  let shared: Uint8Array = Buffer.alloc(0);
  let sharedColor = -1;

  return (sink, variant, quantity) => {
    const start = `{"barcode":"${catalog.barcodeOf(variant)}","quantity":${quantity}`;
    const style = Math.floor(variant / rowsPerStyle);
    if (text?.style.index !== style) {
      text = styleText(world, style, options);
      sharedColor = -1;
    }
    if (!options.detailed) {
      sink.ascii(`${start}${text.pricing}}`);
      return;
    }
    const inStyle = variant - style * rowsPerStyle;
    const color = Math.floor(inStyle / sizes);
    if (color !== sharedColor) shared = colorBytes(world, text, color);
    sharedColor = color;
    const row = inStyle - color * sizes;
    sink.ascii(`${start},"variantType":"${text.kinds[row]}",`);
    sink.bytes(shared);
    sink.ascii(text.ends[row] ?? '');
  };
}
