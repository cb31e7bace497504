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

/** Of the change feed: entries behind `after`, up to `last` and with it. */
export interface Stretch {
  readonly after: number;
  readonly last: number;
}

/** A query of keys. */
type Keys = RawBuilder<unknown>;

function keysIn({ after, last }: Stretch, entity: WatchedEntity): Keys {
  return sql`(select key from change
    where seq > ${after} and seq <= ${last} and +entity = ${entity})`;
}

/**
 * Of keys of season variants: what stands behind the last stroke, as mirror/catalog/variant.ts has
 * written it. To look the rows up instead takes four times as long.
 */
function barcodesOf(keys: Keys): Keys {
  const own = sql`rtrim(key, '/')`;
  const last = sql`substr(${own}, 1 + length(rtrim(${own}, replace(${own}, '/', ''))))`;
  const written = sql`replace(replace(${last}, '~1', '/'), '~0', '~')`;
  return sql`(select iif(substr(key, -1) = '/', ${written}, ${last}) from ${keys})`;
}

/** With those without the spaces around them: orders may spell barcodes without. */
function spelt(keys: Keys): Keys {
  return sql`(select key from ${keys} union select trim(key) from ${keys})`;
}

/** Deliveries with a line of one of the styles that a query names, in stock or ordered ahead. */
function ofStyles(styleNos: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`select l.order_delivery_id from delivery_line l where l.barcode in (
    select v.barcode from stock_variant v where v.style_no in (${styleNos})
    union select v.barcode from season_variant v where v.style_no in (${styleNos}))`;
}

const STYLES_OF_COLORS = sql`select s.style_no from style s, json_each(s.style_color_ids) id
  where id.value in`;

/**
 * What is pending shows by its own rows that it changed, or its order did; see `due.ts`. The plus
 * keeps SQLite from going through every accepted delivery there ever was.
 */
const ACCEPTED = sql`select d.order_delivery_id from delivery d where +d.status = 'accepted' and`;

/** Queries of delivery ids, by the entity whose rows changed. */
const CONCERNED: Readonly<Record<WatchedEntity, (keys: Keys) => RawBuilder<unknown>>> = {
  stock_variant: (keys) =>
    sql`select l.order_delivery_id from delivery_line l where l.barcode in ${spelt(keys)}`,
  season_variant: (keys) =>
    sql`select l.order_delivery_id from delivery_line l where l.barcode in ${barcodesOf(keys)}`,
  style: (keys) => ofStyles(sql`select s.style_no from style s where s.style_id in ${keys}`),
  style_color: (keys) => ofStyles(sql`${STYLES_OF_COLORS} ${keys}`),
  color: (keys) =>
    ofStyles(sql`${STYLES_OF_COLORS} (select sc.style_color_id from style_color sc
      where sc.color_id in ${keys})`),
  season: (keys) =>
    // An order whose head names none has the season that its lines name.
    sql`select d.order_delivery_id from delivery d join sales_order o on o.order_id = d.order_id
      where (d.status = 'pending' or d.order_delivery_id in (
        select order_delivery_id from evaluation where due_at is not null))
      and (o.season_name in ${keys} or exists (select 1 from sales_order_line l
        where l.order_id = o.order_id and l.season_name in ${keys}))`,
  delivery: (keys) =>
    sql`${ACCEPTED} d.order_delivery_id in (select cast(key as integer) from ${keys})`,
  sales_order: (keys) => sql`${ACCEPTED} d.order_id in (select cast(key as integer) from ${keys})`,
  erp_customer: (keys) =>
    sql`select d.order_delivery_id from sales_order o join delivery d
      on d.order_id = o.order_id where o.account_no in ${keys}`,
};

/** What happened: when, and up to which entry of the change feed, if it stands there. */
export interface Happened {
  /** Epoch milliseconds. */
  readonly now: number;
  readonly seq?: number;
}

/** The evaluations that are to be marked. Who was looked at after the entry has seen it. */
function unmarked(
  ids: RawBuilder<unknown>,
  { accepted }: Reads,
  dueAt: number,
  seq: number = Number.MAX_SAFE_INTEGER,
): RawBuilder<boolean> {
  const statuses = accepted ? sql`('pending', 'accepted')` : sql`('pending')`;
  return sql<boolean>`(due_at is null or due_at > ${dueAt}) and seen_seq < ${seq}
    and order_delivery_id in (
      select d.order_delivery_id from delivery d
      where d.order_delivery_id in (${ids}) and d.status in ${statuses} and d.deleted_at is null
    )`;
}

async function mark(
  tx: Tx,
  ids: RawBuilder<unknown>,
  reads: Reads,
  dueAt: number,
  seq?: number,
): Promise<void> {
  await sql`update evaluation set due_at = ${dueAt}, due_why = 'facts'
    where ${unmarked(ids, reads, dueAt, seq)}`.execute(tx);
}

/** Marks the deliveries whose facts come from the rows of the entity that changed. */
export async function markConcerned(
  tx: Tx,
  entity: WatchedEntity,
  stretch: Stretch,
  reads: Reads,
  now: number,
): Promise<void> {
  await mark(tx, CONCERNED[entity](keysIn(stretch, entity)), reads, now, stretch.last);
}

/** Whether {@link markConcerned} would mark any. */
export async function hasConcerned(
  tx: Tx,
  entity: WatchedEntity,
  stretch: Stretch,
  reads: Reads,
  now: number,
): Promise<boolean> {
  const ids = CONCERNED[entity](keysIn(stretch, entity));
  const found = await sql`select 1 from evaluation
    where ${unmarked(ids, reads, now, stretch.last)} limit 1`.execute(tx);
  return found.rows.length > 0;
}

/** Marks every delivery that waits for another look. */
export async function markWaiting(tx: Tx, reads: Reads, now: number): Promise<void> {
  await mark(
    tx,
    sql`select order_delivery_id from evaluation where due_at is not null`,
    reads,
    now,
  );
}

/** Marks the deliveries that want pieces which others had in their lines before. */
export async function markReleased(
  tx: Tx,
  { after, last }: Stretch,
  reads: Reads,
  now: number,
): Promise<void> {
  if (!reads.pieces) return;
  const query = sql`select l.order_delivery_id from delivery_line l where l.barcode in (
    select line.value->>'$.barcode' from change c, json_each(c.diff, '$.lines[0]') line
    where c.seq > ${after} and c.seq <= ${last} and +c.entity = 'delivery')`;
  await mark(tx, query, reads, now + COMPETITION_MS, last);
}

/**
 * Queries the accounts that orders were moved away from: they have credit again. And those of
 * orders in another currency than before: what they have left is known again, or not any more.
 */
function accountsLeft({ after, last }: Stretch): RawBuilder<unknown> {
  return sql`(select coalesce(c.diff->>'$.account_no[0]', iif(c.diff->'$.currency' is null, null, (
      select o.account_no from sales_order o where o.order_id = c.key))) account from change c
    where c.seq > ${after} and c.seq <= ${last} and +c.entity = 'sales_order'
      and c.op = 'update' and account is not null)`;
}

export async function hasAccountsLeft(tx: Tx, stretch: Stretch): Promise<boolean> {
  const { rows } = await sql`select 1 from ${accountsLeft(stretch)} limit 1`.execute(tx);
  return rows.length > 0;
}

/** Marks the deliveries of accounts that orders were moved away from. */
export async function markAccountsLeft(
  tx: Tx,
  stretch: Stretch,
  reads: Reads,
  now: number,
): Promise<void> {
  if (!reads.credit) return;
  const query = sql`select d.order_delivery_id from sales_order o join delivery d
    on d.order_id = o.order_id where o.account_no in ${accountsLeft(stretch)}`;
  await mark(tx, query, reads, now + COMPETITION_MS, stretch.last);
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
