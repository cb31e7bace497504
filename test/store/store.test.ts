import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { openReader, openWriter, verifyPragmas } from '../../src/store/connection.ts';
import { acquireLease, isFolderLocked, lockFolder } from '../../src/store/lock.ts';
import { createReadSequence, readState, writeState } from '../../src/store/state.ts';
import { openReadOnlyStore, openStore, type Tx } from '../../src/store/store.ts';
import { foreignSql } from '../support/foreign-sql.ts';
import { temporaryFolder, temporaryStore } from '../support/store.ts';

const options = { busyTimeoutMs: 1_000 };
const INCIDENT =
  "insert into incident (at, kind, entity, key, detail) values (1, 'a', 'b', 'c', '{}')";

describe('opening the database', () => {
  it('keeps synchronous=FULL after the first write, where the driver would drop it', async () => {
    const path = join(temporaryFolder(), 'mirror.db');
    const database = openWriter(path, options);
    database.exec('create table t (x) strict'.replace('(x)', '(x INTEGER)'));
    database.exec('insert into t values (1)');
    expect(database.pragma('synchronous', { simple: true })).toBe(2);
    expect(() => verifyPragmas(database)).not.toThrow();
    database.close();
  });

  it('notices a durability setting that did not hold', () => {
    const database = openWriter(join(temporaryFolder(), 'mirror.db'), options);
    database.pragma('synchronous = normal');
    expect(() => verifyPragmas(database)).toThrow(/synchronous is 1 instead of 2/);
    database.close();
  });

  it('refuses to write where the driver drops what durability rests on', async () => {
    const path = join(temporaryFolder(), 'mirror.db');
    const { pragma } = Database.prototype;
    onTestFinished(() => {
      Database.prototype.pragma = pragma;
    });
    Database.prototype.pragma = function dropsOne(source, asked) {
      return pragma.call(this, source === 'synchronous = 2' ? 'synchronous = 1' : source, asked);
    };
    await expect(openStore({ path, ...options }, manualClock())).rejects.toMatchObject({
      code: 'store.pragma_lost',
    });
  });

  it('refuses a file that belongs to another program', () => {
    const path = join(temporaryFolder(), 'other.db');
    const other = new Database(path);
    other.exec('create table customers (id integer)');
    other.close();
    expect(() => openWriter(path, options)).toThrow(/not a Selvedge database/);
  });

  it('refuses a file that another program has begun, and that has no table yet', () => {
    const path = join(temporaryFolder(), 'other.db');
    const other = new Database(path);
    other.pragma('application_id = 7');
    expect(() => openWriter(path, options)).toThrow(/not a Selvedge database/);
    other.close();
  });

  it('says which file cannot be opened', () => {
    expect(() => openReader('/nonexistent/mirror.db', options)).toThrow(
      /cannot open \/nonexistent\/mirror\.db/,
    );
  });

  it('gives readers a connection that cannot write', async () => {
    const store = await temporaryStore();
    const reader = await openReadOnlyStore({ path: store.path, ...options });
    const write = reader.db
      .insertInto('daemon_state')
      .values({ key: 'a', value: 'b', updated_at: 1 });
    await expect(write.execute()).rejects.toThrow(/readonly/);
    await reader.close();
  });

  it('lets a reader see one state of the database while the writer goes on', async () => {
    const store = await temporaryStore();
    const reader = await openReadOnlyStore({ path: store.path, ...options });
    const count = (tx: Tx) => tx.selectFrom('incident').select('entity').execute();
    const seen = await reader.snapshot(async (tx) => {
      const before = await count(tx);
      foreignSql(store.path, INCIDENT);
      return [before.length, (await count(tx)).length];
    });
    expect(seen).toEqual([0, 0]);
    expect(await reader.snapshot(count)).toHaveLength(1);
    await reader.close();
  });
});

describe('transactions', () => {
  it('throw at once when the outer handle is used inside, where it would hang', async () => {
    const store = await temporaryStore();
    const work = store.transaction(async () => {
      await store.db.selectFrom('brand').selectAll().execute();
    });
    await expect(work).rejects.toMatchObject({ code: 'bug.outer_handle' });
  });

  it('run effects only after the commit', async () => {
    const store = await temporaryStore();
    const effects: string[] = [];
    await expect(
      store.transaction(async (_tx, onCommit) => {
        onCommit(() => effects.push('failed'));
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    await store.transaction(async (tx, onCommit) => {
      onCommit(() => effects.push('committed'));
      await writeState(tx, 'a', 'b', manualClock());
    });
    expect(effects).toEqual(['committed']);
    expect(await readState(store.db, 'a')).toBe('b');
  });

  it('let nothing be written after they are rolled back, by whoever goes on beside', async () => {
    const store = await temporaryStore();
    const late: Promise<void>[] = [];
    const writeAfter = async (tx: Tx, turns: number): Promise<void> => {
      for (let turn = 0; turn < turns; turn += 1) await undefined;
      await writeState(tx, `late ${turns}`, 'yes', manualClock());
    };
    const work = store.transaction(async (tx) => {
      for (let turns = 0; turns < 40; turns += 1) late.push(writeAfter(tx, turns));
      throw new Error('no');
    });
    await expect(work).rejects.toThrow('no');
    await Promise.allSettled(late);
    const written = await store.db.selectFrom('daemon_state').select('key').execute();
    expect(written.filter(({ key }) => key.startsWith('late'))).toEqual([]);
  });

  it('take their turn when many are begun at once', async () => {
    const store = await temporaryStore();
    const clock = manualClock();
    const add = async (): Promise<void> =>
      store.transaction(async (tx) => {
        const value = Number((await readState(tx, 'n')) ?? '0');
        await writeState(tx, 'n', String(value + 1), clock);
      });
    await Promise.all(Array.from({ length: 50 }, add));
    expect(await readState(store.db, 'n')).toBe('50');
  });
});

describe('a database that is written again', () => {
  it('lets everything else go on but writes, which wait for their turn', async () => {
    const store = await temporaryStore();
    const order: string[] = [];
    let turns = 0;
    const count = (): void => {
      turns += 1;
      if (order.length < 2) setImmediate(count);
    };
    setImmediate(count);
    const again = store.writeAgain().then(() => order.push('written again'));
    const write = store
      .transaction((tx) => writeState(tx, 'a', 'b', manualClock()))
      .then(() => order.push('another write'));
    expect(await readState(store.db, 'a')).toBeUndefined();
    await Promise.all([again, write]);
    expect(order).toEqual(['written again', 'another write']);
    // The thread alone takes longer to start than this many turns.
    expect(turns).toBeGreaterThan(20);
  });

  it('is written once for all who ask before it begins', async () => {
    const store = await temporaryStore();
    const version = async () => {
      const { rows } = await sql<{ schema_version: number }>`pragma schema_version`.execute(
        store.db,
      );
      return rows[0]?.schema_version ?? 0;
    };
    const [first] = [await version(), await store.writeAgain()];
    const once = (await version()) - first;
    expect(once).toBeGreaterThan(0);
    const before = await version();
    const asked = [store.writeAgain(), store.writeAgain(), store.writeAgain()];
    expect(await Promise.all(asked)).toEqual([true, true, true]);
    expect((await version()) - before).toBe(once);
  });

  it('keeps the transaction that was under way', async () => {
    const store = await temporaryStore();
    const [inside, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const write = store.transaction(async (tx) => {
      inside.resolve();
      await goOn.promise;
      await writeState(tx, 'a', 'b', manualClock());
    });
    await inside.promise;
    const again = store.writeAgain();
    goOn.resolve();
    await Promise.all([write, again]);
    expect(await readState(store.db, 'a')).toBe('b');
  });

  it('says that a reading program keeps the log from being emptied', async () => {
    const store = await temporaryStore();
    const reader = openReader(store.path, { busyTimeoutMs: 0 });
    onTestFinished(() => {
      reader.close();
    });
    reader.exec('begin; select count(*) from daemon_state');
    expect(await store.writeAgain()).toBe(false);
  });
});

describe('the read sequence', () => {
  it('gives out no number of a block that could not be written down', async () => {
    const store = await temporaryStore();
    // The commit checks the deferred key, and fails.
    await sql`create table parent (id integer primary key) strict`.execute(store.db);
    await sql`create table child (id integer references parent deferrable initially deferred)
      strict`.execute(store.db);
    await sql`create trigger refuse after insert on daemon_state begin
      insert into child values (1); end`.execute(store.db);
    const sequence = createReadSequence(store, manualClock());
    await expect(sequence.next()).rejects.toThrow('FOREIGN KEY');
    await sql`drop trigger refuse`.execute(store.db);
    const before = await sequence.next();
    const later = createReadSequence(store, manualClock());
    expect(await later.next()).toBeGreaterThan(before);
  });

  it('grows over restarts and over many callers at once', async () => {
    const store = await temporaryStore();
    const first = createReadSequence(store, manualClock());
    const numbers = await Promise.all(Array.from({ length: 2_500 }, () => first.next()));
    expect(new Set(numbers).size).toBe(2_500);
    const second = createReadSequence(store, manualClock());
    expect(await second.next()).toBeGreaterThan(Math.max(...numbers));
  });
});

describe('the instance lock', () => {
  it('lets one daemon in, tells the other why, and is free after a release', () => {
    const path = join(temporaryFolder(), 'daemon.lock');
    const lock = lockFolder(path);
    expect(() => lockFolder(path)).toThrow(/a daemon runs on this data folder/);
    expect(isFolderLocked(path)).toBe(true);
    lock.release();
    expect(isFolderLocked(path)).toBe(false);
    lockFolder(path).release();
  });

  it('is for its owner alone: whoever may read it could keep every daemon out', () => {
    const umask = process.umask(0o022);
    onTestFinished(() => void process.umask(umask));
    const path = join(temporaryFolder(), 'daemon.lock');
    const lock = lockFolder(path);
    expect([path, `${path}-journal`].map((name) => statSync(name).mode & 0o777)).toEqual([
      0o600, 0o600,
    ]);
    lock.release();
  });

  it('is dropped by the kernel when the process is killed', () => {
    const path = join(temporaryFolder(), 'daemon.lock');
    const script = `
      const Database = require('better-sqlite3');
      const db = new Database(${JSON.stringify(path)});
      db.exec('begin exclusive');
      process.kill(process.pid, 'SIGKILL');
    `;
    expect(() => execFileSync(process.execPath, ['-e', script], { stdio: 'ignore' })).toThrow();
    lockFolder(path).release();
  });

  it('tells a daemon that slept too long that somebody took its lease over', async () => {
    const clock = manualClock();
    const store = await temporaryStore(clock);
    const sleeper = await acquireLease(store, 30_000, clock);
    await sleeper.renew();
    const other = await acquireLease(store, 30_000, clock);
    await expect(sleeper.renew()).rejects.toMatchObject({ code: 'store.lease_lost' });
    await sleeper.release();
    const until = async () =>
      (await store.db.selectFrom('lease').select('expires_at').executeTakeFirst())?.expires_at;
    await clock.advance(10_000);
    await other.renew();
    expect(await until()).toBe(clock.now() + 30_000);
    await other.release();
    expect(await until()).toBe(0);
  });
});
