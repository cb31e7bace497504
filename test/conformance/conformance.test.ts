import { describe, expect, it } from 'vitest';
import { runInProcess } from './in-process.ts';
import { conforms, report } from './report.ts';
import { ALL_CASES } from './suite.ts';

describe('the conformance suite', () => {
  it('has a name of its own for each case', () => {
    const ids = ALL_CASES.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it.each(['plain', 'b2bDetailed'])(
    'finds the reference as stated, with the %s key',
    async (key) => {
      const { run } = await runInProcess({}, key);
      expect(
        report({ ...run, results: run.results.filter((r) => r.outcome !== 'as stated') }),
      ).toBe(['', '0 as stated, 0 different, 0 not tried', ''].join('\n'));
      expect(run.extras).toEqual([]);
      expect(conforms(run)).toBe(true);
    },
  );
});
