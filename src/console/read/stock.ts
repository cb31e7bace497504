/** Reads stock for pages: styles to choose from, and one style by colour and size. */
import { type RawBuilder, sql } from 'kysely';
import { RefusedError } from '../../lib/errors.ts';
import { sortSizes } from '../../lib/sizes.ts';
import { readStockVariants, requireStockKnown, stockStateAt } from '../../mirror/stock-past.ts';
import type { SqlRow } from '../../store/bulk.ts';
import type { Db } from '../../store/store.ts';

export interface StyleRow {
  readonly style: string;
  readonly styleName: string | null;
  readonly brand: string | null;
  /** Number of colors of the style in the stock list; 0: the list does not have it. */
  readonly colors: number;
  readonly variants: number;
  /** Number of variants with more than 0 pieces. */
  readonly inStock: number;
  readonly pieces: number;
  /** Number of variants with fewer than 0 pieces. */
  readonly below: number;
}

export interface StylePage {
  readonly rows: readonly StyleRow[];
  /** Parameter `after` for the next page; null: this page is the last. */
  readonly next: string | null;
}

export interface StyleFilter {
  readonly q?: string | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}

/**
 * SQL for the next style number in the stock or the season variants. It costs one look into an
 * index, however many variants a style has.
 */
function nextStyle(after: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(select min(n) from (
    select min(style_no) n from stock_variant_row where style_no > ${after}
    union all select min(style_no) from season_variant_row where style_no > ${after}))`;
}

/** SQL condition that a column contains a text; `%` and `_` stand for themselves. */
function has(column: string, q: string): RawBuilder<boolean> {
  const text = `%${q.replaceAll(/[\\%_]/g, '\\$&')}%`;
  return sql`${sql.ref(column)} like ${text} escape '\\'`;
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

/** Reads a page of the styles in the lists of stock and seasons, by number. */
export async function readStyles(db: Db, { q, after, limit }: StyleFilter): Promise<StylePage> {
  const first = nextStyle(sql`${after ?? ''}`);
  const fits = q === undefined ? sql`1` : searched(q);
  const { rows } = await sql<StyleRow>`
    with recursive s(no) AS (
      select ${first}
      union all select ${nextStyle(sql`s.no`)} from s where s.no is not null
    )
    select f.no style, ${anyOf('style_name')} "styleName", ${anyOf('brand_name')} brand,
      count(distinct coalesce(nullif(v.color_code, ''), v.color_name, ''))
        filter (where v.barcode is not null) colors,
      count(v.barcode) variants, count(v.barcode) filter (where v.quantity > 0) "inStock",
      coalesce(sum(v.quantity), 0) pieces, count(v.barcode) filter (where v.quantity < 0) below
    from (select s.no from s where s.no is not null and ${fits} limit ${limit + 1}) f
    left join stock_variant_row v on v.style_no = f.no and v.deleted_at is null
    group by f.no order by f.no`.execute(db);
  const shown = rows.slice(0, limit);
  return { rows: shown, next: rows.length > limit ? (shown.at(-1)?.style ?? null) : null };
}

/** Stock of one variant, by color and size; null where a number is not known. */
export interface StockCell {
  readonly barcode: string;
  readonly color: string | null;
  readonly colorCode: string | null;
  readonly size: string | null;
  readonly onHand: number | null;
  /** Pieces packed and not yet shipped. */
  readonly packed: number | null;
  /** Pieces on hand that are not packed. */
  readonly free: number | null;
  /** Pieces that open orders without a season still want. */
  readonly toPack: number | null;
  /** Percentage of these wanted pieces that is free, 0 to 100; null: nothing is wanted. */
  readonly coverPercent: number | null;
}

export interface StyleStock {
  readonly style: string;
  readonly styleName: string | null;
  readonly brand: string | null;
  /** Epoch ms of the past time that is shown; null: now. */
  readonly asOf: number | null;
  /** Cells of the style, ordered by color and size. */
  readonly cells: readonly StockCell[];
  /** Sizes of the cells, in order. */
  readonly sizes: readonly string[];
}

interface AtsRow {
  readonly barcode: string;
  readonly style_name: string | null;
  readonly brand_name: string | null;
  readonly color_code: string | null;
  readonly color_name: string | null;
  readonly size: string | null;
  readonly quantity: number | null;
  readonly packed: number;
  readonly to_pack: number;
  readonly is_free: number;
}

export const NO_SIZE = '–';

export function sizeOf({ size }: Pick<StockCell, 'size'>): string {
  return size ?? NO_SIZE;
}

function coverOf(free: number | null, toPack: number): number | null {
  if (toPack === 0 || free === null) return null;
  return Math.round((100 * Math.min(toPack, Math.max(0, free))) / toPack);
}

/** Sizes in the order of their ranks; those without a rank follow, by name. */
async function orderedSizes(db: Db, cells: readonly StockCell[]): Promise<string[]> {
  const sizes = [...new Set(cells.map(sizeOf))];
  const { rows } = await sql<{ size: string }>`select r.size from json_each(${JSON.stringify(
    sizes,
  )}) j join size_rank r on r.size = j.value order by r.rank`.execute(db);
  return sortSizes(
    sizes,
    rows.map(({ size }) => size),
  );
}

function inOrder(cells: readonly StockCell[], sizes: readonly string[]): StockCell[] {
  const collator = new Intl.Collator('en');
  const colorOf = ({ color, colorCode }: StockCell): string => color ?? colorCode ?? '';
  return cells.toSorted(
    (a, b) =>
      collator.compare(colorOf(a), colorOf(b)) ||
      collator.compare(a.colorCode ?? '', b.colorCode ?? '') ||
      sizes.indexOf(sizeOf(a)) - sizes.indexOf(sizeOf(b)),
  );
}

/** Rows of a style in the stock list as it is now; none for a style that only seasons have. */
async function cellsNow(db: Db, style: string): Promise<readonly AtsRow[]> {
  const { rows } = await sql<AtsRow>`select barcode, style_name, brand_name, color_code, color_name,
      size, quantity, packed, to_pack,
      (select s.value from daemon_state s where s.key = 'stock_quantity') is 'free' is_free
    from v_ats where style_no = ${style} and season_name is null`.execute(db);
  return rows;
}

function cellNow(row: AtsRow): StockCell {
  const { quantity, packed } = row;
  const free = quantity === null || row.is_free === 1 ? quantity : quantity - packed;
  return {
    ...{ barcode: row.barcode, color: row.color_name, colorCode: row.color_code, size: row.size },
    ...{ onHand: quantity, packed, free, toPack: row.to_pack },
    coverPercent: coverOf(free, row.to_pack),
  };
}

function textOf(value: SqlRow[string] | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Variants of a style that the stock list has had; none for a style that only seasons have. */
async function listedOnce(db: Db, style: string, at: number) {
  try {
    return await readStockVariants(db, style, at);
  } catch (thrown) {
    if (thrown instanceof RefusedError && thrown.code === 'stock.unknown') return [];
    throw thrown;
  }
}

/**
 * Cells of a style at a past time. Only pieces on hand are known: no history is kept of what was
 * packed and wanted.
 */
async function cellsAsOf(db: Db, style: string, at: number): Promise<StockCell[]> {
  const variants = await listedOnce(db, style, at);
  return variants.flatMap((variant) => {
    const then = stockStateAt(variant, at);
    if (!then) return [];
    const { barcode, quantity } = then;
    return [
      {
        ...{ barcode: String(barcode), color: textOf(then.color_name) },
        ...{ colorCode: textOf(then.color_code), size: textOf(then.size) },
        onHand: typeof quantity === 'number' ? quantity : null,
        ...{ packed: null, free: null, toPack: null, coverPercent: null },
      },
    ];
  });
}

interface StyleNames {
  readonly style: string;
  readonly style_name: string | null;
  readonly brand_name: string | null;
}

/** Finds a style by its number, or by a barcode; undefined: neither list has it. */
export async function findStyle(db: Db, named: string): Promise<StyleNames | undefined> {
  const { rows } = await sql<StyleNames>`
    select style_no style, max(nullif(style_name, '')) style_name,
      max(nullif(brand_name, '')) brand_name
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

/**
 * Stock of a style by color and size, now or at the time `asOf`.
 * @throws RefusedError `stock.too_early`, `stock.too_late`
 */
export async function readStyleStock(
  db: Db,
  { style, style_name: styleName, brand_name: brand }: StyleNames,
  asOf: number | undefined,
  now: number,
): Promise<StyleStock> {
  if (asOf !== undefined) await requireStockKnown(db, asOf, now);
  const cells =
    asOf === undefined
      ? (await cellsNow(db, style)).map(cellNow)
      : await cellsAsOf(db, style, asOf);
  const sizes = await orderedSizes(db, cells);
  return { style, styleName, brand, asOf: asOf ?? null, cells: inOrder(cells, sizes), sizes };
}

/** Pieces of a style that can be ordered ahead, for one season and delivery window. */
export interface SeasonLeft {
  readonly season: string;
  readonly window: string | null;
  readonly pieces: number | null;
  readonly toPack: number;
  readonly left: number | null;
}

export async function readSeasonsOf(db: Db, style: string): Promise<SeasonLeft[]> {
  const { rows } = await sql<SeasonLeft>`select season_name season, delivery_name "window",
      sum(quantity) pieces, sum(to_pack) "toPack", sum(ats) "left"
    from v_ats where style_no = ${style} and season_name is not null
    group by season_name, delivery_name order by season_name, delivery_name`.execute(db);
  return rows;
}

/** Line of an open order that still wants pieces of the style. */
export interface WantedLine {
  readonly orderId: number;
  readonly orderNo: string | null;
  readonly reference: string | null;
  readonly accountNo: string | null;
  /** Name of the customer who ordered. */
  readonly company: string | null;
  readonly country: string | null;
  readonly season: string | null;
  readonly window: string | null;
  readonly orderedAt: number;
  readonly barcode: string;
  readonly color: string | null;
  readonly size: string | null;
  readonly pieces: number | null;
  readonly toPack: number;
}

export async function readWanted(db: Db, style: string, limit: number): Promise<WantedLine[]> {
  const { rows } = await sql<WantedLine>`
    select p.order_id "orderId", o.order_no "orderNo", o.reference, o.account_no "accountNo",
      nullif(o.company, '') company, nullif(o.country_code, '') country, p.season_name season,
      p.delivery_name "window", coalesce(o.created_at, o.first_seen_at) "orderedAt", p.barcode,
      nullif(v.color_name, '') color, nullif(v.size, '') size, p.pieces, p.to_pack "toPack"
    from (
      select barcode, color_name, size from stock_variant_row where style_no = ${style}
      union all
      select barcode, max(color_name), max(size) from season_variant_row
      where style_no = ${style}
        and barcode not in (select barcode from stock_variant_row where style_no = ${style})
      group by barcode
    ) v
    join v_to_pack p on p.barcode = v.barcode
    join sales_order o on o.order_id = p.order_id
    left join size_rank r on r.size = v.size
    order by "orderedAt" desc, p.order_id desc, color, r.rank, size, p.line_no
    limit ${limit}`.execute(db);
  return rows;
}

/** Pieces of a color and size at the end of a day. */
interface StockDay {
  readonly day: string;
  readonly color: string | null;
  readonly size: string | null;
  readonly pieces: number | null;
}

export interface StockHistory {
  readonly rows: readonly StockDay[];
  /** All days (UTC) from that of the first row to today. */
  readonly days: readonly string[];
  /** Days on which the mirror changed, with complete rows; others are as the day before. */
  readonly told: ReadonlySet<string>;
}

const DAY_MS = 86_400_000;
const HISTORY_DAYS = 90;

function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** Stock of a style at the end of each of 90 days, as far as the change feed reaches back. */
export async function readStockHistory(db: Db, style: string, now: number): Promise<StockHistory> {
  const since = dayOf(now - (HISTORY_DAYS - 1) * DAY_MS);
  const { rows } = await sql<StockDay>`
    select day, color_name color, size, sum(quantity) pieces
    from v_style_stock_day where style_no = ${style} and day >= ${since}
    group by day, color_name, size order by day`.execute(db);
  const { rows: told } = await sql<{ day: string }>`
    select distinct date(hour * 3600, 'unixepoch') day from change_hour
    where hour >= ${Date.parse(since) / 3_600_000}`.execute(db);
  const days: string[] = [];
  const [first] = rows;
  for (let at = Date.parse(first?.day ?? dayOf(now + DAY_MS)); at <= now; at += DAY_MS) {
    days.push(dayOf(at));
  }
  return { rows, days, told: new Set(told.map(({ day }) => day)) };
}
