/**
 * Appends to the change feed: reads the feed's last number, and writes `change` and `change_hour`
 * in the caller's transaction, so that both say the same after a stop.
 */
import { insertKeys, insertRows, lastChange, type SqlRow } from '../store/bulk.ts';
import type { Tx } from '../store/store.ts';

const HOUR_MS = 3_600_000;

/** Members that all entries of one append to the change feed share. */
export interface FeedCause {
  /** Time of the change, epoch ms. */
  readonly at: number;
  readonly entity: string;
  readonly cause: string;
}

/**
 * Notes the first feed entry of an hour, unless one is noted; `count` entries were just appended.
 */
async function noteHour(tx: Tx, at: number, count: number): Promise<void> {
  if (count === 0) return;
  const hour = Math.floor(at / HOUR_MS);
  const known = await tx
    .selectFrom('change_hour')
    .select('hour')
    .where('hour', '=', hour)
    .executeTakeFirst();
  if (known) return;
  const first_seq = (await lastChange(tx)) - count + 1;
  await tx.insertInto('change_hour').values({ hour, first_seq }).execute();
}

/** Appends one feed entry per key, all with the same operation and without old and new values. */
export async function appendKeys(
  tx: Tx,
  op: 'insert' | 'delete',
  keys: readonly string[],
  cause: FeedCause,
): Promise<void> {
  await insertKeys(tx, 'change', 'key', keys, { ...cause, op, diff: '{}' });
  await noteHour(tx, cause.at, keys.length);
}

/** Appends feed entries of rows that changed: `diff` is the JSON text of old and new values. */
export async function appendChanges(
  tx: Tx,
  entries: readonly (SqlRow & { readonly op: 'update' | 'restore' })[],
  cause: FeedCause,
): Promise<void> {
  await insertRows(tx, 'change', ['key', 'op', 'diff'], entries, { ...cause });
  await noteHour(tx, cause.at, entries.length);
}
