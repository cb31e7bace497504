/**
 * Databases as earlier versions left them, from dumps of real ones: a daemon that pulled, received
 * events, decided and pushed for a quarter of a minute (test/fixtures, `sqlite3 … .dump`).
 */
import { chmodSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { verifyDecisions } from '../../../src/decisions/simulation/replay.ts';
import { manualClock } from '../../../src/lib/clock.ts';
import { migrate, readMigrations } from '../../../src/store/migrate.ts';
import { openStore } from '../../../src/store/store.ts';
import { repositoryRoot } from '../../support/source.ts';
import { temporaryFolder, temporaryStore } from '../../support/store.ts';

const APPLICATION_ID = 0x534c5647;
const migrations = readMigrations();
const clock = manualClock();

function loadDump(version: number): string {
  const name = `schema-${String(version).padStart(4, '0')}.sql.gz`;
  const dump = gunzipSync(readFileSync(join(repositoryRoot, 'test', 'fixtures', name)));
  const path = join(temporaryFolder(), 'mirror.db');
  const database = new Database(path);
  database.exec(dump.toString());
  database.pragma(`application_id = ${APPLICATION_ID}`);
  database.pragma(`user_version = ${version}`);
  database.close();
  return path;
}

function rowsOf(path: string): Record<string, number> {
  const database = new Database(path, { readonly: true });
  const tables = database
    .prepare<[], string>(
      // What was a table may be a view now; those that were views before begin with v_.
      `select name from sqlite_schema where type in ('table', 'view')
       and name not like 'sqlite_%' and name not glob 'v_*'`,
    )
    .pluck()
    .all();
  const counts = tables.map((table) => [
    table,
    Number(database.prepare(`select count(*) from ${table}`).pluck().get()),
  ]);
  database.close();
  return Object.fromEntries(counts);
}

function shapeOf(path: string): unknown[] {
  const database = new Database(path, { readonly: true });
  const columns = database
    .prepare(
      `select m.name as tbl, p.name, p.type, p."notnull", p.pk from sqlite_schema m
       join pragma_table_info(m.name) p where m.type in ('table', 'view')
       and m.name not like 'sqlite_%' order by 1, 2`,
    )
    .all();
  database.close();
  return columns;
}

describe.each([1, 2])('a database of schema %i', (version) => {
  it('is brought up to date with every row that it had, and a proof that still holds', async () => {
    const path = loadDump(version);
    const before = rowsOf(path);
    expect(before.decision).toBeGreaterThan(5);
    const { store, migrated } = await openStore({ path, busyTimeoutMs: 100 }, clock);
    expect(migrated).toMatchObject({ from: version, to: migrations.length });
    const { chain, different } = await verifyDecisions(store.db, 100);
    await store.close();
    expect(chain).toMatchObject({ entries: before.decision, brokenAt: undefined });
    expect(different).toEqual([]);
    const after = rowsOf(path);
    // What the schema itself has rows for may become more.
    const own = new Set(['schema_migration', 'outbox_transition', 'daemon_state']);
    for (const [table, count] of Object.entries(before)) {
      if (!own.has(table)) expect([table, after[table]]).toEqual([table, count]);
    }
    expect(rowsOf(migrated.backup ?? '')).toEqual(before);
  });

  it('is copied before for those alone who may open it', async () => {
    const path = loadDump(version);
    chmodSync(path, 0o600);
    const umask = process.umask(0o022);
    onTestFinished(() => void process.umask(umask));
    const { store, migrated } = await openStore({ path, busyTimeoutMs: 100 }, clock);
    await store.close();
    expect(statSync(migrated.backup ?? '').mode & 0o777).toBe(0o600);
  });

  it('ends in the schema that a new database has, also from versions on the way', async () => {
    const fresh = shapeOf((await temporaryStore(clock)).path);
    for (let stop = version; stop < migrations.length; stop += 3) {
      const path = loadDump(version);
      const database = new Database(path);
      migrate(database, clock, migrations.slice(0, stop));
      database.close();
      const { store } = await openStore({ path, busyTimeoutMs: 100 }, clock);
      await store.close();
      expect(shapeOf(path)).toEqual(fresh);
    }
  });
});

it.each([
  ['up to where', true, ['known', 'new']],
  ['not even', false, ['before', 'known', 'new']],
])('rows of the stock in the feed are noted in their table: it says %s', (_, isTold, noted) => {
  const path = loadDump(2);
  const database = new Database(path);
  migrate(database, clock, migrations.slice(0, 14));
  const told = database.prepare(
    "insert into change (seq, at, entity, key, op, diff, cause) values (?, 0, ?, ?, ?, '{}', ?)",
  );
  const last = Number(database.prepare('select max(seq) from change').pluck().get());
  told.run(last + 1, 'stock_variant', 'before', 'insert', 'refresh:ordered');
  told.run(last + 2, 'stock_variant', 'known', 'update', 'refresh:ordered');
  told.run(last + 3, 'stock_variant', 'new', 'insert', 'refresh:ordered');
  told.run(last + 4, 'stock_variant', 'new', 'update', 'refresh:ordered');
  told.run(last + 5, 'stock_variant', 'pulled', 'insert', 'run:1');
  told.run(last + 6, 'delivery', '17', 'insert', 'refresh:ordered');
  const tell = database.prepare(
    "insert into daemon_state (key, value, updated_at) values ('stock.apart_seq', ?, 0)",
  );
  if (isTold) tell.run(String(last + 1));
  migrate(database, clock);
  const rows = database.prepare('select barcode, is_new from stock_apart order by barcode').all();
  expect(rows).toEqual(noted.map((barcode) => ({ barcode, is_new: Number(barcode !== 'known') })));
  database.close();
});

it('segments without a length prove nothing until they are compared once more', () => {
  const path = loadDump(2);
  const database = new Database(path);
  migrate(database, clock, migrations.slice(0, 15));
  const proofs = () =>
    database
      .prepare('select stream, count(digest) as n from segment group by stream order by stream')
      .all();
  const before = proofs();
  expect(before).toContainEqual({ stream: 'stock', n: 2 });
  migrate(database, clock);
  // Lists that do not come as bytes are told by their digest alone.
  const bytes = new Set<unknown>(['season', 'stock']);
  expect(proofs()).toEqual(
    z
      .array(z.object({ stream: z.string(), n: z.number() }))
      .parse(before)
      .map(({ stream, n }) => ({ stream, n: bytes.has(stream) ? 0 : n })),
  );
  database.close();
});

it('views count anew what was there before', () => {
  const database = new Database(loadDump(2));
  migrate(database, clock, migrations.slice(0, 20));
  database.exec(`update sales_order set completed = 0, deleted_at = null;
    update delivery set status = 'accepted', tracking_numbers = '["TT1"]', changed_at = 0`);
  const accepted = database.prepare('select coalesce(sum(accepted), 0) from v_reserved').pluck();
  expect(accepted.get()).toBeGreaterThan(0);
  migrate(database, clock);
  expect(accepted.get()).toBe(0);
  database.close();
});

it('views name no season that was left empty before', () => {
  const database = new Database(loadDump(2));
  migrate(database, clock, migrations.slice(0, 21));
  database.exec(`update stock_variant set season_name = '', deleted_at = null;
    update sales_order set season_name = null, status = 'pending', deleted_at = null;
    update sales_order_line set season_name = ''`);
  const stock = database.prepare("select count(*) from v_stock where season_name = ''").pluck();
  const orders = database.prepare('select count(*) from v_preorder_book').pluck();
  expect(stock.get()).toBeGreaterThan(0);
  expect(orders.get()).toBeGreaterThan(0);
  migrate(database, clock);
  expect([stock.get(), orders.get()]).toEqual([0, 0]);
  database.close();
});

it('a return under another style that is in the feed already is found by the style before', () => {
  const database = new Database(loadDump(2));
  migrate(database, clock, migrations.slice(0, 22));
  database.exec(`insert into change (at, entity, key, op, diff, cause)
    values (1, 'stock_variant', 'b-1', 'restore', '{"style_no":["S-1","S-2"]}', 'run:9')`);
  migrate(database, clock);
  const left = database.prepare(`select key from change indexed by change_style_left
    where op in ('update', 'restore') and entity = 'stock_variant'
      and diff ->> '$.style_no[0]' = 'S-1'`);
  expect(left.pluck().all()).toEqual(['b-1']);
  database.close();
});

it('a database of a newer version is refused, and left as it is', async () => {
  const path = loadDump(2);
  const database = new Database(path);
  migrate(database, clock);
  const next = migrations.length + 1;
  database.prepare("insert into schema_migration values (?, 'future', 'x', 0)").run(next);
  database.close();
  const before = rowsOf(path);
  await expect(openStore({ path, busyTimeoutMs: 100 }, clock)).rejects.toMatchObject({
    code: 'store.newer_schema',
    hint: expect.stringContaining('run the newer program'),
  });
  expect(rowsOf(path)).toEqual(before);
});

it('own views of variants show what they showed, and a broken one stops no upgrade', () => {
  const database = new Database(loadDump(2));
  migrate(database, clock, migrations.slice(0, 23));
  database.exec(`create view own_care as select barcode, extra ->> '$.careLabelWash' as wash
      from stock_variant;
    create view own_broken as select * from no_such_table`);
  const care = database.prepare('select * from own_care order by barcode');
  const before = care.all();
  expect(before.length).toBeGreaterThan(0);
  migrate(database, clock);
  database.exec(`insert into variant_extra values (1, '{"careLabelWash":"40"}', 1);
    update stock_variant_row set extra = '', extra_id = 1
      where barcode = (select min(barcode) from stock_variant_row)`);
  const [first, ...others] = care.all();
  expect(first).toMatchObject({ wash: '40' });
  expect(others).toEqual(before.slice(1));
  database.close();
});
