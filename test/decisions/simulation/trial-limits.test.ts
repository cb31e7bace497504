/** A trial of rules that takes too long or too much memory is ended, and says what to do. */
import { describe, expect, it } from 'vitest';
import { runTrial } from '../../../src/decisions/simulation/trial.ts';
import { manualClock, systemClock } from '../../../src/lib/clock.ts';

/** Its process is ended before it has read anything. */
const REQUEST = {
  store: { path: '/nowhere/mirror.db', busyTimeoutMs: 1_000 },
  ...{ files: null, freshness: {}, shadowAsLive: false, since: 0, until: 1, now: 1 },
};

const signal = new AbortController().signal;

describe('a trial of rules', () => {
  it('is ended after two minutes, and a shorter period is advised', async () => {
    const clock = manualClock();
    const tried = runTrial(REQUEST, clock, { signal });
    await clock.advance(119_999);
    const refused = expect(tried).rejects.toMatchObject({
      ...{ code: 'rules.trial_slow', message: 'it took longer than 2m', hint: 'try fewer days' },
    });
    await clock.advance(1);
    await refused;
  });

  it('is ended once its process holds more memory than it may', async () => {
    const limits = { timeMaxMs: 60_000, memoryBytesMax: 1_048_576 };
    const tried = runTrial(REQUEST, systemClock(), { signal, limits });
    await expect(tried).rejects.toMatchObject({
      code: 'rules.trial_large',
      message: 'it needs more memory than 1.0 MiB',
    });
  });
});
