/** List of the styles that the lists of stock and seasons have. */
import { type RawBuilder, sql } from 'kysely';
import type { z } from 'zod';
import { RefusedError } from '../../lib/errors.ts';
import { containing, plural } from '../../lib/strings.ts';
import type { Db } from '../../store/store.ts';
import { list, type Page } from '../../surface/lists.ts';
import { text } from '../../surface/members.ts';
import { mirrored, pieces } from './members.ts';

const row = {
  style: mirrored('Style', { link: 'style' }),
  styleName: mirrored('Name', { csv: 'name' }).nullable(),
  brand: mirrored('Brand').nullable(),
  colors: pieces('Colours', { about: 'In the stock list; 0: it does not have the style' }),
  variants: pieces('Sizes'),
  inStock: pieces('Sizes in stock', { about: 'Variants with more than 0 pieces' }),
  pieces: pieces('On hand'),
  below: pieces('Below 0', { csv: 'below_zero', about: 'Variants with fewer than 0 pieces' }),
};
type StyleRow = { readonly [K in keyof typeof row]: z.output<(typeof row)[K]> };

/**
 * SQL for the style number in the stock or the season variants that is next after a place, or
 * before it. It costs one look into an index, however many variants a style has.
 */
function nextStyle(place: RawBuilder<unknown>, isBack: boolean): RawBuilder<unknown> {
  const nearest = sql.raw(isBack ? 'max' : 'min');
  const beyond = sql`style_no > '' and style_no ${sql.raw(isBack ? '<' : '>')} ${place}`;
  return sql`(select ${nearest}(n) from (
    select ${nearest}(style_no) n from stock_variant_row where ${beyond}
    union all select ${nearest}(style_no) from season_variant_row where ${beyond}))`;
}

/** SQL condition that a column contains a text; `%` and `_` stand for themselves. */
function has(column: string, q: string): RawBuilder<boolean> {
  return sql`${sql.ref(column)} like ${containing(q)} escape '\\'`;
}

/** SQL condition for styles with the text in number, name or brand, or with this barcode. */
function searched(q: string): RawBuilder<boolean> {
  return sql`(${has('s.no', q)} or exists (
      select 1 from (
        select style_name, brand_name from (
          select style_name, brand_name from stock_variant_row where style_no = s.no limit 1)
        union all
        select style_name, brand_name from (
          select style_name, brand_name from season_variant_row where style_no = s.no limit 1)
      ) v where ${has('v.style_name', q)} or ${has('v.brand_name', q)})
    or s.no in (
      select style_no from stock_variant_row where barcode = ${q}
      union all select style_no from season_variant_row where barcode = ${q}))`;
}

/** SQL for a name or brand of a style, from any of its rows that has one. */
function anyOf(column: 'style_name' | 'brand_name'): RawBuilder<string | null> {
  const of = sql.ref(column);
  return sql`coalesce(
    (select v.${of} from stock_variant_row v where v.style_no = f.no and v.${of} <> '' limit 1),
    (select v.${of} from season_variant_row v where v.style_no = f.no and v.${of} <> '' limit 1))`;
}

/** Reads a page of styles by number. */
async function readStyles(db: Db, q: string, { after, back, limit }: Page): Promise<StyleRow[]> {
  const isBack = back !== undefined;
  const first = nextStyle(sql`${back ?? after ?? ''}`, isBack);
  const fits = q === '' ? sql`1` : searched(q);
  const { rows } = await sql<StyleRow>`
    with recursive s(no) AS (
      select ${first}
      union all select ${nextStyle(sql`s.no`, isBack)} from s where s.no is not null
    )
    select f.no style, ${anyOf('style_name')} "styleName", ${anyOf('brand_name')} brand,
      count(distinct coalesce(nullif(v.color_code, ''), v.color_name, ''))
        filter (where v.barcode is not null) colors,
      count(v.barcode) variants, count(v.barcode) filter (where v.quantity > 0) "inStock",
      coalesce(sum(v.quantity), 0) pieces, count(v.barcode) filter (where v.quantity < 0) below
    from (select s.no from s where s.no is not null and ${fits} limit ${limit}) f
    left join stock_variant_row v on v.style_no = f.no and v.deleted_at is null
    group by f.no order by f.no`.execute(db);
  return rows;
}

export const styles = list({
  name: 'stock.styles',
  command: 'stock',
  operation: 'listStyles',
  path: '/stock',
  title: 'Stock',
  about: 'styles by number',
  examples: [],
  query: { q: text('Style, name, brand or barcode', {}, 200).optional() },
  row,
  shown: [
    'style',
    'styleName',
    'brand',
    'colors',
    'pieces',
    {
      title: 'In stock',
      text({ variants, inStock, below }) {
        if (variants === 0) return 'not listed';
        if (below > 0) return `${plural(below, 'size')} below 0`;
        return inStock === variants ? 'all sizes' : `${inStock} of ${plural(variants, 'size')}`;
      },
      class: ({ below }) => (below > 0 ? 'state s-overdue' : undefined),
    },
  ],
  empty:
    'No number, name or brand of a style has that in it, and no barcode is that. If there is no ' +
    'style at all, the lists of stock and seasons were not read: "selvedge sync list" tells why.',
  read: ({ db }, { q = '' }, page) => readStyles(db, q.trim(), page),
  place: ({ style }) => style,
});

export interface StyleNames {
  readonly style: string;
  readonly styleName: string | null;
  readonly brand: string | null;
}

/** Finds a style by its number, or by a barcode; undefined: neither list has it now. */
export async function findStyle(db: Db, named: string): Promise<StyleNames | undefined> {
  const { rows } = await sql<StyleNames>`
    select style_no style, max(nullif(style_name, '')) "styleName",
      max(nullif(brand_name, '')) brand
    from (
      select style_no, style_name, brand_name from stock_variant_row where style_no = ${named}
      union all
      select style_no, style_name, brand_name from season_variant_row where style_no = ${named}
      union all
      select style_no, style_name, brand_name from stock_variant_row
      where barcode = ${named} and style_no <> ''
      union all
      select style_no, style_name, brand_name from season_variant_row
      where barcode = ${named} and style_no <> '')
    group by style_no order by style_no = ${named} desc limit 1`.execute(db);
  return rows[0];
}

export function unknownStyle(named: string): RefusedError {
  return new RefusedError('stock.unknown', `no style and no barcode ${named} is known`, {
    hint: '/stock and selvedge stock list the styles; selvedge sync list tells whether it was read',
  });
}

/** @throws RefusedError `stock.unknown` */
export async function requireStyle(db: Db, named: string): Promise<StyleNames> {
  const found = await findStyle(db, named);
  if (found) return found;
  throw unknownStyle(named);
}
