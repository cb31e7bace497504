/** Three made-up migrations, for tests of the runner: whatever the program itself has. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { manualClock } from '../../src/lib/clock.ts';
import { openWriter } from '../../src/store/connection.ts';
import { migrate, readMigrations } from '../../src/store/migrate.ts';
import { temporaryFolder } from './store.ts';

export const STEPS = {
  '0001-things.sql': 'create table thing (id integer primary key, body text not null) strict;',
  '0002-notes.sql': "alter table thing add column note text; update thing set note = 'none';",
  '0003-parts.sql': `create table part (thing_id integer not null) strict;
    insert into part select id from thing;`,
};

/** A folder of migrations, as the program's own is. */
export function stepsFolder(steps: Readonly<Record<string, string>> = STEPS): string {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(steps)) writeFileSync(join(folder, name), text);
  return folder;
}

/** A database after the first of the steps, with so many things of 1 MiB and open. */
export function afterFirstStep(path: string, things: number): Database.Database {
  const database = openWriter(path, { busyTimeoutMs: 1_000, checkpoint: 'own' });
  migrate(database, manualClock(), readMigrations(stepsFolder()).slice(0, 1));
  database
    .prepare(
      `insert into thing with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
       select i, hex(zeroblob(524288)) from n`,
    )
    .run(things);
  return database;
}
