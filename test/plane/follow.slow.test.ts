/** Whatever happens between a mirror and its plane, the plane has what the mirror has. */
import { copyFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { cellOf, readCursor } from '../../src/plane/cursor.ts';
import { type Connect, planeClient, type Query } from '../../src/plane/postgres.ts';
import { copyWhole } from '../../src/plane/rebuild.ts';
import { createSink } from '../../src/plane/sink.ts';
import { createSource } from '../../src/plane/source.ts';
import { readPlaneStatus } from '../../src/plane/status-file.ts';
import { addLedgerFeed, removeLedgerFeed } from '../../src/store/ledger-feed.ts';
import { temporaryStore } from '../support/store.ts';
import { deleteEntriesBefore } from './churn.ts';
import {
  changeALot,
  isWrong,
  openPglite,
  type Pglite,
  planeHouse,
  wrongTables,
} from './support.ts';
import { ALL_CONTENT, SCHEMA } from './world.ts';

/** Puts an older copy in the place of the mirror, as a person does. */
function putBack(path: string, backup: string): void {
  for (const ending of ['', '-wal', '-shm']) renameSync(path + ending, `${path}.aside${ending}`);
  copyFileSync(backup, path);
}

let pglite: Pglite;

beforeAll(async () => {
  pglite = await openPglite();
});

afterEach(async () => {
  await pglite.clear();
});

afterAll(async () => {
  await pglite.close();
});

describe('the plane, in PGlite', () => {
  it('has every row of the mirror however often it has followed', async () => {
    const clock = manualClock();
    const house = await planeHouse({ connect: pglite.connect, clock, seed: 1 });
    await changeALot(house, 60);
    expect(await house.settle()).toEqual(['rebuilt', 'nothing']);
    expect(await wrongTables(house)).toEqual([]);
    for (let round = 0; round < 10; round += 1) {
      await changeALot(house, 30);
      const { pending, tables } = await house.verify(false);
      expect(tables.filter(isWrong)).toEqual([]);
      expect(pending).toBeGreaterThan(0);
      expect(await house.settle()).toEqual(['followed', 'nothing']);
      expect(await wrongTables(house)).toEqual([]);
    }
  });

  it('loses and doubles nothing when the connection breaks at any statement', async () => {
    let left = Number.POSITIVE_INFINITY;
    const broken = new Error('Connection terminated unexpectedly');
    const query: Query = async (text, params) => {
      left -= 1;
      if (left < 0) throw broken;
      const result = await pglite.query(text, params);
      // The answer is lost, and the server has done what it was asked for.
      if (left === 0 && text === 'commit') throw broken;
      return result;
    };
    const connect: Connect = async () =>
      planeClient(SCHEMA, query, async () => {
        left = Number.POSITIVE_INFINITY;
        await pglite.query('rollback');
      });
    const house = await planeHouse({ connect, clock: manualClock(), seed: 10 });
    await changeALot(house);
    await house.settle();
    let failures = 0;
    for (let statement = 1; failures === statement - 1; statement += 1) {
      await changeALot(house, 6);
      left = statement;
      await house.sink.pass().catch(() => {
        failures += 1;
      });
      left = Number.POSITIVE_INFINITY;
      await house.settle();
      if (statement % 6 === 0) expect(await wrongTables(house)).toEqual([]);
    }
    expect(await wrongTables(house)).toEqual([]);
    expect(failures).toBeGreaterThan(5);
  });

  it('is compared, and right again, after a backup took the place of the mirror', async () => {
    const house = await planeHouse({ connect: pglite.connect, clock: manualClock(), seed: 2 });
    await changeALot(house);
    await house.settle();
    const backup = `${house.store.path}.backup`;
    await sql`vacuum into ${backup}`.execute(house.store.db);
    await changeALot(house);
    await house.settle();
    // The same numbers as before, for other rows.
    const restored = new Database(backup);
    restored.exec(`update stock_variant_row set quantity = 4711;
      insert into change (at, entity, key, op, diff, cause)
      select 1, 'stock_variant', barcode, 'update', '{}', 'x' from stock_variant_row, size_rank`);
    restored.close();
    putBack(house.store.path, backup);
    expect(await house.settle()).toEqual(['reconciled', 'nothing']);
    expect(await wrongTables(house)).toEqual([]);
  });

  it('is compared when the mirror was put back to between the cursor and rows it has', async () => {
    let meanwhile = async (): Promise<void> => undefined;
    const connect: Connect = async () => {
      const client = await pglite.connect();
      return {
        ...client,
        async query(text, params) {
          // After the cursor was set, and before the rows are read.
          if (text.startsWith('delete from "webhook_event"')) await meanwhile();
          return client.query(text, params);
        },
      };
    };
    const house = await planeHouse({ connect, clock: manualClock(), seed: 11 });
    const backup = `${house.store.path}.backup`;
    meanwhile = async () => {
      await sql`vacuum into ${backup}`.execute(house.store.db);
      await sql`insert into webhook_event (event_id, received_at, sent_at, body, secret_name,
        outcome) values ('late', 1, 1, x'', '', 'stored')`.execute(house.store.db);
    };
    expect((await house.sink.pass()).did).toBe('rebuilt');
    meanwhile = async () => undefined;
    putBack(house.store.path, backup);
    expect(await house.settle()).toEqual(['reconciled', 'nothing']);
    expect(await wrongTables(house)).toEqual([]);
  });

  it('is compared after the feed of the ledgers was removed and begun again', async () => {
    const clock = manualClock();
    const house = await planeHouse({ connect: pglite.connect, clock, seed: 10 });
    const { store } = house;
    await house.settle();
    await store.transaction((tx) => removeLedgerFeed(tx));
    // No entry tells of this row, and the feed that follows begins as the first one did.
    await sql`insert into audit (at, actor, action, subject, reason, detail)
      values (1, 'cli:ann', 'pause', 'pushes', 'prices', '{}')`.execute(store.db);
    await clock.advance(1_000);
    await store.transaction((tx) => addLedgerFeed(tx, clock.now()));
    expect(await house.settle()).toEqual(['reconciled', 'nothing']);
    expect(await wrongTables(house)).toEqual([]);
  });

  it('is made again once entries are deleted that it has not seen', async () => {
    const house = await planeHouse({ connect: pglite.connect, clock: manualClock(), seed: 3 });
    await changeALot(house);
    await house.settle();
    await changeALot(house, 60);
    await deleteEntriesBefore(house.store, Number.MAX_SAFE_INTEGER);
    await changeALot(house, 5);
    expect(await house.settle()).toEqual(['rebuilt', 'nothing']);
    expect(await wrongTables(house)).toEqual([]);
  });

  it('goes on where all entries that it has seen are deleted, without their history', async () => {
    const house = await planeHouse({ connect: pglite.connect, clock: manualClock(), seed: 4 });
    await changeALot(house);
    await house.settle();
    await deleteEntriesBefore(house.store, Number.MAX_SAFE_INTEGER);
    expect(await house.settle()).toEqual(['nothing']);
    await changeALot(house);
    expect(await house.settle()).toEqual(['followed', 'nothing']);
    expect(await wrongTables(house)).toEqual([]);
  });

  it('is written by one sink of an account, while the other backs off', async () => {
    const clock = manualClock();
    const house = await planeHouse({ connect: pglite.connect, clock, seed: 5 });
    await changeALot(house);
    await house.settle();
    const { source, connect, dataDir } = house;
    const settings = { account: 'acme', schema: SCHEMA, everyMs: 1_000, dataDir };
    const other = createSink({ source, connect, settings, clock, log: silentLogger() });
    await other.pass();
    await changeALot(house, 5);
    expect((await house.sink.pass()).did).toBe('followed');
    await changeALot(house, 5);
    await expect(other.pass()).rejects.toMatchObject({ code: 'plane.other_sink' });
    expect(readPlaneStatus(dataDir)).toMatchObject({ state: 'waiting' });
    expect((await other.pass()).did).toBe('followed');
    expect(await wrongTables(house)).toEqual([]);
  });

  it('is copied again as a whole, although the sink that follows moved on meanwhile', async () => {
    const clock = manualClock();
    const house = await planeHouse({ connect: pglite.connect, clock, seed: 15 });
    await changeALot(house);
    await house.settle();
    const client = await house.connect();
    const reader = house.source.reader();
    const cell = cellOf(house.dataDir);
    const deps = { client, reader, account: 'acme', cell, now: clock.now };
    const known = await readCursor(client, 'acme');
    await changeALot(house, 5);
    expect(await house.settle()).toEqual(['followed', 'nothing']);
    const { cursor } = await copyWhole(deps, known, 'rebuild');
    expect(cursor.change.seq).toBeGreaterThan(known?.change.seq ?? 0);
    expect(await wrongTables(house)).toEqual([]);
    // Nobody agreed to replace what another database has put there meanwhile.
    await client.query("update plane_cursor set place = 'elsewhere'");
    await expect(copyWhole(deps, cursor, 'rebuild')).rejects.toMatchObject({
      code: 'plane.other_sink',
      message: 'another sink writes account acme, from elsewhere',
    });
  });

  it('is not put right in turn by the sinks of a mirror and of its copy elsewhere', async () => {
    const clock = manualClock();
    const { connect } = pglite;
    const house = await planeHouse({ connect, clock, seed: 12 });
    await changeALot(house);
    await house.settle();
    const copy = await temporaryStore(clock);
    await copy.close();
    await sql`vacuum into ${`${copy.path}.copy`}`.execute(house.store.db);
    renameSync(`${copy.path}.copy`, copy.path);
    const elsewhere = new Database(copy.path);
    elsewhere.exec(`insert into change (at, entity, key, op, diff, cause)
      values (1, 'stock_variant', 'x', 'delete', '{}', 'x')`);
    elsewhere.close();
    const source = createSource({ path: copy.path, busyTimeoutMs: 5_000, content: ALL_CONTENT });
    onTestFinished(() => source.close());
    const dataDir = dirname(copy.path);
    copyFileSync(join(house.dataDir, 'plane-status.json'), join(dataDir, 'plane-status.json'));
    const settings = { account: 'acme', schema: SCHEMA, everyMs: 1_000, dataDir };
    const other = createSink({ source, connect, settings, clock, log: silentLogger() });
    for (let round = 0; round < 3; round += 1) {
      await changeALot(house, 10);
      expect(await house.settle()).toEqual(['followed', 'nothing']);
      await expect(other.pass()).rejects.toMatchObject({
        code: 'plane.other_sink',
        message: expect.stringContaining(house.dataDir),
        hint: expect.stringContaining('end the other'),
      });
    }
    expect(await wrongTables(house)).toEqual([]);
    // Half a minute later the first one has ended, and this one is in its place.
    const client = await connect();
    await client.query("update plane_cursor set touched_at = touched_at - interval '30 s'");
    expect((await other.pass()).did).toBe('reconciled');
    await expect(house.sink.pass()).resolves.toMatchObject({ did: 'nothing' });
    await clock.advance(20_000);
    await expect(house.sink.pass()).rejects.toMatchObject({ code: 'plane.other_sink' });
    await expect(house.sink.pass()).rejects.toMatchObject({ code: 'plane.other_sink' });
    expect((await other.pass()).did).toBe('nothing');
  });

  it('is compared at once by a process that takes the place of the one before', async () => {
    const clock = manualClock();
    const house = await planeHouse({ connect: pglite.connect, clock, seed: 13 });
    await changeALot(house);
    const backup = `${house.store.path}.backup`;
    await sql`vacuum into ${backup}`.execute(house.store.db);
    await changeALot(house);
    await house.settle();
    await clock.advance(10_000);
    await house.sink.pass();
    putBack(house.store.path, backup);
    const { source, connect, dataDir } = house;
    const settings = { account: 'acme', schema: SCHEMA, everyMs: 1_000, dataDir };
    const next = createSink({ source, connect, settings, clock, log: silentLogger() });
    expect((await next.pass()).did).toBe('reconciled');
    expect(await wrongTables(house)).toEqual([]);
  });

  it('refuses a database whose account another one has', async () => {
    const { connect } = pglite;
    const one = await planeHouse({ connect, clock: manualClock(1_800_000_000_000), seed: 6 });
    await one.settle();
    const other = await planeHouse({ connect, clock: manualClock(1_900_000_000_000), seed: 7 });
    await sql`update schema_migration set applied_at = 1`.execute(other.store.db);
    await expect(other.sink.pass()).rejects.toMatchObject({ code: 'plane.account_taken' });
    expect((await one.verify()).isEqual).toBe(true);
  });

  it('is made again when its content is another, and keeps addresses out by default', async () => {
    const { connect } = pglite;
    const clock = manualClock();
    const content = ALL_CONTENT.filter((word) => word !== 'addresses' && word !== 'bodies');
    const house = await planeHouse({ connect, clock, seed: 8, content });
    await changeALot(house, 80);
    await sql`insert into intake (outbox_id, channel, source, received_at, callback_error)
      values (1, 'cli', '', 1, 'no door at Street 1')`.execute(house.store.db);
    await sql`insert into reject_entry (order_delivery_id, order_id, rule_id, rule_hash,
      delivery_hash, decision_id, queued_at, due_at, state, detail)
      values (1, 1, 'r', '', '', 1, 1, 1, 'held', 'Street 1')`.execute(house.store.db);
    await house.settle();
    expect(await wrongTables(house)).toEqual([]);
    const client = await connect();
    const texts = await client.query(
      'select callback_error from intake union all select detail from reject_entry',
    );
    expect(texts.rows).toEqual([{ callback_error: null }, { callback_error: null }]);
    const told = await client.query(
      `select count(*)::text as n from sales_order
       where company is not null or comment is not null or shipping_address <> '{}'`,
      [],
    );
    expect(told.rows).toEqual([{ n: '0' }]);
    const bodies = await client.query('select 1 from webhook_event where body is not null', []);
    expect(bodies.rows).toEqual([]);
  });
});
