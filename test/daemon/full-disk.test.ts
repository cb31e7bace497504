/** Starts and commands on a disk without room: they say so, and may be tried again. */
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished, type TestContext } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { EXIT, exitCodeOf, toError } from '../../src/lib/errors.ts';
import { lockFile, lockFolder } from '../../src/store/lock.ts';
import { type Migration, migrate, readMigrations } from '../../src/store/migrate.ts';
import { freeBytesAt } from '../../src/store/space.ts';
import { openReadOnlyStore, openStore } from '../../src/store/store.ts';
import { selvedge } from '../cli/support.ts';
import { rejection } from '../client/support.ts';
import { ENV, MINIMAL, writeConfig } from '../config/support.ts';
import { afterFirstStep, stepsFolder } from '../support/made-up-steps.ts';
import { mountSmallDisk } from '../support/small-disk.ts';
import { placeDatabase, temporaryFolder } from '../support/store.ts';

const KIB = 1_024;

/** So much is free, from nothing at all to not enough for the whole schema. */
const ROOMS = [0, 4, 16, 40, 100, 600].map((kib) => ({ kib }));

/** A copy is not begun that cannot be ended. */
const TOO_SMALL =
  /^selvedge: the disk is full: no room for .*: it may need [\d.]+ [KM]iB, [\d.]+ KiB are free\n/;

/** With a filler that leaves this much free. Skips the test where this user may not mount one. */
function fullDisk({ skip }: TestContext, freeBytes: number) {
  const disk = mountSmallDisk() ?? skip('this user may not mount a file system');
  const dataDir = join(disk, 'data');
  mkdirSync(dataDir);
  const file = writeConfig(`dataDir: ${dataDir}\n${MINIMAL}`);
  const filler = join(disk, 'filler');
  const fill = async () =>
    writeFileSync(filler, Buffer.alloc(Math.max(0, (await freeBytesAt(disk)) - freeBytes)));
  return { dataDir, file, fill, makeRoom: () => rmSync(filler) };
}

it.for([0, 1, 2, 3, 4].map((files) => ({ files })))(
  'is told by a first start where only $files more files can be made, as well',
  async ({ files }, { skip }) => {
    const dataDir = mountSmallDisk(1 + files) ?? skip('this user may not mount a file system');
    const path = join(dataDir, 'mirror.db');
    const start = async () => {
      const folder = lockFolder(lockFile(dataDir));
      await openStore({ path, busyTimeoutMs: 100 }, manualClock()).finally(() => folder.release());
    };
    for (const _again of [false, true]) {
      const error = await rejection(start());
      expect(error).toMatchObject({
        message: expect.stringMatching(/^the disk is full: no room/),
        hint: expect.stringContaining('df -i'),
      });
      expect(exitCodeOf(error)).toBe(EXIT.temporary.code);
    }
  },
);

it('is told by a reader for whom nothing can be made beside the database', async ({ skip }) => {
  const folder = mountSmallDisk(2) ?? skip('this user may not mount a file system');
  const path = join(folder, 'mirror.db');
  placeDatabase(path);
  const error = await rejection(openReadOnlyStore({ path, busyTimeoutMs: 100 }));
  expect(error).toMatchObject({ code: 'store.disk_full', hint: expect.stringContaining('df -i') });
});

describe('a full disk', () => {
  it.for(ROOMS)(
    'is told by a first start with $kib KiB, which may be repeated',
    async (room, context) => {
      const disk = fullDisk(context, room.kib * KIB);
      await disk.fill();
      for (const again of [false, true]) {
        const { code, stderr } = await selvedge(['--config', disk.file, 'run'], ENV);
        expect([again, stderr]).toEqual([
          again,
          expect.stringMatching(/^selvedge: the disk is full: no room for \S+\/data\/[a-z]/),
        ]);
        expect(stderr).toContain('hint: free space');
        expect(code).toBe(EXIT.temporary.code);
      }
      disk.makeRoom();
      const path = join(disk.dataDir, 'mirror.db');
      const { store } = await openStore({ path, busyTimeoutMs: 100 }, manualClock());
      await store.close();
    },
  );

  // With 80 KiB the lease is written and nothing more, so that its release fails as well.
  it.for([{ kib: 0 }, { kib: 40 }, { kib: 80 }, { kib: 112 }])(
    'is told of a database that is there: $kib',
    async (room, context) => {
      const disk = fullDisk(context, room.kib * KIB);
      const path = join(disk.dataDir, 'mirror.db');
      placeDatabase(path);
      const { size } = statSync(path);
      await disk.fill();
      const { code, stderr } = await selvedge(['--config', disk.file, 'run'], ENV);
      expect(stderr).toMatch(/^selvedge: the disk is full: no room for \S+\/data\S*\nhint: .*\n$/);
      expect(code).toBe(EXIT.temporary.code);
      expect(statSync(path).size).toBe(size);
    },
  );

  it('is told by a backup, which leaves nothing behind', async (context) => {
    const disk = fullDisk(context, 100 * KIB);
    const path = join(disk.dataDir, 'mirror.db');
    placeDatabase(path);
    await disk.fill();
    const directory = join(disk.dataDir, 'backup');
    const args = ['--config', disk.file, 'backup', 'create', '--to', directory];
    const { code, stderr } = await selvedge(args, ENV);
    expect(stderr).toMatch(TOO_SMALL);
    expect(code).toBe(EXIT.temporary.code);
    expect(readdirSync(directory)).toEqual([]);
  });

  it('does not keep a person from pausing all pushes, by a file', async (context) => {
    const disk = fullDisk(context, 0);
    placeDatabase(join(disk.dataDir, 'mirror.db'));
    await disk.fill();
    const args = ['--config', disk.file, 'pause', 'pushes', '--reason', 'why'];
    const { code, stderr } = await selvedge(args, ENV);
    expect(stderr).toMatch(/^selvedge: nothing is paused: .*\nhint: .*: touch .*pushes\.paused$/m);
    expect(code).toBe(EXIT.temporary.code);
    writeFileSync(join(disk.dataDir, 'pushes.paused'), '');
    disk.makeRoom();
    const { stdout } = await selvedge(['--config', disk.file, 'status'], ENV);
    expect(stdout).toMatch(/^PAUSED +pushes by file since .*: without a reason$/m);
  });

  it('is told before a database is copied that lacks a migration', async (context) => {
    const disk = fullDisk(context, 200 * KIB);
    const database = afterFirstStep(join(disk.dataDir, 'mirror.db'), 1);
    onTestFinished(() => void database.close());
    const steps = readMigrations(stepsFolder());
    await disk.fill();
    const files = readdirSync(disk.dataDir);
    const refused = toError(
      await rejection((async () => migrate(database, manualClock(), steps))()),
    );
    expect(`selvedge: ${refused.message}\n`).toMatch(TOO_SMALL);
    expect(refused.message).toContain('mirror.db.before-');
    expect(exitCodeOf(refused)).toBe(EXIT.temporary.code);
    expect(readdirSync(disk.dataDir)).toEqual(files);
    disk.makeRoom();
    expect(migrate(database, manualClock(), steps)).toMatchObject({ from: 1, to: 3 });
  });

  it('ends a migration with everything as it was, the copy from before it included', () => {
    const path = join(temporaryFolder(), 'mirror.db');
    placeDatabase(path);
    const database = new Database(path);
    onTestFinished(() => void database.close());
    const shape = () => database.prepare('select sql from sqlite_schema order by name').all();
    const before = shape();
    const known = readMigrations();
    const sql = 'create table big (x blob); insert into big values (zeroblob(1000000))';
    const next: Migration = { version: known.length + 1, name: 'next', sql, checksum: '' };
    // Stands for the disk: the copy found room, and the migration does not.
    const pages = Number(database.pragma('page_count', { simple: true }));
    database.pragma(`max_page_count = ${pages + 10}`);
    // The daemon is started again and again: each time one more copy would take what is left.
    for (const at of [1, 2]) {
      let failure: unknown;
      try {
        migrate(database, manualClock(at), [...known, next]);
      } catch (error) {
        failure = error;
      }
      expect(exitCodeOf(failure)).toBe(EXIT.temporary.code);
    }
    expect(shape()).toEqual(before);
    expect(readdirSync(join(path, '..')).filter((name) => name.includes('before'))).toEqual([]);
  });
});
