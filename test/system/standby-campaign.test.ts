/** The quick form of the campaign: some faults of a standby in one world, with fixed steps. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Plan } from '../standby/campaign/faults.ts';
import { runSeed } from '../standby/campaign/seed.ts';
import { openWorld, type World } from '../standby/campaign/world.ts';

const SEED = 1;
/** Longer than that of the campaign: a busy machine goes on to hold it. */
const LEASE = '4s';

let world: World;

beforeAll(async () => {
  world = await openWorld(LEASE);
});

afterAll(() => world.end(false));

const plan = (fault: string, step: Plan['step'], more: Partial<Plan> = {}): Plan => ({
  fault,
  step,
  nth: 1,
  isAfter: false,
  afterMs: 0,
  ms: 500,
  cut: 'silent',
  hour: 1,
  ...more,
});

const PLANS: readonly (readonly Plan[])[] = [
  [plan('holder killed', 'POST', { ms: 6_000 })],
  [plan('holder suspended', 'permit given', { ms: 7_000 })],
  [plan('clock of the holder', 'permit asked')],
  [plan('holder and PostgreSQL cut', 'permit given', { isAfter: true, cut: 'stalled' })],
  [plan('synchronous replica promoted', 'document')],
  [plan('lease handed over', 'answer')],
];

it('loses, doubles and delays nothing under a fault at a step of a push', async () => {
  const found: unknown[] = [];
  for (const [index, plans] of PLANS.entries()) {
    const { doubled, lost, late, wrong } = await runSeed(world, SEED + index, plans);
    const all = [doubled, lost, late, wrong].flat();
    if (all.length > 0) found.push(plans[0]?.fault, ...all);
  }
  expect(found).toEqual([]);
});
