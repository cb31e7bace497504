/** Selects the variants of a list: ranges of the catalog, filtered by the query. */
import type { Catalog, Range } from './catalog.ts';
import { COLOR_NAMES } from './words.ts';

export interface VariantFilter {
  readonly brandName?: string | undefined;
  readonly styleNo?: string | undefined;
  /** Text that style number, style name, brand, color or barcode contains, in any case. */
  readonly search?: string | undefined;
  /** Index of the season; never-out-of-stock styles belong to every season. */
  readonly season?: number | undefined;
}

/** Range of the brand's styles: all styles without a brand, none where there is no such brand. */
function stylesOf(catalog: Catalog, brandName: string | undefined): Range {
  if (brandName === undefined) return [0, catalog.size.styles];
  for (let brand = 0; brand < catalog.size.brands; brand += 1) {
    if (catalog.brandName(brand) === brandName) return catalog.stylesOfBrand(brand);
  }
  return [0, 0];
}

/** Ranges of variants of one style whose color or barcode matches the search. */
function colorsFound(catalog: Catalog, style: number, wanted: string): Range[] {
  const { colors, sizes } = catalog.size;
  const found: Range[] = [];
  for (let color = 0; color < colors; color += 1) {
    const name = COLOR_NAMES[catalog.colorOf(style, color)] ?? '';
    const from = style * catalog.rowsPerStyle + color * sizes;
    if (name.toLowerCase().includes(wanted)) found.push([from, from + sizes]);
  }
  return found;
}

function searchStyle(catalog: Catalog, index: number, wanted: string): readonly Range[] {
  const style = catalog.style(index);
  const from = index * catalog.rowsPerStyle;
  const texts = [style.styleNo, style.styleName, catalog.brandName(style.brand)];
  if (texts.some((text) => text.toLowerCase().includes(wanted))) {
    return [[from, from + catalog.rowsPerStyle]];
  }
  return colorsFound(catalog, index, wanted);
}

/** Joins neighbouring ranges: a whole world is a single range. */
function joined(ranges: Iterable<Range>): Range[] {
  const out: Range[] = [];
  for (const range of ranges) {
    const last = out.at(-1);
    if (last && last[1] === range[0]) out[out.length - 1] = [last[0], range[1]];
    else out.push(range);
  }
  return out;
}

function* rangesOf(catalog: Catalog, filter: VariantFilter): Generator<Range> {
  const { rowsPerStyle } = catalog;
  const wanted = filter.search?.toLowerCase();
  const barcode = filter.search === undefined ? undefined : catalog.variantOf(filter.search);
  const [first, end] = stylesOf(catalog, filter.brandName);
  for (let index = first; index < end; index += 1) {
    const from = index * rowsPerStyle;
    if (filter.styleNo !== undefined && catalog.style(index).styleNo !== filter.styleNo) continue;
    if (filter.season !== undefined) {
      const style = catalog.style(index);
      if (style.season !== filter.season && !style.noos) continue;
    }
    if (barcode !== undefined) {
      if (barcode >= from && barcode < from + rowsPerStyle) yield [barcode, barcode + 1];
    } else if (wanted !== undefined) yield* searchStyle(catalog, index, wanted);
    else yield [from, from + rowsPerStyle];
  }
}

/** Ascending ranges of variants that match the filter, in stock or not. */
export function selectVariants(catalog: Catalog, filter: VariantFilter): readonly Range[] {
  const { styleNo, search, season } = filter;
  // Without such filters no style is looked at, because there may be 200,000 of them.
  if (styleNo === undefined && search === undefined && season === undefined) {
    const [first, end] = stylesOf(catalog, filter.brandName);
    return [[first * catalog.rowsPerStyle, end * catalog.rowsPerStyle]];
  }
  return joined(rangesOf(catalog, filter));
}
