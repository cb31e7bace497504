/** Questions to the examples, such as "of what no rule decided, what did people accept?". */

import type { ProposalKind } from '../surface/suggestion.ts';
import { type Examples, KIND_ACCEPT, KIND_NO_RULE, VOTE } from './examples.ts';
import { LABEL, type Population, populationOf } from './search/population.ts';
import type { Weights } from './search/score.ts';

export interface Question {
  readonly kind: ProposalKind;
  /** Index of the live hold rule whose holds are asked about; undefined: no rule decided. */
  readonly rule: number | undefined;
  /** Vote that agrees. */
  readonly wanted: number;
  /** Largest share of acts that may be wrong. */
  readonly errorAllowed: number;
  readonly weights: Weights;
}

const ACCEPTS = { wanted: VOTE.ACCEPT, errorAllowed: 0.06, weights: { other: 12, undecided: 2 } };
const HOLDS = { wanted: VOTE.HOLD, errorAllowed: 0.1, weights: { other: 8, undecided: 2 } };

export function questionsOf({ holdRules }: Examples): readonly Question[] {
  return [
    { kind: 'accept', rule: undefined, ...ACCEPTS },
    { kind: 'hold', rule: undefined, ...HOLDS },
    ...holdRules.map((_, rule) => ({ kind: 'unless', rule, ...ACCEPTS }) as const),
  ];
}

/** Whether a row is an example of the question. */
export function isAsked(examples: Examples, { rule }: Question, row: number): boolean {
  if (examples.isFirst[row] !== 1 || examples.vote[row] === VOTE.NONE) return false;
  return rule === undefined ? examples.kind[row] === KIND_NO_RULE : examples.heldBy[row] === rule;
}

function labelOf({ vote }: Examples, { wanted }: Question, row: number): number {
  if (vote[row] === VOTE.UNDECIDED) return LABEL.UNDECIDED;
  return vote[row] === wanted ? LABEL.TARGET : LABEL.OTHER;
}

export interface Asked {
  readonly rows: Int32Array;
  readonly labels: Uint8Array;
}

/** Whether the rules in force accept the row, which a proposed hold would keep them from. */
function isAccepted(examples: Examples, { kind }: Question, row: number): boolean {
  return kind === 'hold' && examples.isFirst[row] === 1 && examples.kind[row] === KIND_ACCEPT;
}

/** Examples before a time, of each act the first. */
export function learnedFrom(examples: Examples, question: Question, until: number): Asked {
  const rows: number[] = [];
  const labels: number[] = [];
  const acts = new Set<number>();
  for (let row = 0; row < examples.rows; row += 1) {
    if ((examples.votedAt[row] ?? 0) >= until) continue;
    if (isAccepted(examples, question, row)) {
      rows.push(row);
      labels.push(LABEL.OTHER);
      continue;
    }
    if (!isAsked(examples, question, row)) continue;
    const act = examples.act[row] ?? -1;
    if (act >= 0 && acts.has(act)) continue;
    acts.add(act);
    rows.push(row);
    labels.push(labelOf(examples, question, row));
  }
  return { rows: Int32Array.from(rows), labels: Uint8Array.from(labels) };
}

/** Columns that a question may ask: a hold must be sure of its facts. */
export function askedPopulation(
  { columns }: Examples,
  { kind }: Question,
  { rows, labels }: Asked,
): Population {
  const usable = columns.filter(
    ({ field }) => kind === 'accept' || field.kind !== 'flag' || field.isAcceptOnly !== true,
  );
  return populationOf(usable, rows, labels);
}
