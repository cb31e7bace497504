/**
 * Table `shared_number`: numbers of deliveries and refunds that two orders share. The mirror
 * identifies them by number alone, as the contract says; if an account restarts numbering per
 * order, one row must not replace another. The first row stays, the second order is noted here, and
 * both wait for a person.
 */
import { sql } from 'kysely';
import { inKeys, type SqlValue } from '../store/bulk.ts';
import type { Db, Tx } from '../store/store.ts';
import { kept, type Value } from '../store/transaction/kept.ts';
import type { EntityDefinition, Provenance } from './rows/prepared.ts';

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

/** Removes notes of an order's shared numbers that its latest list no longer confirms. */
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

const ordersWith = kept((db: Db, entity: Value<string>, number: Value<number>) =>
  db
    .selectFrom('shared_number')
    .select('order_id')
    .where('entity', '=', entity)
    .where('number', '=', number)
    .orderBy('order_id'),
);

/** Ids of other orders that have a delivery or refund with this number. */
export async function othersWith(tx: Tx, entity: string, number: number): Promise<number[]> {
  return (await ordersWith(tx, entity, number)).map((row) => row.order_id);
}
