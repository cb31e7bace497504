/**
 * Incidents of deliveries that cannot be decided, and of customer data that is invalid: one
 * incident for each cause, which lists the deliveries or customers concerned.
 */
import { sql } from 'kysely';
import { isJsonObject, tryParseJson } from '../lib/json.ts';
import { endIncidentRows, endIncidents, openIncident, updateIncident } from '../store/incidents.ts';
import type { Db, Tx } from '../store/store.ts';
import { kept, type Value } from '../store/transaction/kept.ts';
import { keptForAll } from '../store/transaction/together.ts';
import type { Subject } from './facts.ts';

const EVALUATION_ERROR = { kind: 'evaluation_error', entity: 'cause' } as const;
const REVOKED_TOO_OFTEN = { kind: 'revoked_too_often', entity: 'delivery' } as const;
const INVALID_DATA = { kind: 'invalid_customer_data', entity: 'customer_field' } as const;

/**
 * Number of deliveries or customers that an incident lists; beyond it the incident only says that
 * there are more.
 */
const LISTED_MAX = 200;

/** A write that belongs to a decision; others make it on its own. */
type Effect = (db: Db | Tx) => Promise<unknown>;

type Kind = typeof EVALUATION_ERROR | typeof INVALID_DATA;

interface Cause {
  readonly id: number;
  readonly key: string;
  readonly detail: Readonly<Record<string, unknown>>;
  readonly concerns: readonly string[];
}

const openOf = kept((db: Db, kind: Value<string>, entity: Value<string>) =>
  db
    .selectFrom('incident')
    .select(['id', 'key', 'detail'])
    .where('kind', '=', kind)
    .where('entity', '=', entity)
    .where('resolved_at', 'is', null),
);

async function openCauses(db: Db | Tx, { kind, entity }: Kind): Promise<readonly Cause[]> {
  return (await openOf(db, kind, entity)).map(causeIn);
}

function causeIn({
  id,
  key,
  detail: text,
}: Pick<Cause, 'id' | 'key'> & { readonly detail: string }): Cause {
  const detail = tryParseJson(text);
  const listed = isJsonObject(detail) && Array.isArray(detail.concerns) ? detail.concerns : [];
  return { id, key, detail: isJsonObject(detail) ? detail : {}, concerns: listed.map(String) };
}

function detailOf(detail: object, concerns: readonly string[]) {
  const [example] = concerns;
  return { ...detail, count: concerns.length, example, concerns };
}

/** Writes that make `causes` the only ones of this delivery or customer; none: they are. */
function causesEffects(
  open: readonly Cause[],
  kind: Kind,
  thing: string,
  causes: ReadonlyMap<string, object>,
  at: number,
): readonly Effect[] {
  const over = open.filter(({ key, concerns }) => !causes.has(key) && concerns.includes(thing));
  const ended = over.map(({ id, key, detail, concerns }): Effect => {
    const rest = concerns.filter((one) => one !== thing);
    if (rest.length === 0) return (db) => endIncidentRows(db, [{ id }], at);
    return (db) => updateIncident(db, { ...kind, key, detail: detailOf(detail, rest) }, at);
  });
  const begun = [...causes].flatMap(([key, detail]): readonly Effect[] => {
    const known = open.find((one) => one.key === key);
    const concerns = known?.concerns ?? [];
    const isFull = concerns.length >= LISTED_MAX;
    if (concerns.includes(thing) || (isFull && known?.detail.more === true)) return [];
    const next = isFull
      ? { ...known?.detail, more: true }
      : detailOf({ ...known?.detail, ...detail }, [...concerns, thing]);
    return [(db) => updateIncident(db, { ...kind, key, detail: next }, at)];
  });
  return [...ended, ...begun];
}

async function setCauses(
  db: Db | Tx,
  kind: Kind,
  thing: string,
  causes: ReadonlyMap<string, object>,
  at: number,
): Promise<void> {
  const effects = causesEffects(await openCauses(db, kind), kind, thing, causes, at);
  for (const effect of effects) await effect(db);
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

/** Writes about what open incidents say of a delivery and its customer, by one query. */
export interface ToldOf {
  /** Ends that an earlier evaluation failed; none: it did not. */
  readonly endFailed: readonly Effect[];
  /** Ends that its accept was revoked too often; none: it was not. */
  readonly endRevoked: readonly Effect[];
  /**
   * Tells which of the ERP's fields of the customer are not of their declared kind, which rules
   * treat as unknown; none: that is told.
   */
  readonly tellFields: (subject: Subject) => readonly Effect[];
}

const openOfDeliveries = keptForAll((db) =>
  db
    .selectFrom('incident')
    .select(['id', 'kind', 'key', 'detail'])
    .where('kind', 'in', [EVALUATION_ERROR.kind, INVALID_DATA.kind, REVOKED_TOO_OFTEN.kind])
    .where('resolved_at', 'is', null),
);

export async function toldOf(tx: Tx, orderDeliveryId: number, at: number): Promise<ToldOf> {
  const id = String(orderDeliveryId);
  const rows = await openOfDeliveries(tx);
  const causes = ({ kind: of }: Kind) =>
    rows.flatMap(({ kind, ...row }) => (kind === of ? [causeIn(row)] : []));
  const revoked = rows.filter(({ kind, key }) => kind === REVOKED_TOO_OFTEN.kind && key === id);
  return {
    endFailed: causesEffects(causes(EVALUATION_ERROR), EVALUATION_ERROR, id, new Map(), at),
    endRevoked: revoked.length > 0 ? [(own) => endIncidentRows(own, revoked, at)] : [],
    tellFields({ facts, invalidFields }) {
      const account = facts.customer?.account_no;
      if (typeof account !== 'string') return [];
      const wanted = new Map(invalidFields.map((message) => [fieldCause(message), { message }]));
      return causesEffects(causes(INVALID_DATA), INVALID_DATA, account, wanted, at);
    },
  };
}
