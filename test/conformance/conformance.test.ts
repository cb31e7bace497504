import { beforeAll, describe, expect, it } from 'vitest';
import { conforms, report } from '../../src/conformance/report.ts';
import { ALL_CASES } from '../../src/conformance/suite.ts';
import { CONTRACT, parameterKind } from '../../src/reference/edge/strict.ts';
import { runInProcess } from './in-process.ts';

describe('the conformance suite', () => {
  let plain: Awaited<ReturnType<typeof runInProcess>>;

  beforeAll(async () => {
    plain = await runInProcess();
  });

  it('asks for every request and every parameter of the contract, and gets it', async () => {
    const good = plain.journal.filter(({ status }) => status !== null && status < 300);
    const rowOf = (path: string) => CONTRACT.find((row) => row.path.test(path))?.name;
    const missed = CONTRACT.flatMap(({ method, name, query }) => {
      const entries = good.filter((one) => one.method === method && rowOf(one.path) === name);
      const names = entries.flatMap((entry) => [...new URLSearchParams(entry.query).keys()]);
      const kinds = new Set(names.map(parameterKind));
      // Parameters that all of V2 has are asked of one path.
      const own = name.startsWith('/api/v2') && name !== '/api/v2/pdm/styles' ? [] : query;
      const missing = own.filter((kind) => method === 'GET' && !kinds.has(kind));
      return [
        ...(entries.length === 0 ? [`${method} ${name}`] : []),
        ...missing.map((kind) => `${method} ${name}?${kind}`),
      ];
    });
    expect(missed.filter((one) => !one.endsWith('/docs'))).toEqual([]);
  });

  it('has a name of its own for each case', () => {
    const ids = ALL_CASES.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it.each(['plain', 'b2bDetailed'])(
    'finds the reference as stated, with the %s key',
    async (key) => {
      const { run } = key === 'plain' ? plain : await runInProcess({}, key);
      expect(
        report({ ...run, results: run.results.filter((r) => r.outcome !== 'as stated') }),
      ).toBe(['', '0 as stated, 0 different, 0 not tried', ''].join('\n'));
      expect(run.extras).toEqual([]);
      expect(conforms(run)).toBe(true);
    },
  );
});
