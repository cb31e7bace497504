/** How the rules on trial are used: on how many deliveries they match, and which match together. */
import type { Evaluation } from '../../rules/evaluate.ts';
import type { Action, Rule } from '../../rules/rule.ts';

export interface RuleUse {
  readonly id: string;
  readonly action: Action;
  readonly mode: Rule['mode'];
  /**
   * Number of deliveries on which the rule matched at least once; `unknown`: on which it could not
   * be evaluated; `notGathered`: on which it might have matched, by facts that nobody knows.
   */
  readonly fired: number;
  readonly unknown: number;
  readonly notGathered: number;
}

/** Whether the rule is known to have matched on no delivery. */
export function isSilent({ fired, unknown, notGathered }: RuleUse): boolean {
  return fired + unknown + notGathered === 0;
}

/** Minimum of matches for a group of rules that always match together: once is a coincidence. */
const TOGETHER_MIN = 2;

/** Finds rules that always match together: each evaluation splits the groups whose rules differ. */
function createTogether(ids: readonly string[]) {
  let groups: readonly (readonly string[])[] = [ids];
  return {
    see({ rules }: Evaluation): void {
      const matched = new Set(rules.flatMap(({ id, value }) => (value === true ? [id] : [])));
      groups = groups
        .flatMap((group) => [...Map.groupBy(group, (id) => matched.has(id)).values()])
        .filter((group) => group.length > 1);
    },
    /**
     * Gives the groups of rules that always matched together.
     * @param fired on how many deliveries a rule matched.
     */
    result: (fired: (id: string) => number): readonly (readonly string[])[] =>
      groups.filter((group) => group.every((id) => fired(id) >= TOGETHER_MIN)),
  };
}

/**
 * Counts the use of rules: it is told every evaluation of a delivery in turn, and when the
 * delivery's decisions are all told.
 */
export function createRuleUse(rules: readonly Rule[]) {
  const counts = new Map(rules.map(({ id }) => [id, { fired: 0, unknown: 0, notGathered: 0 }]));
  const story = {
    fired: new Set<string>(),
    unknown: new Set<string>(),
    notGathered: new Set<string>(),
  };
  const together = createTogether([...counts.keys()]);
  return {
    see(evaluation: Evaluation): void {
      together.see(evaluation);
      for (const { id, value, isOpen } of evaluation.rules) {
        if (value === true) story.fired.add(id);
        else if (isOpen) story.notGathered.add(id);
        else if (value === 'unknown') story.unknown.add(id);
      }
    },
    endHistory(): void {
      for (const value of ['fired', 'unknown', 'notGathered'] as const) {
        for (const id of story[value]) {
          const count = counts.get(id);
          if (count) count[value] += 1;
        }
        story[value].clear();
      }
    },
    result() {
      const uses: readonly RuleUse[] = rules
        .filter(({ mode }) => mode !== 'off')
        .map(({ id, action, mode }) => {
          const { fired = 0, unknown = 0, notGathered = 0 } = counts.get(id) ?? {};
          return { id, action, mode, fired, unknown, notGathered };
        });
      const fired = (id: string): number => counts.get(id)?.fired ?? 0;
      return { uses, together: together.result(fired) };
    },
  };
}
