/**
 * Searches rules of one to four literals: a beam over conjunctions, of which the best is taken and
 * its examples are left out, until nothing more is found. Everything is exact and the same each
 * time: ties go to the literal that comes first.
 */
import { costOf, type Literal, membersOf, narrowed } from './literal.ts';
import { type Counts, countsOf, LABEL, type Population } from './population.ts';
import { type Found, scan, scanColumn } from './scan.ts';
import { gain, shareOf, type Weights, worth } from './score.ts';

const LITERALS_MAX = 4;
const BEAM = 10;
const RULES_MAX = 8;
/** Examples that a rule must hold at least, decided as asked. */
const TARGETS_MIN = 8;
/** Worth that each bit of a description must bring. */
const BIT_WORTH = 1;
/** Bits that must remain when a rule's, or a literal's, description is paid. */
const RULE_BITS = 10;
const LITERAL_BITS = 4;
/** Number of the best conjunctions that are looked at in full. */
const LOOKED_AT_MAX = 30;

export interface FoundRule {
  readonly literals: readonly Literal[];
  /** Among all examples of the population, also those of rules found before. */
  readonly counts: Counts;
}

interface Node {
  readonly cost: number;
  readonly literals: readonly Literal[];
  readonly members: Uint8Array;
  readonly counts: Counts;
}

interface Child {
  readonly parent: Node;
  readonly found: Found;
  /** Bits that describe the whole conjunction. */
  readonly cost: number;
  /** Worth as a rule, less that of its description. */
  readonly worth: number;
  /** Bits that the whole conjunction tells beyond its description. */
  readonly bits: number;
}

function childrenOf(
  population: Population,
  parent: Node,
  root: Counts,
  weights: Weights,
): readonly Child[] {
  const found = scan({ population, members: parent.members, counts: parent.counts, weights });
  return found.flatMap((one): readonly Child[] => {
    const { counts } = one;
    if (counts.target < TARGETS_MIN || shareOf(counts) <= shareOf(parent.counts)) return [];
    const cost = parent.cost + costOf(population, one.literal);
    const value = worth(counts, weights) - BIT_WORTH * cost;
    return [{ parent, found: one, cost, worth: value, bits: gain(root, counts) - cost }];
  });
}

function signatureOf({ found: { counts } }: Child): string {
  return `${counts.target} ${counts.other} ${counts.undecided}`;
}

/** Each set of examples once, as its counts tell; the first one of equal ones stays. */
function distinct(children: readonly Child[]): readonly Child[] {
  const seen = new Set<string>();
  return children.filter((child) => {
    const signature = signatureOf(child);
    return !seen.has(signature) && seen.add(signature);
  });
}

function best(children: readonly Child[], by: (child: Child) => number): readonly Child[] {
  return distinct(children.toSorted((a, b) => by(b) - by(a))).slice(0, BEAM);
}

function nodeOf(population: Population, { parent, found, cost }: Child): Node {
  return {
    cost,
    literals: [...parent.literals, found.literal],
    members: narrowed(population.columns, parent.members, found.literal),
    counts: found.counts,
  };
}

/** The best conjunctions that the beam meets, by their worth. */
function conjunctions(population: Population, root: Node, weights: Weights): readonly Child[] {
  let beam: readonly Node[] = [root];
  const met: Child[] = [];
  for (let depth = 1; depth <= LITERALS_MAX && beam.length > 0; depth += 1) {
    const children = beam.flatMap((node) => childrenOf(population, node, root.counts, weights));
    met.push(...best(children, (one) => one.worth));
    const kept = new Set([
      ...best(children, (one) => one.worth).slice(0, BEAM / 2),
      ...best(children, (one) => one.bits).slice(0, BEAM / 2),
    ]);
    beam = [...kept].map((child) => nodeOf(population, child));
  }
  return distinct(met.toSorted((a, b) => b.worth - a.worth)).slice(0, LOOKED_AT_MAX);
}

interface Within {
  readonly population: Population;
  /** Examples that earlier rules leave. */
  readonly active: Uint8Array;
}

function countsWith({ population, active }: Within, literals: readonly Literal[]): Counts {
  const { columns, labels, size } = population;
  return countsOf(labels, intersected(active, membersOf(columns, size, literals)));
}

/**
 * Conditions that remain of a literal when its own comparison is taken away: of an amount, that it
 * is in this currency.
 */
function remainder({ columns }: Population, literal: Literal): readonly Literal[] {
  const column = columns[literal.column];
  if (column?.kind !== 'number' || column.field.pin === undefined) return [];
  const { path, currency } = column.field.pin;
  const indexOf = (name: string) => columns.findIndex(({ field }) => field.name === name);
  // Two facts with the same values in all decisions are one column.
  const at = indexOf(path) < 0 ? indexOf('order.currency') : indexOf(path);
  const named = columns[at];
  const value = named?.kind === 'choice' ? named.names.indexOf(currency) : -1;
  return value < 0 ? [] : [{ kind: 'choice', column: at, values: [value], not: false }];
}

/** The conjunction without literals that exclude no more than chance may. */
function withoutIdle(within: Within, literals: readonly Literal[]): readonly Literal[] {
  const { population } = within;
  let kept = literals;
  for (;;) {
    const all = countsWith(within, kept);
    const [idle] = kept
      .map((literal) => {
        const others = kept.filter((one) => one !== literal);
        const wider = [...others, ...remainder(population, literal)];
        const bits = gain(countsWith(within, wider), all) - costOf(population, literal);
        return { wider, bits };
      })
      .filter(({ bits }) => bits < LITERAL_BITS)
      .toSorted((a, b) => a.bits - b.bits);
    if (!idle || idle.wider.length === 0) return kept;
    kept = idle.wider;
  }
}

/** The conjunction with those values of a set alone that tell more than their names cost. */
function withoutIdleValues(within: Within, literals: readonly Literal[]): readonly Literal[] {
  return literals.reduce<readonly Literal[]>((kept, literal, at) => {
    if (literal.kind !== 'choice') return kept;
    const column = within.population.columns[literal.column];
    const price = column?.kind === 'choice' ? Math.log2(column.names.length) + 1 : 0;
    const wide = countsWith(
      within,
      kept.filter((_, index) => index !== at),
    );
    const bitsOf = (values: readonly number[]): number => {
      const some = kept.map((one, index) => (index === at ? { ...literal, values } : one));
      return gain(wide, countsWith(within, some));
    };
    let { values } = literal;
    for (const value of literal.values) {
      const fewer = values.filter((one) => one !== value);
      if (fewer.length > 0 && bitsOf(values) - bitsOf(fewer) < price) values = fewer;
    }
    return kept.map((one, index) => (index === at ? { ...literal, values } : one));
  }, literals);
}

function intersected(a: Uint8Array, b: Uint8Array): Uint8Array {
  return b.map((value, at) => value & (a[at] ?? 0));
}

/** The best limit, or the best set of values, of one literal while the others stay. */
function refined(
  population: Population,
  active: Uint8Array,
  literals: readonly Literal[],
  at: number,
  weights: Weights,
): readonly Literal[] {
  const literal = literals[at];
  if (!literal || literal.kind === 'flag' || literal.kind === 'many') return literals;
  const others = literals.filter((_, index) => index !== at);
  const { columns, labels } = population;
  const members = intersected(active, membersOf(columns, population.size, others));
  const counts = countsOf(labels, members);
  const found = scanColumn({ population, members, counts, weights }, literal.column);
  const alike = found.filter(({ literal: other }) => {
    return other.kind === 'number' && literal.kind === 'number'
      ? other.side === literal.side
      : other.kind === literal.kind;
  });
  const [first] = alike.toSorted((a, b) => worth(b.counts, weights) - worth(a.counts, weights));
  if (!first) return literals;
  return literals.map((one, index) => (index === at ? first.literal : one));
}

function worthOf(
  { columns, labels, size }: Population,
  active: Uint8Array,
  literals: readonly Literal[],
  weights: Weights,
): number {
  const members = intersected(active, membersOf(columns, size, literals));
  return worth(countsOf(labels, members), weights);
}

const REFINE_ROUNDS = 2;

function polished(
  population: Population,
  active: Uint8Array,
  literals: readonly Literal[],
  weights: Weights,
): readonly Literal[] {
  let kept = literals;
  for (let round = 0; round < REFINE_ROUNDS; round += 1) {
    for (let at = 0; at < kept.length; at += 1) {
      const other = refined(population, active, kept, at, weights);
      const isBetter =
        worthOf(population, active, other, weights) > worthOf(population, active, kept, weights);
      if (isBetter) kept = other;
    }
  }
  return kept;
}

/** The best rule among active examples; undefined: none tells more than it costs. */
function bestRule(
  population: Population,
  active: Uint8Array,
  weights: Weights,
): readonly Literal[] | undefined {
  const counts = countsOf(population.labels, active);
  const root: Node = { cost: 0, literals: [], members: active, counts };
  let chosen: { literals: readonly Literal[]; worth: number } | undefined;
  const within = { population, active };
  for (const child of conjunctions(population, root, weights)) {
    const literals = withoutIdle(within, [...child.parent.literals, child.found.literal]);
    const own = countsWith(within, literals);
    const cost = literals.reduce((sum, one) => sum + costOf(population, one), 0);
    if (own.target < TARGETS_MIN || gain(counts, own) < cost + RULE_BITS) continue;
    const value = worth(own, weights) - BIT_WORTH * cost;
    if (value > (chosen?.worth ?? 0)) chosen = { literals, worth: value };
  }
  if (!chosen) return undefined;
  const polish = polished(population, active, chosen.literals, weights);
  return withoutIdleValues(within, withoutIdle(within, polish));
}

/** Share of its worth that all examples together lose by those that were left alone. */
const LEFT_ALONE_SHARE = 0.5;

/**
 * Weights for a house: the more is left alone for no reason, the less does each tell, but where a
 * rule ends is told by these as by what is decided otherwise.
 */
function weightsIn({ target, undecided }: Counts, { other, undecided: most }: Weights): Weights {
  const share = (LEFT_ALONE_SHARE * target) / Math.max(1, undecided);
  return { other, undecided: Math.min(most, share) };
}

/** Finds rules one after the other, each among the examples that those before leave. */
export function findRules(population: Population, most: Weights): readonly FoundRule[] {
  const { columns, labels, size } = population;
  const active = new Uint8Array(size).fill(1);
  for (let at = 0; at < size; at += 1) if (labels[at] === LABEL.NONE) active[at] = 0;
  const weights = weightsIn(countsOf(labels, active), most);
  const rules: FoundRule[] = [];
  while (rules.length < RULES_MAX) {
    const literals = bestRule(population, active, weights);
    if (!literals) break;
    const members = membersOf(columns, size, literals);
    rules.push({ literals, counts: countsOf(labels, members) });
    for (let at = 0; at < size; at += 1) if (members[at] === 1) active[at] = 0;
  }
  return rules;
}
