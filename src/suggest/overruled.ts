/** The other direction: live hold rules, and how often people accepted what they held. */
import type { RuleSet } from '../rules/rule.ts';
import type { Overruled } from '../surface/suggestion.ts';
import { type Examples, VOTE } from './examples.ts';

export function overruledOf(
  examples: Examples,
  { rules }: RuleSet,
  owner: string | undefined,
): readonly Overruled[] {
  const counts = examples.holdRules.map(() => ({ alone: 0, accepted: 0, rejected: 0, kept: 0 }));
  for (let row = 0; row < examples.rows; row += 1) {
    const count = counts[examples.heldBy[row] ?? -1];
    if (!count || examples.isFirst[row] !== 1) continue;
    count.alone += 1;
    const vote = examples.vote[row];
    if (vote === VOTE.ACCEPT) count.accepted += 1;
    else if (vote === VOTE.REJECT) count.rejected += 1;
    else if (vote === VOTE.HOLD) count.kept += 1;
  }
  return examples.holdRules.flatMap((id, at): readonly Overruled[] => {
    const rule = rules.find((one) => one.id === id);
    const count = counts[at];
    const held = examples.matchedBy[at] ?? 0;
    if (!rule || !count || held === 0) return [];
    if (owner !== undefined && rule.owner !== owner) return [];
    return [{ rule: id, title: rule.title, held, ...count }];
  });
}
