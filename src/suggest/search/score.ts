/** Scores of a set of examples: what it is worth as a rule, and the bits that it tells. */
import type { Counts } from './population.ts';

/** Worth of examples as a rule: those decided as asked, less what each of the others costs. */
export interface Weights {
  readonly other: number;
  readonly undecided: number;
}

export function worth({ target, other, undecided }: Counts, weights: Weights): number {
  return target - weights.other * other - weights.undecided * undecided;
}

/** Share of an example left alone that counts as one decided otherwise, where bits are counted. */
const UNDECIDED_SHARE = 0.5;

function lengthOf(yes: number, no: number): number {
  const all = yes + no;
  if (yes <= 0 || no <= 0) return 0;
  return -yes * Math.log2(yes / all) - no * Math.log2(no / all);
}

/** Bits to tell the labels of a set of examples, whose share is told beside. */
function bitsOf({ target, other, undecided }: Counts): number {
  const no = other + UNDECIDED_SHARE * undecided;
  return lengthOf(target, no) + 0.5 * Math.log2(target + no + 1);
}

export function minus(a: Counts, b: Counts): Counts {
  return {
    target: a.target - b.target,
    other: a.other - b.other,
    undecided: a.undecided - b.undecided,
  };
}

/** Bits saved by telling the labels of a part and of the rest apart. */
export function gain(all: Counts, part: Counts): number {
  return bitsOf(all) - bitsOf(part) - bitsOf(minus(all, part));
}

/** Share of a set that is decided as asked. */
export function shareOf({ target, other, undecided }: Counts): number {
  const no = other + UNDECIDED_SHARE * undecided;
  return target / Math.max(1, target + no);
}
