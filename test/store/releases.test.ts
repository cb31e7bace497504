/** Databases of releases (test/store/releases), brought to the schema of today. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { verifyDecisions } from '../../src/decisions/simulation/replay.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { version } from '../../src/ops/version.ts';
import { openStore } from '../../src/store/store.ts';
import { repositoryRoot } from '../support/source.ts';
import { temporaryFolder, temporaryStore } from '../support/store.ts';

const FOLDER = join(repositoryRoot, 'test', 'store', 'releases');
const ENDING = '.db.gz';

const stored = readdirSync(FOLDER)
  .filter((name) => name.endsWith(ENDING))
  .map((name) => name.slice(0, -ENDING.length));

function load(bytes: Buffer): string {
  const path = join(temporaryFolder(), 'mirror.db');
  writeFileSync(path, bytes);
  return path;
}

const columnsOf = (database: Database.Database): unknown[] =>
  database
    .prepare(
      `select m.type, m.name as tbl, p.name, p.type, p."notnull", p.pk from sqlite_schema m
       left join pragma_table_info(m.name) p
       where m.name not like 'sqlite_%' order by 1, 2, 3`,
    )
    .raw()
    .all();

function inFile<T>(path: string, read: (database: Database.Database) => T): T {
  const database = new Database(path, { readonly: true });
  try {
    return read(database);
  } finally {
    database.close();
  }
}

const decisionsIn = (path: string): unknown =>
  inFile(path, (database) => database.prepare('select count(*) from decision').pluck().get());

async function upgrade(bytes: Buffer): Promise<void> {
  const path = load(bytes);
  const decisions = decisionsIn(path);
  const { store } = await openStore({ path, busyTimeoutMs: 100 }, manualClock());
  const { chain, different } = await verifyDecisions(store.db, 100);
  await store.close();
  expect(chain).toMatchObject({ entries: decisions, brokenAt: undefined });
  expect(different).toEqual([]);
  const fresh = await temporaryStore();
  expect(inFile(path, columnsOf)).toEqual(inFile(fresh.path, columnsOf));
}

it('each release of the CHANGELOG that has a date, and the next one, has its database here', () => {
  const text = readFileSync(join(repositoryRoot, 'CHANGELOG.md'), 'utf8');
  const released = [...text.matchAll(/^## (\d+\.\d+\.\d+)\b.*\d{4}-\d{2}-\d{2}/gm)];
  const versions = new Set([...released.map(([, one = '']) => one), version()]);
  expect(stored.sort()).toEqual([...versions].sort());
});

it('a copy of a database of today is one of today', async () => {
  const { path } = await temporaryStore();
  const database = new Database(path);
  const bytes = database.serialize();
  database.close();
  await upgrade(bytes);
});

// Before its release a version's database is that of its schema: `npm run release:database`.
for (const one of stored) {
  it(`the database of ${one} ends in the schema of today, its proof holding`, async () => {
    const bytes = gunzipSync(readFileSync(join(FOLDER, one + ENDING)));
    expect(decisionsIn(load(bytes))).toBeGreaterThan(0);
    await upgrade(bytes);
  });
}
