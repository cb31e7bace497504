import { describe, expect, it } from 'vitest';
import { compareRuns } from './compare.ts';

describe('facts that were not gathered', () => {
  // The month of many rules is days.slow.test.ts.
  it('are found as a run beside it had them, or are not known', async () => {
    const figures = await compareRuns(1, { days: 3, lookHours: 6 }, 50);
    expect(figures.differences).toEqual([]);
    expect(figures.moments).toBeGreaterThan(12);
    expect(figures.factsWithValue).toBeGreaterThan(figures.facts / 2);
    expect(figures.factsNotKnown).toBeLessThan(figures.facts / 20);
  });
});
