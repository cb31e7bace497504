import { describe, expect, it } from 'vitest';

import { compareReports, compareViews, copyMirror, differencesIn, onPglite } from './sides.ts';
import { ALL_CONTENT } from './world.ts';
import { GIVEN, madeUpMirrors } from './worlds.ts';

/** For all but the first account, so that it takes seconds. */
const FEW = { style: ['S-1'], season: ['AW26'] };

describe('views and shipped reports on the plane, in PGlite', () => {
  it('say what SQLite says of each account, of which the plane has three', async () => {
    const plane = await onPglite('selvedge');
    const mirrors = await madeUpMirrors();
    for (const [account, database] of mirrors) {
      await copyMirror(plane, database, account, ALL_CONTENT);
    }
    for (const [account, database] of mirrors) {
      const views = await compareViews(plane, database, account);
      expect(differencesIn(views), account).toEqual([]);
      const given = account === 'bolt' ? GIVEN : FEW;
      const reports = await compareReports(plane, database, account, given);
      expect(differencesIn(reports), account).toEqual([]);
    }
  });
});
