/**
 * Reads the stored facts of past decisions, delivery by delivery: only they can test rules on the
 * past, because today's stock and credit say nothing about last month's.
 */
import type { Facts } from '../../rules/facts/plain.ts';
import { inKeys } from '../../store/bulk.ts';
import type { Db } from '../../store/store.ts';
import type { DecisionOutcome } from '../../store/tables.ts';
import { provenFacts } from '../journal.ts';

/** Period from `since` (included) until `until` (not included), in epoch milliseconds. */
export interface Period {
  readonly since: number;
  readonly until: number;
}

export interface PastDecision {
  readonly decisionId: number;
  readonly at: number;
  /** Facts that it was made on; undefined: they were deleted, or are not those any more. */
  readonly facts: Facts | undefined;
  /** Outcome by the rules of that time. */
  readonly said: DecisionOutcome;
  /** Outcome that it had; a safeguard may have held what the rules accepted or rejected. */
  readonly outcome: DecisionOutcome;
  /** Hashes of the hold rules whose time was up and that then accepted or said nothing more. */
  readonly lapsed: ReadonlySet<string>;
}

/** A delivery with its past decisions, in the order in which they were made. */
export interface DeliveryHistory {
  readonly orderDeliveryId: number;
  readonly decisions: readonly PastDecision[];
}

/** Number of deliveries that are read at a time. */
const DELIVERIES_PER_PAGE = 200;

function decisionsIn(db: Db, { since, until }: Period) {
  return db
    .selectFrom('decision as n')
    .where('n.at', '>=', since)
    .where('n.at', '<', until)
    .where('n.actor', '=', 'daemon');
}

/** Number of deliveries that were decided in the period. */
export async function decidedDeliveries(db: Db, period: Period): Promise<number> {
  const { count } = await decisionsIn(db, period)
    .select((eb) => eb.fn.count<number>('n.order_delivery_id').distinct().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}

/** Ids of all deliveries that were decided in the period, by one look at it. */
async function deliveriesIn(db: Db, period: Period): Promise<number[]> {
  const rows = await decisionsIn(db, period)
    .select('n.order_delivery_id')
    .distinct()
    .orderBy('n.order_delivery_id')
    .execute();
  return rows.map((row) => row.order_delivery_id);
}

async function* historiesOf(
  db: Db,
  period: Period,
  ids: readonly number[],
): AsyncGenerator<DeliveryHistory> {
  const rows = await decisionsIn(db, period)
    .leftJoin('fact_snapshot as f', 'f.digest', 'n.facts_digest')
    .select(['n.order_delivery_id', 'n.decision_id', 'n.at', 'n.outcome', 'n.said', 'n.lapsed'])
    .select(['f.facts', 'n.facts_digest'])
    .where(inKeys('n.order_delivery_id', ids))
    .orderBy('n.decision_id')
    .execute();
  const byDelivery = Map.groupBy(rows, ({ order_delivery_id: id }) => id);
  for (const orderDeliveryId of ids) {
    // Facts are large: those of one delivery are read when it is its turn.
    const decisions = (byDelivery.get(orderDeliveryId) ?? []).map((row): PastDecision => {
      const { decision_id: decisionId, at, outcome, said } = row;
      const facts = provenFacts(row.facts, row.facts_digest);
      return { decisionId, at, facts, said, outcome, lapsed: new Set(JSON.parse(row.lapsed)) };
    });
    yield { orderDeliveryId, decisions };
  }
}

/** Yields every delivery that was decided in the period, by id; reads them page by page. */
export async function* histories(db: Db, period: Period): AsyncGenerator<DeliveryHistory> {
  const ids = await deliveriesIn(db, period);
  for (let from = 0; from < ids.length; from += DELIVERIES_PER_PAGE) {
    yield* await historiesOf(db, period, ids.slice(from, from + DELIVERIES_PER_PAGE));
  }
}
