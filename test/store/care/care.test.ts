import {
  chmodSync,
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { retentionSteps } from '../../../src/daemon/upkeep.ts';
import { manualClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { createCheckpoints } from '../../../src/store/care/checkpoints.ts';
import { createKeeper, deleteOldRows } from '../../../src/store/care/keeper.ts';
import { createReservedSpace } from '../../../src/store/care/reserved-space.ts';
import { openSecondWriter, openStore, type SqliteStore } from '../../../src/store/store.ts';
import { groupCommits } from '../../../src/store/transaction/group-commit.ts';
import { temporaryFolder, temporaryStore } from '../../support/store.ts';

const DAY = 86_400_000;
const LIMITS = {
  changes: 30 * DAY,
  events: 30 * DAY,
  stockDays: 3650 * DAY,
  runs: 30 * DAY,
  incidents: 30 * DAY,
};

/** A second connection, as another program has it. */
function foreign(store: SqliteStore): Database.Database {
  const database = new Database(store.path, { timeout: 0 });
  onTestFinished(() => void database.close());
  return database;
}

function fill(database: Database.Database, rows: number, at: number): void {
  database
    .prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
       insert into change (at, entity, key, op, diff, cause)
       select ?, 'brand', 'k' || i, 'insert', hex(randomblob(200)), 'test' from n`,
    )
    .run(rows, at);
}

const countOf = (database: Database.Database, table: string): number =>
  Number(database.prepare(`select count(*) from ${table}`).pluck().get());

describe('the files of the database', () => {
  it('are for their owner alone, also when they were open before', async () => {
    const path = join(temporaryFolder(), 'mirror.db');
    const before = process.umask(0o022);
    onTestFinished(() => void process.umask(before));
    const modes = () => ['', '-wal', '-shm'].map((ending) => statSync(path + ending).mode & 0o777);
    const open = () => openStore({ path, busyTimeoutMs: 100 }, manualClock());
    const first = await open();
    expect(modes()).toEqual([0o600, 0o600, 0o600]);
    // A kill leaves these files, and here somebody has opened them for all.
    const left = ['-wal', '-shm'].map(
      (ending) => [path + ending, readFileSync(path + ending)] as const,
    );
    await first.store.close();
    chmodSync(path, 0o644);
    for (const [name, bytes] of left) writeFileSync(name, bytes, { mode: 0o644 });
    const second = await open();
    expect(modes()).toEqual([0o640, 0o640, 0o640]);
    await second.store.close();
  });
});

describe('the write-ahead log', () => {
  it('is left to the second writer as long as there is one', async () => {
    const clock = manualClock();
    const store = await temporaryStore(clock);
    const log = silentLogger();
    const checkpoints = createCheckpoints({ store, clock, log }, 2_000_000);
    const reader = foreign(store);
    reader.exec('begin; select * from change');
    fill(foreign(store), 6_000, 0);
    checkpoints.look();
    await clock.advance(1_000);
    expect(checkpoints.figures().pinnedMs).toBe(1_000);
    reader.exec('commit');
    const { path, writeHandOff, files } = store;
    const second = await openSecondWriter({ path, writeHandOff, files, busyTimeoutMs: 100 }, clock);
    const before = checkpoints.figures().walBytes;
    expect(before).toBeGreaterThan(2_000_000);
    checkpoints.look();
    expect(checkpoints.figures()).toEqual({ walBytes: before, pinnedMs: 0 });
    await second.close();
    checkpoints.look();
    expect(checkpoints.figures().walBytes).toBe(0);
  });

  it('is left to nobody on a full disk: what room there is goes to the database', async () => {
    const clock = manualClock();
    const store = await temporaryStore(clock);
    const { path, writeHandOff, files } = store;
    const database = foreign(store);
    const second = await openSecondWriter({ path, writeHandOff, files, busyTimeoutMs: 100 }, clock);
    onTestFinished(() => second.close());
    fill(database, 1_000, 0);
    const left = (): number => {
      const [found] = database.pragma('wal_checkpoint(noop)') as [Record<string, number>];
      return (found.log ?? 0) - (found.checkpointed ?? 0);
    };
    expect(left()).toBeGreaterThan(0);
    const limit = Number(database.pragma('page_count', { simple: true }));
    // Stands for the disk: the connection may not grow the file.
    await sql`pragma max_page_count = ${sql.lit(limit)}`.execute(store.db);
    const write = store.transaction((tx) =>
      sql`insert into daemon_state values ('k', ${'x'.repeat(100_000)}, 0)`.execute(tx),
    );
    await expect(write).rejects.toMatchObject({ code: 'SQLITE_FULL' });
    expect(left()).toBe(0);
    expect(store.isCheckpointTaken).toBe(false);
  });

  it('is left again by a second writer that cannot write it back', async () => {
    const clock = manualClock();
    const store = await temporaryStore(clock);
    const { path, writeHandOff, files } = store;
    const second = await openSecondWriter({ path, writeHandOff, files, busyTimeoutMs: 100 }, clock);
    onTestFinished(() => second.close());
    const { checkpoint } = second;
    const write = async (): Promise<void> => {
      for (let i = 0; i < 4; i += 1) await second.transaction((tx) => sql`select 1`.execute(tx));
    };
    second.checkpoint = () => {
      throw Object.assign(new Error('no room'), { code: 'SQLITE_FULL' });
    };
    await write();
    expect(store.isCheckpointTaken).toBe(false);
    second.checkpoint = checkpoint;
    await write();
    expect(store.isCheckpointTaken).toBe(true);
  });

  it('is told of by the second writer: a reader who stays through pulls, or goes', async () => {
    const clock = manualClock();
    const store = await temporaryStore(clock);
    const { path, writeHandOff, files } = store;
    const checkpoints = createCheckpoints({ store, clock, log: silentLogger() });
    const pinnedMs = () => {
      checkpoints.look();
      return checkpoints.figures().pinnedMs;
    };
    const reader = foreign(store);
    reader.exec('begin; select * from change');
    fill(foreign(store), 10, 0);
    expect(pinnedMs()).toBe(0);
    const second = await openSecondWriter({ path, writeHandOff, files, busyTimeoutMs: 100 }, clock);
    await clock.advance(1_000);
    expect(pinnedMs()).toBe(1_000);
    reader.exec('commit');
    // So often that the log is written back.
    const write = async () => {
      for (let round = 0; round < 4; round += 1) {
        await second.transaction((tx) =>
          sql`update daemon_state set updated_at = updated_at + 1`.execute(tx),
        );
      }
    };
    await write();
    expect(pinnedMs()).toBe(0);
    reader.exec('begin; select * from change');
    await write();
    expect(pinnedMs()).toBe(0);
    await clock.advance(1_000);
    await second.close();
    expect(pinnedMs()).toBe(1_000);
  });

  it('is emptied once it has grown, and a reader who stays is noticed', async () => {
    const clock = manualClock();
    const store = await temporaryStore(clock);
    const lines: unknown[] = [];
    const log = { ...silentLogger(), warn: (...parts: unknown[]) => lines.push(parts[1]) };
    const checkpoints = createCheckpoints({ store, clock, log }, 2_000_000);
    const writer = foreign(store);
    writer.pragma('wal_autocheckpoint = 0');
    const reader = foreign(store);
    reader.exec('begin');
    reader.prepare('select count(*) from change').get();
    fill(writer, 10_000, 0);
    expect(checkpoints.figures().walBytes).toBeGreaterThan(2_000_000);
    checkpoints.look();
    expect(checkpoints.figures().walBytes).toBeGreaterThan(2_000_000);
    await clock.advance(700_000);
    checkpoints.look();
    expect(checkpoints.figures().pinnedMs).toBe(700_000);
    expect(lines).toEqual(['the log of the database cannot be emptied']);
    reader.exec('commit');
    checkpoints.look();
    expect(checkpoints.figures()).toEqual({ walBytes: 0, pinnedMs: 0 });
    // Writers wait again for others, as before.
    const { rows } = await sql`pragma busy_timeout`.execute(store.db);
    expect(rows).toEqual([{ timeout: 5_000 }]);
  });

  it('is emptied as well when less is free on the disk than it takes', async () => {
    const clock = manualClock();
    const store = await temporaryStore(clock);
    let free = 5_000_000;
    const deps = { store, clock, log: silentLogger(), freeBytes: () => free };
    const checkpoints = createCheckpoints(deps);
    fill(foreign(store), 6_000, 0);
    const { walBytes } = checkpoints.figures();
    expect(walBytes).toBeGreaterThan(1_000_000);
    checkpoints.look();
    expect(checkpoints.figures().walBytes).toBe(walBytes);
    free = walBytes - 1;
    checkpoints.look();
    expect(checkpoints.figures().walBytes).toBe(0);
  });
});

describe('old rows', () => {
  it('go in slices; proofs and what is young stay; pages go back to the disk', async () => {
    const clock = manualClock();
    const store = await temporaryStore(clock);
    const database = foreign(store);
    const old = clock.now() - 40 * DAY;
    fill(database, 8_000, old);
    fill(database, 10, clock.now());
    const event = database.prepare(
      `insert into webhook_event (event_id, received_at, sent_at, body, secret_name, outcome,
         last_duplicate_at) values (?, ?, ?, x'', 's', 'stored', ?)`,
    );
    event.run('old', old, old, null);
    event.run('sent again lately', old, old, clock.now());
    const run = database.prepare(
      `insert into sync_run (stream, cause, started_at, ended_at, read_seq, options, checkpoint,
         outcome) values ('brands', 'test', ?, ?, 1, '{}', '{}', ?)`,
    );
    for (const outcome of ['complete', 'suspicious', 'complete']) run.run(old, old, outcome);
    database
      .prepare("insert into stream_state (stream, due_at, last_run_id) values ('brands', 0, 3)")
      .run();
    database
      .prepare(
        `insert into audit (at, actor, action, subject, reason, detail)
         values (0, 'a', 'b', 'c', 'd', 'e')`,
      )
      .run();
    const pages = (): number => Number(database.pragma('page_count', { simple: true }));
    const before = pages();
    const keeper = createKeeper({
      ...{ store, clock, log: silentLogger(), space: { allows: () => true, canSpare: () => true } },
      checkpoints: createCheckpoints({ store, clock, log: silentLogger() }),
      retention: retentionSteps(LIMITS),
      reserved: createReservedSpace(join(temporaryFolder(), 'ballast'), 1_000),
    });
    const stop = new AbortController();
    const done = keeper.run(stop.signal);
    await clock.advance(10 * 60_000);
    stop.abort();
    await done;
    expect(countOf(database, 'change')).toBe(10);
    expect(countOf(database, 'webhook_event')).toBe(1);
    expect(database.prepare('select run_id from sync_run').pluck().all()).toEqual([3]);
    expect(countOf(database, 'audit')).toBe(1);
    expect(pages()).toBeLessThan(before / 2);
  });

  it('leave room that goes back to the disk in steps too small to be felt', async () => {
    const clock = manualClock();
    const store = await temporaryStore(clock);
    const database = foreign(store);
    fill(database, 20_000, clock.now());
    database.exec('delete from change');
    const pages = (): number => Number(database.pragma('page_count', { simple: true }));
    const keeper = createKeeper({
      ...{ store, clock, log: silentLogger(), space: { allows: () => true, canSpare: () => true } },
      checkpoints: createCheckpoints({ store, clock, log: silentLogger() }),
      retention: retentionSteps(LIMITS),
      reserved: createReservedSpace(join(temporaryFolder(), 'ballast'), 0),
    });
    const stop = new AbortController();
    const done = keeper.run(stop.signal);
    const steps: number[] = [];
    let before = pages();
    for (let turn = 0; turn < 600; turn += 1) {
      await clock.advance(10);
      if (pages() < before) steps.push(before - pages());
      before = pages();
    }
    stop.abort();
    await done;
    expect(steps.length).toBeGreaterThan(3);
    expect(Math.max(...steps)).toBeLessThanOrEqual(64);
  });

  it('go also behind many runs that held something back; what can be released stays', async () => {
    const clock = manualClock();
    const store = await temporaryStore(clock);
    const database = foreign(store);
    const old = clock.now() - 40 * DAY;
    const run = database.prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
       insert into sync_run (stream, cause, started_at, ended_at, read_seq, options, checkpoint,
         outcome) select ?, 'test', ?, ?, 1, '{}', '{}', ? from n`,
    );
    run.run(600, 'stock', old, old, 'suspicious');
    run.run(600, 'brands', old, old, 'complete');
    run.run(1, 'seasons', old, null, 'running');
    database.exec(`insert into stream_state (stream, due_at, last_run_id)
      values ('stock', 0, 600), ('brands', 0, 1200), ('seasons', 0, null)`);
    const retention = retentionSteps(LIMITS);
    for (let slice = 0; slice < 5; slice += 1) await deleteOldRows({ store, clock }, retention);
    expect(database.prepare('select run_id from sync_run order by 1').pluck().all()).toEqual([
      600, 1200, 1201,
    ]);
  });
});

describe('a full disk', () => {
  it('keeps no piece of the reserved space when the disk is full while it is made', async () => {
    const path = join(temporaryFolder(), 'ballast');
    symlinkSync('/dev/full', path);
    const reserved = createReservedSpace(path, 3_000_000);
    await expect(reserved.restore()).rejects.toMatchObject({ code: 'ENOSPC' });
    expect(existsSync(path)).toBe(false);
  });

  it('releases the reserved space at the last floor, and makes it again', async () => {
    const clock = manualClock();
    const store = await temporaryStore(clock);
    const path = join(temporaryFolder(), 'ballast');
    let stopped: readonly string[] = [];
    let canSpare = false;
    const keeper = createKeeper({
      ...{ store, clock, log: silentLogger() },
      space: { allows: (one) => !stopped.includes(one), canSpare: () => canSpare },
      checkpoints: createCheckpoints({ store, clock, log: silentLogger() }),
      retention: retentionSteps(LIMITS),
      reserved: createReservedSpace(path, 1_000),
    });
    const stop = new AbortController();
    const done = keeper.run(stop.signal);
    const size = () => statSync(path, { throwIfNoEntry: false })?.size;
    const seen: (number | undefined)[] = [];
    const minute = async (now: readonly string[], spare: boolean): Promise<void> => {
      [stopped, canSpare] = [now, spare];
      await clock.advance(60_000);
      // The keeper sleeps again.
      await expect.poll(() => clock.pending()).toBe(1);
      if (spare) await expect.poll(size).toBe(1_000);
      seen.push(size());
    };
    await minute([], false);
    await minute([], true);
    await minute(['pull', 'receive'], false);
    await minute(['pull', 'receive', 'send'], false);
    await minute([], false);
    stop.abort();
    await done;
    expect(seen).toEqual([undefined, 1_000, 1_000, undefined, undefined]);
  });

  it('releases the reserved space also while it is being made', async () => {
    const path = join(temporaryFolder(), 'ballast');
    const reserved = createReservedSpace(path, 30_000_000);
    const making = reserved.restore();
    const size = () => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    while (size() < 5_000_000) await nextTurn();
    const taken = openSync(path, 'r');
    expect(reserved.release()).toBe(true);
    await making;
    // No more than what was being written at that moment.
    expect(fstatSync(taken).blocks * 512).toBeLessThan(2_000_000);
    closeSync(taken);
    expect(existsSync(path)).toBe(false);
    await reserved.restore();
    expect(statSync(path).size).toBe(30_000_000);
  });

  it.each([
    ['by itself', ['k']],
    ['with others in one commit', ['k', 'l']],
  ])(
    'releases the reserved space, so that the outcome of what was sent %s can be written',
    async (_, keys) => {
      const clock = manualClock();
      const folder = temporaryFolder();
      const path = join(folder, 'ballast');
      const reserved = createReservedSpace(path, 3_000_000);
      await reserved.restore();
      expect(statSync(path).size).toBe(3_000_000);
      expect(statSync(path).blocks * 512).toBeGreaterThanOrEqual(3_000_000);
      const store = await temporaryStore(clock);
      const database = new Database(store.path);
      const limit = Number(database.pragma('page_count', { simple: true }));
      database.close();
      // Stands for the disk: the connection of the store may not grow the file.
      await sql`pragma max_page_count = ${sql.lit(limit)}`.execute(store.db);
      const grouped = groupCommits(store);
      const write = () =>
        Promise.allSettled(
          keys.map((key) =>
            grouped.transaction(async (tx, onCommit) => {
              const value = 'x'.repeat(100_000);
              await tx.insertInto('daemon_state').values({ key, value, updated_at: 0 }).execute();
              onCommit(() => effects.push(key));
            }),
          ),
        );
      const effects: string[] = [];
      const full = { status: 'rejected', reason: { code: 'SQLITE_FULL' } };
      expect(await write()).toMatchObject(keys.map(() => full));
      store.onFull(() => {
        const released = reserved.release();
        void sql`pragma max_page_count = ${sql.lit(limit + 10_000)}`.execute(store.db);
        return released;
      });
      await write();
      expect(effects).toEqual(keys);
      expect(existsSync(path)).toBe(false);
      await reserved.restore();
      expect(statSync(path).size).toBe(3_000_000);
    },
  );
});
