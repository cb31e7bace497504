/** What the console counts by the minute when the clock is set back. */
import { expect, it } from 'vitest';
import { createEntrance } from '../../src/console/access/entrance.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { rejection } from '../client/support.ts';
import { temporaryStore } from '../support/store.ts';

const DAY = 86_400_000;

it('a sign-in that was tried too often is possible a minute later, set back or not', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const people = { operators: [], proxyRole: null };
  const lasts = { sessionMs: DAY, sessionIdleMs: DAY };
  const entrance = createEntrance({ store, clock, random: seededRandom(1), people, ...lasts });
  const attempt = () => rejection(entrance.byPassword('anna', 'a wrong phrase', '127.0.0.1'));
  for (let tries = 0; tries < 5; tries += 1) await attempt();
  expect(await attempt()).toMatchObject({ code: 'console.tries' });
  clock.step(-DAY);
  await clock.advance(60_000);
  expect(await attempt()).toMatchObject({ code: 'console.password' });
});
