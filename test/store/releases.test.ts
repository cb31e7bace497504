/** Databases of releases (test/store/releases), brought to the schema of today. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { verifyDecisions } from '../../src/decisions/simulation/replay.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { sha256 } from '../../src/lib/json.ts';
import { version } from '../../src/ops/version.ts';
import { openExchange } from '../../src/store/exchange/exchange.ts';
import { openStore } from '../../src/store/store.ts';
import { repositoryRoot } from '../support/source.ts';
import { temporaryFolder, temporaryStore } from '../support/store.ts';

const FOLDER = join(repositoryRoot, 'test', 'store', 'releases');
const ENDING = '.db.gz';
const EXCHANGE_ENDING = '.exchange.db.gz';
const FROZEN_ENDING = '.sha256';

const versionsWith = (ending: string): string[] =>
  readdirSync(FOLDER).flatMap((name) => {
    const [, one = '', rest] = /^(\d+\.\d+\.\d+)(\..+)$/.exec(name) ?? [];
    return rest === ending ? [one] : [];
  });

const stored = versionsWith(ENDING);
const frozen = versionsWith(FROZEN_ENDING);

/** Lines that `npm run release` wrote: path and checksum of each migration that was released. */
const frozenMigrations = frozen.flatMap((one) =>
  readFileSync(join(FOLDER, one + FROZEN_ENDING), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => line.split('  ')),
);

function load(bytes: Buffer, name = 'mirror.db'): string {
  const path = join(temporaryFolder(), name);
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

it('each release with a date in the CHANGELOG, and the next one, has its databases here', () => {
  const text = readFileSync(join(repositoryRoot, 'CHANGELOG.md'), 'utf8');
  const dated = [...text.matchAll(/^## (\d+\.\d+\.\d+)\b.*\d{4}-\d{2}-\d{2}$/gm)];
  const released = dated.map(([, one = '']) => one);
  const versions = [...new Set([...released, version()])].sort();
  expect(stored.sort()).toEqual(versions);
  expect(versionsWith(EXCHANGE_ENDING).sort()).toEqual(versions);
  expect(released).toEqual(expect.arrayContaining(frozen));
});

it('no migration of a release was edited or taken away', () => {
  const today = frozenMigrations.map(([, path = '']) => [
    sha256(readFileSync(join(repositoryRoot, path), 'utf8')),
    path,
  ]);
  expect(today).toEqual(frozenMigrations);
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

for (const one of versionsWith(EXCHANGE_ENDING)) {
  it(`the exchange of ${one} is opened with all that was in it`, () => {
    const path = load(gunzipSync(readFileSync(join(FOLDER, one + EXCHANGE_ENDING))), 'exchange.db');
    const content = () =>
      inFile(path, (database) =>
        ['intake', 'receipt', 'outcome', 'erp_customer'].map((table) =>
          database.prepare(`select count(*) from ${table}`).pluck().get(),
        ),
      );
    const before = content();
    expect(before).toEqual([2, 2, expect.any(Number), 1]);
    openExchange(path, manualClock())[Symbol.dispose]();
    expect(content()).toEqual(before);
  });
}
