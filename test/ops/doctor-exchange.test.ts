import { chmodSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { checkDropFolder } from '../../src/daemon/doctor/drop-folder.ts';
import { checkExchange } from '../../src/daemon/doctor/exchange.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openExchange } from '../../src/store/exchange/exchange.ts';
import { startTestReference, testConfig } from '../support/house.ts';
import { temporaryFolder } from '../support/store.ts';

it('says what is wrong with the file that the ERP writes', async () => {
  const folder = join(temporaryFolder(), 'shared');
  const path = join(folder, 'exchange.db');
  const place = { path: 'intake.database', value: path };
  const config = testConfig(await startTestReference(), { overrides: [place] });
  const found = (): string[] => checkExchange(config).map(({ grade, text }) => `${grade} ${text}`);
  const write = (sql: string): void => {
    const database = new Database(path);
    database.exec(sql);
    database.close();
  };

  expect(found()).toEqual([`failed the folder of ${path} is not there`]);
  mkdirSync(folder);
  chmodSync(folder, 0o770);
  expect(found()).toEqual([`warning ${path} is not there: the ERP cannot submit by it`]);
  writeFileSync(path, 'no database at all', { mode: 0o660 });
  chmodSync(path, 0o660);
  expect(found()).toEqual([`failed ${path}: file is not a database`]);
  rmSync(path);
  openExchange(path, systemClock())[Symbol.dispose]();
  expect(found()).toEqual([`ok ${path}, whole and ours`]);
  chmodSync(path, 0o600);
  expect(found()).toEqual([`warning the group of ${path} may not write it`]);
  chmodSync(folder, 0o750);
  expect(found()).toEqual([
    `warning the group of ${folder} may not write in it`,
    `warning the group of ${path} may not write it`,
  ]);
  chmodSync(folder, 0o770);
  chmodSync(path, 0o666);
  expect(found()).toEqual([`warning other users may open ${path}`]);
  chmodSync(path, 0o660);
  write('create trigger mine after insert on intake begin select 1; end');
  expect(found()).toEqual([`failed ${path}: somebody changed mine`]);
  write('drop trigger mine; pragma journal_mode = wal');
  expect(found()).toEqual([`failed ${path} is in WAL mode`]);
  // A log and its index would be somebody else's, and stay.
  expect(readdirSync(folder)).toEqual(['exchange.db']);
});

it('leaves it to what is said of the data folder that this is not there', async () => {
  expect(checkExchange(testConfig(await startTestReference()))).toEqual([]);
});

it('says what is wrong with the folder that the ERP drops files into', async () => {
  const folder = join(temporaryFolder(), 'in');
  const place = { path: 'intake.folder.path', value: folder };
  const reference = await startTestReference();
  const now = Date.now();
  expect(checkDropFolder(testConfig(reference), now)).toEqual([]);
  const config = testConfig(reference, { overrides: [place] });
  const found = (at = now) =>
    checkDropFolder(config, at).map(({ grade, text }) => `${grade} ${text}`);

  expect(found()).toEqual([`failed ${folder} is not there`]);
  mkdirSync(folder);
  chmodSync(folder, 0o2750);
  expect(found()).toEqual([`warning the group of ${folder} may not write in it`]);
  mkdirSync(config.dataDir);
  for (const mode of [0o755, 0o2775]) {
    chmodSync(folder, mode);
    expect(found()).toEqual([`warning other users may open ${folder}`]);
  }
  // Its group is that of the data folder: nobody else is meant.
  for (const mode of [0o700, 0o750, 0o2770]) {
    chmodSync(folder, mode);
    expect(found()).toEqual([`ok ${folder}, may be written`]);
  }
  for (const name of ['orders.json', '.orders.json', 'notes.txt']) {
    writeFileSync(join(folder, name), '');
  }
  mkdirSync(join(folder, 'done'));
  expect(found()).toEqual([`ok ${folder}, may be written`]);
  symlinkSync('orders.json', join(folder, 'link.json'));
  const link = 'warning 1 cannot be read, or are no files, and stay: link.json';
  expect(found()).toEqual([link]);
  // A program that writes under another name has renamed it by then.
  expect(found(now + 60_000)).toEqual([
    link,
    'warning 1 are not taken, for their names: notes.txt',
  ]);
  // Nor has it finished one that it left so for hours.
  expect(found(now + 7_200_000)).toEqual([
    link,
    'warning 2 are not taken, for their names: .orders.json, notes.txt',
  ]);
});
