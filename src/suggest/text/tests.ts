/**
 * Tests of a proposal, made from real deliveries: some on which people decided so, those nearest to
 * it on which they decided otherwise, and each limit with one step to both sides. A test names only
 * facts that the conditions read, so it tells nothing of a person but what the rule does.
 */
import type { Facts } from '../../rules/facts/plain.ts';
import { type Given, mergeGiven } from '../facts/field.ts';
import { givenAt } from '../facts/given.ts';
import type { Literal } from '../search/literal.ts';
import type { Condition } from './conditions.ts';
import { flow, single } from './yaml.ts';

export interface RuleTest {
  readonly name: string;
  readonly given: Given;
  readonly expect: string;
}

/** A real delivery, with what people did with it. */
export interface RealDelivery {
  readonly number: string;
  readonly facts: Facts;
  readonly decided: string;
  readonly matches: boolean;
}

function fieldsIn(conditions: readonly Condition[]): ReadonlyMap<Literal, Condition['field']> {
  return new Map(conditions.map(({ literal, field }) => [literal, field]));
}

interface LimitTest {
  readonly name: string;
  readonly given: Given;
  /** Whether all conditions are true in it. */
  readonly isIn: boolean;
}

/** Facts of a real delivery in which one literal is at its limit, and one step beyond. */
function limitTests(
  conditions: readonly Condition[],
  facts: Facts,
  real: Given,
): readonly LimitTest[] {
  const both = (name: string, at: Given, beyond: Given, isUpper: boolean): readonly LimitTest[] => [
    { name: `${name} at the limit`, given: mergeGiven([real, at]), isIn: isUpper },
    { name: `${name} one step beyond`, given: mergeGiven([real, beyond]), isIn: !isUpper },
  ];
  return [...fieldsIn(conditions)].flatMap(([literal, field]): readonly LimitTest[] => {
    if (field.kind === 'number' && literal.kind === 'number') {
      const { limit, side } = literal;
      const [at, beyond] = [field.givenAt(limit), field.givenAt(limit + field.step)];
      const besides = (field.besides ?? []).map(({ given, ...one }) => {
        return { ...one, given: mergeGiven([real, given]) };
      });
      return [...both(field.name, at, beyond, side === '<='), ...besides];
    }
    const ends = field.kind === 'flag' ? field.limit?.(facts) : undefined;
    if (!ends || literal.kind !== 'flag') return [];
    return both(field.name, ends.at, ends.beyond, literal.value);
  });
}

const DONE: Readonly<Record<string, string>> = {
  accept: 'accepted',
  hold: 'held',
  reject: 'rejected',
};

interface Wanted {
  /** Expectation where all conditions are true, and where one is not. */
  readonly expect: string;
  readonly otherwise: string;
  /** Paths that the rule reads besides. */
  readonly paths: readonly string[];
  /** Conditions, whose texts are given as they are. */
  readonly named: readonly string[];
}

export function testsOf(
  conditions: readonly Condition[],
  deliveries: readonly RealDelivery[],
  { expect, otherwise, paths, named }: Wanted,
): readonly RuleTest[] {
  const own = conditions.flatMap(({ field }) => field.reads);
  const asked = [...new Set([...paths, ...own])];
  const real = deliveries.map(({ number, facts, decided, matches }) => ({
    name: `as ${number}, which people ${DONE[decided] ?? 'left alone'}`,
    given: givenAt(facts, asked, named),
    isIn: matches,
  }));
  const typical = deliveries.find(({ matches }) => matches);
  const limits = typical
    ? limitTests(conditions, typical.facts, givenAt(typical.facts, asked, named))
    : [];
  return [...real, ...limits].map(({ isIn, ...test }) => {
    return { ...test, expect: isIn ? expect : otherwise };
  });
}

export function testLines(tests: readonly RuleTest[]): readonly string[] {
  if (tests.length === 0) return [];
  return [
    '    tests:',
    ...tests.flatMap(({ name, given, expect }) => [
      `      - name: ${single(name)}`,
      `        given: ${flow(given)}`,
      `        expect: ${expect}`,
    ]),
  ];
}
