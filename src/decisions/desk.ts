/** Deliveries and their latest decisions, for people: the review list and the answer to "why". */
import { sql } from 'kysely';
import type { Evaluation } from '../rules/evaluate.ts';
import type { Db } from '../store/store.ts';

export interface DeliveryFilter {
  readonly status?: string | undefined;
  /** Latest outcome, e.g. `hold`. */
  readonly outcome?: string | undefined;
  readonly limit: number;
}

export interface DeliveryRow {
  readonly orderDeliveryId: number;
  readonly deliveryNo: string | null;
  readonly orderId: number;
  readonly status: string;
  /** Epoch milliseconds. */
  readonly since: number;
  readonly pieces: number;
  readonly outcome: string | null;
  readonly reason: string | null;
  readonly rules: readonly string[];
  /** State of the push of that decision, when it has one. */
  readonly push: string | null;
}

/** The reference that a decision's push has in the outbox. */
const PUSH_REFERENCE = sql<string>`
  'delivery/' || n.order_delivery_id || '/decision/' || n.decision_id`;

function rulesOf(text: string | null): string[] {
  return text === null ? [] : JSON.parse(text);
}

function listing(db: Db) {
  return db
    .selectFrom('delivery as d')
    .leftJoin('evaluation as e', 'e.order_delivery_id', 'd.order_delivery_id')
    .leftJoin('decision as n', 'n.decision_id', 'e.decision_id')
    .select((eb) => [
      'd.order_delivery_id',
      'd.delivery_no',
      'd.order_id',
      'd.status',
      'd.created_at',
      'd.first_seen_at',
      'n.outcome',
      'n.reason',
      'n.rules',
      eb
        .selectFrom('delivery_line as l')
        .select((line) => line.fn.sum<number>('l.fulfilled_quantity').as('pieces'))
        .whereRef('l.order_delivery_id', '=', 'd.order_delivery_id')
        .as('pieces'),
      eb
        .selectFrom('outbox as o')
        .select('o.state')
        .where('o.kind', '=', 'delivery_status')
        .where('o.reference', '=', PUSH_REFERENCE)
        .as('push'),
    ])
    .where('d.deleted_at', 'is', null);
}

/** The newest deliveries that fit the filter. */
export async function listDeliveries(db: Db, filter: DeliveryFilter): Promise<DeliveryRow[]> {
  let query = listing(db).orderBy('d.order_delivery_id', 'desc').limit(filter.limit);
  if (filter.status !== undefined) query = query.where('d.status', '=', filter.status);
  if (filter.outcome === 'accept' || filter.outcome === 'hold' || filter.outcome === 'nothing') {
    query = query.where('n.outcome', '=', filter.outcome);
  }
  const rows = await query.execute();
  return rows.map((row) => ({
    orderDeliveryId: row.order_delivery_id,
    deliveryNo: row.delivery_no,
    orderId: row.order_id,
    status: row.status,
    since: row.created_at ?? row.first_seen_at,
    pieces: Number(row.pieces ?? 0),
    outcome: row.outcome,
    reason: row.reason,
    rules: rulesOf(row.rules),
    push: row.push,
  }));
}

export interface DecisionRecord {
  readonly decisionId: number;
  readonly at: number;
  readonly trigger: string;
  readonly actor: string;
  readonly mode: string;
  readonly outcome: string;
  readonly reason: string;
  readonly ruleSetHash: string;
  readonly evaluation: Evaluation;
  readonly push: { readonly state: string; readonly error: string | null } | null;
}

/** Every decision about a delivery, the latest first. */
export async function decisionsOf(db: Db, orderDeliveryId: number): Promise<DecisionRecord[]> {
  const rows = await db
    .selectFrom('decision as n')
    .leftJoin('outbox as o', (join) =>
      join.on('o.kind', '=', 'delivery_status').on('o.reference', '=', PUSH_REFERENCE),
    )
    .selectAll('n')
    .select(['o.state', 'o.last_error'])
    .where('n.order_delivery_id', '=', orderDeliveryId)
    .orderBy('n.decision_id', 'desc')
    .execute();
  return rows.map((row) => ({
    decisionId: row.decision_id,
    at: row.at,
    trigger: row.trigger,
    actor: row.actor,
    mode: row.mode,
    outcome: row.outcome,
    reason: row.reason,
    ruleSetHash: row.rule_set_hash,
    evaluation: JSON.parse(row.evaluation),
    push: row.state === null ? null : { state: row.state, error: row.last_error },
  }));
}
