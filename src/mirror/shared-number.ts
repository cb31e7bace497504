/**
 * `shared_number`: numbers of deliveries and refunds that two orders have. The mirror tells them
 * apart by their number alone, as the contract says; where an account counts them anew in each
 * order, the row of the one must not take the place of the other's. The first stays as it is, the
 * order of the second is kept here, and both wait for a person.
 */
import { sql } from 'kysely';
import { inKeys, type SqlValue } from '../store/bulk.ts';
import type { Tx } from '../store/store.ts';
import type { Provenance } from './rows/bulk.ts';
import type { EntityDefinition } from './rows/prepared.ts';

/** Notes the orders whose row has the number of another order's. */
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

/** Call it when a list of the order was read: what it does not have, or has written, is no more. */
export async function forgetShared(
  tx: Tx,
  { entity, table, key }: EntityDefinition,
  orderId: number,
  numbers: readonly number[],
): Promise<void> {
  const own = sql`select ${sql.ref(key)} from ${sql.table(table)} where order_id = ${orderId}`;
  await tx
    .deleteFrom('shared_number')
    .where('entity', '=', entity)
    .where('order_id', '=', orderId)
    .where(({ not, or }) => or([not(inKeys('number', numbers)), sql<boolean>`number in (${own})`]))
    .execute();
}

/** Orders that have a row with this number as well. */
export async function othersWith(tx: Tx, entity: string, number: number): Promise<number[]> {
  const rows = await tx
    .selectFrom('shared_number')
    .select('order_id')
    .where('entity', '=', entity)
    .where('number', '=', number)
    .orderBy('order_id')
    .execute();
  return rows.map((row) => row.order_id);
}
