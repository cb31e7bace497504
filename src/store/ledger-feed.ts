/**
 * Table `ledger_change`: which rows of the ledgers changed, in order, for a copy that follows them
 * (src/plane/); the change feed has only the mirror's changes. The table and its triggers exist
 * only between `plane init` and `plane remove`. An entry has a row's key but no values, because a
 * follower reads the row as it is now.
 */
import { sql } from 'kysely';
import type { Db, Tx } from './store.ts';
import { SLICE_ROWS } from './upkeep.ts';

export interface LedgerTable {
  readonly table: string;
  readonly keys: readonly string[];
  /** SQL condition, on the alias `row`, for the rows that are followed. Left out: all. */
  readonly where?: string;
}

/**
 * SQL condition for the facts about the installation that reports need; other facts are the
 * daemon's own.
 */
const STATES = "row.key in ('service_currency', 'stock_quantity', 'season_quantity')";

/** Tables whose changes are in no other feed. */
export const LEDGER_TABLES: readonly LedgerTable[] = [
  { table: 'daemon_state', keys: ['key'], where: STATES },
  { table: 'pause', keys: ['target', 'name'] },
  { table: 'stream_state', keys: ['stream'] },
  { table: 'season_window', keys: ['season_name', 'delivery_name'] },
  { table: 'size_rank', keys: ['size'] },
  { table: 'zone_offset', keys: ['since'] },
  { table: 'stock_day', keys: ['day', 'brand_name', 'season_name', 'currency'] },
  { table: 'stock_age', keys: ['brand_name', 'season_name', 'currency', 'unsold_days'] },
  { table: 'shared_number', keys: ['entity', 'number', 'order_id'] },
  { table: 'quarantine', keys: ['id'] },
  { table: 'change_hour', keys: ['hour'] },
  { table: 'sync_run', keys: ['run_id'] },
  { table: 'webhook_event', keys: ['event_id'] },
  { table: 'decision', keys: ['decision_id'] },
  { table: 'evaluation', keys: ['order_delivery_id'] },
  { table: 'hold', keys: ['order_delivery_id', 'rule_id'] },
  { table: 'review', keys: ['order_delivery_id'] },
  { table: 'reject_entry', keys: ['entry_id'] },
  { table: 'outbox', keys: ['outbox_id'] },
  { table: 'outbox_attempt', keys: ['outbox_id', 'attempt'] },
  { table: 'outbox_evidence', keys: ['id'] },
  { table: 'intake', keys: ['outbox_id'] },
  { table: 'outcome', keys: ['outcome_id'] },
  { table: 'incident', keys: ['id'] },
  { table: 'audit', keys: ['id'] },
];

const PREFIX = 'ledger_change_';

/**
 * SQL: present time by SQLite's own clock, because a trigger has no other. Only the deletion of old
 * entries depends on it.
 */
const NOW = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";

function noteOf(table: string, keys: readonly string[], row: 'NEW' | 'OLD'): string {
  const key = `json_array(${keys.map((name) => `${row}.${name}`).join(', ')})`;
  return `INSERT INTO ledger_change (at, "table", key) VALUES (${NOW}, '${table}', ${key});`;
}

export interface Trigger {
  readonly name: string;
  readonly sql: string;
}

function trigger(name: string, event: string, body: string): Trigger {
  return { name: PREFIX + name, sql: `CREATE TRIGGER ${PREFIX}${name} ${event} BEGIN ${body} END` };
}

function triggersOf({ table, keys, where }: LedgerTable): readonly Trigger[] {
  return (['INSERT', 'UPDATE', 'DELETE'] as const).map((event) => {
    const row = event === 'DELETE' ? 'OLD' : 'NEW';
    const when = where === undefined ? '' : ` WHEN ${where.replaceAll('row.', `${row}.`)}`;
    const name = `${table}_${event.toLowerCase()}`;
    return trigger(name, `AFTER ${event} ON ${table}${when}`, noteOf(table, keys, row));
  });
}

/** Tables whose rows are blanked with their order (mirror/forget.ts), with their keys. */
const OF_ORDER = [
  ['delivery', 'order_delivery_id'],
  ['refund', 'order_refund_id'],
  ['pending_refund', 'pending_refund_id'],
] as const;

/**
 * Tables with a time that is corrected when the clock was set back (mirror/upkeep.ts), with their
 * keys.
 */
const WITH_TIME = [
  ['sales_order', 'order_id'],
  ['delivery', 'order_delivery_id'],
  ['erp_customer', 'account_no'],
] as const;

/**
 * Triggers for changes of mirrored rows, and of the change feed itself, that make no entry in the
 * change feed.
 */
function triggersOfMirror(): readonly Trigger[] {
  const forgotten = OF_ORDER.map(
    ([table, key]) =>
      `INSERT INTO ledger_change (at, "table", key)
       SELECT ${NOW}, '${table}', json_array(${key}) FROM ${table} WHERE order_id = NEW.order_id;`,
  );
  const back = WITH_TIME.map(([table, key]) =>
    trigger(
      `${table}_back`,
      `AFTER UPDATE OF changed_at ON ${table} WHEN NEW.changed_at < OLD.changed_at`,
      noteOf(table, [key], 'NEW'),
    ),
  );
  return [
    trigger('forgotten', 'AFTER UPDATE OF forgotten_at ON sales_order', forgotten.join(' ')),
    trigger('change_update', 'AFTER UPDATE ON change', noteOf('change', ['seq'], 'NEW')),
    ...back,
  ];
}

export type LedgerFeedState = 'absent' | 'whole' | 'broken';

/** Texts of the triggers whose names begin so, by their names. */
export async function presentTriggers(
  db: Db | Tx,
  prefix: string,
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<Trigger>`select name, sql from sqlite_schema
    where type = 'trigger' and substr(name, 1, ${prefix.length}) = ${prefix}`.execute(db);
  return new Map(rows.map((row) => [row.name, row.sql]));
}

async function isThere(db: Db | Tx): Promise<boolean> {
  const { rows } = await sql`select 1 from sqlite_schema
    where type = 'table' and name = 'ledger_change'`.execute(db);
  return rows.length > 0;
}

const wantedTriggers = (): readonly Trigger[] => [
  ...LEDGER_TABLES.flatMap(triggersOf),
  ...triggersOfMirror(),
];

/** State of the feed; `broken`: another release made it, or somebody dropped a part of it. */
export async function ledgerFeedState(db: Db | Tx): Promise<LedgerFeedState> {
  const present = await presentTriggers(db, PREFIX);
  if (!(await isThere(db))) return present.size === 0 ? 'absent' : 'broken';
  const wanted = wantedTriggers();
  const isWhole = wanted.every((one) => present.get(one.name) === one.sql);
  return isWhole && present.size === wanted.length ? 'whole' : 'broken';
}

export async function dropTriggers(tx: Tx, names: Iterable<string>): Promise<void> {
  for (const name of names) {
    await sql`drop trigger ${sql.ref(name)}`.execute(tx);
  }
}

/**
 * Makes the feed, or repairs it. Earlier changes are not in it, so the time at which it was made is
 * stored (`ledger_feed`), by which a follower knows that it must compare all rows.
 */
export async function addLedgerFeed(tx: Tx, now: number): Promise<void> {
  if ((await ledgerFeedState(tx)) === 'whole') return;
  await dropTriggers(tx, (await presentTriggers(tx, PREFIX)).keys());
  await sql`create table if not exists ledger_change (
    seq integer primary key autoincrement,
    at integer not null,
    "table" text not null,
    key text not null
  ) strict`.execute(tx);
  for (const one of wantedTriggers()) await sql.raw(one.sql).execute(tx);
  const made = { value: String(now), updated_at: now };
  await tx
    .insertInto('daemon_state')
    .values({ key: LEDGER_FEED_KEY, ...made })
    .onConflict((conflict) => conflict.column('key').doUpdateSet(made))
    .execute();
}

/** Key of the state that has the time at which the feed was made. */
export const LEDGER_FEED_KEY = 'ledger_feed';

export async function removeLedgerFeed(tx: Tx): Promise<void> {
  await dropTriggers(tx, (await presentTriggers(tx, PREFIX)).keys());
  await sql`drop table if exists ledger_change`.execute(tx);
  await tx.deleteFrom('daemon_state').where('key', '=', LEDGER_FEED_KEY).execute();
}

/**
 * Deletes old entries from the feed's beginning, like those of the change feed; returns how many,
 * and 0 without a feed.
 */
export async function deleteOldLedgerChanges(tx: Tx, before: number): Promise<number> {
  if (!(await isThere(tx))) return 0;
  const { numAffectedRows } = await sql`delete from ledger_change where seq <= (
    select max(seq) from (select seq, at from ledger_change order by seq limit ${SLICE_ROWS})
    where at < ${before})`.execute(tx);
  return Number(numAffectedRows ?? 0);
}
