/** The runner of the migrations, with three made-up steps. */
import { chmodSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { EXIT, exitCodeOf } from '../../src/lib/errors.ts';
import { openWriter } from '../../src/store/connection.ts';
import { migrate, pendingMigrations, readMigrations } from '../../src/store/migrate.ts';
import { openReadOnlyStore, openStore } from '../../src/store/store.ts';
import { afterFirstStep, STEPS, stepsFolder } from '../support/made-up-steps.ts';
import { placeDatabase, temporaryFolder } from '../support/store.ts';

const clock = manualClock();

function stepped(things = 2): { readonly path: string; readonly database: Database.Database } {
  const path = join(temporaryFolder(), 'mirror.db');
  const database = afterFirstStep(path, things);
  onTestFinished(() => void database.close());
  return { path, database };
}

const copiesIn = (path: string): readonly string[] =>
  readdirSync(dirname(path)).filter((name) => name.includes('.before-'));

const namesIn = (database: Database.Database): unknown[] =>
  database
    .prepare("select name from sqlite_schema where type = 'table' order by name")
    .pluck()
    .all();

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

describe('steps', () => {
  it('run in their order, each on the rows that the one before left, and once', () => {
    const { path, database } = stepped();
    const steps = readMigrations(stepsFolder());
    const report = migrate(database, clock, steps);
    expect(report).toMatchObject({ from: 1, to: 3, applied: ['notes', 'parts'] });
    expect(
      database.prepare('select thing_id, note from part join thing on id = thing_id').all(),
    ).toEqual([1, 2].map((id) => ({ thing_id: id, note: 'none' })));
    expect(database.pragma('user_version', { simple: true })).toBe(3);
    expect(migrate(database, clock, steps)).toMatchObject({ from: 3, to: 3, applied: [] });
    expect(copiesIn(path)).toHaveLength(1);
  });

  it('make a new database without a copy of nothing', () => {
    const path = join(temporaryFolder(), 'mirror.db');
    const database = openWriter(path, { busyTimeoutMs: 1_000 });
    const report = migrate(database, clock, readMigrations(stepsFolder()));
    expect(report).toMatchObject({ from: 0, to: 3, backup: undefined });
    expect(namesIn(database)).toEqual(['part', 'schema_migration', 'thing']);
    database.close();
    expect(copiesIn(path)).toEqual([]);
  });

  it('leave a copy of how it was, for those alone who may open the database', () => {
    const { path, database } = stepped();
    chmodSync(path, 0o600);
    const umask = process.umask(0o022);
    onTestFinished(() => void process.umask(umask));
    const { backup = '' } = migrate(database, clock, readMigrations(stepsFolder()));
    expect(statSync(backup).mode & 0o777).toBe(0o600);
    const copy = new Database(backup, { readonly: true });
    expect(namesIn(copy)).toEqual(['schema_migration', 'thing']);
    expect(copy.prepare('select id from thing').pluck().all()).toEqual([1, 2]);
    copy.close();
  });

  it('leave nothing behind where the first fails half-way, nor a copy of what is as it was', () => {
    const { path, database } = stepped();
    const broken = 'create table half (x integer) strict; insert into nowhere values (1);';
    const steps = readMigrations(stepsFolder({ ...STEPS, '0002-notes.sql': broken }));
    const error = thrownBy(() => migrate(database, clock, steps));
    expect(error).toMatchObject({
      message: expect.stringMatching(/^migration 2 \(notes\) failed: no such table: nowhere/),
    });
    expect(exitCodeOf(error)).toBe(EXIT.migration.code);
    expect(namesIn(database)).toEqual(['schema_migration', 'thing']);
    expect(copiesIn(path)).toEqual([]);
  });

  it('keep those that ran before one that fails, and the copy from before them', () => {
    const { path, database } = stepped();
    const broken = 'create table half (x integer) strict; insert into nowhere values (1);';
    const steps = readMigrations(stepsFolder({ ...STEPS, '0003-parts.sql': broken }));
    expect(() => migrate(database, clock, steps)).toThrow(/^migration 3 \(parts\) failed/);
    expect(namesIn(database)).toEqual(['schema_migration', 'thing']);
    expect(database.prepare('select distinct note from thing').pluck().all()).toEqual(['none']);
    expect(copiesIn(path)).toEqual([expect.stringMatching(/\.before-2-\d+$/)]);
    const mended = migrate(database, clock, readMigrations(stepsFolder()));
    expect(mended).toMatchObject({ from: 2, to: 3, applied: ['parts'] });
  });

  it('have no gap in their numbers', () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, '0002-second.sql'), 'select 1;');
    expect(() => readMigrations(folder)).toThrow(/0002-second\.sql should be 1/);
  });
});

describe('a database', () => {
  it('of a newer program is refused, and named with the schema that it has', () => {
    const { path, database } = stepped();
    const steps = readMigrations(stepsFolder());
    migrate(database, clock, steps);
    const error = thrownBy(() => migrate(database, clock, steps.slice(0, 1)));
    expect(error).toMatchObject({
      code: 'store.newer_schema',
      message: `${path} has schema 3 (parts); this program knows 1`,
      hint: expect.stringContaining('run the newer program'),
    });
    expect(exitCodeOf(error)).toBe(EXIT.store.code);
  });

  it('that ran another text of a later step is refused', () => {
    const { database } = stepped();
    migrate(database, clock, readMigrations(stepsFolder()));
    const edited = readMigrations(stepsFolder({ ...STEPS, '0002-notes.sql': 'select 1;' }));
    expect(thrownBy(() => pendingMigrations(database, edited))).toMatchObject({
      code: 'store.migration_edited',
      message: 'migration 2 (notes) differs from the one this database ran',
      hint: expect.stringContaining('restore a backup of a schema below 2'),
    });
  });

  it.each([
    ['by fewer steps', ''],
    [
      'by more steps',
      "insert into schema_migration values (2, 'pull', 'x', 0), (3, 'more', 'x', 0)",
    ],
  ])('made before 0.1.0 %s is refused by all who open it, and left as it is', async (_, more) => {
    const path = join(temporaryFolder(), 'mirror.db');
    placeDatabase(path);
    const database = new Database(path);
    onTestFinished(() => void database.close());
    database.exec(`delete from schema_migration where version > 1;
      update schema_migration set checksum = 'old'; ${more}`);
    const ledger = () => database.prepare('select * from schema_migration').all();
    const before = ledger();
    const refused = {
      code: 'store.before_first_release',
      message: `${path} was made before 0.1.0`,
      hint: expect.stringMatching(/new folder in dataDir.*keep the old folder/),
    };
    await expect(openStore({ path, busyTimeoutMs: 100 }, clock)).rejects.toMatchObject(refused);
    const reading = openReadOnlyStore({ path, busyTimeoutMs: 100 });
    await expect(reading).rejects.toMatchObject(refused);
    expect(ledger()).toEqual(before);
    expect(copiesIn(path)).toEqual([]);
  });
});
