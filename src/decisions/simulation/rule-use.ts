/** How the rules on trial are used: on how many deliveries they match, and what they just miss. */
import type { ClauseResult, RuleResult } from '../../rules/combine.ts';
import type { Evaluation } from '../../rules/evaluate.ts';
import type { Action, Rule } from '../../rules/rule.ts';

export interface RuleUse {
  readonly id: string;
  readonly action: Action;
  readonly mode: Rule['mode'];
  /** Deliveries on which it was true, and on which it could not be evaluated, at least once. */
  readonly fired: number;
  readonly unknown: number;
}

/** An accept rule and the one condition that kept it from deliveries which nobody accepted. */
export interface NearestMiss {
  readonly id: string;
  readonly line: number;
  readonly clause: string;
  readonly deliveries: number;
  /** Numbers of a few of them. */
  readonly examples: readonly string[];
}

const EXAMPLES_MAX = 3;

/** The only clause that stops the rule, if it is the only one. */
function onlyObstacle({ clauses }: RuleResult): ClauseResult | undefined {
  const inTheWay = clauses.filter(({ value, negated }) => value === negated || value === 'unknown');
  const [clause] = inTheWay;
  return inTheWay.length === 1 && clause?.value !== 'unknown' ? clause : undefined;
}

/** A clause as people wrote it. */
function clauseText({ negated, text }: ClauseResult): string {
  return negated ? `unless ${text}` : text;
}

function createMisses() {
  const found = new Map<string, NearestMiss & { deliveries: number; examples: string[] }>();
  return {
    add({ rules, delivery, shadow }: Evaluation): void {
      if (shadow.kind === 'accept') return;
      for (const rule of rules) {
        const clause = rule.action === 'accept' ? onlyObstacle(rule) : undefined;
        if (!clause) continue;
        const { id } = rule;
        const { line, text } = clause;
        const key = `${id} ${line} ${text}`;
        const fresh = { id, line, clause: clauseText(clause), deliveries: 0, examples: [] };
        const miss = found.get(key) ?? fresh;
        found.set(key, miss);
        miss.deliveries += 1;
        if (miss.examples.length < EXAMPLES_MAX) miss.examples.push(delivery);
      }
    },
    result: (): NearestMiss[] => [...found.values()].sort((a, b) => b.deliveries - a.deliveries),
  };
}

/** Any two rules match together once. */
const TOGETHER_MIN = 2;

/** Finds rules that always match together: each evaluation splits the groups that differ. */
function createTogether(ids: readonly string[]) {
  let groups: readonly (readonly string[])[] = [ids];
  return {
    see({ rules }: Evaluation): void {
      const matched = new Set(rules.flatMap(({ id, value }) => (value === true ? [id] : [])));
      groups = groups
        .flatMap((group) => [...Map.groupBy(group, (id) => matched.has(id)).values()])
        .filter((group) => group.length > 1);
    },
    /** @param fired on how many deliveries a rule was true. */
    result: (fired: (id: string) => number): readonly (readonly string[])[] =>
      groups.filter((group) => group.every((id) => fired(id) >= TOGETHER_MIN)),
  };
}

/** Told of every evaluation of a delivery in turn, and of the end of its story. */
export function createRuleUse(rules: readonly Rule[]) {
  const counts = new Map(rules.map(({ id }) => [id, { true: 0, unknown: 0 }]));
  const story = { true: new Set<string>(), unknown: new Set<string>() };
  const misses = createMisses();
  const together = createTogether([...counts.keys()]);
  let last: Evaluation | undefined;
  return {
    see(evaluation: Evaluation): void {
      last = evaluation;
      together.see(evaluation);
      for (const { id, value } of evaluation.rules) {
        if (value !== false) story[value === true ? 'true' : 'unknown'].add(id);
      }
    },
    endHistory(): void {
      if (last) misses.add(last);
      last = undefined;
      for (const value of ['true', 'unknown'] as const) {
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
          const count = counts.get(id);
          return { id, action, mode, fired: count?.true ?? 0, unknown: count?.unknown ?? 0 };
        });
      const fired = (id: string): number => counts.get(id)?.true ?? 0;
      return { uses, misses: misses.result(), together: together.result(fired) };
    },
  };
}
