import { describe, expect, it } from 'vitest';
import { compareRuns } from './compare.ts';

const RULES = 1_000;

describe('a backtest of a month', () => {
  it(`agrees on ${RULES} random rules with a run that had all facts, or says not known`, {
    timeout: 900_000,
  }, async () => {
    const figures = await compareRuns(3, { days: 30, lookHours: 2 }, RULES);
    expect(figures.differences).toEqual([]);
    expect(figures.moments).toBeGreaterThan(300);
    // Moments at which only the other run decided again are in no backtest.
    expect(figures.onlyFull).toBeGreaterThan(100);
    expect([figures.onlyBare, figures.otherOrder]).toEqual([0, expect.any(Number)]);
    expect(Object.keys(figures.kinds).sort()).toEqual(['accept', 'hold', 'no_rule', 'reject']);
    expect(figures.factsNotKnown).toBeLessThan(figures.facts / 100);
    expect(figures.outcomesNotKnown).toBeLessThan(figures.outcomes / 100);
    expect(figures.factsWithValue).toBeGreaterThan(figures.facts / 2);
  });
});
