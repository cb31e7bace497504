import { describe, expect, it } from 'vitest';
import { compareSets } from './independent/compare.ts';

const SETS = 30;
/** First seed of sets that have every outcome. */
const FIRST = 61;

describe('the rules and an independent reader of the manual', () => {
  it(`agree on ${SETS} random rule sets`, () => {
    const { sets, values, outcomes, disagreements } = compareSets(FIRST, SETS);
    expect(disagreements).toEqual([]);
    expect(sets).toBe(SETS);
    expect(Object.keys(values).sort()).toEqual(['false', 'true', 'undefined']);
    expect(Object.keys(outcomes).sort()).toEqual(['accept', 'hold', 'no_rule', 'reject']);
  });
});
