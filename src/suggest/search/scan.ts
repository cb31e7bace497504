/**
 * Finds, for a set of examples, the best literals of each column: by what they are worth as a rule,
 * and by the bits that they tell. Limits are found exactly, by one walk over the sorted values.
 */
import type { ChoiceColumn, Column, FlagColumn, ManyColumn, NumberColumn } from '../columns.ts';
import type { Literal } from './literal.ts';
import type { Counts, Population } from './population.ts';
import { gain, minus, shareOf, type Weights, worth } from './score.ts';

export interface Found {
  readonly literal: Literal;
  readonly counts: Counts;
  readonly gain: number;
}

export interface Scanned {
  readonly population: Population;
  readonly members: Uint8Array;
  readonly counts: Counts;
  readonly weights: Weights;
}

/** Number of limits for which bits are counted; the walk by worth sees all. */
const STOPS = 64;
/** Fewest examples that a value must have to be chosen. */
const VALUE_MIN = 2;

const NOTHING: Counts = { target: 0, other: 0, undecided: 0 };

function plus(a: Counts, b: Counts): Counts {
  return {
    target: a.target + b.target,
    other: a.other + b.other,
    undecided: a.undecided + b.undecided,
  };
}

interface Best {
  score: number;
  limit: number;
  counts: Counts;
}

function none(): Best {
  return { score: Number.NEGATIVE_INFINITY, limit: 0, counts: NOTHING };
}

function knownCounts({ members, population: { labels } }: Scanned, order: Int32Array): Counts {
  const sums = [0, 0, 0, 0];
  for (const row of order) {
    if (members[row] === 1) {
      const label = labels[row] ?? 0;
      sums[label] = (sums[label] ?? 0) + 1;
    }
  }
  return { target: sums[1] ?? 0, other: sums[2] ?? 0, undecided: sums[3] ?? 0 };
}

/** Walks over the values in ascending order; tells at each end of equal ones what lies below. */
function walkLimits(
  { members, population: { labels } }: Scanned,
  { values }: NumberColumn,
  order: Int32Array,
  see: (limit: number, target: number, other: number, undecided: number, at: number) => void,
): void {
  let [target, other, undecided] = [0, 0, 0];
  let [last, any] = [Number.NaN, false];
  for (let at = 0; at < order.length; at += 1) {
    const row = order[at] ?? 0;
    if (members[row] !== 1) continue;
    const value = values[row] ?? 0;
    if (any && value !== last) see(last, target, other, undecided, at);
    [last, any] = [value, true];
    const label = labels[row];
    if (label === 1) target += 1;
    else if (label === 2) other += 1;
    else if (label === 3) undecided += 1;
  }
}

function numberLiterals(of: Scanned, column: NumberColumn, index: number): readonly Found[] {
  const order = of.population.orders[index] ?? new Int32Array(0);
  const known = knownCounts(of, order);
  const best = { low: none(), high: none(), lowBits: none(), highBits: none() };
  const step = Math.max(1, Math.floor(order.length / STOPS));
  let stop = 0;
  const { weights } = of;
  const better = (one: Best, score: number, limit: number, counts: () => Counts): void => {
    if (score <= one.score) return;
    one.score = score;
    one.limit = limit;
    one.counts = counts();
  };
  walkLimits(of, column, order, (limit, target, other, undecided, at) => {
    const low = target - weights.other * other - weights.undecided * undecided;
    const below = (): Counts => ({ target, other, undecided });
    const above = (): Counts => minus(known, below());
    better(best.low, low, limit, below);
    better(best.high, worth(known, weights) - low, limit, above);
    if (at < stop) return;
    stop = at + step;
    better(best.lowBits, signedGain(of.counts, below()), limit, below);
    better(best.highBits, signedGain(of.counts, above()), limit, above);
  });
  const { sides } = column.field;
  const found = [
    ...(sides.includes('<=') ? [[best.low, '<='] as const, [best.lowBits, '<='] as const] : []),
    ...(sides.includes('>') ? [[best.high, '>'] as const, [best.highBits, '>'] as const] : []),
  ];
  return found.flatMap(([{ score, limit, counts }, side]) => {
    if (score === Number.NEGATIVE_INFINITY) return [];
    const literal: Literal = { kind: 'number', column: index, side, limit };
    return [{ literal, counts, gain: gain(of.counts, counts) }];
  });
}

/** Bits that a part tells, negative if fewer of it are decided as asked than of all. */
function signedGain(all: Counts, part: Counts): number {
  const bits = gain(all, part);
  return shareOf(part) >= shareOf(all) ? bits : -bits;
}

/** Counts of each of so many values that the rows may have; a negative one is not known. */
function countsByValue(
  { members, population }: Scanned,
  values: ChoiceColumn['values'] | FlagColumn['values'],
  of: number,
): readonly Counts[] {
  const sums = new Int32Array(4 * of);
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row] ?? -1;
    if (value < 0 || members[row] !== 1) continue;
    const at = 4 * value + (population.labels[row] ?? 0);
    sums[at] = (sums[at] ?? 0) + 1;
  }
  return Array.from({ length: of }, (_, value) => ({
    target: sums[4 * value + 1] ?? 0,
    other: sums[4 * value + 2] ?? 0,
    undecided: sums[4 * value + 3] ?? 0,
  }));
}

function totalOf({ target, other, undecided }: Counts): number {
  return target + other + undecided;
}

/** The prefix of values, richest in what is asked first, that tells most bits. */
function prefixByBits(of: Scanned, byValue: readonly Counts[], met: readonly number[]) {
  const sorted = met.toSorted(
    (a, b) =>
      shareOf(byValue[b] ?? NOTHING) - shareOf(byValue[a] ?? NOTHING) ||
      totalOf(byValue[b] ?? NOTHING) - totalOf(byValue[a] ?? NOTHING) ||
      a - b,
  );
  let [counts, best, length] = [NOTHING, 0, 0];
  for (const [at, value] of sorted.entries()) {
    counts = plus(counts, byValue[value] ?? NOTHING);
    const bits = gain(of.counts, counts);
    if (bits > best) [best, length] = [bits, at + 1];
  }
  return sorted.slice(0, length);
}

/** Most values of a fact of which those that are meant are listed, and not the others. */
const LISTED_MAX = 12;

/** Share of mistakes with which people always have to be reckoned. */
const MISTAKES = 0.05;
/** Standard deviations by which a value may have more of them by chance. */
const DEVIATIONS = 2;

/** Whether a value belongs to a rule: by its worth, or because a few mistakes tell nothing. */
function isRich(counts: Counts, weights: Weights): boolean {
  const { target, other } = counts;
  const decided = target + other;
  if (target < VALUE_MIN) return false;
  const tolerated = MISTAKES * decided + DEVIATIONS * Math.sqrt(MISTAKES * decided);
  return worth({ ...counts, other: other <= tolerated ? 0 : other }, weights) > 0;
}

function choiceLiterals(of: Scanned, column: ChoiceColumn, index: number): readonly Found[] {
  const byValue = countsByValue(of, column.values, column.names.length);
  const met = byValue.flatMap((counts, value) => (totalOf(counts) > 0 ? [value] : []));
  const rich = met.filter((value) => isRich(byValue[value] ?? NOTHING, of.weights));
  const richest = met.reduce(
    (a, b) => ((byValue[b]?.target ?? 0) > (byValue[a]?.target ?? 0) ? b : a),
    met[0] ?? 0,
  );
  const sets = [rich, prefixByBits(of, byValue, met), [richest]];
  return sets.flatMap((values): readonly Found[] => {
    if (values.length === 0 || values.length === met.length) return [];
    const counts = values.reduce((sum, value) => plus(sum, byValue[value] ?? NOTHING), NOTHING);
    const others = met.filter((value) => !values.includes(value));
    // A value that is new later is in no list, so it is not decided by the rule.
    const not = met.length > LISTED_MAX && others.length < values.length;
    const named = (not ? others : values).toSorted((a, b) => a - b);
    const literal: Literal = { kind: 'choice', column: index, values: named, not };
    return [{ literal, counts, gain: gain(of.counts, counts) }];
  });
}

function flagLiterals(of: Scanned, { values }: FlagColumn, index: number): readonly Found[] {
  return countsByValue(of, values, 2).map((counts, value): Found => {
    const literal: Literal = { kind: 'flag', column: index, value: value === 1 };
    return { literal, counts, gain: gain(of.counts, counts) };
  });
}

function manyLiterals(of: Scanned, column: ManyColumn, index: number): readonly Found[] {
  const { members, population } = of;
  const { names, values, starts } = column;
  const sums = new Int32Array(4 * names.length);
  for (let row = 0; row + 1 < starts.length; row += 1) {
    if (members[row] !== 1) continue;
    for (let at = starts[row] ?? 0; at < (starts[row + 1] ?? 0); at += 1) {
      const cell = 4 * (values[at] ?? 0) + (population.labels[row] ?? 0);
      sums[cell] = (sums[cell] ?? 0) + 1;
    }
  }
  const found = names.flatMap((_, value): readonly Found[] => {
    const counts = {
      target: sums[4 * value + 1] ?? 0,
      other: sums[4 * value + 2] ?? 0,
      undecided: sums[4 * value + 3] ?? 0,
    };
    if (totalOf(counts) < VALUE_MIN) return [];
    const literal = { kind: 'many', column: index, value } as const;
    const bits = gain(of.counts, counts);
    return [
      { literal: { ...literal, not: false }, counts, gain: bits },
      { literal: { ...literal, not: true }, counts: minus(of.counts, counts), gain: bits },
    ];
  });
  const byWorth = found.toSorted(
    (a, b) => worth(b.counts, of.weights) - worth(a.counts, of.weights),
  );
  const byBits = found.toSorted((a, b) => b.gain - a.gain);
  return [...new Set([...byWorth.slice(0, 2), ...byBits.slice(0, 2)])];
}

function literalsOf(of: Scanned, column: Column, index: number): readonly Found[] {
  if (column.kind === 'number') return numberLiterals(of, column, index);
  if (column.kind === 'choice') return choiceLiterals(of, column, index);
  return column.kind === 'flag' ? flagLiterals(of, column, index) : manyLiterals(of, column, index);
}

/** The best literals of a column, each with what it leaves of the members. */
export function scanColumn(of: Scanned, index: number): readonly Found[] {
  const column = of.population.columns[index];
  return column ? literalsOf(of, column, index) : [];
}

/** The best literals of every column. */
export function scan(of: Scanned): readonly Found[] {
  return of.population.columns.flatMap((column, index) => literalsOf(of, column, index));
}
