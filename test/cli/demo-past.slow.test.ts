/** What the four weeks behind the demo propose. */
import { expect, it, onTestFinished } from 'vitest';
import { createPast } from '../../src/cli/demo/past.ts';
import { loadRuleSet } from '../../src/decisions/rule-files.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { parseKnobs } from '../../src/reference/control/knob-store.ts';
import { writeHistory } from '../../src/reference/life/history.ts';
import { createWorld } from '../../src/reference/world/world.ts';
import { writeStateAt } from '../../src/store/state.ts';
import { openStore } from '../../src/store/store.ts';
import { suggest } from '../../src/suggest/suggest.ts';
import { repositoryRoot } from '../support/source.ts';
import { temporaryFolder } from '../support/store.ts';

const DAY_MS = 86_400_000;

it.each([
  ['a Monday morning', Date.UTC(2026, 10, 16, 7)],
  ['a Thursday afternoon', Date.UTC(2026, 8, 24, 13)],
  ['a Sunday', Date.UTC(2027, 1, 7, 18)],
])('the past of the demo proposes a rule on %s', async (_, start) => {
  const clock = manualClock(start);
  const rules = loadRuleSet(`${repositoryRoot}/config/rules`);
  const past = createPast(rules, 7);
  const knobs = parseKnobs({ world: { seed: 7 } });
  const deps = { events: { publish: () => undefined }, clock, knobs: () => knobs };
  writeHistory(createWorld(deps), deps, past);
  const options = { path: `${temporaryFolder()}/data/mirror.db`, busyTimeoutMs: 5_000 };
  await past.write(options, clock);
  const { store } = await openStore(options, clock);
  onTestFinished(() => store.close());
  await store.transaction((tx) => writeStateAt(tx, 'rules_in_force', rules.ruleSet.hash, start));
  const found = await suggest(store.db, { since: start - 90 * DAY_MS, until: start });
  expect(found.proposals.map(({ id, conditions }) => [id, conditions])).toEqual([
    ['accept-by-quantity', ['delivery.quantity <= 44']],
  ]);
});
