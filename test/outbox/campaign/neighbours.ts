/**
 * Another program that has the databases open beside the daemon, as a process to be killed: `node
 * neighbours.ts <folder> <seed>`. It reads for long, locks what it may write, and writes the log
 * back, one after the other.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { systemClock } from '../../../src/lib/clock.ts';
import { seededRandom } from '../../../src/lib/random.ts';

const PAUSE_MS_MAX = 2_000;
const HELD_MS_MAX = 5_000;
const READ = 'begin; select count(*) from sqlite_schema';
const DEEDS = [
  ['mirror.db', READ],
  ['mirror.db', 'pragma wal_checkpoint(truncate)'],
  ['exchange.db', READ],
  ['exchange.db', 'begin immediate'],
  ['exchange.db', 'begin exclusive'],
] as const;

const [folder = '', seed = ''] = process.argv.slice(2);
const clock = systemClock();
const random = seededRandom(Number(seed));
for (;;) {
  const [file, sql] = random.pick(DEEDS);
  const database = new Database(join(folder, file), { timeout: 60_000 });
  database.exec(sql);
  await clock.sleep(random.int(1, HELD_MS_MAX));
  database.close();
  await clock.sleep(random.int(1, PAUSE_MS_MAX));
}
