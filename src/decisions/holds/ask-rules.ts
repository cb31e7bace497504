/** What the rules say of a delivery, with what is armed and which holds have lasted their time. */
import { type Evaluation, evaluate } from '../../rules/evaluate.ts';
import type { Tx } from '../../store/store.ts';
import type { Subject } from '../facts.ts';
import type { DecisionMode } from '../record.ts';
import { armedRuleIds } from '../reject/arming.ts';
import type { LoadedRuleSet } from '../rule-files.ts';
import { lapsedRules, readHolds } from './holds.ts';

interface Asked {
  readonly rules: LoadedRuleSet;
  readonly mode: DecisionMode;
  readonly now: number;
}

/** Asked to decide, again before a reject goes, and to journal beside what people decide. */
export async function askRules(
  tx: Tx,
  { rules: { ruleSet }, mode, now }: Asked,
  { facts, delivery }: Subject,
): Promise<Evaluation> {
  const holds = await readHolds(tx, delivery.order_delivery_id);
  return evaluate(ruleSet, facts, {
    mode: mode === 'shadow' ? 'shadow' : 'live',
    armed: await armedRuleIds(tx, ruleSet, now),
    lapsed: lapsedRules(holds, now),
  });
}
