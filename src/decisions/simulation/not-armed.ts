/** Counts the waiting deliveries that live reject rules hold, or would, as they are not armed. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { evaluate } from '../../rules/evaluate.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Store, Tx } from '../../store/store.ts';
import { readSubject } from '../facts.ts';
import { hasManualDecision } from '../journal.ts';
import { armedRuleIds } from '../reject/arming.ts';
import { isPending } from './queue.ts';

export interface HeldUnarmed {
  /** Live reject rules that hold what they match, because they may not reject now. */
  readonly rules: readonly string[];
  /** Number of waiting deliveries that at least one of them matches, or may match. */
  readonly deliveries: number;
}

/** Number of deliveries that are found by one query. */
const SLICE = 50;

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

/** Ids of the next pending deliveries; an accept of the rules that waits is taken back. */
async function pendingAfter(tx: Tx, after: number): Promise<readonly number[]> {
  const rows = await isPending(tx)
    .select('d.order_delivery_id as id')
    .where('d.order_delivery_id', '>', after)
    .orderBy('d.order_delivery_id')
    .limit(SLICE)
    .execute();
  return rows.map(({ id }) => id);
}

async function isHeld(tx: Tx, unarmed: RuleSet, id: number, now: number): Promise<boolean> {
  const { rules, settings } = unarmed;
  const subject = await readSubject(tx, id, { now, settings, rules });
  if (!subject || hasManualDecision(subject)) return false;
  const { code } = evaluate(unarmed, subject.facts, { operands: false }).live;
  return code === 'not_armed' || code === 'could_not_evaluate';
}

/** Asks the rules of a set that may not reject now about every waiting delivery; writes nothing. */
export async function heldUnarmed(
  store: Pick<Store, 'snapshot'>,
  ruleSet: RuleSet,
  now: number,
): Promise<HeldUnarmed> {
  const unarmed = await store.snapshot((tx) => onlyUnarmed(tx, ruleSet, now));
  let deliveries = 0;
  let after = unarmed.rules.length > 0 ? Number.MIN_SAFE_INTEGER : undefined;
  while (after !== undefined) {
    const from: number = after;
    const ids = await store.snapshot((tx) => pendingAfter(tx, from));
    for (const id of ids) {
      deliveries += Number(await store.snapshot((tx) => isHeld(tx, unarmed, id, now)));
      await nextTurn();
    }
    after = ids.length < SLICE ? undefined : ids.at(-1);
  }
  return { rules: unarmed.rules.map(({ id }) => id), deliveries };
}
