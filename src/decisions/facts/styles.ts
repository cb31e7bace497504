/**
 * Product data of the style and color of a line: whether it is still sold, and made
 * again. A style number may belong to several styles: of several brands, or of one that was made
 * again under another id. The style of the line's own brand counts, of several the one that is
 * sold; if it is not clear which, or a relationship came cut, nothing is known. Nor is anything
 * while the list has the style under another id that says otherwise.
 */
import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import { isJsonObject, tryParseJson } from '../../lib/json.ts';
import { nameKey, nameOf } from '../../lib/strings.ts';
import { PDM } from '../../mirror/catalog/pdm.ts';
import { unlistedAmong } from '../../mirror/list.ts';
import type { Tx } from '../../store/store.ts';
import { keptForAll, keptOf } from '../../store/transaction/together.ts';

interface StyleRow {
  readonly style_id: string;
  readonly style_no: string;
  readonly active: number | null;
  readonly deleted_at: number | null;
  /** Name of the style's brand; null: not known. */
  readonly brand: string | null;
  /** Colors of the style as JSON: those that could be found have a code. */
  readonly colors: string;
}

interface Color {
  /** Color code; null: the color, or the resource that leads to it, is not known. */
  readonly code: string | null;
  readonly noos: string | null;
  readonly active: number | null;
}

interface Style {
  readonly id: string;
  readonly active: number | null;
  readonly isGone: boolean;
  /** Key of the brand's name; undefined: not known. */
  readonly brand: string | undefined;
  readonly colors: readonly Color[];
  /** Whether all colors of the style are known. */
  readonly isWhole: boolean;
}

/** The product a line is about, as the lists of variants name it. */
interface Product {
  readonly style_no: string | null;
  readonly brand_name: string | null;
  readonly color_code: string | null;
}

interface StyleFacts {
  readonly style_active: boolean | null;
  readonly noos: boolean | null;
  readonly color_active: boolean | null;
  /**
   * Reason why the facts are not known although the product data have the style: those of the style
   * and of its color, or those of its color alone.
   */
  readonly unread?: { readonly of: 'style' | 'color'; readonly why: string };
}

/** Gives what is known of the style and color of a product. */
export type StylesOf = (product: Product | undefined) => StyleFacts;

const NOTHING: StyleFacts = { style_active: null, noos: null, color_active: null };

function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function styleOf({ style_id: id, active, deleted_at, brand, colors }: StyleRow): Style {
  const parsed = tryParseJson(colors);
  const listed = (Array.isArray(parsed) ? parsed : []).filter(isJsonObject).map((one): Color => {
    const { code, noos, active: isSold } = one;
    return { code: textOrNull(code), noos: textOrNull(noos), active: numberOrNull(isSold) };
  });
  const name = nameOf(brand);
  return {
    id,
    active,
    isGone: deleted_at !== null,
    brand: name === null ? undefined : nameKey(name),
    colors: listed,
    isWhole: listed.every(({ code }) => code !== null),
  };
}

const stylesWith = keptOf(
  (_, among) => sql<StyleRow>`
    select s.style_id, s.style_no, s.active, s.deleted_at, b.name brand,
      (select json_group_array(json_object('code', c.code, 'noos', sc.noos_type,
          'active', sc.active))
        from json_each(s.style_color_ids) id
        left join style_color sc on sc.style_color_id = id.value and sc.deleted_at is null
        left join color c on c.color_id = sc.color_id and c.deleted_at is null) colors
    from style s left join pdm_brand b on b.brand_id = s.brand_id and b.deleted_at is null
    where ${among('s.style_no')}`,
  'style_no',
);

async function readStyles(tx: Tx, styleNos: readonly string[]) {
  const found = new Map<string, Style[]>();
  if (styleNos.length === 0) return found;
  for (const row of await stylesWith(tx, styleNos)) {
    const styles = found.get(row.style_no) ?? [];
    found.set(row.style_no, [...styles, styleOf(row)]);
  }
  return found;
}

const brandNames = keptForAll((db) =>
  db.selectFrom('pdm_brand').select('name').where('deleted_at', 'is', null),
);

/** Keys of the brands' names in the product data; names that the lists of variants do not have. */
async function readBrands(tx: Tx): Promise<ReadonlySet<string>> {
  const rows = await brandNames(tx);
  return new Set(rows.flatMap(({ name }) => (name === null ? [] : [nameKey(name)])));
}

/**
 * The styles that a line may be of. Brands tell them apart only where both sides name brands alike:
 * the product data of some accounts have other names for all of them.
 */
function stylesOfBrand(
  styles: readonly Style[],
  brandName: string | null,
  brands: ReadonlySet<string>,
): readonly Style[] {
  const name = nameOf(brandName);
  const own = name === null ? undefined : nameKey(name);
  if (own === undefined || !brands.has(own)) return styles;
  const exact = styles.filter(({ brand }) => brand === own);
  return exact.length > 0 ? exact : styles.filter(({ brand }) => brand === undefined);
}

export function flagOf(value: number | null | undefined): boolean | null {
  return value === null || value === undefined ? null : value === 1;
}

function noosOf(type: string | null | undefined): boolean | null {
  if (type === 'noos') return true;
  return type === 'none' ? false : null;
}

/** The value that all of them share; null if they differ. */
function shared<T>(values: readonly (T | null)[]): T | null {
  const [value = null, other] = new Set(values);
  return other === undefined ? value : null;
}

function factsOf(all: readonly Style[], code: string | null): StyleFacts {
  const sold = all.filter(({ active }) => active === 1);
  // A style that was put out of use and made again leaves its number behind.
  const styles = sold.length > 0 ? sold : all;
  const colors = styles.map((style) =>
    code === null ? undefined : style.colors.findLast((color) => color.code === code),
  );
  const facts = {
    style_active: shared(styles.map(({ active }) => flagOf(active))),
    noos: shared(colors.map((color) => noosOf(color?.noos))),
    color_active: shared(colors.map((color) => flagOf(color?.active))),
  };
  const differs = (values: readonly unknown[]) => new Set(values).size > 1;
  const why = 'belongs to several styles that differ';
  if (differs(styles.map(({ active }) => active)))
    return { ...facts, unread: { of: 'style', why } };
  if (differs(colors.map((one) => one?.noos)) || differs(colors.map((one) => one?.active)))
    return { ...facts, unread: { of: 'color', why } };
  const isCut = styles.some(({ isWhole }, at) => !isWhole && colors[at] === undefined);
  if (!isCut) return facts;
  return { ...facts, unread: { of: 'color', why: 'came without all of its colors' } };
}

function unreadStyle(why: string): StyleFacts {
  return { ...NOTHING, unread: { of: 'style', why } };
}

/** Whether one of these styles says otherwise of itself or a color than the first of them. */
function areUnlike([first, ...others]: readonly Style[]): boolean {
  return others.some(
    ({ active, colors }) => active !== first?.active || !isDeepStrictEqual(colors, first.colors),
  );
}

/** Ids of styles that share their number with unlike ones, and that the list names no more. */
async function readUnlisted(tx: Tx, styles: readonly (readonly Style[])[]) {
  const all = styles.map((ofNumber) => ofNumber.filter(({ isGone }) => !isGone));
  const ids = all.filter(areUnlike).flatMap((live) => live.map(({ id }) => id));
  return ids.length === 0 ? new Set() : unlistedAmong(tx, PDM.styles, 'styles', ids);
}

/** Reads the styles with these numbers. */
export async function stylesOf(tx: Tx, styleNos: readonly string[]): Promise<StylesOf> {
  const styles = await readStyles(tx, styleNos);
  const brands = styles.size === 0 ? new Set<string>() : await readBrands(tx);
  const unlisted = await readUnlisted(tx, [...styles.values()]);
  return (product) => {
    if (!product?.style_no) return NOTHING;
    const all = styles.get(product.style_no);
    if (!all) return NOTHING;
    const live = all.filter(({ isGone }) => !isGone);
    if (live.length === 0) return unreadStyle('is not listed any more');
    const own = stylesOfBrand(live, product.brand_name, brands);
    if (own.length === 0) return unreadStyle('is listed for another brand only');
    const facts = factsOf(own, product.color_code);
    const listed = own.filter(({ id }) => !unlisted.has(id));
    if (listed.length === 0 || listed.length === own.length) return facts;
    // A style that has another id by now says no more, until it is known that it is gone.
    const isSame = isDeepStrictEqual(factsOf(listed, product.color_code), facts);
    return isSame ? facts : unreadStyle('has another id in the list than before');
  };
}
