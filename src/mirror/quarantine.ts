/**
 * Rows that are not written as they came. Quarantine: those that could not be read are kept with
 * the reason, and keep no other row from being written. Personal data of forgotten orders is left
 * out, and numbers that two orders share are noted.
 */
import { type RawBuilder, sql } from 'kysely';
import { isJsonObject, sha256 } from '../lib/json.ts';
import { deleteByKeys, inKeys, type SqlRow, type SqlValue } from '../store/bulk.ts';
import type { Db, Tx } from '../store/store.ts';
import { peopleIn } from '../store/tables/people.ts';
import { kept, type Value } from '../store/transaction/kept.ts';
import { keptAmong } from '../store/transaction/together.ts';
import type { EntityDefinition, MirrorRow, Provenance } from './rows/prepared.ts';

// Forgotten orders: their personal data (addresses, comments, members without a column) is blanked,
// and left out of whatever is read of them later. Numbers, states, lines and amounts stay.

const NONE: ReadonlySet<SqlValue> = new Set();

const forgotten = kept((db: Db, orderIds: Value<string>) =>
  db
    .selectFrom('sales_order')
    .select('order_id')
    .where('forgotten_at', 'is not', null)
    .where(inKeys('order_id', orderIds)),
);

/** Gives those of the orders that were forgotten. */
async function forgottenAmong(
  tx: Tx,
  orderIds: readonly SqlValue[],
): Promise<ReadonlySet<SqlValue>> {
  if (orderIds.length === 0) return NONE;
  const rows = await forgotten(tx, JSON.stringify(orderIds));
  return new Set(rows.map(({ order_id }) => order_id));
}

function blanked(definition: EntityDefinition, { values, lines }: MirrorRow): MirrorRow {
  const { table, lines: of } = definition;
  const bare = lines?.map((line): SqlRow => ({ ...line, ...(of && peopleIn(of.table)) }));
  return { values: { ...values, ...peopleIn(table) }, extra: {}, ...(bare && { lines: bare }) };
}

/** Blanks the personal data in rows of forgotten orders, before they are written. */
export async function withoutForgotten(
  tx: Tx,
  definition: EntityDefinition,
  rows: readonly MirrorRow[],
): Promise<readonly MirrorRow[]> {
  if (!definition.columns.includes('order_id')) return rows;
  const orderOf = ({ values }: MirrorRow): SqlValue => values.order_id ?? null;
  const forgotten = await forgottenAmong(tx, rows.map(orderOf));
  if (forgotten.size === 0) return rows;
  return rows.map((row) => (forgotten.has(orderOf(row)) ? blanked(definition, row) : row));
}

export interface RejectedRow {
  /** The row as it was received: parsed, or text when it was not JSON. */
  readonly raw: unknown;
  /** Path of the member that could not be read, e.g. `details.price`. */
  readonly path: string;
  readonly reason: string;
}

function orderOf({ raw }: RejectedRow): number | null {
  return isJsonObject(raw) && typeof raw.orderId === 'number' ? raw.orderId : null;
}

/** Stores each unreadable row once, with the number of times it arrived. */
export async function quarantineRows(
  tx: Tx,
  entity: string,
  rejected: readonly RejectedRow[],
  provenance: Provenance,
): Promise<void> {
  const forgotten = await forgottenAmong(tx, rejected.map(orderOf));
  for (const row of rejected) {
    const orderId = orderOf(row);
    const whole = typeof row.raw === 'string' ? row.raw : JSON.stringify(row.raw);
    const raw = forgotten.has(orderId) ? JSON.stringify({ orderId }) : whole;
    await tx
      .insertInto('quarantine')
      .values({
        entity,
        raw,
        raw_hash: sha256(raw),
        path: row.path,
        reason: row.reason,
        source: provenance.source,
        first_seen_at: provenance.at,
        last_seen_at: provenance.at,
      })
      .onConflict((conflict) =>
        conflict.columns(['entity', 'raw_hash']).doUpdateSet((eb) => ({
          path: row.path,
          reason: row.reason,
          source: provenance.source,
          last_seen_at: provenance.at,
          times: eb('quarantine.times', '+', 1),
        })),
      )
      .execute();
  }
}

/** SQL: a member of the quarantined row, as text. */
function memberOf(member: string) {
  return sql<string>`cast(case when json_valid(raw) then raw ->> ${member} end as text)`;
}

function isOneOf(value: RawBuilder<string>, values: readonly string[]): RawBuilder<boolean> {
  return sql<boolean>`${value} in (select value from json_each(${JSON.stringify(values)}))`;
}

/**
 * Removes the quarantined rows that have one of these values in a member, once the row could be
 * read.
 */
export async function releaseRows(
  tx: Tx,
  entity: string,
  member: string,
  values: readonly string[],
): Promise<void> {
  await tx
    .deleteFrom('quarantine')
    .where('entity', '=', entity)
    .where(isOneOf(memberOf(member), values))
    .execute();
}

/** Removes quarantined rows that can be read by now. */
export async function dropQuarantined(tx: Tx, ids: readonly number[]): Promise<void> {
  await deleteByKeys(tx, 'quarantine', 'id', ids);
}

/** Gives those of the values that occur in a member of quarantined rows, as text. */
export async function quarantinedAmong(
  db: Db | Tx,
  entities: readonly string[],
  member: string,
  values: readonly string[],
): Promise<ReadonlySet<string>> {
  if (values.length === 0) return new Set();
  const value = memberOf(member);
  const rows = await db
    .selectFrom('quarantine')
    .select(value.as('value'))
    .where('entity', 'in', entities)
    .where(isOneOf(value, values))
    .execute();
  return new Set(rows.map((row) => row.value));
}

/** A read that saw all rows of an entity, or all those that belong to one order. */
interface WholeRead extends Pick<Provenance, 'source'> {
  /** Start of the read, epoch ms; rows that it could not read were quarantined then or later. */
  readonly startedAt: number;
  readonly orderId?: number;
}

const resolvedOfOrder = kept(
  (
    db: Db,
    entity: Value<string>,
    source: Value<string>,
    startedAt: Value<number>,
    orderId: Value<number>,
  ) =>
    db
      .deleteFrom('quarantine')
      .where('entity', '=', entity)
      .where('source', '!=', source)
      .where('last_seen_at', '<', startedAt)
      // This expression is written exactly as in the index, so that SQLite uses the index.
      .where(sql<boolean>`case when json_valid(raw) then raw->>'orderId' end = ${orderId}`),
);

/**
 * Removes quarantined rows that a complete read no longer met: they were corrected, or are gone.
 */
export async function clearResolvedQuarantine(
  tx: Tx,
  entity: string,
  { source, startedAt, orderId }: WholeRead,
): Promise<void> {
  if (orderId !== undefined) await resolvedOfOrder(tx, entity, source, startedAt, orderId);
  else {
    await tx
      .deleteFrom('quarantine')
      .where('entity', '=', entity)
      .where('source', '!=', source)
      .where('last_seen_at', '<', startedAt)
      .execute();
  }
}

// Table `shared_number`: numbers of deliveries and refunds that two orders share. The mirror
// identifies them by number alone, as the contract says; if an account restarts numbering per
// order, one row must not replace another. The first row stays, the second order is noted here, and
// both wait for a person.

/** Notes orders with a delivery or refund whose number another order's row has already. */
export async function noteShared(
  tx: Tx,
  { entity }: EntityDefinition,
  shared: readonly { readonly key: SqlValue; readonly orderId: SqlValue }[],
  { at }: Provenance,
): Promise<void> {
  if (shared.length === 0) return;
  const numbers = JSON.stringify(shared.map(({ key, orderId }) => [key, orderId]));
  await sql`insert into shared_number (entity, number, order_id, seen_at)
    select ${entity}, value->>0, value->>1, ${at} from json_each(${numbers}) where true
    on conflict do update set seen_at = excluded.seen_at`.execute(tx);
}

const sharedBy = kept((db: Db, entity: Value<string>, orderId: Value<number>) =>
  db
    .selectFrom('shared_number')
    .select('number')
    .where('entity', '=', entity)
    .where('order_id', '=', orderId),
);

/** Removes notes of an order's shared numbers that its latest list no longer confirms. */
export async function forgetShared(
  tx: Tx,
  { entity, table, key }: EntityDefinition,
  orderId: number,
  numbers: readonly number[],
): Promise<void> {
  // Hardly any order has one, and to ask costs less than to delete nothing.
  if ((await sharedBy(tx, entity, orderId)).length === 0) return;
  const own = sql`select ${sql.ref(key)} from ${sql.table(table)} where order_id = ${orderId}`;
  await tx
    .deleteFrom('shared_number')
    .where('entity', '=', entity)
    .where('order_id', '=', orderId)
    .where(({ not, or }) => or([not(inKeys('number', numbers)), sql<boolean>`number in (${own})`]))
    .execute();
}

const ordersWith = keptAmong(
  (db, among) =>
    db
      .selectFrom('shared_number')
      .select(['number', 'order_id'])
      .where('entity', '=', sql.lit('delivery'))
      .where(among('number'))
      .orderBy('order_id'),
  'number',
);

/** Ids of other orders that have a delivery with this number. */
export async function othersWith(tx: Tx, orderDeliveryId: number): Promise<readonly number[]> {
  return (await ordersWith(tx, orderDeliveryId)).map((row) => row.order_id);
}
