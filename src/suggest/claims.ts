/**
 * Outcome of a backtest of the rules in force with a proposal, counted from the columns: the
 * deliveries that end otherwise than under the rules in force alone. A delivery ends with the first
 * accept or reject among its decisions, else with the last decision, as in the backtest.
 */
import type { DecisionOutcome } from '../store/tables.ts';
import type { ClaimedChange } from '../surface/suggestion.ts';
import { createStake } from './evidence.ts';
import { type Examples, KINDS, type Kind } from './examples.ts';
import type { Question } from './question.ts';

function kindAt(index: number | undefined): Kind {
  return KINDS[index ?? -1] ?? 'unknown';
}

/** An accept of the rules that a safeguard held is held. */
function afterSafeguards({ guarded }: Examples, kind: Kind, row: number): Kind {
  const made = guarded[row] ?? -1;
  return kind === 'accept' && made >= 0 ? kindAt(made) : kind;
}

function withProposal(examples: Examples, { kind, rule }: Question, row: number): Kind {
  const before = kindAt(examples.kind[row]);
  if (kind === 'hold') return before === 'unknown' ? before : 'hold';
  if (kind === 'unless')
    return examples.heldBy[row] === rule ? kindAt(examples.without[row]) : before;
  if (before === 'no_rule') return 'accept';
  return before === 'reject' ? 'hold' : before;
}

interface Ends {
  before: Kind | undefined;
  after: Kind | undefined;
  rowAfter: number;
}

function isFinal(kind: Kind | undefined): boolean {
  return kind === 'accept' || kind === 'reject';
}

/** Kind as the journal tells it; undefined: nobody knows. */
function outcomeOf(kind: Kind | undefined): DecisionOutcome | undefined {
  return kind === 'unknown' ? undefined : kind;
}

/** Deliveries that end otherwise with the proposal, by their ends. */
export function claimedChanges(
  examples: Examples,
  question: Question,
  members: Uint8Array,
): readonly ClaimedChange[] {
  const ends = new Map<number, Ends>();
  for (let row = 0; row < examples.rows; row += 1) {
    const delivery = examples.delivery[row] ?? -1;
    const end = ends.get(delivery) ?? {
      before: undefined,
      after: undefined,
      rowAfter: row,
    };
    ends.set(delivery, end);
    const before = kindAt(examples.kind[row]);
    const after = members[row] === 1 ? withProposal(examples, question, row) : before;
    if (!isFinal(end.before)) end.before = afterSafeguards(examples, before, row);
    if (isFinal(end.after)) continue;
    end.after = afterSafeguards(examples, after, row);
    end.rowAfter = row;
  }
  const changes = new Map<
    string,
    { from: DecisionOutcome; to: DecisionOutcome; stake: ReturnType<typeof createStake> }
  >();
  for (const { before, after, rowAfter } of ends.values()) {
    const [from, to] = [outcomeOf(before), outcomeOf(after)];
    if (from === undefined || to === undefined || from === to) continue;
    const key = `${from} ${to}`;
    const change = changes.get(key) ?? { from, to, stake: createStake(examples) };
    changes.set(key, change);
    change.stake.add(rowAfter);
  }
  return [...changes.values()].map(({ from, to, stake }) => ({ from, to, ...stake.done() }));
}
