/** What people are told of a delivery that cannot be decided, and of data that does not fit. */
import { endIncidents, openDetail, openIncident } from '../store/incidents.ts';
import type { Db, Tx } from '../store/store.ts';
import type { Subject } from './facts.ts';

const UNDECIDABLE = { kind: 'undecidable', entity: 'delivery' } as const;
const REVOKED_TOO_OFTEN = { kind: 'taken_back_too_often', entity: 'delivery' } as const;
const MISFIT = { kind: 'customer_field', entity: 'erp_customer' } as const;

export function tellUndecidable(db: Db, orderDeliveryId: number, error: Error, at: number) {
  const detail = { message: error.message };
  return openIncident(db, { ...UNDECIDABLE, key: String(orderDeliveryId), detail }, at);
}

export function resolveUndecidable(
  db: Db | Tx,
  ids: readonly number[],
  at: number,
): Promise<number> {
  return endIncidents(db, UNDECIDABLE, ids.map(String), at);
}

/** The rules would revoke an accept once more, and may not: a person must look. */
export function tellRevokedTooOften(tx: Tx, orderDeliveryId: number, detail: object, at: number) {
  return openIncident(tx, { ...REVOKED_TOO_OFTEN, key: String(orderDeliveryId), detail }, at);
}

/** The accept need not be revoked any more, or was. */
export function resolveRevokedTooOften(
  tx: Tx,
  ids: readonly number[],
  at: number,
): Promise<number> {
  return endIncidents(tx, REVOKED_TOO_OFTEN, ids.map(String), at);
}

export async function isRevokedTooOften(tx: Tx, orderDeliveryId: number): Promise<boolean> {
  const open = await openDetail(tx, { ...REVOKED_TOO_OFTEN, key: String(orderDeliveryId) });
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
