/**
 * Asks the rules about a delivery now, only to show the answer, and tells what keeps them from
 * acting.
 */
import {
  type Counterfactual,
  createCounterfactuals,
  type Judged,
} from '../../rules/analysis/counterfactuals.ts';
import { type Evaluation, evaluate } from '../../rules/evaluate.ts';
import type { Facts } from '../../rules/facts/plain.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Store } from '../../store/store.ts';
import { lapsedRules, readHolds } from '../holds.ts';
import type { FreshnessMs } from '../judgement.ts';
import { withPrecautions } from '../plan/precautions.ts';
import { armedRuleIds } from '../reject/arming.ts';
import { type DecisionRecord, decisionsOf } from '../review/deliveries.ts';
import { currentSubject, whyLeftToPeople } from './current.ts';

type Delivery = Facts['delivery'];

/** Outcome of a decision that leads to each final status of a delivery. */
const OUTCOMES: Readonly<Record<string, string>> = { accepted: 'accept', rejected: 'reject' };

/** States of a push that may have set the delivery's status in the service. */
const MAY_HAVE_SET = ['sending', 'sent', 'in_doubt', 'confirmed'];

/**
 * Finds the decision that set the delivery's status: one whose push was sent, or one made in the
 * service.
 */
function endedBy({ status }: Delivery, decisions: readonly DecisionRecord[]) {
  return decisions.find(
    ({ outcome, push, actor }) =>
      outcome === OUTCOMES[status ?? ''] &&
      (actor === 'external' || MAY_HAVE_SET.includes(push?.state ?? '')),
  );
}

/** Says which rules are still asked about a delivery that is no longer pending. */
function askedNow({ status }: Delivery, by: DecisionRecord | undefined): string {
  if (status !== 'accepted') return 'no rule is asked about it now';
  if (by?.actor !== 'daemon') return 'no rule takes it back';
  return 'only hold rules with "applies_to: [pending, accepted]" are asked about it now';
}

export interface ExplainedNow {
  readonly evaluation: Evaluation;
  readonly facts: Facts;
  readonly delivery: Delivery;
  /** Decision that set the delivery's status; undefined: none that is known. */
  readonly by: DecisionRecord | undefined;
  /** Reason why the rules would not act on the delivery although it is pending; undefined: none. */
  readonly inWay: string | undefined;
  /** Says which rules are asked about a delivery that is not pending; undefined: it is pending. */
  readonly asked: string | undefined;
  readonly counterfactuals: readonly Counterfactual[];
}

interface ExplainWith {
  readonly ruleSet: RuleSet;
  readonly most: 'shadow' | 'live';
  /** Milliseconds that the data of each pulled stream may be old. */
  readonly freshness: FreshnessMs;
}

/**
 * Asks the rules about a delivery as it is now; decides and writes nothing. `most` is the most that
 * a rule may do.
 */
export async function explainNow(
  store: Pick<Store, 'db' | 'snapshot'>,
  named: string,
  { ruleSet, most, freshness }: ExplainWith,
  now: number,
): Promise<ExplainedNow> {
  const subject = await currentSubject(store, named, ruleSet, now);
  const { facts } = subject;
  const { delivery } = facts;
  const { options, evaluation, left, held } = await store.snapshot(async (tx) => {
    const armed = await armedRuleIds(tx, ruleSet, now);
    const lapsed = lapsedRules(await readHolds(tx, delivery.id), now);
    const own = { mode: most, armed, lapsed } as const;
    const said = evaluate(ruleSet, facts, own);
    const candidate = { subject, ruleSet, evaluation: said, outcome: said.live, freshness, now };
    const precautions = await withPrecautions(tx, candidate);
    const people = await whyLeftToPeople(tx, subject);
    return { options: own, evaluation: said, left: people, held: precautions };
  });
  const isPending = delivery.status === 'pending';
  const judged: Judged = { ruleSet, facts, options, which: most };
  const by = endedBy(delivery, await decisionsOf(store.db, delivery.id));
  const until = held.lookAt === undefined ? '' : ` until ${new Date(held.lookAt).toISOString()}`;
  const reason = held.outcome === evaluation.live ? undefined : `${held.outcome.reason}${until}`;
  const inWay = left ?? reason;
  return {
    evaluation,
    facts,
    delivery,
    by,
    inWay: isPending ? inWay : undefined,
    asked: isPending ? undefined : askedNow(delivery, by),
    counterfactuals:
      isPending && left === undefined ? createCounterfactuals()(judged, evaluation) : [],
  };
}
