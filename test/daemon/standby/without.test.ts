/** A daemon without `standby.servers`: nothing of a standby is there, and nothing is run for it. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { beginStandby, endStandby, permitsOffline } from '../../../src/daemon/standby/begin.ts';
import { manualClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { systemRandom } from '../../../src/lib/random.ts';
import { beginFeed } from '../../../src/standby/feed.ts';
import type { SqliteStore } from '../../../src/store/store.ts';
import { configOf } from '../../config/config-of.ts';
import { SERVICE } from '../../standby/support.ts';
import { temporaryStore } from '../../support/store.ts';

const clock = manualClock();

/** Parts of a standby in the database: its table and triggers. */
async function leftIn({ db }: SqliteStore): Promise<number> {
  const found = await sql<{ count: number }>`select count(*) as count from sqlite_schema
    where name like 'standby%' or sql like '%standby_change%'`.execute(db);
  return found.rows[0]?.count ?? Number.NaN;
}

it('runs no statement for it: no trigger is there, no permit is asked, nothing waits', async () => {
  const config = configOf(SERVICE);
  const deps = { clock, random: systemRandom(), log: silentLogger() };
  expect(await beginStandby(config, deps)).toBeUndefined();
  expect(permitsOffline(config)).toBeUndefined();
  const store = await temporaryStore(clock);
  await endStandby(store, store.triggers().others);
  expect(await leftIn(store)).toBe(0);
});

it('takes away what a standby of before has left', async () => {
  const store = await temporaryStore(clock);
  await beginFeed(store, clock, 'before');
  expect(await leftIn(store)).toBeGreaterThan(50);
  await endStandby(store, store.triggers().others);
  expect(await leftIn(store)).toBe(0);
});
