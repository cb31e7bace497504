/** Counts the waiting deliveries that live reject rules hold, or would, as they are not armed. */
import { evaluate } from '../../rules/evaluate.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Store, Tx } from '../../store/store.ts';
import { readSubject } from '../facts.ts';
import { armedRuleIds } from '../reject/arming.ts';
import { whyLeftToPeople } from './current.ts';

export interface HeldUnarmed {
  /** Live reject rules that hold what they match, because they may not reject now. */
  readonly rules: readonly string[];
  /** Number of waiting deliveries that at least one of them matches, or may match. */
  readonly deliveries: number;
}

/** The rule set with only those live reject rules that hold while they may not reject. */
async function onlyUnarmed(tx: Tx, ruleSet: RuleSet, now: number): Promise<RuleSet> {
  const armed = await armedRuleIds(tx, ruleSet, now);
  const isLive = ruleSet.settings.mode === 'live';
  const rules = ruleSet.rules.filter(
    ({ id, mode, otherwise }) =>
      isLive && mode === 'live' && otherwise === 'hold' && !armed.has(id),
  );
  return { ...ruleSet, rules };
}

/** Asks the rules of a set that may not reject now about every waiting delivery; writes nothing. */
export function heldUnarmed(store: Store, ruleSet: RuleSet, now: number): Promise<HeldUnarmed> {
  return store.snapshot(async (tx) => {
    const unarmed = await onlyUnarmed(tx, ruleSet, now);
    const { rules, settings } = unarmed;
    if (rules.length === 0) return { rules: [], deliveries: 0 };
    const pending = await tx
      .selectFrom('delivery')
      .select('order_delivery_id as id')
      .where('status', '=', 'pending')
      .where('deleted_at', 'is', null)
      .execute();
    let deliveries = 0;
    for (const { id } of pending) {
      const subject = await readSubject(tx, id, { now, settings, rules });
      if (!subject || (await whyLeftToPeople(tx, subject)) !== undefined) continue;
      const { code } = evaluate(unarmed, subject.facts, { operands: false }).live;
      if (code === 'not_armed' || code === 'could_not_evaluate') deliveries += 1;
    }
    return { rules: rules.map(({ id }) => id), deliveries };
  });
}

/** Says it in a sentence; undefined when no rule is meant. */
export function heldUnarmedText({ rules, deliveries }: HeldUnarmed): string | undefined {
  if (rules.length === 0) return undefined;
  const which = deliveries === 1 ? 'delivery' : 'deliveries';
  const who = `${rules.join(', ')} (live, not armed)`;
  return `${who}: ${deliveries} waiting ${which} held until armed, or somebody decides`;
}
