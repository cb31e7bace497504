/** What people are told of a delivery that cannot be decided, and of data that does not fit. */
import { endIncidents, openDetail, openIncident } from '../store/incidents.ts';
import type { Db, Tx } from '../store/store.ts';
import type { Subject } from './facts.ts';

const UNDECIDABLE = { kind: 'undecidable', entity: 'delivery' } as const;
const RETURNED = { kind: 'taken_back_too_often', entity: 'delivery' } as const;
const MISFIT = { kind: 'customer_field', entity: 'erp_customer' } as const;

export function tellUndecidable(db: Db, orderDeliveryId: number, error: Error, at: number) {
  const detail = { message: error.message };
  return openIncident(db, { ...UNDECIDABLE, key: String(orderDeliveryId), detail }, at);
}

export function resolveUndecidable(tx: Tx, ids: readonly number[], at: number): Promise<number> {
  return endIncidents(tx, UNDECIDABLE, ids.map(String), at);
}

/** The rules would take an accepted delivery back once more, and may not: a person must look. */
export function tellReturned(tx: Tx, orderDeliveryId: number, detail: object, at: number) {
  return openIncident(tx, { ...RETURNED, key: String(orderDeliveryId), detail }, at);
}

/** It need not be taken back any more, or was. */
export function resolveReturned(tx: Tx, ids: readonly number[], at: number): Promise<number> {
  return endIncidents(tx, RETURNED, ids.map(String), at);
}

export async function isToldReturned(tx: Tx, orderDeliveryId: number): Promise<boolean> {
  const open = await openDetail(tx, { ...RETURNED, key: String(orderDeliveryId) });
  return open !== undefined;
}

/** Deliveries that could not be decided when they were tried last. */
export async function undecidableIds(db: Db): Promise<readonly number[]> {
  const rows = await db
    .selectFrom('incident')
    .select('key')
    .where('kind', '=', UNDECIDABLE.kind)
    .where('entity', '=', UNDECIDABLE.entity)
    .where('resolved_at', 'is', null)
    .execute();
  return rows.map(({ key }) => Number(key));
}

/** Whether {@link tellMisfits} would change anything. */
export async function misfitsChange(tx: Tx, { facts, misfits }: Subject): Promise<boolean> {
  if (!facts.customer) return false;
  const open = await openDetail(tx, { ...MISFIT, key: facts.customer.account_no ?? '' });
  return (open !== undefined) !== misfits.length > 0;
}

/** Fields of the ERP's customer that are not of their declared kind count as not known. */
export async function tellMisfits(tx: Tx, { facts, misfits }: Subject, at: number): Promise<void> {
  const { customer } = facts;
  if (!customer) return;
  const key = customer.account_no ?? '';
  if (misfits.length === 0) await endIncidents(tx, MISFIT, [key], at);
  else await openIncident(tx, { ...MISFIT, key, detail: { misfits } }, at);
}
