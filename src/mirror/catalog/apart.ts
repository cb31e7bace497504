/**
 * Rows that are written apart from their list: the stock of what was just ordered is read at once,
 * and so is what an order names and the mirror does not know yet. For the stock:
 * the list may show such a row as it did before, in the same bytes: then its digest would prove
 * what is wrong. So these rows are noted, and before a run begins the segments that hold them lose
 * their proof.
 */
import { sql } from 'kysely';
import { lastChange, raiseReadSeq } from '../../store/bulk.ts';
import type { Db, Store, Tx } from '../../store/store.ts';
import { type WriteCounts, writeRows } from '../entity.ts';
import { forgetList, type ListEntity, RESPELLED_KEYS, unitedByKey } from '../list.ts';
import { copied } from '../members.ts';
import { quarantineRows, type RejectedRow } from '../quarantine.ts';
import type { Provenance } from '../rows/bulk.ts';
import { FREIGHT_OPTION, SEASON } from './names.ts';
import { twiceAmong } from './places.ts';
import { STOCK_VARIANT, seasonVariants } from './variant.ts';

/** Where rows come from that were read because they were ordered. */
export const ORDERED_SOURCE = 'refresh:ordered';

/** Writes some variants of the stock, apart from the list as a whole. */
export async function writeStockVariants(
  tx: Tx,
  records: readonly object[],
  provenance: Provenance,
): Promise<WriteCounts> {
  const all = records.map((record) => STOCK_VARIANT.toRow(copied(record)));
  const keys = all.map(({ values }) => values.barcode ?? null);
  // By itself a barcode comes once, wherever it stands in the list: nobody knows for which places.
  const twice = await twiceAmong(tx, 'stock', keys);
  const rows = all.filter(({ values }) => !twice.has(values.barcode ?? null));
  const before = await lastChange(tx);
  const counts = await writeRows(tx, STOCK_VARIANT, rows, provenance);
  // A run that began earlier must not take away what was there as the mirror has it.
  const barcodes = rows.map(({ values }) => values.barcode ?? null);
  await raiseReadSeq(tx, STOCK_VARIANT.table, STOCK_VARIANT.key, barcodes, provenance.readSeq);
  await sql`insert into stock_apart (barcode, is_new)
    select key, max(op <> 'update') from change where seq > ${before}
      and +entity = ${STOCK_VARIANT.entity} group by key
    on conflict (barcode) do update set is_new = max(is_new, excluded.is_new)`.execute(tx);
  return counts;
}

/**
 * Writes some variants of a season, apart from its list. They are new or were deleted, so that the
 * next run of the list needs to ask only which rows the list does not have.
 */
export async function writeSeasonVariants(
  tx: Tx,
  seasonName: string,
  records: readonly object[],
  provenance: Provenance,
): Promise<void> {
  const entity = seasonVariants(seasonName);
  const all = records.map((record) => entity.toRow(structuredClone(record)));
  const named = all.map(({ values }) => values[entity.key] ?? null);
  const twice = await twiceAmong(tx, 'season', named);
  const rows = all.filter(({ values }) => !twice.has(values[entity.key] ?? null));
  const { inserted, changed } = await writeRows(tx, entity, rows, provenance);
  const keys = rows.map(({ values }) => values[entity.key] ?? null);
  await raiseReadSeq(tx, entity.table, entity.key, keys, provenance.readSeq);
  if (inserted + changed === 0) return;
  await sql`update segment set digest = null, keys = ${RESPELLED_KEYS}
    where stream = 'season' and part = ${seasonName} and first_row = 0`.execute(tx);
}

const SHORT_LISTS = { seasons: SEASON, freight: FREIGHT_OPTION } as const;

export type ShortListName = keyof typeof SHORT_LISTS;

/** Writes what a short list shows, apart from its stream, which alone says what is gone. */
export async function writeShortList(
  tx: Tx,
  stream: ShortListName,
  list: { readonly rows: readonly unknown[]; readonly rejects: readonly RejectedRow[] },
  provenance: Provenance,
): Promise<void> {
  const entity: ListEntity = SHORT_LISTS[stream];
  const records = unitedByKey(entity, list.rows);
  const rows = records.map((record) => entity.toRow(structuredClone(record)));
  const { inserted, changed } = await writeRows(tx, entity, rows, provenance);
  await quarantineRows(tx, entity.entity, list.rejects, provenance);
  if (inserted + changed > 0) await forgetList(tx, stream);
}

/** Whether there is anything for {@link distrustApart} to do. */
export async function hasApart(db: Db): Promise<boolean> {
  return (await db.selectFrom('stock_apart').select('barcode').limit(1).execute()).length > 0;
}

/** Call it before the first page of a run of the stock. Looks through the keys of all segments. */
export async function distrustApart(store: Store): Promise<void> {
  const apart = await store.db.selectFrom('stock_apart').select(['barcode', 'is_new']).execute();
  if (apart.length === 0) return;
  const barcodes = JSON.stringify(apart.map(({ barcode }) => barcode));
  // One that is new may not be in the list at all.
  const hasNew = Number(apart.some(({ is_new }) => is_new === 1));
  const { rows } = await sql<{ readonly first_row: number }>`
    select first_row from segment where stream = 'stock' and (
      (${hasNew} = 1 and first_row = 0) or exists (
        select 1 from json_each(segment.keys) k
        where k.value in (select value from json_each(${barcodes}))))`.execute(store.db);
  const firstRows = JSON.stringify(rows.map(({ first_row }) => first_row));
  const done = JSON.stringify(apart.map(({ barcode, is_new }) => `${is_new} ${barcode}`));
  await store.transaction(async (tx) => {
    // So that the run asks which rows the list does not have. One that goes on behind the first
    // segment asks it anyhow, and needs to know what is in there.
    await sql`update segment set digest = null,
      keys = iif(${hasNew} = 1 and first_row = 0, ${RESPELLED_KEYS}, keys)
      where stream = 'stock'
        and first_row in (select value from json_each(${firstRows}))`.execute(tx);
    // One that was noted anew meanwhile, and otherwise, stays for the next run.
    await sql`delete from stock_apart
      where is_new || ' ' || barcode in (select value from json_each(${done}))`.execute(tx);
  });
}
