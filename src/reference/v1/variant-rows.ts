/**
 * Rows of the variant lists as JSON text. What a style or a color has in common is written once
 * and reused for its rows; only barcode, quantity and size are put in per row. That is several
 * times faster than serializing objects, and a list is a million rows long.
 */
import { fromMinorUnits } from '../../lib/money.ts';
import { inCurrency, type Style } from '../world/catalog/catalog.ts';
import { elementAt } from '../world/catalog/hash.ts';
import { COLOR_NAMES, type Currency, GENDERS, STYLE_TYPES } from '../world/catalog/words.ts';
import type { World } from '../world/world.ts';

export interface RowOptions {
  readonly detailed: boolean;
  readonly currency: Currency;
  /** Percent; undefined leaves `pricing` out. */
  readonly discountPercentage: number | undefined;
  /** The season whose pre-order prices hold; undefined means prices from stock. */
  readonly season: string | undefined;
}

export type RowWriter = (variant: number, quantity: number) => string;

function colorHead(world: World, style: Style, color: number, options: RowOptions): string {
  const { catalog } = world;
  const palette = catalog.colorOf(style.index, color);
  const money = (minor: number): number => fromMinorUnits(inCurrency(minor, options.currency));
  const { prices, care } = style;
  const kind = elementAt(STYLE_TYPES, style.type);
  const head = JSON.stringify({
    seasonName: options.season ?? catalog.seasons[style.season]?.name,
    colorCode: String(1_000 + palette),
    b2cSalePrice: money(prices.sale),
    priceOriginal: money(prices.retail),
    wspPrice: money(options.season === undefined ? prices.wholesale : prices.preOrder),
    careLabelWash: care.wash,
    careLabelIron: care.iron,
    careLabelDry: care.dry,
    careLabelDryClean: care.dryClean,
    careLabelBleach: care.bleach,
    details: {
      styleNo: style.styleNo,
      brandName: catalog.brandName(style.brand),
      styleName: style.styleName,
      styleNameWebshop: `${style.styleName} ${style.styleNo}`,
      colorName: COLOR_NAMES[palette],
      price: money(prices.retail),
      wspPrice: money(prices.wholesale),
      currency: options.currency,
      designer: style.designer,
      styleDescription: style.description,
      wash: `Wash ${care.wash}`,
      category: kind.category,
      quality: style.quality,
      type: kind.name,
      gender: elementAt(GENDERS, style.gender),
      b2bHidden: style.b2bHidden,
      colorActive: catalog.isColorActive(style.index, color),
      tags: style.noos ? ['NOOS'] : [],
      customsTariffNumber: kind.tariff,
      countryOfOrigin: style.origin,
      weight: style.grams,
      images: [`https://images.example/${style.styleNo}/${1_000 + palette}.jpg`],
    },
  });
  // Without the braces at both ends: the row puts its size in front of the closing ones.
  return head.slice(1, -2);
}

function pricingText(style: Style, options: RowOptions): string {
  if (options.discountPercentage === undefined) return '';
  const { wholesale, preOrder } = style.prices;
  const list = inCurrency(options.season === undefined ? wholesale : preOrder, options.currency);
  const pricing = JSON.stringify({
    currency: options.currency,
    wspPriceOriginal: fromMinorUnits(list),
    discountPercentage: options.discountPercentage,
    wspPriceWithDiscount: fromMinorUnits(Math.round(list * (1 - options.discountPercentage / 100))),
  });
  return `,"pricing":${pricing}`;
}

/** Writes rows in any order, fastest when neighbours follow each other. */
export function createRowWriter(world: World, options: RowOptions): RowWriter {
  const { catalog } = world;
  const { rowsPerStyle } = catalog;
  const { sizes } = catalog.size;
  let current = { style: -1, color: -1, head: '', pricing: '', labels: [''], kinds: [''] };

  const turnTo = (styleIndex: number, color: number): void => {
    const style = catalog.style(styleIndex);
    const rows = Array.from({ length: sizes }, (_, row) => row);
    current = {
      style: styleIndex,
      color,
      head: options.detailed ? colorHead(world, style, color, options) : '',
      pricing: pricingText(style, options),
      labels: rows.map((row) => JSON.stringify(catalog.sizeLabel(style, row))),
      kinds: rows.map((row) => (catalog.isAssortment(style, row) ? 'assortment' : 'size')),
    };
  };

  return (variant, quantity) => {
    const start = `{"barcode":"${catalog.barcodeOf(variant)}","quantity":${quantity}`;
    if (!options.detailed && options.discountPercentage === undefined) return `${start}}`;
    const style = Math.floor(variant / rowsPerStyle);
    const inStyle = variant - style * rowsPerStyle;
    const color = Math.floor(inStyle / sizes);
    if (style !== current.style || color !== current.color) turnTo(style, color);
    if (!options.detailed) return `${start}${current.pricing}}`;
    const row = inStyle - color * sizes;
    const { kinds, head, labels, pricing } = current;
    return `${start},"variantType":"${kinds[row]}",${head},"size":${labels[row]}}${pricing}}`;
  };
}
