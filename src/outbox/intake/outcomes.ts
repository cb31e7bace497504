/**
 * Outcomes of packed deliveries for the ERP: decisions and holds, each with a number of its own.
 * Triggers of the database note them in `outcome`; they reach the ERP as rows of exchange.db, by
 * the callback command and by HTTP.
 */

import { sql } from 'kysely';
import { z } from 'zod';
import { tryParseJson } from '../../lib/json.ts';
import { isoTime } from '../../lib/units.ts';
import { inKeys } from '../../store/bulk.ts';
import type { OutcomeRow } from '../../store/exchange/statements.ts';
import type { Db, Store, Tx } from '../../store/store.ts';
import { kept } from '../../store/transaction/kept.ts';

export interface Outcome extends Omit<OutcomeRow, 'rules' | 'state'> {
  /** Tells an outcome from a receipt, which has the kind of its document here. */
  readonly kind: 'decision';
  readonly state: 'confirmed' | 'refused';
  readonly rules: readonly string[];
}

const rulesSchema = z.array(z.string()).catch([]);

/** SQL: reference of the order as the ERP gave it, because the service may show it otherwise. */
const OWN_REFERENCE = sql<string | null>`(select own.reference from outbox own
  where own.order_id = d.order_id and own.kind = 'order' and own.state = 'confirmed'
  order by own.outbox_id limit 1)`;

function select(db: Db | Tx) {
  return db
    .selectFrom('outcome as t')
    .innerJoin('decision as d', 'd.decision_id', 't.decision_id')
    .leftJoin('delivery as v', 'v.order_delivery_id', 'd.order_delivery_id')
    .leftJoin('sales_order as o', 'o.order_id', 'd.order_id')
    .select(['t.outcome_id', 't.state', 't.problem', 't.at as ended_at'])
    .select(['d.decision_id', 'd.order_delivery_id', 'd.order_id', 'd.outcome', 'd.reason'])
    .select(['d.rules', 'd.actor', 'd.at as decided_at'])
    .select(['v.delivery_no', 'o.order_no'])
    .select(({ fn, ref }) => fn.coalesce(OWN_REFERENCE, ref('o.reference')).as('reference'));
}

type Row = Awaited<ReturnType<ReturnType<typeof select>['executeTakeFirstOrThrow']>>;

function outcomeOf(row: Row): Outcome {
  return {
    outcomeId: row.outcome_id,
    kind: 'decision',
    decisionId: row.decision_id,
    orderDeliveryId: row.order_delivery_id,
    deliveryNo: row.delivery_no,
    orderId: row.order_id,
    orderNo: row.order_no,
    reference: row.reference,
    outcome: row.outcome,
    state: row.state,
    reason: row.reason,
    rules: rulesSchema.parse(tryParseJson(row.rules)),
    decidedBy: row.actor,
    problem: row.problem,
    decidedAt: isoTime(row.decided_at),
    endedAt: isoTime(row.ended_at),
  };
}

/** Reads an outcome by its number; undefined: there is none, or it was deleted. */
export async function readOutcome(db: Db, outcomeId: number): Promise<Outcome | undefined> {
  const row = await select(db).where('t.outcome_id', '=', outcomeId).executeTakeFirst();
  return row && outcomeOf(row);
}

/** Reads outcomes with numbers above `after`, the oldest first. */
export async function outcomesAfter(db: Db, after: number, limit: number): Promise<Outcome[]> {
  const rows = await select(db)
    .where('t.outcome_id', '>', after)
    .orderBy('t.outcome_id')
    .limit(limit)
    .execute();
  return rows.map(outcomeOf);
}

export const OUTCOMES_PER_ROUND = 200;

const dueRows = kept((db: Db) =>
  select(db).where('t.row_due', '=', sql.lit(1)).orderBy('t.outcome_id').limit(OUTCOMES_PER_ROUND),
);

/**
 * Reads outcomes that exchange.db does not have yet, in the form in which they are written there.
 */
export async function dueOutcomes({ db }: Store): Promise<readonly OutcomeRow[]> {
  return (await dueRows(db)).map(outcomeOf).map(({ kind: _, rules, ...row }) => {
    return { ...row, rules: JSON.stringify(rules) };
  });
}

export async function outcomesWritten(
  store: Store,
  rows: readonly OutcomeRow[],
  hasCallback: boolean,
): Promise<void> {
  const done = { row_due: 0, ...(hasCallback ? {} : { callback_due_at: null }) };
  const ids = rows.map(({ outcomeId }) => outcomeId);
  await store.transaction((tx) =>
    tx.updateTable('outcome').set(done).where(inKeys('outcome_id', ids)).execute(),
  );
}

/** Makes all stored outcomes due again, for a new exchange.db. */
export async function outcomesAgain(tx: Tx): Promise<void> {
  await tx.updateTable('outcome').set({ row_due: 1 }).execute();
}

/**
 * Deletes some outcomes from before `before`; the journal keeps their decisions. Returns how many.
 */
export async function forgetOutcomes(
  { db }: Store,
  before: number,
  limit: number,
): Promise<number> {
  const old = db
    .selectFrom('outcome')
    .select('outcome_id')
    .where('at', '<', before)
    .orderBy('at')
    .limit(limit);
  const { numDeletedRows } = await db
    .deleteFrom('outcome')
    .where('outcome_id', 'in', old)
    .executeTakeFirst();
  return Number(numDeletedRows);
}
