/** What people are told of a delivery that cannot be decided, and of data that does not fit. */
import type { Db, Tx } from '../store/store.ts';
import type { Subject } from './facts.ts';

const UNDECIDABLE = 'undecidable';
const RETURNED = 'taken_back_too_often';
const MISFIT = 'customer_field';

interface Place {
  readonly kind: string;
  readonly entity: string;
  readonly key: string;
}

/** Told once: while it is open, the same incident is not told again. */
async function open(db: Db | Tx, place: Place, detail: object, at: number): Promise<void> {
  await db
    .insertInto('incident')
    .values({ ...place, at, detail: JSON.stringify(detail), resolved_at: null })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

async function resolve(tx: Tx, { kind, entity, key }: Place, at: number): Promise<void> {
  await tx
    .updateTable('incident')
    .set({ resolved_at: at })
    .where('kind', '=', kind)
    .where('entity', '=', entity)
    .where('key', '=', key)
    .where('resolved_at', 'is', null)
    .execute();
}

function undecidable(orderDeliveryId: number): Place {
  return { kind: UNDECIDABLE, entity: 'delivery', key: String(orderDeliveryId) };
}

export function tellUndecidable(db: Db, orderDeliveryId: number, error: Error, at: number) {
  return open(db, undecidable(orderDeliveryId), { message: error.message }, at);
}

export function resolveUndecidable(tx: Tx, orderDeliveryId: number, at: number): Promise<void> {
  return resolve(tx, undecidable(orderDeliveryId), at);
}

/** The rules would take an accepted delivery back once more, and may not: a person must look. */
export function tellReturned(tx: Tx, orderDeliveryId: number, detail: object, at: number) {
  const place = { kind: RETURNED, entity: 'delivery', key: String(orderDeliveryId) };
  return open(tx, place, detail, at);
}

/** Fields of the ERP's customer that are not of their declared kind count as not known. */
export async function tellMisfits(tx: Tx, { facts, misfits }: Subject, at: number): Promise<void> {
  const { customer } = facts;
  if (!customer) return;
  const place = { kind: MISFIT, entity: 'erp_customer', key: customer.account_no ?? '' };
  if (misfits.length === 0) await resolve(tx, place, at);
  else await open(tx, place, { misfits }, at);
}
