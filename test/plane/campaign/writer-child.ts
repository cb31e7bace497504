/**
 * Changes a mirror until it is killed: `node writer-child.ts <mirror.db> <seed>`. Now and then
 * deletes old entries of the feeds, as retention does.
 */
import { systemClock } from '../../../src/lib/clock.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { openStore } from '../../../src/store/store.ts';
import { churnOnce, deleteEntriesBefore } from '../churn.ts';

const [path = '', seed = '1'] = process.argv.slice(2);
const clock = systemClock();
const random = seededRandom(Number(seed));
const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, clock);
// The order of reads goes on over every restart.
const churn = { store, random, at: clock.now(), seq: clock.now() };
process.stdout.write('ready\n');
for (;;) {
  await churnOnce(churn);
  if (random.chance(1 / 150)) await deleteEntriesBefore(store, clock.now() - random.int(0, 2_000));
  await clock.sleep(random.int(0, 8));
}
