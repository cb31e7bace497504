/**
 * Reconstructs a mirrored row as of a time in the past, by undoing its later changes from the
 * change feed, the latest first.
 */
import { sql } from 'kysely';
import { isJsonObject, tryParseJson } from '../lib/json.ts';
import type { SqlRow, SqlValue } from '../store/bulk.ts';
import type { Db } from '../store/store.ts';

export interface RowChange {
  readonly at: number;
  readonly op: 'insert' | 'update' | 'delete' | 'restore';
  /** Old and new values of the changed columns as JSON text: `{"column": [old, new]}`. */
  readonly diff: string;
}

function scalarOf(value: unknown): SqlValue {
  return typeof value === 'string' || typeof value === 'number' ? value : null;
}

/** Columns that one feed entry changed: name, old and new value. */
export function changedColumns(
  change: RowChange,
): readonly { readonly column: string; readonly before: SqlValue; readonly after: SqlValue }[] {
  const diff = tryParseJson(change.diff);
  if (!isJsonObject(diff)) return [];
  return Object.entries(diff).flatMap(([column, pair]) =>
    Array.isArray(pair) ? [{ column, before: scalarOf(pair[0]), after: scalarOf(pair[1]) }] : [],
  );
}

/**
 * A mirrored row as it was at the time `at` (epoch ms); undefined: it did not exist. `changes` are
 * in the order of the feed.
 */
export function rowAsOf(
  row: SqlRow,
  changes: readonly RowChange[],
  at: number,
): SqlRow | undefined {
  const then: Record<string, SqlValue> = { ...row };
  let isThere = row.deleted_at === null;
  for (const change of changes.filter((one) => one.at > at).toReversed()) {
    for (const { column, before } of changedColumns(change)) then[column] = before;
    isThere = change.op === 'delete' || change.op === 'update';
  }
  return isThere ? { ...then, deleted_at: null } : undefined;
}

const WORDS = { insert: 'first seen', update: 'changed', delete: 'not listed', restore: 'listed' };

/**
 * Describes in a word what each change of a variant did to its stock. Ordered variants may be
 * listed without stock, so the quantity decides; it may be negative.
 */
export function stockWords(row: SqlRow, changes: readonly RowChange[]): readonly string[] {
  let quantity = Number(row.quantity);
  let isListed = row.deleted_at === null;
  const isInStock = (): boolean => isListed && quantity > 0;
  const words = changes.toReversed().map((change) => {
    const after = isInStock();
    const quantityChange = changedColumns(change).find(({ column }) => column === 'quantity');
    if (quantityChange) quantity = Number(quantityChange.before);
    isListed = change.op === 'delete' || change.op === 'update';
    if (change.op === 'insert' || isInStock() === after) return WORDS[change.op];
    return after ? 'back' : 'sold out';
  });
  return words.toReversed();
}

/**
 * Barcodes of variants that left the style after `at`. One query finds them all, because a query
 * per barcode would scan all stock changes instead of using the index.
 */
export async function leftStyleSince(db: Db, style: string, at: number): Promise<string[]> {
  const { rows } = await sql<{ readonly key: string }>`
    select key from change
    where op in ('update', 'restore') and entity = 'stock_variant'
      and diff ->> '$.style_no[0]' = ${style} and at > ${at}`.execute(db);
  return [...new Set(rows.map(({ key }) => key))];
}

/** Time since which the stock's changes are known, epoch ms; undefined: nothing ever changed. */
export async function stockKnownSince(db: Db): Promise<number | undefined> {
  const { rows } = await sql<{ readonly at: number }>`
    select at from change not indexed
    where entity = 'stock_variant' order by seq limit 1`.execute(db);
  if (rows[0]) return rows[0].at;
  // Without stock changes left, the oldest entry of the feed tells since when all are kept.
  const first = db.selectFrom('change').select('at').orderBy('seq').limit(1);
  return (await first.executeTakeFirst())?.at;
}
