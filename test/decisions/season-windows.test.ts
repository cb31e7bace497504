/** The days of delivery windows, from the settings of the rules into the view v_season. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { openRuleKeeper } from '../../src/decisions/rule-keeper.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { temporaryFolder, temporaryStore } from '../support/store.ts';

it('the days of windows are those of the rules in force, its own before its season’s', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const directory = join(temporaryFolder(), 'rules');
  mkdirSync(directory);
  const settings = (windows: string): void =>
    writeFileSync(join(directory, 'settings.yaml'), `version: 1\nseason_windows: [${windows}]\n`);
  const database = new Database(store.path);
  database.exec(`insert into season (season_name, extra, content_hash, first_seen_at, changed_at,
      read_seq, source)
    values ('AW27', '{}', 'h', 0, 0, 1, 'run:1'), ('SS27', '{}', 'h', 0, 0, 1, 'run:1');
    insert into season_delivery (season_name, line_no, delivery_name)
    values ('AW27', 1, 'August'), ('AW27', 2, 'September')`);
  const windows = () =>
    database
      .prepare(
        'select season_name, place, delivery_name, from_day, to_day from v_season order by 1, 2',
      )
      .raw()
      .all();

  settings(`{ season: aw27, delivery: August, from: 2027-08-01, to: 2027-08-31 },
    { season: AW27, from: 2027-07-01, to: 2027-10-31 }`);
  const keeper = await openRuleKeeper({ store, clock, directory, log: silentLogger() });
  expect(windows()).toEqual([
    ['AW27', 1, 'August', '2027-08-01', '2027-08-31'],
    ['AW27', 2, 'September', '2027-07-01', '2027-10-31'],
    ['SS27', null, null, null, null],
  ]);

  settings('{ season: SS27, from: 2027-02-01, to: 2027-03-31 }');
  await keeper.reload({ actor: 'anna', reason: 'a test' }, { directory });
  expect(windows()).toEqual([
    ['AW27', 1, 'August', null, null],
    ['AW27', 2, 'September', null, null],
    ['SS27', null, null, '2027-02-01', '2027-03-31'],
  ]);
  database.close();
});
