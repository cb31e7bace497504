/**
 * Counts how many deliveries, and how much money, other limits in the rules would let pass: sums up
 * the counterfactuals of a period by rule and condition.
 */
import type { Counterfactual } from '../../rules/analysis/counterfactuals.ts';

interface Step<T> {
  readonly text: string;
  readonly limit?: number | undefined;
  /** Deliveries that pass with this limit. */
  readonly pass: T;
}

export interface LimitMove<T> {
  readonly id: string;
  readonly line: number;
  readonly clause: string;
  /**
   * Limits from the smallest change to the one that lets all deliveries pass; for a condition
   * without a number, each possible change by itself.
   */
  readonly steps: readonly Step<T>[];
}

/** Shares of a condition's deliveries that the shown limits let pass. */
const SHARES = [0.25, 0.5, 1];

interface Row<F> {
  readonly told: Counterfactual;
  readonly final: F;
}

function distance({ told: { was = 0, limit = 0 } }: Row<unknown>): number {
  return Math.abs(limit - was);
}

/**
 * Groups the deliveries that pass with the same change; the last row of a group has the change
 * furthest away.
 */
function groupsOf<F>(rows: readonly Row<F>[]): readonly (readonly Row<F>[])[] {
  if (rows[0]?.told.was === undefined) {
    const groups = Map.groupBy(rows, ({ told }) => told.change);
    return [...groups.values()].sort((a, b) => b.length - a.length);
  }
  const sorted = rows.toSorted((a, b) => distance(a) - distance(b));
  const ends = SHARES.map((share) => sorted[Math.ceil(sorted.length * share) - 1]);
  return [...new Set(ends.flatMap((end) => (end ? [distance(end)] : [])))].map((far) =>
    sorted.filter((row) => distance(row) <= far),
  );
}

/**
 * Makes a collector of counterfactuals.
 * @param tallyOf counts deliveries and their money.
 */
export function createLimitMoves<F, T>(tallyOf: (finals: readonly F[]) => T) {
  const moves = new Map<string, Row<F>[]>();
  return {
    add(told: Counterfactual, final: F): void {
      const key = [told.rule, told.line, told.condition, told.was].join('\n');
      const rows = moves.get(key) ?? [];
      moves.set(key, rows);
      rows.push({ told, final });
    },
    result: (): readonly LimitMove<T>[] =>
      [...moves.values()]
        .toSorted((a, b) => b.length - a.length)
        .flatMap((rows) => {
          const [first] = rows;
          if (!first) return [];
          const { rule: id, line, condition: clause } = first.told;
          const steps = groupsOf(rows).flatMap((group): Step<T>[] => {
            const told = group.at(-1)?.told;
            const pass = tallyOf(group.map(({ final }) => final));
            return told ? [{ text: told.change, limit: told.limit, pass }] : [];
          });
          return [{ id, line, clause, steps }];
        }),
  };
}
