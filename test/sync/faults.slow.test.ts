/**
 * Runs against a service that misbehaves, seed by seed, and a pull that is killed: however it
 * goes, the mirror ends as what the service has. A few of each; `npm run campaign` for all.
 */
import { describe, expect, it } from 'vitest';
import { runKills } from './campaign/kill.ts';
import { runSeed } from './campaign/seed.ts';

describe('pulls from a service that misbehaves', () => {
  it.each([1, 2])('end with what the service has: seed %i', async (seed) => {
    const { problems, faults } = await runSeed(seed, { rounds: 1 });
    expect(problems).toEqual([]);
    expect(faults).toBeGreaterThan(5);
  });
});

describe('a pull that is killed', () => {
  it.each(['stream', 'pages'] as const)('goes on and loses nothing, mode %s', async (mode) => {
    const { problems, kills } = await runKills({
      ...{ mode, kills: 1, rows: 2_000, seed: 1 },
    });
    expect(problems).toEqual([]);
    expect(kills).toBe(1);
  });
});
