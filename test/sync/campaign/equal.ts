/**
 * Whether a mirror is what the service has, row for row. Two witnesses: a second mirror that was
 * filled from the service while nothing went wrong, all columns of all tables; and the world of
 * the reference itself, which shares no code with the client.
 */
import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import type { Reference } from '../../../src/reference/reference.ts';
import type { SqliteStore } from '../../../src/store/store.ts';
import { sharedExtraFaults } from '../../support/shared-extra.ts';
import { worldDifferences } from './world.ts';

/** Lines have no life of their own: they are compared where their rows are alive. */
const TABLES: readonly (readonly [table: string, key: string, lines?: string])[] = [
  ['stock_variant', 'barcode'],
  ['season_variant', 'season_barcode'],
  ['brand', 'brand_name'],
  ['freight_option', 'freight_type'],
  ['season', 'season_name', 'season_delivery'],
  ['style', 'style_id'],
  ['style_color', 'style_color_id'],
  ['color', 'color_id'],
  ['pdm_brand', 'brand_id'],
  ['style_type', 'type_id'],
  ['gender', 'gender_id'],
  ['country', 'country_id'],
  ['sales_order', 'order_id', 'sales_order_line'],
  ['delivery', 'order_delivery_id', 'delivery_line'],
  ['refund', 'order_refund_id', 'refund_line'],
  ['pending_refund', 'pending_refund_id', 'pending_refund_line'],
];

/** The table that a stream fills; the walks over the orders fill four. */
const TABLE_OF: Readonly<Record<string, string>> = {
  ...{ stock: 'stock_variant', season: 'season_variant', brands: 'brand' },
  ...{ freight: 'freight_option', seasons: 'season', styles: 'style', styleColors: 'style_color' },
  ...{ colors: 'color', pdmBrands: 'pdm_brand', types: 'style_type', genders: 'gender' },
  countries: 'country',
};
const OF_ORDERS = ['sales_order', 'delivery', 'refund', 'pending_refund'];

/** How a row came, not what it says. */
const READS = ['details_read_at', 'whole_read_at'];
const PROVENANCE = ['first_seen_at', 'changed_at', 'read_seq', 'source', ...READS];

type Row = Record<string, unknown>;

function contentOf(row: Row): Row {
  return Object.fromEntries(Object.entries(row).filter(([name]) => !PROVENANCE.includes(name)));
}

async function rowsOf({ db }: SqliteStore, table: string, key: string, lines?: string) {
  const live = await sql<Row>`select * from ${sql.table(table)} where deleted_at is null
    order by ${sql.ref(key)}`.execute(db);
  if (lines === undefined) return live.rows.map(contentOf);
  const all = await sql<Row>`select l.* from ${sql.table(lines)} l join ${sql.table(table)} t
    on t.${sql.ref(key)} = l.${sql.ref(key)} where t.deleted_at is null
    order by l.${sql.ref(key)}, l.line_no`.execute(db);
  return [...live.rows.map(contentOf), ...all.rows];
}

/** Lists the differences, one text a table. */
async function differences(own: SqliteStore, clean: SqliteStore): Promise<string[]> {
  const found: string[] = [];
  for (const [table, key, lines] of TABLES) {
    const [have, want] = [
      await rowsOf(own, table, key, lines),
      await rowsOf(clean, table, key, lines),
    ];
    if (isDeepStrictEqual(have, want)) continue;
    const at = want.findIndex((row, index) => !isDeepStrictEqual(row, have[index]));
    const shown = JSON.stringify({ have: have[at < 0 ? want.length : at], want: want[at] });
    found.push(`${table}: ${have.length} rows for ${want.length}; the first: ${shown}`);
  }
  return found;
}

/** How many rows, lines included, the mirror has of each stream. */
export async function rowsOfStreams(store: SqliteStore): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const [table, key, lines] of TABLES) {
    counts[table] = (await rowsOf(store, table, key, lines)).length;
  }
  const ofOrders = OF_ORDERS.reduce((sum, table) => sum + (counts[table] ?? 0), 0);
  const lists = Object.entries(TABLE_OF).map(([name, table]) => [name, counts[table] ?? 0]);
  return { ...Object.fromEntries(lists), orders: ofOrders, ordersFull: ofOrders };
}

/** How the mirror differs from both witnesses; empty: it does not. */
export async function mirrorDifferences(
  own: SqliteStore,
  clean: SqliteStore,
  reference: Reference,
): Promise<string[]> {
  return [
    ...(await differences(own, clean)),
    ...(await worldDifferences(own, reference)),
    ...(await sharedExtraFaults(own)).map((fault) => `variant_extra: ${JSON.stringify(fault)}`),
  ];
}
