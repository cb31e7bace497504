/**
 * The catalog: styles in colors in sizes, computed from the seed whenever they are requested, plus
 * later changes (prices set by hand, styles edited or added through V2).
 *
 * Variants are numbered: style by style, color by color, size by size; styles of one brand are
 * neighbours. So a brand or a style is a range of numbers, and rows have a stable order.
 */
import { elementAt, numberAt } from './hash.ts';
import { generateSeasons, type Season } from './seasons.ts';
import {
  BRAND_NAMES,
  CARE,
  COLOR_NAMES,
  COLOR_STEPS,
  DESIGNERS,
  GENDERS,
  ORIGINS,
  QUALITIES,
  SIZE_SCALES,
  STYLE_TYPES,
  STYLE_WORDS,
} from './words.ts';

const PREFIX = '570';
const NUMBER_DIGITS = 9;
/** Distance between the first barcode numbers of worlds with different seeds. */
const SEED_STRIDE = 2_500_000;
const SEED_PLACES = 390;

/**
 * Number of the last three digits of a barcode, which come from a table; the digits before them are
 * computed.
 */
const TAIL_SIZE = 1_000;

/** Sum of the digits, weighted 1 and 3 in turn, beginning with `weight`. */
function weighted(digits: string, weight: number): number {
  let sum = 0;
  for (let at = 0; at < digits.length; at += 1) {
    sum += (digits.charCodeAt(at) - 48) * (at % 2 === 0 ? weight : 4 - weight);
  }
  return sum;
}

/** Check digit for the weighted sum of a barcode's first twelve digits. */
function checkDigit(sum: number): number {
  return (10 - (sum % 10)) % 10;
}

export function isEan13(text: string): boolean {
  return /^\d{13}$/.test(text) && checkDigit(weighted(text.slice(0, 12), 1)) === Number(text[12]);
}

export interface Barcodes {
  of(variant: number): string;
  /**
   * Index of the barcode's variant; undefined for a text that is no barcode of this world's range.
   */
  indexOf(barcode: string): number | undefined;
}

export function createBarcodes(seed: number): Barcodes {
  const first = (seed % SEED_PLACES) * SEED_STRIDE;
  const tails = Array.from({ length: TAIL_SIZE }, (_, number) => {
    const digits = String(number).padStart(3, '0');
    return { digits, sum: weighted(digits, 3) };
  });
  let head = { number: -1, digits: '', sum: 0 };
  return {
    of(variant) {
      const number = Math.floor((first + variant) / TAIL_SIZE);
      if (number !== head.number) {
        const digits = PREFIX + String(number).padStart(NUMBER_DIGITS - 3, '0');
        head = { number, digits, sum: weighted(digits, 1) };
      }
      const tail = tails[(first + variant) % TAIL_SIZE];
      return head.digits + tail?.digits + checkDigit(head.sum + (tail?.sum ?? 0));
    },
    indexOf(barcode) {
      if (!barcode.startsWith(PREFIX) || !isEan13(barcode)) return undefined;
      const index = Number(barcode.slice(PREFIX.length, 12)) - first;
      return index >= 0 ? index : undefined;
    },
  };
}

export interface CatalogSize {
  readonly seed: number;
  readonly brands: number;
  readonly styles: number;
  readonly colors: number;
  readonly sizes: number;
  readonly seasons: number;
}

/** Prices of a style in hundredths of a euro. */
interface StylePrices {
  readonly retail: number;
  readonly sale: number;
  readonly wholesale: number;
  /** Wholesale price when ordered ahead of the season. */
  readonly preOrder: number;
}

export interface Style {
  readonly index: number;
  readonly brand: number;
  readonly season: number;
  readonly type: number;
  readonly gender: number;
  readonly styleNo: string;
  readonly styleName: string;
  readonly description: string;
  readonly designer: string;
  readonly quality: string;
  readonly care: (typeof CARE)[number];
  readonly origin: string;
  readonly grams: number;
  /** Whether the style is never out of stock: it is carried on from season to season. */
  readonly noos: boolean;
  readonly hasAssortment: boolean;
  readonly b2bHidden: boolean;
  readonly prices: StylePrices;
}

/** Range of indices, from the first to one past the last. */
export type Range = readonly [number, number];

export interface VariantPlace {
  readonly style: number;
  readonly color: number;
  readonly row: number;
}

const SALT = {
  type: 1,
  gender: 2,
  word: 3,
  quality: 4,
  care: 5,
  origin: 6,
  more: 7,
  price: 8,
  color: 20,
  active: 21,
} as const;
const STYLE_NO_FIRST = 100_000;
const ASSORTMENT_PIECES = 6;

export type Catalog = ReturnType<typeof createCatalog>;

/** Prices of a style, which end in .00 or .50 wholesale and in 9.95 retail, as in a price list. */
function pricesAt(seed: number, index: number): StylePrices {
  const draw = numberAt(seed, index, SALT.price, 1_000_000);
  const wholesale = 800 + (draw % 230) * 50;
  const retail = Math.ceil((wholesale * 2.4) / 1000) * 1000 - 5;
  const onSale = Math.floor(draw / 230) % 3 === 0;
  return {
    wholesale,
    retail,
    sale: onSale ? Math.round((retail * 0.7) / 100) * 100 : retail,
    preOrder: Math.round((wholesale * 0.9) / 50) * 50,
  };
}

function generateStyle(size: CatalogSize, index: number): Style {
  const { seed } = size;
  const draw = (salt: number): number => numberAt(seed, index, salt, 1_000_000);
  const brand = Math.floor((index * size.brands) / size.styles);
  const firstOfBrand = Math.ceil((brand * size.styles) / size.brands);
  const type = draw(SALT.type) % STYLE_TYPES.length;
  const kind = elementAt(STYLE_TYPES, type);
  const more = draw(SALT.more);
  const word = elementAt(STYLE_WORDS, draw(SALT.word));
  const quality = elementAt(QUALITIES, draw(SALT.quality));
  return {
    index,
    brand,
    season: (index - firstOfBrand) % size.seasons,
    type,
    gender: draw(SALT.gender) % GENDERS.length,
    styleNo: styleNoAt(index),
    styleName: `${word} ${kind.name}`,
    description: `${kind.name} in ${quality}, cut with room to move.`,
    designer: elementAt(DESIGNERS, more),
    quality,
    care: elementAt(CARE, draw(SALT.care)),
    origin: elementAt(ORIGINS, draw(SALT.origin)),
    grams: kind.gramsMin + (more % 9) * 20,
    noos: Math.floor(more / 9) % 8 === 0,
    hasAssortment: size.sizes >= 3 && Math.floor(more / 72) % 4 === 0,
    b2bHidden: Math.floor(more / 288) % 50 === 0,
    prices: pricesAt(seed, index),
  };
}

function styleNoAt(index: number): string {
  return `S${STYLE_NO_FIRST + index}`;
}

function brandNameAt(brand: number): string {
  const name = elementAt(BRAND_NAMES, brand);
  const round = Math.floor(brand / BRAND_NAMES.length);
  return round === 0 ? name : `${name} ${round + 1}`;
}

function colorAt(seed: number, styleIndex: number, color: number): number {
  const draw = numberAt(seed, styleIndex, SALT.color, 1_000_000);
  return (draw + color * elementAt(COLOR_STEPS, Math.floor(draw / 48))) % COLOR_NAMES.length;
}

function sizeLabelAt(size: CatalogSize, of: Style, row: number): string {
  const scale: readonly string[] = SIZE_SCALES[elementAt(STYLE_TYPES, of.type).scale];
  const first = size.sizes < scale.length ? 1 : 0;
  if (!of.hasAssortment || row < size.sizes - 1) return elementAt(scale, first + row);
  return `${elementAt(scale, first)}-${elementAt(scale, first + row - 1)} assorted`;
}

function placeAt(size: CatalogSize, variant: number): VariantPlace {
  const rowsPerStyle = size.colors * size.sizes;
  const inStyle = variant % rowsPerStyle;
  return {
    style: Math.floor(variant / rowsPerStyle),
    color: Math.floor(inStyle / size.sizes),
    row: inStyle % size.sizes,
  };
}

export function createCatalog(size: CatalogSize) {
  const barcodes = createBarcodes(size.seed);
  const seasons: Season[] = generateSeasons(size.seasons);
  const shown: readonly Season[] = seasons;
  const changed = new Map<number, Style>();
  const renamed = new Map<number, string>();
  const variantCount = size.styles * size.colors * size.sizes;
  const style = (index: number): Style => changed.get(index) ?? generateStyle(size, index);
  const firstStyleOf = (brand: number): number => Math.ceil((brand * size.styles) / size.brands);
  const isAssortment = (of: Style, row: number): boolean =>
    of.hasAssortment && row === size.sizes - 1;
  return {
    size,
    variantCount,
    rowsPerStyle: size.colors * size.sizes,
    seasons: shown,
    /** Index of the newest generated season; styles belong to no season that was added later. */
    newestSeason: size.seasons - 1,
    replaceSeasons(next: readonly Season[]): void {
      seasons.splice(0, seasons.length, ...next);
    },
    style,
    barcodeOf: barcodes.of,
    /** Index of the barcode's variant; undefined: this world has no such barcode. */
    variantOf(barcode: string): number | undefined {
      const index = barcodes.indexOf(barcode);
      return index !== undefined && index < variantCount ? index : undefined;
    },
    place: (variant: number): VariantPlace => placeAt(size, variant),
    brandName: (brand: number): string => renamed.get(brand) ?? brandNameAt(brand),
    renameBrand(brand: number, name: string): void {
      renamed.set(brand, name);
    },
    /** Range of the styles of a brand: [from, to). */
    stylesOfBrand: (brand: number): Range => [firstStyleOf(brand), firstStyleOf(brand + 1)],
    /** Place in the palette of the n-th color of a style. */
    colorOf: (styleIndex: number, color: number): number => colorAt(size.seed, styleIndex, color),
    isColorActive: (styleIndex: number, color: number): boolean =>
      numberAt(size.seed, styleIndex * 16 + color, SALT.active, 20) !== 0,
    isAssortment,
    /**
     * Tells whether the variant belongs to the season; never-out-of-stock styles belong to every
     * season.
     */
    isOfSeason(variant: number, season: number): boolean {
      const of = style(placeAt(size, variant).style);
      return of.season === season || of.noos;
    },
    sizeLabel: (of: Style, row: number): string => sizeLabelAt(size, of, row),
    /** Number of single pieces in one unit of the variant. */
    pieces: (of: Style, row: number): number => (isAssortment(of, row) ? ASSORTMENT_PIECES : 1),
    /** Changes a style; every later answer shows the change. */
    change(index: number, patch: Partial<Omit<Style, 'index'>>): Style {
      const next = { ...style(index), ...patch, index };
      changed.set(index, next);
      return next;
    },
    changes: (): readonly Style[] => [...changed.values()],
    replaceChanges(styles: readonly Style[]): void {
      changed.clear();
      for (const one of styles) changed.set(one.index, one);
    },
  };
}
