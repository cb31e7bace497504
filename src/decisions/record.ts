/**
 * Writing down what was decided: the journal entry with everything behind it, and the latest
 * evaluation of the delivery, by which is known what must be decided again. Whoever decides (the
 * rules, the rails of a reject, a person) does it through here, inside its own transaction.
 */
import { sql } from 'kysely';
import type { Outcome } from '../rules/combine.ts';
import type { Evaluation } from '../rules/evaluate.ts';
import type { Tx } from '../store/store.ts';
import type { DueWhy } from '../store/tables.ts';
import type { Subject } from './facts.ts';
import { endHolds } from './holds/holds.ts';
import { appendDecision, factsDigest } from './journal.ts';
import type { LoadedRuleSet } from './rule-files.ts';

/**
 * What the decisions may do: `observe` pushes nothing, `shadow` lets no rule be live, `paused` is
 * observing for as long as decisions are paused.
 */
export type DecisionMode = 'observe' | 'shadow' | 'live' | 'paused';

/** One delivery, looked at: the facts, what the rules make of them, and what comes of it. */
export interface Judgement {
  readonly rules: LoadedRuleSet;
  readonly mode: DecisionMode;
  readonly subject: Subject;
  readonly evaluation: Evaluation;
  readonly outcome: Pick<Outcome, 'kind' | 'reason' | 'rules'>;
  /** Epoch milliseconds. */
  readonly at: number;
  /** When it is to be looked at again; null: not before something changes. */
  readonly dueAt: number | null;
  /** What will make it due then. */
  readonly dueWhy?: DueWhy | undefined;
}

/** By which rules, and how strong: another key is another decision. */
export function rulesKey(mode: DecisionMode, { ruleSet }: LoadedRuleSet): string {
  return `${mode}:${ruleSet.hash}`;
}

/** Keeps the texts, so that every decision can show them. */
export async function storeRuleSet(
  tx: Tx,
  { ruleSet, files }: LoadedRuleSet,
  now: number,
): Promise<void> {
  await tx
    .insertInto('rule_set')
    .values({ hash: ruleSet.hash, first_used_at: now, files: JSON.stringify(files) })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** The decision that said the same on facts that differ in the clock alone, if it was the last. */
export async function lastIfSame(tx: Tx, judgement: Judgement): Promise<number | undefined> {
  const { subject, mode, rules, outcome } = judgement;
  const last = await tx
    .selectFrom('evaluation as e')
    .innerJoin('decision as d', 'd.decision_id', 'e.decision_id')
    .select(['d.decision_id', 'e.rules_key', 'e.facts_digest', 'd.outcome', 'd.rules', 'd.reason'])
    .where('e.order_delivery_id', '=', subject.delivery.order_delivery_id)
    .executeTakeFirst();
  const same =
    last !== undefined &&
    last.rules_key === rulesKey(mode, rules) &&
    last.facts_digest === factsDigest(subject.facts) &&
    last.outcome === outcome.kind &&
    last.rules === JSON.stringify(outcome.rules) &&
    // Where no rule decided, the reason is all there is.
    (outcome.rules.length > 0 || last.reason === outcome.reason);
  return same ? last.decision_id : undefined;
}

const SEEN = sql<number>`coalesce((select max(seq) from change), 0)`;

/** Remembers what the delivery was looked at on; `decisionId` is the latest decision about it. */
export async function rememberEvaluation(
  tx: Tx,
  judgement: Judgement,
  decisionId: number | undefined,
): Promise<void> {
  const { subject, mode, rules, at, dueAt, dueWhy = null } = judgement;
  const values = {
    delivery_hash: subject.delivery.content_hash,
    order_hash: subject.orderHash,
    rules_key: rulesKey(mode, rules),
    facts_digest: factsDigest(subject.facts),
    evaluated_at: at,
    due_at: dueAt,
    due_why: dueWhy,
    seen_seq: SEEN,
  };
  const id = subject.delivery.order_delivery_id;
  if (decisionId === undefined) {
    await tx.updateTable('evaluation').set(values).where('order_delivery_id', '=', id).execute();
    return;
  }
  const row = { ...values, decision_id: decisionId };
  await tx
    .insertInto('evaluation')
    .values({ order_delivery_id: id, ...row })
    .onConflict((conflict) => conflict.column('order_delivery_id').doUpdateSet(row))
    .execute();
}

/** Journals the decision, makes it the delivery's latest, and gives its id. */
export async function recordDecision(
  tx: Tx,
  judgement: Judgement,
  by: { readonly actor: string; readonly trigger: string },
): Promise<number> {
  const { rules, mode, subject, evaluation, outcome, at } = judgement;
  await storeRuleSet(tx, rules, at);
  const decisionId = await appendDecision(tx, {
    orderDeliveryId: subject.delivery.order_delivery_id,
    orderId: subject.delivery.order_id,
    at,
    ...by,
    ruleSetHash: rules.ruleSet.hash,
    facts: subject.facts,
    mode,
    outcome: outcome.kind,
    reason: outcome.reason,
    rules: outcome.rules,
    shadow: evaluation.shadow,
    evaluation,
  });
  await rememberEvaluation(tx, judgement, decisionId);
  // Whom the rules held, people have taken over.
  if (by.actor !== 'daemon') await endHolds(tx, [subject.delivery.order_delivery_id], at);
  return decisionId;
}
