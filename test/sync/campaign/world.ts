/**
 * The world of the reference as rows of the mirror: what each table must hold, column by column,
 * made from the world itself and not from what was sent. It shares no code with the client.
 */
import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import type { Reference } from '../../../src/reference/reference.ts';
import type { Relationship, Resource } from '../../../src/reference/v2/pdm/resources.ts';
import { COLOR_NAMES, FREIGHT_TYPES } from '../../../src/reference/world/catalog/words.ts';
import type { SqliteStore } from '../../../src/store/store.ts';

type Cell = string | number | boolean | null | undefined;

interface Wanted {
  readonly table: string;
  /** Columns of the table, in the order of the cells. */
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

function plain(cell: Cell): string | number | null {
  return typeof cell === 'boolean' ? Number(cell) : (cell ?? null);
}

const VARIANT = ['quantity', 'style_no', 'style_name', 'brand_name', 'color_name', 'size'];
const PRICES = ['variant_type', 'color_active', 'price', 'wsp_price'];

/** The world counts in hundredths, the mirror in ten-thousandths. */
function amount(hundredths: number | undefined): number | undefined {
  return hundredths === undefined ? undefined : hundredths * 100;
}

function variantCells(
  { world: { catalog } }: Reference,
  variant: number,
  quantity: number,
  wholesale: 'wholesale' | 'preOrder',
) {
  const { style: index, color, row } = catalog.place(variant);
  const style = catalog.style(index);
  return [
    ...[quantity, style.styleNo, style.styleName, catalog.brandName(style.brand)],
    ...[COLOR_NAMES[catalog.colorOf(index, color)], catalog.sizeLabel(style, row)],
    catalog.isAssortment(style, row) ? 'assortment' : 'size',
    catalog.isColorActive(index, color),
    ...[amount(style.prices.retail), amount(style.prices[wholesale])],
  ];
}

function variants(reference: Reference): Wanted[] {
  const { catalog, stock } = reference.world;
  const all = Array.from({ length: catalog.variantCount }, (_, at) => at);
  const inStock = all.filter((at) => stock.of(at) > 0);
  const ahead = catalog.seasons.flatMap(({ name }, season) =>
    all.filter((at) => catalog.isOfSeason(at, season)).map((at) => ({ at, name })),
  );
  return [
    {
      table: 'stock_variant',
      columns: ['barcode', ...VARIANT, ...PRICES],
      rows: inStock.map((at) => [
        catalog.barcodeOf(at),
        ...variantCells(reference, at, stock.of(at), 'wholesale'),
      ]),
    },
    {
      table: 'season_variant',
      columns: ['season_name', 'barcode', ...VARIANT, ...PRICES],
      rows: ahead.map(({ at, name }) => [
        ...[name, catalog.barcodeOf(at)],
        ...variantCells(reference, at, stock.preOrderable(at), 'preOrder'),
      ]),
    },
  ];
}

function shortLists({ world: { catalog } }: Reference): Wanted[] {
  const brands = Array.from({ length: catalog.size.brands }, (_, at) => [catalog.brandName(at)]);
  const deliveries = catalog.seasons.flatMap(({ name, deliveries: of }) =>
    of.map((delivery, at) => [name, at + 1, delivery.name]),
  );
  return [
    { table: 'brand', columns: ['brand_name'], rows: brands },
    {
      table: 'freight_option',
      columns: ['freight_type'],
      rows: FREIGHT_TYPES.map((type) => [type]),
    },
    {
      table: 'season',
      columns: ['season_name'],
      rows: catalog.seasons.map(({ name }) => [name]),
    },
    {
      table: 'season_delivery',
      columns: ['season_name', 'line_no', 'delivery_name'],
      rows: deliveries,
    },
  ];
}

function idOf(relationship: Relationship | undefined): Cell {
  const data = relationship?.data;
  return data && 'id' in data ? data.id : null;
}

function idsOf(relationship: Relationship | undefined): Cell {
  const data = relationship?.data;
  return JSON.stringify(Array.isArray(data) ? data.map(({ id }) => id) : []);
}

function resources({ pdm }: Reference): Wanted[] {
  const of = (type: Resource['type'], cells: (resource: Resource) => readonly unknown[]) =>
    pdm.list(type, []).flatMap((id) => {
      const resource = pdm.get(type, id);
      return resource ? [[id, ...cells(resource)].map((cell) => cellOf(cell))] : [];
    });
  const named = ({ attributes }: Resource) => [attributes.name];
  const coded = ({ attributes }: Resource) => [attributes.name, attributes.code];
  return [
    {
      table: 'style',
      columns: [
        ...['style_id', 'style_no', 'style_name', 'description', 'designer', 'active'],
        ...['brand_id', 'type_id', 'gender_id', 'country_id', 'style_color_ids'],
      ],
      rows: of('style', ({ attributes: a, relationships: r }) => [
        ...[a.styleNo, a.styleName, a.description, a.designer, a.active],
        ...[idOf(r.brand), idOf(r.type), idOf(r.gender), idOf(r.countryOfOrigin)],
        idsOf(r.styleColors),
      ]),
    },
    {
      table: 'style_color',
      columns: ['style_color_id', 'active', 'noos_type', 'color_id'],
      rows: of('styleColor', ({ attributes: a, relationships: r }) => [
        ...[a.active, a.noosType, idOf(r.color)],
      ]),
    },
    {
      table: 'color',
      columns: ['color_id', 'name', 'code', 'active'],
      rows: of('color', (color) => [...coded(color), color.attributes.active]),
    },
    { table: 'pdm_brand', columns: ['brand_id', 'name'], rows: of('brand', named) },
    { table: 'style_type', columns: ['type_id', 'name'], rows: of('type', named) },
    { table: 'gender', columns: ['gender_id', 'name'], rows: of('gender', named) },
    { table: 'country', columns: ['country_id', 'name', 'code'], rows: of('country', coded) },
  ];
}

function cellOf(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  return ['boolean', 'number'].includes(typeof value) ? Number(value) : String(value);
}

function orders({ world: { book } }: Reference): Wanted[] {
  return [
    {
      table: 'sales_order',
      columns: ['order_id', 'reference', 'order_no', 'status', 'completed', 'comment', 'company'],
      rows: book.orders.all.map((one) => [
        ...[one.orderId, one.reference, one.orderNo, one.status, one.completed, one.comment],
        one.address.company,
      ]),
    },
    {
      table: 'sales_order_line',
      columns: [
        ...['order_id', 'line_no', 'barcode', 'quantity', 'fulfilled_quantity', 'price'],
        ...['season_name', 'delivery_name'],
      ],
      rows: book.orders.all.flatMap(({ orderId, lines }) =>
        lines.map((line, at) => [
          ...[orderId, at + 1, line.barcode, line.quantity, line.fulfilled, amount(line.price)],
          ...[line.season, line.delivery],
        ]),
      ),
    },
  ];
}

function deliveries({ world: { book } }: Reference): Wanted[] {
  const lineOf = (orderId: number, at: number) =>
    book.orders.all.find((order) => order.orderId === orderId)?.lines[at];
  return [
    {
      table: 'delivery',
      columns: ['order_delivery_id', 'delivery_no', 'order_id', 'status', 'tracking_numbers'],
      rows: book.deliveries.all.map((one) => [
        ...[one.orderDeliveryId, one.deliveryNo, one.orderId, one.status],
        JSON.stringify(one.trackingNumber === undefined ? [] : [one.trackingNumber]),
      ]),
    },
    {
      table: 'delivery_line',
      columns: ['order_delivery_id', 'line_no', 'barcode', 'fulfilled_quantity', 'price'],
      rows: book.deliveries.all.flatMap(({ orderDeliveryId, orderId, lines }) =>
        lines.map(({ line, quantity }, at) => {
          const ordered = lineOf(orderId, line);
          return [orderDeliveryId, at + 1, ordered?.barcode, quantity, amount(ordered?.price)];
        }),
      ),
    },
  ];
}

function refunds({ world: { book } }: Reference): Wanted[] {
  const kinds = ['price', 'restock', 'refund_type'];
  return [
    {
      table: 'refund',
      columns: ['order_refund_id', 'refund_no', 'order_id', 'status', 'pending_refund_id'],
      rows: book.refunds.all.map((one) => [
        ...[one.orderRefundId, one.refundNo, one.orderId, one.status, one.pendingRefundId],
      ]),
    },
    {
      table: 'refund_line',
      columns: ['order_refund_id', 'line_no', 'barcode', 'refunded_quantity', ...kinds],
      rows: book.refunds.all.flatMap(({ orderRefundId, lines }) =>
        lines.map((line, at) => [
          ...[orderRefundId, at + 1, line.barcode, line.quantity],
          ...[amount(line.price), line.restock, line.refundType],
        ]),
      ),
    },
    {
      table: 'pending_refund',
      columns: ['pending_refund_id', 'order_id', 'reference', 'status'],
      rows: book.pendingRefunds.all.map((one) => [
        ...[one.pendingRefundId, one.orderId, one.reference, one.status],
      ]),
    },
    {
      table: 'pending_refund_line',
      columns: ['pending_refund_id', 'line_no', 'barcode', 'quantity', ...kinds],
      rows: book.pendingRefunds.all.flatMap(({ pendingRefundId, lines }) =>
        lines.map((line, at) => [
          ...[pendingRefundId, at + 1, line.barcode, line.quantity],
          ...[amount(line.price), line.restock, line.refundType],
        ]),
      ),
    },
  ];
}

/** Tables of lines: the table whose rows say which of them are alive. */
const OWNERS: Readonly<Record<string, readonly [table: string, key: string]>> = {
  season_delivery: ['season', 'season_name'],
  sales_order_line: ['sales_order', 'order_id'],
  delivery_line: ['delivery', 'order_delivery_id'],
  refund_line: ['refund', 'order_refund_id'],
  pending_refund_line: ['pending_refund', 'pending_refund_id'],
};

async function textsOf({ db }: SqliteStore, { table, columns }: Wanted): Promise<string[]> {
  const [owner, key] = OWNERS[table] ?? [table, undefined];
  const isAlive =
    key === undefined
      ? sql`deleted_at is null`
      : sql`${sql.ref(key)} in (select ${sql.ref(key)} from ${sql.table(owner)}
          where deleted_at is null)`;
  const { rows } = await sql<{ readonly text: string }>`
    select json_array(${sql.join(columns.map((name) => sql.ref(name)))}) as text
    from ${sql.table(table)} where ${isAlive}`.execute(db);
  return rows.map(({ text }) => text).sort();
}

/** Lists the differences, one text a table. */
export async function worldDifferences(store: SqliteStore, reference: Reference) {
  const found: string[] = [];
  const all = [variants, shortLists, resources, orders, deliveries, refunds];
  for (const wanted of all.flatMap((of) => of(reference))) {
    const want = wanted.rows.map((cells) => JSON.stringify(cells.map(plain))).sort();
    const have = await textsOf(store, wanted);
    if (isDeepStrictEqual(have, want)) continue;
    const at = want.findIndex((text, index) => text !== have[index]);
    const first = at < 0 ? want.length : at;
    found.push(
      `${wanted.table}, of the world: ${have.length} rows for ${want.length}; ` +
        `the first: ${have[first]} for ${want[first]}`,
    );
  }
  return found;
}
