/**
 * Nearest misses: deliveries that one condition alone kept from being accepted, each with the value
 * it had. Where an accept rule could be wider, or where one number is worth a look. Reads the
 * latest decision of each delivery, decides nothing.
 */
import { RefusedError } from '../../lib/errors.ts';
import type { Evaluation } from '../../rules/evaluate.ts';
import { operandText } from '../../rules/explain.ts';
import type { Db } from '../../store/store.ts';
import { clauseText, onlyObstacle } from './rule-use.ts';

interface MissedDelivery {
  readonly orderDeliveryId: number;
  readonly deliveryNo: string;
  /** The values behind the condition, as explained to people. */
  readonly values: string;
}

export interface MissedClause {
  readonly rule: string;
  /** Place in the file. */
  readonly line: number;
  readonly clause: string;
  readonly deliveries: readonly MissedDelivery[];
}

/** Deliveries read at a time. */
const PAGE_ROWS = 500;

async function* latestDecisions(db: Db, since: number) {
  for (let last = 0; ; ) {
    const rows = await db
      .selectFrom('evaluation as e')
      .innerJoin('decision as d', 'd.decision_id', 'e.decision_id')
      .innerJoin('delivery as y', 'y.order_delivery_id', 'e.order_delivery_id')
      .select(['d.decision_id', 'd.order_delivery_id', 'd.outcome', 'd.evaluation'])
      .where('d.decision_id', '>', last)
      .where('d.at', '>=', since)
      .where('y.deleted_at', 'is', null)
      .orderBy('d.decision_id')
      .limit(PAGE_ROWS)
      .execute();
    yield* rows;
    last = rows.at(-1)?.decision_id ?? last;
    if (rows.length < PAGE_ROWS) return;
  }
}

/** A misspelt rule would look like one that missed nothing. */
function requireAsked(ruleId: string, asked: ReadonlySet<string>): void {
  if (asked.size === 0 || asked.has(ruleId)) return;
  throw new RefusedError('rules.unknown', `no accept rule ${ruleId} was asked in this time`, {
    hint: `those asked are ${[...asked].join(', ')}`,
  });
}

/** By rule and condition, those that kept most deliveries first. */
export async function nearestMisses(
  db: Db,
  since: number,
  ruleId?: string,
): Promise<readonly MissedClause[]> {
  const found = new Map<string, MissedClause & { readonly deliveries: MissedDelivery[] }>();
  const asked = new Set<string>();
  for await (const row of latestDecisions(db, since)) {
    const evaluation: Evaluation = JSON.parse(row.evaluation);
    for (const { id, action } of evaluation.rules) if (action === 'accept') asked.add(id);
    if (row.outcome === 'accept' || evaluation.shadow.kind === 'accept') continue;
    for (const result of evaluation.rules) {
      if (result.action !== 'accept' || (ruleId !== undefined && result.id !== ruleId)) continue;
      const clause = onlyObstacle(result);
      if (!clause) continue;
      const key = `${result.id} ${clause.line} ${clause.text}`;
      const { line } = clause;
      const fresh = { rule: result.id, line, clause: clauseText(clause), deliveries: [] };
      const miss = found.get(key) ?? fresh;
      found.set(key, miss);
      miss.deliveries.push({
        orderDeliveryId: row.order_delivery_id,
        deliveryNo: evaluation.delivery,
        values: clause.operands.map(operandText).join('; '),
      });
    }
  }
  if (ruleId !== undefined) requireAsked(ruleId, asked);
  return [...found.values()].sort((a, b) => b.deliveries.length - a.deliveries.length);
}
