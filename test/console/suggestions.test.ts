/** Proposals of several wishes at once: made one after the other, and refused when some wait. */
import { expect, it } from 'vitest';
import { createSuggestions } from '../../src/console/suggestions.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { temporaryStore } from '../support/store.ts';

it('proposals are refused to whoever asks while two others wait', async () => {
  const { path } = await temporaryStore();
  const clock = manualClock();
  const suggestions = createSuggestions({ path, busyTimeoutMs: 5_000 }, clock);
  const wish = { since: 0, until: clock.now() };
  const waiting = ['a', 'b', 'c'].map((owner) => suggestions.of({ ...wish, owner }));
  const ends = Promise.allSettled(waiting);
  await expect(suggestions.of({ ...wish, owner: 'd' })).rejects.toMatchObject({
    code: 'rules.suggest_busy',
  });
  expect(await suggestions.soon({ ...wish, owner: 'd' })).toEqual({
    problem: 'other proposals are being made; ask again in a minute',
  });
  suggestions.close();
  await ends;
});
