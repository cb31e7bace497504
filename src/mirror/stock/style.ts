/** List of the stock of one style by colour and size, now or at a time of the past. */
import { sql } from 'kysely';
import { z } from 'zod';
import { localMoment } from '../../lib/local-time.ts';
import { sortSizes } from '../../lib/sizes.ts';
import { inKeys, type SqlRow } from '../../store/bulk.ts';
import type { Db } from '../../store/store.ts';
import { invalid } from '../../surface/given.ts';
import { list, pageOfAll, ROWS_MAX } from '../../surface/lists.ts';
import { as, flag, money, time } from '../../surface/members.ts';
import type { Reading } from '../../surface/reading.ts';
import { history, plain, textOf } from './history.ts';
import { mirrored, named, pieces } from './members.ts';
import {
  requireStockKnown,
  type StockVariant,
  stockStateAt,
  variantOfBarcode,
  variantsOfStyle,
} from './past.ts';
import { findStyle, type StyleNames, styles, unknownStyle } from './styles.ts';
import { orders, readOrders, readSeasons, seasons } from './wanted.ts';

const query = {
  style: named,
  asOf: as(z.string().max(40), 'As it was', 'text', {
    about:
      'A time of the past such as `2026-03-31T18:00`, in the zone of the console unless it names ' +
      'another; without one it is the stock of now',
  }).optional(),
  unlisted: flag('Unlisted too', {
    about: 'Also variants that the stock list does not have any more',
  }).optional(),
  exact: flag('That barcode alone', {
    about: 'Where a barcode is named, that variant and not its whole style',
  }).optional(),
};

const row = {
  barcode: mirrored('Barcode'),
  colorCode: mirrored('Colour code').nullable(),
  color: mirrored('Colour').nullable(),
  size: mirrored('Size').nullable(),
  onHand: pieces('On hand').nullable(),
  packed: pieces('Packed', { about: 'Packed and not shipped; null of the past' }).nullable(),
  free: pieces('Free', { about: 'On hand, less what is packed' }).nullable(),
  toPack: pieces('Open orders', {
    csv: 'open_orders',
    about: 'What open orders without a season still want',
  }).nullable(),
  coverPercent: pieces('Cover %', { about: 'Share of that which is free' }).nullable(),
  style: mirrored('Style', { link: 'style' }).nullable(),
  price: money('Price', { currency: 'currency' }).nullable(),
  wspPrice: money('Wholesale price', { currency: 'currency' }).nullable(),
  currency: mirrored('Currency').nullable(),
  state: z
    .record(z.string(), z.union([z.string(), z.number(), z.null()]))
    .nullable()
    .meta({ description: 'Row of the mirror; null: the stock list does not have the variant' }),
};
const cellSchema = z.strictObject(row);
export type StockCell = z.output<typeof cellSchema>;
type Asked = z.output<z.ZodObject<typeof query>>;

/** Stock of a style, or of one variant that has no style. */
export interface StyleStock extends StyleNames {
  /** Epoch ms of the past time that is shown; null: now. */
  readonly asOf: number | null;
  /** Cells of the style, ordered by color and size. */
  readonly cells: readonly StockCell[];
  /** Sizes of the cells, in order. */
  readonly sizes: readonly string[];
}

export const NO_SIZE = '–';

export function sizeOf({ size }: Pick<StockCell, 'size'>): string {
  return size ?? NO_SIZE;
}

function coverOf(free: number | null, toPack: number | null): number | null {
  if (!toPack || free === null) return null;
  return Math.round((100 * Math.min(toPack, Math.max(0, free))) / toPack);
}

/** Sizes in the order of their ranks; those without a rank follow, by name. */
async function orderedSizes(db: Db, cells: readonly StockCell[]): Promise<string[]> {
  const sizes = [...new Set(cells.map(sizeOf))];
  const ranked = db.selectFrom('size_rank').select('size').where(inKeys('size', sizes));
  const rows = await ranked.orderBy('rank').execute();
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

interface Figures {
  readonly packed: number | null;
  readonly toPack: number | null;
  readonly free: number | null;
}

/** Figures that are not known of the past: no history is kept of what was packed and wanted. */
const UNKNOWN: Figures = { packed: null, toPack: null, free: null };

/** Figures of variants that the stock list has now, by barcode. */
async function figuresOf(db: Db, barcodes: readonly string[]) {
  const { rows } = await sql<{ readonly barcode: string } & Figures>`
    select barcode, packed, to_pack "toPack",
      iif((select s.value from daemon_state s where s.key = 'stock_quantity') is 'free',
        quantity, quantity - packed) free
    from v_ats where ${inKeys('barcode', barcodes)} and season_name is null`.execute(db);
  return new Map(rows.map((one) => [one.barcode, one]));
}

function cellOf(known: SqlRow, state: SqlRow | undefined, figures: Figures): StockCell {
  const of = state ?? known;
  const { packed, toPack, free } = figures;
  const numberOf = (column: string): number | null => {
    const value = plain(column, of[column] ?? null);
    return typeof value === 'number' ? value : null;
  };
  const decimals = Object.entries(of).map(([name, value]) => [name, plain(name, value)] as const);
  return {
    barcode: String(of.barcode),
    colorCode: textOf(of.color_code),
    color: textOf(of.color_name),
    size: textOf(of.size),
    onHand: state === undefined ? 0 : numberOf('quantity'),
    packed,
    free,
    toPack,
    coverPercent: coverOf(free, toPack),
    style: textOf(of.style_no),
    price: numberOf('price'),
    wspPrice: numberOf('wsp_price'),
    currency: textOf(of.currency),
    state: state === undefined ? null : Object.fromEntries(decimals),
  };
}

/** Epoch ms for which the stock is asked; undefined: now. */
async function momentOf({ timeZone }: Reading, text = ''): Promise<number | undefined> {
  if (text === '') return undefined;
  const at = localMoment(text, await timeZone());
  if (at !== undefined) return at;
  const hint = 'write it as 2026-03-31T18:00, or 2026-03-31T18:00:00Z for UTC';
  throw invalid(`asOf: ${text} is no point in time`, hint);
}

/** Names of a variant's style then, which no list needs to have any more. */
function namesIn(variant: StockVariant, at: number | undefined, style: string): StyleNames {
  const then = stockStateAt(variant, at) ?? variant.row;
  const names = { styleName: textOf(then.style_name), brand: textOf(then.brand_name) };
  return { style: textOf(then.style_no) ?? style, ...names };
}

/**
 * Stock by color and size, now or at a time of the past.
 * @throws RefusedError `stock.unknown`, `stock.too_early`, `stock.too_late`
 * @throws UsageError `request.invalid`
 */
export async function readStyleStock(from: Reading, asked: Asked): Promise<StyleStock> {
  const { db, now } = from;
  const at = await momentOf(from, asked.asOf);
  if (at !== undefined) await requireStockKnown(db, at, now);
  const one = asked.exact === true ? await variantOfBarcode(db, asked.style, at) : [];
  const known = await findStyle(db, asked.style);
  const style = known?.style ?? asked.style;
  const found = one.length > 0 ? one : await variantsOfStyle(db, style, at);
  const [first] = found;
  const names = one.length === 0 && known ? known : first && namesIn(first, at, style);
  if (!names) throw unknownStyle(asked.style);
  const states = found.map((variant) => ({
    known: variant.row,
    state: stockStateAt(variant, at),
  }));
  const shown = states.filter(({ state }) => state !== undefined || asked.unlisted === true);
  const barcodes = shown.map(({ known }) => String(known.barcode));
  const figures = at === undefined ? await figuresOf(db, barcodes) : new Map<string, Figures>();
  const cells = shown.map(({ known, state }) =>
    cellOf(known, state, figures.get(String(known.barcode)) ?? UNKNOWN),
  );
  const sizes = await orderedSizes(db, cells);
  return { ...names, asOf: at ?? null, cells: inOrder(cells, sizes), sizes };
}

/** Most lines of open orders beside the stock of a style; the list of them has all. */
const WANTED_SHOWN = 200;

export const variants = list({
  name: 'stock.show',
  command: 'stock',
  operation: 'getStyle',
  path: '/stock/{id}',
  title: 'Stock of a style',
  about: 'a style by color and size, now or as of a time, and who wants it',
  examples: [],
  args: ['style'],
  thing: 'style',
  query,
  row,
  shown: [
    'barcode',
    'style',
    'color',
    'size',
    'onHand',
    'packed',
    'free',
    'toPack',
    'coverPercent',
    'price',
    'wspPrice',
  ],
  terminal: [
    'Barcode',
    'Style',
    'Colour',
    'Size',
    'On hand',
    'Packed',
    'Free',
    'Open orders',
    'Price',
  ],
  empty: 'The stock list does not have it: it is sold out, or only ordered ahead.',
  limit: ROWS_MAX,
  rowsAs: 'cells',
  beside: {
    style: mirrored('Style'),
    styleName: mirrored('Name').nullable(),
    brand: mirrored('Brand').nullable(),
    asOf: time('As it was', { about: 'Null: now' }).nullable(),
    sizes: z.array(z.string()).readonly().meta({ description: 'In their order' }),
    seasons: z.array(seasons.row),
    wanted: z
      .array(orders.row)
      .meta({ description: 'Lines of open orders, the newest first; none of the past' }),
  },
  below: [orders, seasons],
  async read(from, asked, page) {
    const { cells } = await readStyleStock(from, asked);
    return pageOfAll(cells, page, ({ barcode }) => barcode);
  },
  place: ({ barcode }) => barcode,
  async readBeside(from, asked) {
    const { cells: _cells, ...stock } = await readStyleStock(from, asked);
    if (stock.asOf !== null) return { ...stock, seasons: [], wanted: [] };
    const lines = await readOrders(from.db, stock.style, WANTED_SHOWN);
    return { ...stock, seasons: await readSeasons(from.db, stock.style), wanted: lines };
  },
});

export const stockLists = [styles, variants, history, orders, seasons];
