/**
 * Marks the deliveries that something concerns as due. A mark is a time in the database: it is
 * not lost by a kill, and a delivery that is marked a hundred times is decided once.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Tx } from '../../store/store.ts';
import type { Reads, WatchedEntity } from './reads.ts';

/**
 * Deliveries move each other's facts. What one of them caused is looked at a little later, so that
 * a hundred accepts in a row make one look at the deliveries that share their stock.
 */
const COMPETITION_MS = 2_000;

type Keys = readonly string[];

function oneOf(column: string, keys: Keys): RawBuilder<boolean> {
  return sql<boolean>`${sql.ref(column)} in (select value from json_each(${JSON.stringify(keys)}))`;
}

/** Deliveries with a line of one of the styles that a query names. */
function ofStyles(styleNos: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`select l.order_delivery_id from stock_variant v
    join delivery_line l on l.barcode = v.barcode where v.style_no in (${styleNos})`;
}

const STYLES_OF_COLORS = sql`select s.style_no from style s, json_each(s.style_color_ids) id
  where id.value in`;

function barcodesOf(seasonBarcodes: Keys): string[] {
  return seasonBarcodes.map((key) => key.slice(key.lastIndexOf('/') + 1));
}

/** Queries of delivery ids, by the entity whose rows changed. */
const CONCERNED: Readonly<Record<WatchedEntity, (keys: Keys) => RawBuilder<unknown>>> = {
  stock_variant: (keys) =>
    sql`select l.order_delivery_id from delivery_line l where ${oneOf('l.barcode', keys)}`,
  season_variant: (keys) =>
    sql`select l.order_delivery_id from delivery_line l
      where ${oneOf('l.barcode', barcodesOf(keys))}`,
  style: (keys) => ofStyles(sql`select s.style_no from style s where ${oneOf('s.style_id', keys)}`),
  style_color: (keys) =>
    ofStyles(sql`${STYLES_OF_COLORS} (select value from json_each(${JSON.stringify(keys)}))`),
  color: (keys) =>
    ofStyles(sql`${STYLES_OF_COLORS} (select sc.style_color_id from style_color sc
      where ${oneOf('sc.color_id', keys)})`),
  season: (keys) =>
    sql`select d.order_delivery_id from delivery d join sales_order o
      on o.order_id = d.order_id where d.status = 'pending' and ${oneOf('o.season_name', keys)}`,
  erp_customer: (keys) =>
    sql`select d.order_delivery_id from sales_order o join delivery d
      on d.order_id = o.order_id where ${oneOf('o.account_no', keys)}`,
};

/** What happened: when, and up to which entry of the change feed, if it stands there. */
export interface Happened {
  /** Epoch milliseconds. */
  readonly now: number;
  readonly seq?: number;
}

/** Who was looked at after the entry has seen it. */
async function mark(
  tx: Tx,
  ids: RawBuilder<unknown>,
  { accepted }: Reads,
  dueAt: number,
  seq: number = Number.MAX_SAFE_INTEGER,
): Promise<void> {
  const statuses = accepted ? sql`('pending', 'accepted')` : sql`('pending')`;
  await sql`update evaluation set due_at = ${dueAt}, due_why = 'facts'
    where (due_at is null or due_at > ${dueAt}) and seen_seq < ${seq} and order_delivery_id in (
      select d.order_delivery_id from delivery d
      where d.order_delivery_id in (${ids}) and d.status in ${statuses} and d.deleted_at is null
    )`.execute(tx);
}

/** Marks the deliveries whose facts come from these rows. */
export async function markConcerned(
  tx: Tx,
  entity: WatchedEntity,
  keys: Keys,
  reads: Reads,
  { now, seq }: Happened,
): Promise<void> {
  if (!reads.entities.has(entity) || keys.length === 0) return;
  await mark(tx, CONCERNED[entity](keys), reads, now, seq);
}

/** Marks the deliveries that share order, pieces or credit with these ones, which changed. */
export async function markCompetitors(
  tx: Tx,
  deliveries: readonly number[],
  reads: Reads,
  { now, seq }: Happened,
): Promise<void> {
  if (deliveries.length === 0) return;
  const ids = sql`(select value from json_each(${JSON.stringify(deliveries)}))`;
  const dueAt = now + COMPETITION_MS;
  if (reads.siblings) {
    const query = sql`select b.order_delivery_id from delivery a join delivery b
      on b.order_id = a.order_id where a.order_delivery_id in ${ids}`;
    await mark(tx, query, reads, dueAt, seq);
  }
  if (reads.pieces) {
    const query = sql`select l.order_delivery_id from delivery_line l where l.barcode in (
      select own.barcode from delivery_line own where own.order_delivery_id in ${ids})`;
    await mark(tx, query, reads, dueAt, seq);
  }
  if (reads.credit) {
    const query = sql`select d.order_delivery_id from sales_order o join delivery d
      on d.order_id = o.order_id where o.account_no in (
        select own.account_no from delivery a join sales_order own
          on own.order_id = a.order_id where a.order_delivery_id in ${ids})`;
    await mark(tx, query, reads, dueAt, seq);
  }
}
