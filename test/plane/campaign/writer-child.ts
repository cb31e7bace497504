/**
 * Changes a mirror until it is killed: `node writer-child.ts <mirror.db> <seed> <clock's step>`.
 * Now and then deletes old entries of the feeds, as retention does.
 */
import { systemClock } from '../../../src/lib/clock.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { openStore } from '../../../src/store/store.ts';
import { churnOnce, deleteEntriesBefore } from '../churn.ts';
import { steppedClock } from './stepped-clock.ts';

const [path = '', seed = '1', stepMs = '0'] = process.argv.slice(2);
const clock = steppedClock(Number(stepMs));
const random = seededRandom(Number(seed));
const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, clock);
// The order of reads goes on over every restart, and is no matter of the clock.
const churn = { store, random, at: 0, seq: systemClock().now() };
process.stdout.write('ready\n');
for (;;) {
  churn.at = clock.now();
  await churnOnce(churn);
  if (random.chance(1 / 150)) await deleteEntriesBefore(store, clock.now() - random.int(0, 2_000));
  await clock.sleep(random.int(0, 8));
}
