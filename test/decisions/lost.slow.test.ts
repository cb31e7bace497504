/** Fifty databases that are lost, with people's acts by chance before and after the backup. */
import { expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { playLoss } from './lost.ts';

it('what people stopped is accepted by no rule after a loss, whatever was before', async () => {
  const played = [];
  for (let seed = 1; seed <= 50; seed += 1) played.push(await playLoss(seed, manualClock()));
  const wrong = played.map(({ stopped, sent }) => stopped.filter((id) => sent.includes(id)));
  expect(wrong.flat()).toEqual([]);
  // A list that comes to light late is looked at before anything is sent, and one in time is not.
  const late = played.filter(({ resumed }) => resumed === 'once looked at');
  expect(late.length).toBeGreaterThan(10);
  expect(late.filter(({ isLate }) => !isLate)).toEqual([]);
  // The rules would accept everything: what nobody stopped shows that they do.
  expect(played.flatMap(({ sent }) => sent).length).toBeGreaterThan(50);
  expect(played.flatMap(({ stopped }) => stopped).length).toBeGreaterThan(50);
});
