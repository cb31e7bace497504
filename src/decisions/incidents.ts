/**
 * Incidents of deliveries that cannot be decided, and of customer data that is invalid: one
 * incident for each cause, which lists the deliveries or customers concerned.
 */
import { sql } from 'kysely';
import { isJsonObject, tryParseJson } from '../lib/json.ts';
import {
  endIncidentRows,
  endIncidents,
  openDetail,
  openIncident,
  updateIncident,
} from '../store/incidents.ts';
import type { Db, Tx } from '../store/store.ts';
import type { Subject } from './facts.ts';

const EVALUATION_ERROR = { kind: 'evaluation_error', entity: 'cause' } as const;
const REVOKED_TOO_OFTEN = { kind: 'revoked_too_often', entity: 'delivery' } as const;
const INVALID_DATA = { kind: 'invalid_customer_data', entity: 'customer_field' } as const;

/**
 * Number of deliveries or customers that an incident lists; beyond it the incident only says that
 * there are more.
 */
const LISTED_MAX = 200;

type Kind = typeof EVALUATION_ERROR | typeof INVALID_DATA;

interface Cause {
  readonly id: number;
  readonly key: string;
  readonly detail: object;
  readonly concerns: readonly string[];
}

async function openCauses(db: Db | Tx, { kind, entity }: Kind): Promise<readonly Cause[]> {
  const rows = await db
    .selectFrom('incident')
    .select(['id', 'key', 'detail'])
    .where('kind', '=', kind)
    .where('entity', '=', entity)
    .where('resolved_at', 'is', null)
    .execute();
  return rows.map(({ id, key, detail: text }) => {
    const detail = tryParseJson(text);
    const listed = isJsonObject(detail) && Array.isArray(detail.concerns) ? detail.concerns : [];
    return { id, key, detail: isJsonObject(detail) ? detail : {}, concerns: listed.map(String) };
  });
}

function detailOf(detail: object, concerns: readonly string[]) {
  const [example] = concerns;
  return { ...detail, count: concerns.length, example, concerns };
}

/**
 * Makes `causes` the only causes of this delivery or customer; opens and ends incidents
 * accordingly.
 */
async function setCauses(
  db: Db | Tx,
  kind: Kind,
  thing: string,
  causes: ReadonlyMap<string, object>,
  at: number,
): Promise<void> {
  const open = await openCauses(db, kind);
  for (const { id, key, detail, concerns } of open) {
    if (causes.has(key) || !concerns.includes(thing)) continue;
    const rest = concerns.filter((one) => one !== thing);
    if (rest.length === 0) await endIncidentRows(db, [{ id }], at);
    else await updateIncident(db, { ...kind, key, detail: detailOf(detail, rest) }, at);
  }
  for (const [key, detail] of causes) {
    const known = open.find((one) => one.key === key);
    const concerns = known?.concerns ?? [];
    if (concerns.includes(thing)) continue;
    const isFull = concerns.length >= LISTED_MAX;
    const next = isFull
      ? { ...known?.detail, more: true }
      : detailOf({ ...known?.detail, ...detail }, [...concerns, thing]);
    await updateIncident(db, { ...kind, key, detail: next }, at);
  }
}

/** Groups errors by their message without its numbers, so that one cause makes one incident. */
function causeOf({ message }: Error): string {
  return message.replaceAll(/\d+/g, '#').slice(0, 200);
}

export function reportEvaluationError(db: Db, orderDeliveryId: number, error: Error, at: number) {
  const causes = new Map([[causeOf(error), { message: error.message }]]);
  return setCauses(db, EVALUATION_ERROR, String(orderDeliveryId), causes, at);
}

export async function resolveEvaluationErrors(
  db: Db | Tx,
  ids: readonly number[],
  at: number,
): Promise<void> {
  for (const id of ids) await setCauses(db, EVALUATION_ERROR, String(id), new Map(), at);
}

/**
 * Opens the incident of an accept that the rules would revoke once more, although they have revoked
 * too often: a person must look.
 */
export function reportRevokedTooOften(tx: Tx, orderDeliveryId: number, detail: object, at: number) {
  return openIncident(tx, { ...REVOKED_TOO_OFTEN, key: String(orderDeliveryId), detail }, at);
}

/** Ends the incidents of these deliveries about too many revocations. */
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

/**
 * Ids of deliveries whose latest evaluation failed; for each cause only those that its incident
 * lists.
 */
export async function evaluationErrorIds(db: Db): Promise<readonly number[]> {
  const causes = await openCauses(db, EVALUATION_ERROR);
  return causes.flatMap(({ concerns }) => concerns.map(Number));
}

/**
 * The field and its declared kind, without the customer's value: so all customers share one cause.
 */
function fieldCause(text: string): string {
  return text.replace(/, it is .*$/s, '');
}

/**
 * Takes customers out of the incidents whose deliveries were all decided: none of them is evaluated
 * any more, so that nothing else would show whether their fields are still invalid.
 */
export async function dropDecidedCustomers(db: Db, at: number): Promise<void> {
  const listed = (await openCauses(db, INVALID_DATA)).flatMap(({ concerns }) => concerns);
  if (listed.length === 0) return;
  const rows = await db
    .selectFrom('delivery as d')
    .innerJoin('sales_order as o', 'o.order_id', 'd.order_id')
    .select('o.account_no')
    .distinct()
    // As the text of its index, which a parameter would not be.
    .where('d.status', '=', sql.lit('pending'))
    .where('d.deleted_at', 'is', null)
    .execute();
  const waiting = new Set(rows.map(({ account_no: accountNo }) => accountNo));
  for (const account of new Set(listed)) {
    if (!waiting.has(account)) await setCauses(db, INVALID_DATA, account, new Map(), at);
  }
}

/** Whether {@link reportInvalidFields} would change anything. */
export async function invalidFieldsChange(
  tx: Tx,
  { facts, invalidFields }: Subject,
): Promise<boolean> {
  const account = facts.customer?.account_no;
  if (typeof account !== 'string') return false;
  const open = await openCauses(tx, INVALID_DATA);
  const told = new Set(
    open.flatMap(({ key, concerns }) => (concerns.includes(account) ? [key] : [])),
  );
  const full = open.flatMap(({ key, concerns }) => (concerns.length < LISTED_MAX ? [] : [key]));
  const wanted = new Set(invalidFields.map(fieldCause));
  const isNew = wanted.difference(told).difference(new Set(full)).size > 0;
  return isNew || told.difference(wanted).size > 0;
}

/**
 * Opens and ends the incidents about the ERP's fields of this customer that are not of their
 * declared kind; rules treat such fields as unknown.
 */
export async function reportInvalidFields(
  tx: Tx,
  { facts, invalidFields }: Subject,
  at: number,
): Promise<void> {
  const account = facts.customer?.account_no;
  if (typeof account !== 'string') return;
  const causes = new Map(invalidFields.map((message) => [fieldCause(message), { message }]));
  await setCauses(tx, INVALID_DATA, account, causes, at);
}
