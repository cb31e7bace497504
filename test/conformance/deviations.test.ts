import { describe, expect, it } from 'vitest';
import { runInProcess } from './in-process.ts';
import { conforms, report } from './report.ts';

/** A knob, and every case that sees it; the first one names the knob as a remedy. */
const PLANTED: readonly (readonly [knob: Record<string, object>, seenBy: readonly string[]])[] = [
  [{ deviations: { tokenHeader: 'x-auth-token' } }, ['v1-token-header', 'v2-token-header']],
  [{ deviations: { v2TokenFlat: true } }, ['v2-login-token']],
  [{ deviations: { envelopeStatusText: true } }, ['v1-envelope-status']],
  [{ deviations: { ordersOldestFirst: true } }, ['v1-orders-newest']],
  [{ deviations: { countOfPage: true } }, ['v1-stock-count']],
  [{ deviations: { pricingForEveryone: true } }, ['v1-pricing', 'v1-season-filters']],
  [{ deviations: { invalidDataMissing: true } }, ['v1-invalid-data']],
  [{ deviations: { deprecationHidden: true } }, ['v1-deprecated']],
  [{ deviations: { retryAfterMissing: true } }, ['login-retry-after']],
  [{ deviations: { includedArray: true } }, ['v2-included']],
  [{ deviations: { pageTokenMissing: true } }, ['v2-page-token']],
  [{ deviations: { prevOnFirstPage: true } }, ['v2-prev-first']],
  [{ deviations: { plainMediaType: true } }, ['v2-media-type']],
  [{ orders: { duplicateReference: 'conflict' } }, ['v1-duplicate']],
  [{ orders: { rejectFromAccepted: 'allow' } }, ['v1-reject-accepted']],
  [{ paging: { orders: 20 } }, ['v1-orders-page']],
  [{ rates: { perSecond: 0 } }, ['rate-limit']],
  [{ paging: { variantsDefault: 100 } }, ['v1-stock-whole']],
];

type Planted = (typeof PLANTED)[number];

/** A run takes a while: knobs that have nothing to do with each other share one. */
const RUNS = 6;
const GROUPS = Array.from({ length: RUNS }, (_, group) =>
  PLANTED.filter((_planted, at) => at % RUNS === group),
);

function allKnobs(group: readonly Planted[]): Record<string, object> {
  const knobs: Record<string, object> = {};
  for (const [planted] of group) {
    for (const [name, members] of Object.entries(planted)) {
      knobs[name] = { ...knobs[name], ...members };
    }
  }
  return knobs;
}

describe('the conformance suite against accounts that differ', () => {
  it.each(GROUPS.map((group) => [JSON.stringify(allKnobs(group)), group] as const))(
    'sees each of %s',
    async (_knobs, group) => {
      const { run } = await runInProcess(allKnobs(group));
      const differing = run.results.filter(({ outcome }) => outcome === 'differs');
      // What a knob moved is seen as that one thing, not as the end of the world.
      const expected = group.flatMap(([, seenBy]) => seenBy);
      expect(differing.map(({ id }) => id).sort()).toEqual(expected.toSorted());
      for (const [planted, [first]] of group) {
        const remedy = differing.find(({ id }) => id === first)?.remedy;
        const [[name, members] = ['', {}]] = Object.entries(planted);
        const named = Object.keys(members).map((member) => `${name}.${member}`);
        expect(Object.keys(remedy?.knobs ?? {})).toEqual(named);
      }
    },
  );

  it('says what to write into which file, and fails for more than a choice', async () => {
    const chosen = await runInProcess({ paging: { variantsDefault: 100 } });
    expect(conforms(chosen.run)).toBe(true);
    expect(report(chosen.run)).toContain('service:\n  v1:\n    paging: pages');
    expect(report(chosen.run)).toContain('paging:\n  variantsDefault: 100');
    const stated = await runInProcess({ deviations: { includedArray: true } });
    expect(conforms(stated.run)).toBe(false);
    expect(report(stated.run)).toContain('DIFFERS  v2-included (stated)');
  });

  it('writes nothing and runs into no limit unless it may', async () => {
    const { journal } = await runInProcess({}, 'plain', { writes: false, limits: false });
    const posts = journal.filter(({ method }) => method !== 'GET');
    expect(posts.map(({ path }) => path)).toEqual(['/api/v1/auth/login', '/api/v2/auth/login']);
    expect(journal.some(({ status }) => status === 429)).toBe(false);
  });
});
