/** Quarantine: rows that could not be read are kept with the reason, and block nothing. */
import { type RawBuilder, sql } from 'kysely';
import { isJsonObject, sha256 } from '../lib/json.ts';
import { deleteByKeys } from '../store/bulk.ts';
import type { Db, Tx } from '../store/store.ts';
import { forgottenAmong } from './forgotten.ts';
import type { Provenance } from './rows/prepared.ts';

export interface RejectedRow {
  /** The received row: parsed, or text when it was not JSON. */
  readonly raw: unknown;
  /** Path of the wrong member, e.g. `details.price`. */
  readonly path: string;
  readonly reason: string;
}

function orderOf({ raw }: RejectedRow): number | null {
  return isJsonObject(raw) && typeof raw.orderId === 'number' ? raw.orderId : null;
}

/** Stores each row once, with the number of times it arrived. */
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

/** SQL: a member of the stored row, as text. */
function memberOf(member: string) {
  return sql<string>`cast(case when json_valid(raw) then raw ->> ${member} end as text)`;
}

function isOneOf(value: RawBuilder<string>, values: readonly string[]): RawBuilder<boolean> {
  return sql<boolean>`${value} in (select value from json_each(${JSON.stringify(values)}))`;
}

/** Removes quarantined rows by one of their members once the row could be read. */
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

/** Drops rows that can be understood by now. */
export async function dropQuarantined(tx: Tx, ids: readonly number[]): Promise<void> {
  await deleteByKeys(tx, 'quarantine', 'id', ids);
}

/** Filters the values to those that occur in quarantined rows, as text. */
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

/** A read that saw everything of an entity, or everything of it that belongs to one order. */
interface WholeRead extends Pick<Provenance, 'source'> {
  /** Epoch ms; rows it could not read were quarantined then or later. */
  readonly startedAt: number;
  readonly orderId?: number;
}

/**
 * Removes quarantined rows that a complete read no longer met: they were corrected, or are gone.
 */
export async function clearResolvedQuarantine(
  tx: Tx,
  entity: string,
  { source, startedAt, orderId }: WholeRead,
): Promise<void> {
  // Written exactly as in the index.
  const ofOrder = sql<boolean>`
    case when json_valid(raw) then raw->>'orderId' end = ${orderId ?? 0}`;
  const resolved = tx
    .deleteFrom('quarantine')
    .where('entity', '=', entity)
    .where('source', '!=', source)
    .where('last_seen_at', '<', startedAt);
  await (orderId === undefined ? resolved : resolved.where(ofOrder)).execute();
}
