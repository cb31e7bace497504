/** Lists of what customers want of a style: lines of open orders, and what is ordered ahead. */
import { sql } from 'kysely';
import { z } from 'zod';
import type { Db } from '../../store/store.ts';
import { list, pageOfAll, ROWS_MAX } from '../../surface/lists.ts';
import { time, whole } from '../../surface/members.ts';
import { mirrored, named, pieces } from './members.ts';
import { requireStyle } from './styles.ts';

const orderRow = {
  orderId: whole('Order id', {}, 1),
  orderNo: mirrored('Order').nullable(),
  reference: mirrored('Reference').nullable(),
  accountNo: mirrored('Account').nullable(),
  company: mirrored('Customer', { csv: 'customer', personal: true }).nullable(),
  country: mirrored('Country').nullable(),
  season: mirrored('Season').nullable(),
  window: mirrored('Window').nullable(),
  orderedAt: time('Ordered'),
  barcode: mirrored('Barcode'),
  color: mirrored('Colour').nullable(),
  size: mirrored('Size').nullable(),
  pieces: pieces('Ordered pieces').nullable(),
  toPack: pieces('To pack'),
  line: pieces('Line'),
};
const orderSchema = z.strictObject(orderRow);
type OrderRow = z.output<typeof orderSchema>;

/** Lines of open orders that still want pieces of a style, the newest first. */
export async function readOrders(db: Db, style: string, limit: number): Promise<OrderRow[]> {
  const { rows } = await sql<OrderRow>`
    select p.order_id "orderId", o.order_no "orderNo", o.reference, o.account_no "accountNo",
      nullif(o.company, '') company, nullif(o.country_code, '') country, p.season_name season,
      p.delivery_name "window", coalesce(o.created_at, o.first_seen_at) "orderedAt", p.barcode,
      nullif(v.color_name, '') color, nullif(v.size, '') size, p.pieces, p.to_pack "toPack",
      p.line_no line
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

const placeOf = ({ orderId, line }: OrderRow) => `${orderId}:${line}`;

export const orders = list({
  name: 'stock.orders',
  command: 'stock --orders',
  operation: 'getStyleOrders',
  path: '/stock/{id}/orders',
  title: 'Open orders',
  about: 'lines of open orders that still want pieces of a style, the newest first',
  examples: [],
  args: ['style'],
  thing: 'style',
  query: { style: named },
  row: orderRow,
  shown: [
    {
      title: 'Order',
      text: ({ orderNo, orderId }) => orderNo ?? String(orderId),
    },
    {
      title: 'Customer',
      text: ({ company, accountNo }) => company ?? accountNo,
    },
    'country',
    'orderedAt',
    {
      title: 'Season',
      text: ({ season, window }) => [season, window].filter((part) => part !== null).join(', '),
    },
    'color',
    'size',
    'pieces',
    'toPack',
  ],
  sorts: ['orderedAt', 'season', 'country', 'toPack'],
  empty: 'No open order still wants any of it.',
  async read({ db, rowsMax }, { style: name }, page) {
    const { style } = await requireStyle(db, name);
    const { after = page.back, sort = after, limit } = page;
    const all = await readOrders(db, style, sort === undefined ? limit : rowsMax);
    return pageOfAll(all, page, placeOf);
  },
  place: placeOf,
});

const seasonRow = {
  season: mirrored('Season'),
  window: mirrored('Window').nullable(),
  pieces: pieces('Pieces').nullable(),
  toPack: pieces('Still wanted'),
  left: pieces('Left').nullable(),
};
const seasonSchema = z.strictObject(seasonRow);
type SeasonRow = z.output<typeof seasonSchema>;

/** Pieces of a style that can be ordered ahead, by season and delivery window. */
export async function readSeasons(db: Db, style: string): Promise<SeasonRow[]> {
  const { rows } = await sql<SeasonRow>`select season_name season, delivery_name "window",
      sum(quantity) pieces, sum(to_pack) "toPack", sum(ats) "left"
    from v_ats where style_no = ${style} and season_name is not null
    group by season_name, delivery_name order by season_name, delivery_name`.execute(db);
  return rows;
}

export const seasons = list({
  name: 'stock.seasons',
  command: 'stock --seasons',
  operation: 'getStyleSeasons',
  path: '/stock/{id}/seasons',
  title: 'Ordered ahead',
  about: "what a season's list has, and what pre-orders up to the window still want",
  examples: [],
  args: ['style'],
  thing: 'style',
  query: { style: named },
  row: seasonRow,
  shown: ['season', 'window', 'pieces', 'toPack', 'left'],
  limit: ROWS_MAX,
  empty: 'It cannot be ordered ahead: no season has it.',
  async read({ db }, { style: name }, page) {
    const { style } = await requireStyle(db, name);
    return pageOfAll(await readSeasons(db, style), page, (one) => `${one.season}:${one.window}`);
  },
  place: (one) => `${one.season}:${one.window}`,
});
