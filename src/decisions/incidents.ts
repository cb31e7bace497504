/** Incidents of deliveries that cannot be decided, and of customer data that is invalid. */
import { endIncidents, openDetail, openIncident } from '../store/incidents.ts';
import type { Db, Tx } from '../store/store.ts';
import type { Subject } from './facts.ts';

const EVALUATION_ERROR = { kind: 'evaluation_error', entity: 'delivery' } as const;
const REVOKED_TOO_OFTEN = { kind: 'revoked_too_often', entity: 'delivery' } as const;
const INVALID_DATA = { kind: 'invalid_customer_data', entity: 'erp_customer' } as const;

export function reportEvaluationError(db: Db, orderDeliveryId: number, error: Error, at: number) {
  const detail = { message: error.message };
  return openIncident(db, { ...EVALUATION_ERROR, key: String(orderDeliveryId), detail }, at);
}

export function resolveEvaluationErrors(
  db: Db | Tx,
  ids: readonly number[],
  at: number,
): Promise<number> {
  return endIncidents(db, EVALUATION_ERROR, ids.map(String), at);
}

/** The rules would revoke an accept once more, and may not: a person must look. */
export function reportRevokedTooOften(tx: Tx, orderDeliveryId: number, detail: object, at: number) {
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
export async function evaluationErrorIds(db: Db): Promise<readonly number[]> {
  const rows = await db
    .selectFrom('incident')
    .select('key')
    .where('kind', '=', EVALUATION_ERROR.kind)
    .where('entity', '=', EVALUATION_ERROR.entity)
    .where('resolved_at', 'is', null)
    .execute();
  return rows.map(({ key }) => Number(key));
}

/** Whether {@link reportInvalidFields} would change anything. */
export async function invalidFieldsChange(
  tx: Tx,
  { facts, invalidFields }: Subject,
): Promise<boolean> {
  const key = facts.customer?.account_no;
  if (typeof key !== 'string') return false;
  const open = await openDetail(tx, { ...INVALID_DATA, key });
  return (open !== undefined) !== invalidFields.length > 0;
}

/** Fields of the ERP's customer that are not of their declared kind count as not known. */
export async function reportInvalidFields(
  tx: Tx,
  { facts, invalidFields }: Subject,
  at: number,
): Promise<void> {
  const key = facts.customer?.account_no;
  if (typeof key !== 'string') return;
  if (invalidFields.length === 0) await endIncidents(tx, INVALID_DATA, [key], at);
  else await openIncident(tx, { ...INVALID_DATA, key, detail: { invalidFields } }, at);
}
