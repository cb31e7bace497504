/**
 * Records a decision: the journal entry, and the delivery's row of the latest evaluation, which
 * tells when it must be evaluated again. The rules, the safeguards of a reject and people all
 * record their decisions through here, inside their own transaction.
 */
import type { Tx } from '../store/store.ts';
import { endHolds } from './holds/holds.ts';
import { appendDecision, journalHead } from './journal.ts';
import { basisOf, type Judgement, rulesKey } from './judgement.ts';
import { storeTexts } from './rule-texts.ts';

/** The delivery's latest decision, if its basis is unchanged and it was not canceled. */
export function unchangedDecision(judgement: Judgement): number | undefined {
  const { decision_id: last, basis, rules_key: key } = judgement.subject.past;
  return last === null || key === '' || basis !== basisOf(judgement) ? undefined : last;
}

type Evaluated = Pick<Judgement, 'subject' | 'mode' | 'rules' | 'at' | 'dueAt'>;

function evaluated({ subject, mode, rules, at, dueAt }: Evaluated) {
  return {
    delivery_hash: subject.delivery.content_hash,
    order_hash: subject.orderHash,
    rules_key: rulesKey(mode, rules),
    evaluated_at: at,
    due_at: dueAt,
    due_why: null,
  };
}

/** Updates the evaluation of a delivery about which nothing new is decided. */
export async function rememberEvaluation(
  tx: Tx,
  judgement: Evaluated,
  other: { readonly basis?: string; readonly decision_id?: number } = {},
): Promise<void> {
  await tx
    .updateTable('evaluation')
    .set({ ...evaluated(judgement), ...other })
    .where('order_delivery_id', '=', judgement.subject.delivery.order_delivery_id)
    .execute();
}

/** Journals the decision, makes it the delivery's latest one, and gives its id. */
export async function recordDecision(
  tx: Tx,
  judgement: Judgement,
  by: { readonly actor: string; readonly trigger: string },
): Promise<number> {
  const { rules, mode, subject, evaluation, outcome, at } = judgement;
  const { hash } = rules.ruleSet;
  const { words, ...end } = await journalHead(tx, hash);
  if (words === undefined) await storeTexts(tx, { hash, files: rules.files }, at);
  const head = { ...end, words: words ?? null };
  const entry = {
    orderDeliveryId: subject.delivery.order_delivery_id,
    orderId: subject.delivery.order_id,
    at,
    ...by,
    ruleSetHash: hash,
    facts: { ...subject.facts, feed: head.feed },
    mode,
    outcome: outcome.kind,
    reason: outcome.reason,
    rules: outcome.rules,
    shadow: evaluation.shadow,
    evaluation,
  };
  const decisionId = await appendDecision(tx, entry, head);
  const { order_delivery_id: id } = subject.delivery;
  const row = { ...evaluated(judgement), decision_id: decisionId, basis: basisOf(judgement) };
  await tx
    .insertInto('evaluation')
    .values({ order_delivery_id: id, ...row })
    .onConflict((conflict) => conflict.column('order_delivery_id').doUpdateSet(row))
    .execute();
  // A person's decision ends the holds of the rules.
  if (by.actor !== 'daemon') await endHolds(tx, [id], at);
  return decisionId;
}
