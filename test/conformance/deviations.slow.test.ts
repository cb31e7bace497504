import { describe, expect, it } from 'vitest';
import { conforms, report } from '../../src/conformance/report.ts';
import type { Run } from '../../src/conformance/suite.ts';
import { runInProcess } from './in-process.ts';

/** A knob, and every case that sees it; the first one names the knob as a remedy. */
type Planted = readonly [knob: Record<string, object>, seenBy: readonly string[]];

/** Against what the contract states, which the daemon has to be told. */
const STATED: readonly Planted[] = [
  [{ deviations: { tokenHeader: 'x-auth-token' } }, ['v1-token-header', 'v2-token-header']],
  [{ deviations: { v2TokenFlat: true } }, ['v2-login-token']],
  [{ dialect: { envelope: 'text' } }, ['v1-envelope-status']],
  [{ deviations: { ordersOldestFirst: true } }, ['v1-orders-newest']],
  [{ deviations: { countOfPage: true } }, ['v1-stock-count']],
  [{ deviations: { pricingForEveryone: true } }, ['v1-pricing', 'v1-season-filters']],
  [{ deviations: { invalidDataMissing: true } }, ['v1-invalid-data']],
  [{ deviations: { deprecationHidden: true } }, ['v1-deprecated']],
  [{ dialect: { retryAfter: 'none' } }, ['login-retry-after']],
  [{ deviations: { includedArray: true } }, ['v2-included']],
  [{ deviations: { pageTokenMissing: true } }, ['v2-page-token']],
  [{ deviations: { prevOnFirstPage: true } }, ['v2-prev-first']],
  [{ deviations: { plainMediaType: true } }, ['v2-media-type']],
];

/** Choices of the reference service where the contract is silent. */
const CHOSEN: readonly Planted[] = [
  [{ orders: { duplicateReference: 'conflict' } }, ['v1-duplicate']],
  [{ orders: { rejectFromAccepted: 'allow' } }, ['v1-reject-accepted']],
  [{ paging: { orders: 20 } }, ['v1-orders-page']],
  [{ rates: { perSecond: 0 } }, ['rate-limit']],
  [{ paging: { variantsDefault: 100 } }, ['v1-stock-whole']],
];

function allKnobs(group: readonly Planted[]): Record<string, object> {
  const knobs: Record<string, object> = {};
  for (const [planted] of group) {
    for (const [name, members] of Object.entries(planted)) {
      knobs[name] = { ...knobs[name], ...members };
    }
  }
  return knobs;
}

/** Against a service with all of these knobs: each is seen as that one thing. */
async function runPlanted(group: readonly Planted[]): Promise<Run> {
  const { run } = await runInProcess(allKnobs(group));
  const differing = run.results.filter(({ outcome }) => outcome === 'differs');
  const expected = group.flatMap(([, seenBy]) => seenBy);
  expect(differing.map(({ id }) => id).sort()).toEqual(expected.toSorted());
  for (const [planted, [first]] of group) {
    const remedy = differing.find(({ id }) => id === first)?.remedy;
    const [[name, members] = ['', {}]] = Object.entries(planted);
    const named = Object.keys(members).map((member) => `${name}.${member}`);
    expect(Object.keys(remedy?.knobs ?? {})).toEqual(named);
  }
  return run;
}

describe('the conformance suite against accounts that differ', () => {
  // A run takes a while: knobs that have nothing to do with each other share one.
  it.each([0, 1])('sees each deviation from what is stated, and fails: half %i', async (half) => {
    const run = await runPlanted(STATED.filter((_planted, at) => at % 2 === half));
    expect(conforms(run)).toBe(false);
    expect(report(run)).toMatch(/^DIFFERS {2}\S+ \(stated\)/m);
  });

  it('sees what was chosen otherwise, and says what to write into which file', async () => {
    const run = await runPlanted(CHOSEN);
    expect(conforms(run)).toBe(true);
    expect(report(run)).toMatch(/service:\n {2}dialect:\n {4}v1:\n {6}paging: pages/);
    expect(report(run)).toMatch(/paging:\n {2}variantsDefault: 100\n {2}orders: 20/);
  });

  it('sees answers without an envelope, and reads what is in them all the same', async () => {
    const knobs = { dialect: { envelope: 'none' } };
    const { run } = await runInProcess(knobs, 'plain', { writes: false, limits: false });
    const differing = run.results.filter(({ outcome }) => outcome === 'differs');
    expect(differing.map(({ id }) => id).sort()).toEqual([
      // The envelope's message carries its text.
      'v1-deprecated',
      'v1-envelope',
      'v1-envelope-status',
      'v1-login-token',
      'v1-not-found-shape',
    ]);
    expect(report(run)).toMatch(/dialect:\n {2}envelope: none/);
  });

  it('writes nothing and runs into no limit unless it may', async () => {
    const { journal } = await runInProcess({}, 'plain', { writes: false, limits: false });
    const posts = journal.filter(({ method }) => method !== 'GET');
    expect(posts.map(({ path }) => path)).toEqual(['/api/v1/auth/login', '/api/v2/auth/login']);
    expect(journal.some(({ status }) => status === 429)).toBe(false);
  });
});
