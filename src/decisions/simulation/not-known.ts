/**
 * Counts the deliveries of a backtest whose outcome nobody knows, and why: a fact on which it
 * depends was not gathered and cannot be found any more, or the facts of a decision were deleted.
 */
import type { PastDecision } from './history.ts';

/** Facts of a decision that were deleted, or are not those any more that it was made on. */
const ALL_FACTS = 'all facts';
/** Effect of a safeguard that held the delivery, on another outcome than that of the time. */
const SAFEGUARDS = 'safeguards';

export interface NotKnown {
  readonly deliveries: number;
  /** Number of these deliveries by what is not known of them, most first. */
  readonly facts: Readonly<Record<string, number>>;
  /** Ids of a few of these deliveries. */
  readonly examples: readonly number[];
  /** Time of the last decision that is not known, in epoch milliseconds; null: all are known. */
  readonly lastAt: number | null;
}

const EXAMPLES_MAX = 3;

export function createNotKnown() {
  const examples: number[] = [];
  const facts = new Map<string, number>();
  let deliveries = 0;
  let lastAt: number | null = null;
  return {
    add(id: number, decision: PastDecision & { readonly open?: ReadonlySet<string> }): void {
      deliveries += 1;
      lastAt = Math.max(lastAt ?? decision.at, decision.at);
      if (examples.length < EXAMPLES_MAX) examples.push(id);
      const { open = new Set([ALL_FACTS]) } = decision;
      const why = open.size === 0 ? [SAFEGUARDS] : open;
      for (const fact of why) facts.set(fact, (facts.get(fact) ?? 0) + 1);
    },
    result(): NotKnown {
      const most = [...facts].sort(([, a], [, b]) => b - a);
      return { deliveries, facts: Object.fromEntries(most), examples, lastAt };
    },
  };
}

/** Says it in a sentence; undefined when all is known. */
export function notKnownText(
  { deliveries, facts, lastAt }: NotKnown,
  of: number,
): string | undefined {
  if (deliveries === 0 || lastAt === null) return undefined;
  const all = Object.entries(facts).map(([name, count]) => `${name} (${count})`);
  return `not known for ${deliveries} of ${of} deliveries: ${all.join(', ')}`;
}

/**
 * Says which moments a backtest cannot see: no decision was journaled where only facts changed that
 * no rule read. Undefined: there are no such facts.
 */
export function momentsText(found: number): string | undefined {
  if (found === 0) return undefined;
  const of = found === 1 ? '1 decision was' : `${found} decisions were`;
  return (
    `facts of ${of} found as they were; the moments between decisions, at which only such facts ` +
    'changed, are not in this report'
  );
}

/** Names the next step after a backtest that does not know everything. */
export function notKnownHint({ lastAt }: NotKnown): string {
  const since = new Date((lastAt ?? 0) + 1).toISOString();
  return (
    'facts are kept from when a rule in force reads them, in "mode: shadow" too; ' +
    `all is known with --since ${since}`
  );
}
