import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { insertSeasonOfTrade } from '../report/trade/season.ts';
import { makeWorld, mirrorOf } from '../report/trade/world.ts';
import { repositoryRoot } from '../support/source.ts';
import { temporaryStore } from '../support/store.ts';
import { compareReports, compareViews, copyMirror, differencesIn, onPglite } from './sides.ts';
import { ALL_CONTENT, SCHEMA } from './support.ts';

const GIVEN = {
  style: ['S-1', 'S-0'],
  season: ['AW26', 'AW'],
  since: ['1000d'],
  at: ['2d', '6d', '9000d'],
};

describe('views and shipped reports on the plane, in PGlite', () => {
  it('say what SQLite says of each account, of which the plane has three', async () => {
    const plane = await onPglite(SCHEMA);
    const open = async (fill: (database: Database.Database) => void) => {
      const database = new Database((await temporaryStore()).path);
      fill(database);
      return database;
    };
    const small = readFileSync(join(repositoryRoot, 'test/report/mirror.sql'), 'utf8');
    using world = await mirrorOf(makeWorld(3), { stock: 'free', season: 'onHand' });
    const mirrors = new Map([
      ['acme', await open((database) => insertSeasonOfTrade(database, systemClock().now()))],
      ['bolt', await open((database) => database.exec(small))],
      ['crew', new Database(world.path)],
    ]);
    for (const [account, database] of mirrors) {
      await copyMirror(plane, database, account, ALL_CONTENT);
    }
    for (const [account, database] of mirrors) {
      const views = await compareViews(plane, database, account);
      expect(differencesIn(views), account).toEqual([]);
      const reports = await compareReports(plane, database, account, GIVEN);
      expect(differencesIn(reports), account).toEqual([]);
      database.close();
    }
  });
});
