/** A holder that is asked for its lease by a machine that drills. */
import { describe, expect, it } from 'vitest';
import { createGiveBack } from '../../src/daemon/standby/give-back.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { RetryLaterError } from '../../src/lib/errors.ts';
import type { Wish } from '../../src/standby/lease.ts';
import { testLogger } from '../support/house.ts';

async function asked() {
  const clock = manualClock();
  const world = {
    wish: { to: 'there', withinMs: 60_000 } as Wish | undefined,
    why: 'orders are read' as string | undefined,
    fails: false,
    said: [] as string[],
    given: [] as string[],
  };
  const worker = createGiveBack({
    clock,
    log: testLogger(),
    wished: () => world.wish,
    whyNotYet: async () => world.why,
    async give(to) {
      if (world.fails) throw new RetryLaterError('standby.not_kept', 'PostgreSQL lacks some', {});
      world.given.push(to);
      world.wish = undefined;
    },
    say: async (text) => void world.said.push(text),
  });
  const stop = new AbortController();
  const done = worker.run(stop.signal);
  await clock.advance(0);
  return {
    world,
    clock,
    async end() {
      stop.abort();
      await done;
    },
  };
}

describe('a holder that is asked for its lease', () => {
  it('says why not yet, once for each reason, and gives it when it may', async () => {
    const { world, clock, end } = await asked();
    await clock.advance(10_000);
    expect([world.said, world.given]).toEqual([['orders are read'], []]);
    Object.assign(world, { why: undefined, fails: true });
    await clock.advance(4_000);
    expect([world.said.at(-1), world.given]).toEqual(['PostgreSQL lacks some', []]);
    world.fails = false;
    await clock.advance(4_000);
    expect(world.given).toEqual(['there']);
    await end();
  });

  it('keeps it once the time is over by its own clock, until it is asked anew', async () => {
    const { world, clock, end } = await asked();
    await clock.advance(64_000);
    world.why = undefined;
    await clock.advance(10_000);
    expect([world.said.at(-1), world.given]).toEqual([expect.stringMatching(/time is over/), []]);
    world.wish = { to: 'there', withinMs: 30_000 };
    await clock.advance(4_000);
    expect(world.given).toEqual(['there']);
    await end();
  });
});
