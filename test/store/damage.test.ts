import { closeSync, mkdirSync, openSync, readdirSync, writeFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { EXIT, exitCodeOf } from '../../src/lib/errors.ts';
import { createBackup } from '../../src/store/backup/create.ts';
import { lockFolder, makeDataFolder } from '../../src/store/lock.ts';
import { openReadOnlyStore, openStore } from '../../src/store/store.ts';
import { damage, temporaryFolder, temporaryStore } from '../support/store.ts';

const busyTimeoutMs = 1_000;

function garbage(): string {
  const path = join(temporaryFolder(), 'mirror.db');
  writeFileSync(path, 'no database at all, '.repeat(500));
  return path;
}

/** Returns what an operator sees: message, next step, exit code. */
async function failureOf(work: () => unknown) {
  try {
    await work();
  } catch (error) {
    const { message, hint } = error as Error & { hint?: string };
    return { message, hint: hint ?? '', exit: exitCodeOf(error) };
  }
  throw new Error('it did not fail');
}

describe('a start that cannot go on', () => {
  it('names a file that is no database, and what to do, for writers and readers', async () => {
    const path = garbage();
    const openings = [
      () => openStore({ path, busyTimeoutMs }, manualClock()),
      () => openReadOnlyStore({ path, busyTimeoutMs }),
    ];
    for (const open of openings) {
      const { message, hint, exit } = await failureOf(open);
      expect(message).toBe(`${path}: file is not a database`);
      expect(hint).toContain('backup');
      expect(exit).toBe(EXIT.store.code);
    }
  });

  it('names a database whose header was overwritten while it was closed', async () => {
    const store = await temporaryStore();
    await store.close();
    const file = openSync(store.path, 'r+');
    writeSync(file, Buffer.alloc(8_192, 0x5a), 0, 8_192, 0);
    closeSync(file);
    const { message, exit } = await failureOf(() =>
      openStore({ path: store.path, busyTimeoutMs }, manualClock()),
    );
    expect(message).toContain(store.path);
    expect(exit).toBe(EXIT.store.code);
  });

  it('does not send whoever may not write the file to a backup', async () => {
    const store = await temporaryStore();
    await store.close();
    // "To be read only" (the file format, 1.3.3): root, too, would write a file without permission.
    const file = openSync(store.path, 'r+');
    writeSync(file, Buffer.of(3), 0, 1, 18);
    closeSync(file);
    const open = () => openStore({ path: store.path, busyTimeoutMs }, manualClock());
    const { message, hint, exit } = await failureOf(open);
    expect(message).toBe(`${store.path}: attempt to write a readonly database`);
    expect(hint).toBe('this user must be allowed to write this file, and in its folder');
    expect(exit).toBe(EXIT.store.code);
  });

  it.each(['schema_migration', 'daemon_state'])(
    'is not tried again where the table %s is damaged, which it needs to open',
    async (table) => {
      const store = await temporaryStore();
      const { path } = store;
      await store.close();
      await damage(path, table);
      const openings: (() => Promise<unknown>)[] = [
        () => openStore({ path, busyTimeoutMs }, manualClock()),
      ];
      const reader = () => openReadOnlyStore({ path, busyTimeoutMs });
      if (table === 'schema_migration') openings.push(reader);
      for (const open of openings) {
        const { message, hint, exit } = await failureOf(open);
        expect(message).toContain(`${path} is damaged: `);
        expect(hint).toContain('selvedge backup restore');
        expect(exit).toBe(EXIT.store.code);
      }
    },
  );

  it('tells a reader of a database without our schema to have it made', async () => {
    const path = join(temporaryFolder(), 'mirror.db');
    writeFileSync(path, '');
    const { message, hint, exit } = await failureOf(() =>
      openReadOnlyStore({ path, busyTimeoutMs }),
    );
    expect(message).toMatch(/mirror\.db has schema 0, this program needs \d+$/);
    expect(hint).toContain('start the daemon');
    expect(exit).toBe(EXIT.store.code);
  });

  it('does not send a reader of an emptied database to the daemon, which refuses it', async () => {
    const path = join(temporaryFolder(), 'mirror.db');
    for (const name of [path, `${path}-wal`]) writeFileSync(name, '');
    const { hint } = await failureOf(() => openReadOnlyStore({ path, busyTimeoutMs }));
    expect(hint).toContain('selvedge backup restore');
  });

  it('says that the data folder cannot be made, and which it is', async () => {
    const path = join(temporaryFolder(), 'taken');
    writeFileSync(path, '');
    const { message, hint, exit } = await failureOf(() => makeDataFolder(path));
    expect(message).toContain(`the data folder ${path} cannot be made: EEXIST`);
    expect(hint).toContain('dataDir');
    expect(exit).toBe(EXIT.config.code);
  });

  it('does not take a lock file that cannot be opened for another daemon', async () => {
    const path = join(temporaryFolder(), 'daemon.lock');
    mkdirSync(path);
    const { message, hint, exit } = await failureOf(() => lockFolder(path));
    expect(message).toContain(`cannot lock ${path}`);
    expect(hint).toContain('dataDir');
    expect(exit).toBe(EXIT.config.code);
  });

  it('says that another daemon has the folder when one has', async () => {
    const path = join(temporaryFolder(), 'daemon.lock');
    const lock = lockFolder(path);
    expect((await failureOf(() => lockFolder(path))).exit).toBe(EXIT.temporary.code);
    lock.release();
    lockFolder(path).release();
  });
});

describe('a backup of a damaged database', () => {
  const create = (path: string, at?: number) => {
    const dataDir = dirname(path);
    const [exchangeFile, directory] = [join(dataDir, 'exchange.db'), join(dataDir, 'backups')];
    const plan = { dataDir, exchangeFile, directory, keep: 1, busyTimeoutMs, program: 'test' };
    return createBackup(plan, manualClock(at));
  };

  it('says that the database is damaged, not that there is no room', async () => {
    const store = await temporaryStore();
    const { path } = store;
    await create(path, 0);
    const before = readdirSync(join(dirname(path), 'backups'));
    await store.close();
    await damage(path, 'webhook_event');
    const { message, hint, exit } = await failureOf(() => create(path));
    expect(message).toContain(`${path} cannot be copied`);
    expect(hint).toBe('it is damaged: keep it, and see docs/operating/backup.md');
    expect(exit).toBe(EXIT.store.code);
    expect(readdirSync(join(dirname(path), 'backups'))).toEqual(before);
  });

  it('says so too where only its copy shows it', async () => {
    const store = await temporaryStore();
    const { path, db } = store;
    await sql`insert into audit (at, actor, action, subject, reason, detail)
      select key, 'ann', 'look', 's', 'r', '{}'
      from json_each(${JSON.stringify(Array(100).fill(0))})`.execute(db);
    const { rows } = await sql<{ page: number; size: number }>`
      select rootpage as page, page_size as size from sqlite_schema, pragma_page_size
      where name = 'audit'`.execute(db);
    const { page, size } = rows[0] ?? { page: 0, size: 0 };
    await store.close();
    const file = openSync(path, 'r+');
    writeSync(file, Buffer.alloc(size / 2), 0, size / 2, (page - 0.5) * size);
    closeSync(file);
    const { message, hint, exit } = await failureOf(() => create(path));
    expect(message).toMatch(/a copy of \S+mirror\.db is damaged, made just now: .*Rowid/s);
    expect(hint).toContain('selvedge doctor');
    expect(exit).toBe(EXIT.store.code);
    expect(readdirSync(join(dirname(path), 'backups'))).toEqual([]);
  });
});
