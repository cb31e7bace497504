/** Mirrors of made-up trade that nobody writes, by the account that each has on a plane. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { keepZone } from '../../src/store/zone.ts';
import { insertSeasonOfTrade } from '../report/trade/season.ts';
import { makeWorld, mirrorOf } from '../report/trade/world.ts';
import { repositoryRoot } from '../support/source.ts';
import { temporaryStore } from '../support/store.ts';

/** Values for parameters with which there is something in them. */
export const GIVEN = {
  style: ['S-1', 'S-0'],
  season: ['AW26', 'AW'],
  since: ['1000d'],
  at: ['2d', '6d', '9000d'],
};

async function mirrorWith(
  timeZone: string,
  fill: (database: Database.Database) => void,
): Promise<Database.Database> {
  const store = await temporaryStore();
  await keepZone({ store, clock: systemClock() }, timeZone);
  const database = new Database(store.path);
  onTestFinished(() => {
    database.close();
  });
  fill(database);
  return database;
}

export async function madeUpMirrors(): Promise<ReadonlyMap<string, Database.Database>> {
  const small = readFileSync(join(repositoryRoot, 'test/report/mirror.sql'), 'utf8');
  using world = await mirrorOf(makeWorld(3), { stock: 'free', season: 'onHand' });
  const free = new Database(world.path, { readonly: true });
  onTestFinished(() => {
    free.close();
  });
  const season = (database: Database.Database): void =>
    insertSeasonOfTrade(database, systemClock().now());
  return new Map([
    ['bolt', await mirrorWith('Pacific/Auckland', season)],
    ['crew', await mirrorWith('Asia/Kolkata', (database) => database.exec(small))],
    ['dune', free],
  ]);
}
