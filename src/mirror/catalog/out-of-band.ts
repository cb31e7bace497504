/**
 * Out-of-band writes: rows of a list that are written outside of a run of that list, such as the
 * stock of ordered variants, or resources that an order names and the mirror lacks. The stock list
 * may still show such a row in its old bytes, whose chunk would then count as unchanged. Therefore
 * these rows are noted, and the digests of their chunks are cleared before the next run begins.
 */
import { sql } from 'kysely';
import { lastChange, raiseReadSeq } from '../../store/bulk.ts';
import type { Db, Store, Tx } from '../../store/store.ts';
import { upsertRows, type WriteCounts } from '../entity.ts';
import { invalidateList, KEYS_MARKED_CHANGED, type ListEntity, unitedByKey } from '../list.ts';
import { copied } from '../members.ts';
import { quarantineRows, type RejectedRow } from '../quarantine.ts';
import type { Provenance } from '../rows/prepared.ts';
import { duplicatesAmong } from './duplicates.ts';
import { SHORT_LISTS } from './names.ts';
import { STOCK_VARIANT, seasonVariants } from './variant.ts';

/** Source, in the change feed, of stock rows that were read because they were ordered. */
export const ORDERED_SOURCE = 'refresh:ordered';

/** Writes some stock variants outside of a run of the stock list. */
export async function writeStockVariants(
  tx: Tx,
  records: readonly object[],
  provenance: Provenance,
): Promise<WriteCounts> {
  const all = records.map((record) => STOCK_VARIANT.toRow(copied(record)));
  const keys = all.map(({ values }) => values.barcode ?? null);
  // Duplicate keys are skipped: a variant read alone does not tell which of its places in the list
  // it is.
  const duplicates = await duplicatesAmong(tx, 'stock', keys);
  const rows = all.filter(({ values }) => !duplicates.has(values.barcode ?? null));
  const before = await lastChange(tx);
  const counts = await upsertRows(tx, STOCK_VARIANT, rows, provenance);
  // A higher read number protects the rows from a run that began earlier and would delete them.
  const barcodes = rows.map(({ values }) => values.barcode ?? null);
  await raiseReadSeq(tx, STOCK_VARIANT.table, STOCK_VARIANT.key, barcodes, provenance.readSeq);
  await sql`insert into stock_out_of_band (barcode, is_new)
    select key, max(op <> 'update') from change where seq > ${before}
      and +entity = ${STOCK_VARIANT.entity} group by key
    on conflict (barcode) do update set is_new = max(is_new, excluded.is_new)`.execute(tx);
  return counts;
}

/**
 * Writes some variants of a season outside of a run of the season's list. They are new or were
 * deleted, so the next run only needs to compare its keys with the mirror.
 */
export async function writeSeasonVariants(
  tx: Tx,
  seasonName: string,
  records: readonly object[],
  provenance: Provenance,
): Promise<void> {
  const entity = seasonVariants(seasonName);
  const all = records.map((record) => entity.toRow(copied(record)));
  const named = all.map(({ values }) => values[entity.key] ?? null);
  const duplicates = await duplicatesAmong(tx, 'season', named);
  const rows = all.filter(({ values }) => !duplicates.has(values[entity.key] ?? null));
  const { inserted, changed } = await upsertRows(tx, entity, rows, provenance);
  const keys = rows.map(({ values }) => values[entity.key] ?? null);
  await raiseReadSeq(tx, entity.table, entity.key, keys, provenance.readSeq);
  if (inserted + changed === 0) return;
  await sql`update chunk set digest = null, keys = ${KEYS_MARKED_CHANGED}
    where stream = 'season' and part = ${seasonName} and first_row = 0`.execute(tx);
}

/**
 * Writes rows of a short list outside of its runs; only a run of that list decides which rows are
 * gone.
 */
export async function writeShortList(
  tx: Tx,
  stream: keyof typeof SHORT_LISTS,
  list: { readonly rows: readonly unknown[]; readonly rejects: readonly RejectedRow[] },
  provenance: Provenance,
): Promise<void> {
  const entity: ListEntity = SHORT_LISTS[stream];
  const records = unitedByKey(entity, list.rows);
  const rows = records.map((record) => entity.toRow(copied(record)));
  const { inserted, changed } = await upsertRows(tx, entity, rows, provenance);
  await quarantineRows(tx, entity.entity, list.rejects, provenance);
  if (inserted + changed > 0) await invalidateList(tx, stream);
}

/** Tells whether {@link invalidateDigests} has anything to do. */
export async function hasOutOfBandWrites(db: Db): Promise<boolean> {
  return (await db.selectFrom('stock_out_of_band').select('barcode').limit(1).execute()).length > 0;
}

/**
 * Clears the digests of chunks with rows that were written out of band, before the first page of a
 * stock run. Scans the keys of all chunks.
 */
export async function invalidateOutOfBand(store: Store): Promise<void> {
  const noted = await store.db
    .selectFrom('stock_out_of_band')
    .select(['barcode', 'is_new'])
    .execute();
  if (noted.length === 0) return;
  const barcodes = JSON.stringify(noted.map(({ barcode }) => barcode));
  // A row that was new when it was written may not be in the list at all.
  const hasNew = Number(noted.some(({ is_new }) => is_new === 1));
  const { rows } = await sql<{ readonly first_row: number }>`
    select first_row from chunk where stream = 'stock' and (
      (${hasNew} = 1 and first_row = 0) or exists (
        select 1 from json_each(chunk.keys) k
        where k.value in (select value from json_each(${barcodes}))))`.execute(store.db);
  const firstRows = JSON.stringify(rows.map(({ first_row }) => first_row));
  const done = JSON.stringify(noted.map(({ barcode, is_new }) => `${is_new} ${barcode}`));
  await store.transaction(async (tx) => {
    // Marking the first chunk's keys makes the run compare all keys with the mirror. A run that
    // resumes after the first chunk compares them anyway, and needs that chunk's keys unchanged.
    await sql`update chunk set digest = null,
      keys = iif(${hasNew} = 1 and first_row = 0, ${KEYS_MARKED_CHANGED}, keys)
      where stream = 'stock'
        and first_row in (select value from json_each(${firstRows}))`.execute(tx);
    // A row that was noted again meanwhile stays noted for the next run.
    await sql`delete from stock_out_of_band
      where is_new || ' ' || barcode in (select value from json_each(${done}))`.execute(tx);
  });
}
