import { spawnSync } from 'node:child_process';
import fs, {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { RESTORE_STEPS } from '../../../src/daemon/upkeep.ts';
import { manualClock } from '../../../src/lib/clock.ts';
import { EXIT, exitCodeOf } from '../../../src/lib/errors.ts';
import { writeOrders } from '../../../src/mirror/sales-order.ts';
import { type BackupPlan, createBackup } from '../../../src/store/backup/create.ts';
import { backupName, listBackups } from '../../../src/store/backup/manifest.ts';
import { type RestorePlan, restoreBackup } from '../../../src/store/backup/restore.ts';
import { verifyBackup } from '../../../src/store/backup/verify.ts';
import { openExchange } from '../../../src/store/exchange/exchange.ts';
import { lockFolder } from '../../../src/store/lock.ts';
import { readPauses } from '../../../src/store/pauses.ts';
import { readRestored } from '../../../src/store/state.ts';
import { openStore, type SqliteStore } from '../../../src/store/store.ts';
import { LAUNCHER, launcherEnv } from '../../support/launcher.ts';
import { PUSHES, pausesIn } from '../../support/pauses.ts';
import { damage, placeDatabase, temporaryFolder } from '../../support/store.ts';

const clock = manualClock();

/** Opens the database that is there, or a new one. */
async function openFound(dataDir: string): Promise<SqliteStore> {
  const path = join(dataDir, 'mirror.db');
  return (await openStore({ path, busyTimeoutMs: 100 }, clock)).store;
}

/** The same, and an empty mirror where there is none. */
function openMirror(dataDir: string): Promise<SqliteStore> {
  placeDatabase(join(dataDir, 'mirror.db'));
  return openFound(dataDir);
}

async function addPush(store: SqliteStore, reference: string, state: string): Promise<void> {
  const database = new Database(store.path);
  database
    .prepare(
      `insert into outbox
          (kind, ordering_key, reference, body, body_hash, state, due_at, created_at, cause)
       values ('order', ?, ?, '{}', 'x', ?, 0, 0, 'test')`,
    )
    .run(reference, reference, state);
  database.close();
}

/** Leaves the files of a killed daemon: its last push stands in the log only. */
async function leaveKilled(dataDir: string): Promise<void> {
  const killed = await openMirror(dataDir);
  await addPush(killed, 'last', 'queued');
  for (const ending of ['', '-wal', '-shm']) {
    copyFileSync(killed.path + ending, `${killed.path}${ending}.killed`);
  }
  await killed.close();
  for (const ending of ['', '-wal', '-shm']) {
    renameSync(`${killed.path}${ending}.killed`, killed.path + ending);
  }
  expect(statSync(`${killed.path}-wal`).size).toBeGreaterThan(0);
}

/** Returns the number that the next push gets. */
async function numberGiven(dataDir: string, reference: string): Promise<number> {
  const store = await openMirror(dataDir);
  await addPush(store, reference, 'queued');
  const row = store.db.selectFrom('outbox').select('outbox_id').where('reference', '=', reference);
  const { outbox_id: number } = await row.executeTakeFirstOrThrow();
  await store.close();
  return number;
}

function planIn(dataDir: string, keep = 5): BackupPlan {
  const directory = join(dataDir, 'backups');
  const exchangeFile = join(dataDir, 'exchange.db');
  return { dataDir, exchangeFile, directory, keep, busyTimeoutMs: 100, program: 'test' };
}

function restorePlan(dataDir: string, backup: string): RestorePlan {
  return { ...planIn(dataDir), backup, withExchange: false, actor: 'ann', steps: RESTORE_STEPS };
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder).filter((name) => name !== 'daemon.lock');

/** Whatever would get this name does not, once. */
function failToName(path: string): void {
  const { renameSync: rename } = fs;
  let isDue = true;
  vi.spyOn(fs, 'renameSync').mockImplementation((from, to) => {
    if (to !== path || !isDue) return rename(from, to);
    isDue = false;
    throw new Error('the disk does not answer');
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });
}

/** An exchange that nobody may look at, root included. */
function closedExchange(dataDir: string): string {
  symlinkSync('closed', join(dataDir, 'closed'));
  return join(dataDir, 'closed', 'exchange.db');
}

const modeOf = (path: string): number => statSync(path).mode & 0o777;

describe('a backup', () => {
  it('is made beside an open database, checked, private, and found again', async () => {
    const dataDir = temporaryFolder();
    const store = await openMirror(dataDir);
    await addPush(store, 'R1', 'queued');
    const { backup } = await createBackup(planIn(dataDir), clock);
    await addPush(store, 'R2', 'queued');
    await store.close();
    const { mirror, exchange } = await verifyBackup(backup.path);
    expect(mirror.rows.outbox).toBe(1);
    expect(exchange).toBeNull();
    expect(listBackups(dirname(backup.path), clock.now())).toEqual([backup]);
    const names = readdirSync(dirname(backup.path));
    expect(names).toHaveLength(2);
    expect(names.map((name) => modeOf(join(dirname(backup.path), name)))).toEqual([0o600, 0o600]);
  });

  it('removes nothing outside of its folder, whatever a slip there says', async () => {
    const dataDir = temporaryFolder();
    await (await openMirror(dataDir)).close();
    const plan = planIn(dataDir, 1);
    const { backup } = await createBackup(plan, clock);
    const mirror = { ...backup.manifest.mirror, file: '../mirror.db' };
    const forged = join(plan.directory, 'backup-20000101T000000Z.json');
    writeFileSync(forged, JSON.stringify({ ...backup.manifest, mirror }));
    await clock.advance(1_000);
    await createBackup(plan, clock);
    expect(filesIn(dataDir)).toContain('mirror.db');
    await expect(verifyBackup(forged)).rejects.toThrow(/is no backup/);
  });

  it('takes the exchange along, and keeps as many as asked for', async () => {
    const dataDir = temporaryFolder();
    await (await openMirror(dataDir)).close();
    new Database(join(dataDir, 'exchange.db')).exec('create table intake (id)').close();
    const made: string[] = [];
    for (let round = 0; round < 4; round += 1) {
      await clock.advance(1_000);
      made.push((await createBackup(planIn(dataDir, 2), clock)).backup.path);
    }
    const left = listBackups(planIn(dataDir).directory, clock.now());
    expect(left.map(({ path }) => path)).toEqual(made.slice(2).reverse());
    expect(left[0]?.manifest.exchange?.rows).toEqual({ intake: 0 });
    expect(readdirSync(planIn(dataDir).directory)).toHaveLength(6);
  });

  it('takes along what the ERP keeps beside its documents, in whatever order that is', async () => {
    const dataDir = temporaryFolder();
    await (await openMirror(dataDir)).close();
    const exchange = new Database(join(dataDir, 'exchange.db'));
    exchange.pragma('foreign_keys = off');
    exchange.exec(`create table item (id integer primary key);
      create table "the ERP's ""own""" (item references item); insert into "the ERP's ""own"""
      values (7)`);
    exchange.close();
    const { backup } = await createBackup(planIn(dataDir), clock);
    const rows = { item: 0, 'the ERP\'s "own"': 1 };
    expect((await verifyBackup(backup.path)).exchange).toMatchObject({ rows });
  });

  it('is none without an exchange that may be there', async () => {
    const dataDir = temporaryFolder();
    await (await openMirror(dataDir)).close();
    const plan = { ...planIn(dataDir), exchangeFile: closedExchange(dataDir) };
    const error = await createBackup(plan, clock).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'backup.failed', hint: expect.stringContaining('group') });
    expect(error.message).toContain(plan.exchangeFile);
    expect(listBackups(plan.directory, clock.now())).toEqual([]);
  });

  it('stays although the clock was set back behind those that are there', async () => {
    const dataDir = temporaryFolder();
    await (await openMirror(dataDir)).close();
    for (const step of [2_000, 2_000, -86_400_000]) {
      clock.step(step);
      const { backup, removed } = await createBackup(planIn(dataDir, 2), clock);
      expect(existsSync(backup.path)).toBe(true);
      expect(removed).not.toContain(backup.path);
    }
    expect(listBackups(planIn(dataDir).directory, clock.now())).toHaveLength(2);
    clock.step(86_400_000);
  });

  it('is refused when a byte of it has changed or a piece is missing', async () => {
    const dataDir = temporaryFolder();
    await (await openMirror(dataDir)).close();
    const { backup } = await createBackup(planIn(dataDir), clock);
    const copy = join(dirname(backup.path), backup.manifest.mirror.file);
    const size = statSync(copy).size;
    truncateSync(copy, size - 4_096);
    await expect(verifyBackup(backup.path)).rejects.toMatchObject({ code: 'backup.damaged' });
    truncateSync(copy, 0);
    await expect(verifyBackup(backup.path)).rejects.toMatchObject({ code: 'backup.differs' });
    writeFileSync(copy, 'no database at all, but long enough to be looked at');
    await expect(verifyBackup(backup.path)).rejects.toMatchObject({ code: 'backup.damaged' });
    for (const path of [copy, dirname(copy), join(dataDir, 'absent.json')]) {
      const failure = await verifyBackup(path).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: 'backup.unknown' });
      expect(exitCodeOf(failure)).toBe(EXIT.failure.code);
    }
  });

  it.each([
    ['mirror', "update schema_migration set name = 'x' where version = 1", 'another digest'],
    ['mirror', "delete from daemon_state where key = 'opened_at'", '0 rows in daemon_state'],
    ['mirror', 'pragma user_version = 3', 'schema 3 instead of'],
    ['mirror', 'drop table brand', 'no rows in brand'],
    ['exchange', 'insert into intake values (1)', '1 rows in intake instead of 0'],
  ])(
    'is refused when somebody has changed its %s, which stays whole: %s',
    async (name, sql, why) => {
      const dataDir = temporaryFolder();
      await (await openMirror(dataDir)).close();
      new Database(join(dataDir, 'exchange.db')).exec('create table intake (id)').close();
      const { backup } = await createBackup(planIn(dataDir), clock);
      await verifyBackup(backup.path);
      new Database(backup.path.replace('.json', `-${name}.db`)).exec(sql).close();
      const failure = { code: 'backup.differs', message: expect.stringContaining(why) };
      await expect(verifyBackup(backup.path)).rejects.toMatchObject(failure);
    },
  );

  it('is none of a database with rows that belong to nothing', async () => {
    const dataDir = temporaryFolder();
    const store = await openMirror(dataDir);
    await store.close();
    const database = new Database(store.path);
    database.pragma('foreign_keys = off');
    database.exec(`create table of (id integer references brand) strict;
      insert into of values ('7')`);
    database.close();
    const failure = { code: 'backup.damaged', message: expect.stringContaining('foreign keys') };
    await expect(createBackup(planIn(dataDir), clock)).rejects.toMatchObject(failure);
    expect(listBackups(planIn(dataDir).directory, clock.now())).toEqual([]);
  });

  it('that was cut off leaves nothing that counts, and is cleaned away by the next', async () => {
    const dataDir = temporaryFolder();
    await (await openMirror(dataDir)).close();
    const { directory } = planIn(dataDir);
    const { backup } = await createBackup(planIn(dataDir), clock);
    const half = join(directory, 'backup-20200101T000000Z-mirror.db.partial');
    for (const ending of ['', '-journal']) writeFileSync(half + ending, 'half');
    await clock.advance(1_000);
    await createBackup(planIn(dataDir), clock);
    expect(readdirSync(directory).filter((name) => name.includes('.partial'))).toEqual([]);
    expect(existsSync(backup.path)).toBe(true);
  });

  it('that fails at its second part leaves nothing of the first', async () => {
    const dataDir = temporaryFolder();
    await (await openMirror(dataDir)).close();
    writeFileSync(
      join(dataDir, 'exchange.db'),
      'no database at all, but long enough for one'.repeat(9),
    );
    const { directory } = planIn(dataDir);
    await expect(createBackup(planIn(dataDir), clock)).rejects.toMatchObject({
      code: 'backup.failed',
    });
    expect(readdirSync(directory)).toEqual([]);
  });

  it('that cannot get its names leaves nothing, nor does one killed between them', async () => {
    const dataDir = temporaryFolder();
    await (await openMirror(dataDir)).close();
    const { directory } = planIn(dataDir);
    failToName(join(directory, `${backupName(clock.now())}.json`));
    await expect(createBackup(planIn(dataDir), clock)).rejects.toThrow('does not answer');
    expect(readdirSync(directory)).toEqual([]);
    for (const left of ['-mirror.db', '.json.partial']) {
      writeFileSync(join(directory, `backup-20200101T000000Z${left}`), 'whole');
    }
    const { backup } = await createBackup(planIn(dataDir), clock);
    expect(listBackups(directory, clock.now())).toEqual([backup]);
    expect(readdirSync(directory)).toHaveLength(2);
  });

  it('lets alone what another one is writing at the same time', async () => {
    const dataDir = temporaryFolder();
    await (await openMirror(dataDir)).close();
    const { directory } = planIn(dataDir);
    mkdirSync(directory);
    const other = join(directory, `${backupName(clock.now() - 60_000)}-mirror.db.partial`);
    const foreign = join(directory, 'accounts.partial');
    for (const path of [other, foreign]) writeFileSync(path, 'so far');
    await createBackup(planIn(dataDir), clock);
    expect([other, foreign].filter((path) => existsSync(path))).toEqual([other, foreign]);
  });

  it('is whole although another one begins in the same second', async () => {
    const dataDir = temporaryFolder();
    await (await openMirror(dataDir)).close();
    const plan = planIn(dataDir);
    const [first, second] = await Promise.allSettled([
      createBackup(plan, clock),
      createBackup(plan, clock),
    ]);
    expect(second).toMatchObject({ status: 'rejected', reason: { code: 'backup.exists' } });
    expect(first).toMatchObject({ status: 'fulfilled' });
    const [backup] = listBackups(plan.directory, clock.now());
    await verifyBackup(backup?.path ?? '');
    expect(readdirSync(plan.directory)).toHaveLength(2);
    await expect(createBackup(plan, clock)).rejects.toMatchObject({ code: 'backup.exists' });
    expect(readdirSync(plan.directory)).toHaveLength(2);
  });

  it('is found behind a newer one whose slip was cut off', async () => {
    const dataDir = temporaryFolder();
    await (await openMirror(dataDir)).close();
    const { backup } = await createBackup(planIn(dataDir), clock);
    const later = clock.now() + 1_000;
    writeFileSync(join(dirname(backup.path), `${backupName(later)}.json`), '{"createdAt":');
    expect(listBackups(dirname(backup.path), later, 1)).toEqual([backup]);
  });

  it('is found, and made anew, beside a slip that this user may not read', async () => {
    const plan = planIn(temporaryFolder());
    await (await openMirror(plan.dataDir)).close();
    // A folder is an unreadable slip for everybody, as a slip of root is for the service's user.
    const later = clock.now() + 1_000;
    const slip = join(plan.directory, `${backupName(later)}.json`);
    mkdirSync(slip, { recursive: true });
    const { backup } = await createBackup(plan, clock);
    expect(listBackups(plan.directory, later, 1)).toEqual([backup]);
    const failure = { code: 'backup.unknown', hint: expect.stringContaining('may read') };
    await expect(verifyBackup(slip)).rejects.toMatchObject(failure);
  });
});

describe('a restored database', () => {
  it('is not replaced by an empty one where the restore was killed between two names', async () => {
    const dataDir = temporaryFolder();
    await (await openMirror(dataDir)).close();
    const { backup } = await createBackup(planIn(dataDir), clock);
    const path = join(dataDir, 'mirror.db');
    renameSync(path, `${path}.before-restore-1`);
    writeFileSync(`${path}.restoring`, 'ready');
    await expect(openFound(dataDir)).rejects.toMatchObject({ code: 'store.half_restored' });
    expect(existsSync(path)).toBe(false);
    await restoreBackup(restorePlan(dataDir, backup.path), clock);
    await (await openFound(dataDir)).close();
  });

  it('is not replaced by an empty one either where it could not get its name', async () => {
    const dataDir = temporaryFolder();
    await (await openMirror(dataDir)).close();
    const { backup } = await createBackup(planIn(dataDir), clock);
    const path = join(dataDir, 'mirror.db');
    failToName(path);
    const plan = restorePlan(dataDir, backup.path);
    await expect(restoreBackup(plan, clock)).rejects.toThrow('does not answer');
    await expect(openFound(dataDir)).rejects.toMatchObject({ code: 'store.half_restored' });
    await restoreBackup(plan, clock);
    const store = await openFound(dataDir);
    expect(await readPauses(store.db)).toMatchObject([{ target: 'pushes' }]);
    await store.close();
    expect(existsSync(`${path}.restoring`)).toBe(false);
  });

  it('is not replaced by an empty one where somebody has taken it away from its log', async () => {
    const dataDir = temporaryFolder();
    const store = await openMirror(dataDir);
    const { backup } = await createBackup(planIn(dataDir), clock);
    await addPush(store, 'later', 'queued');
    const path = join(dataDir, 'mirror.db');
    const log = readFileSync(`${path}-wal`);
    await store.close();
    renameSync(path, `${path}.away`);
    // A kill leaves the log like this.
    writeFileSync(`${path}-wal`, log);
    const failure = { code: 'store.log_alone', message: expect.stringContaining('mirror.db-wal') };
    await expect(openFound(dataDir)).rejects.toMatchObject(failure);
    expect(existsSync(path)).toBe(false);
    await restoreBackup(restorePlan(dataDir, backup.path), clock);
    await (await openFound(dataDir)).close();
  });

  it.each(['mirror.db-wal', 'exchange.db', 'ballast'])(
    'is not taken for a new one where somebody has emptied it, and left its %s',
    async (beside) => {
      const dataDir = temporaryFolder();
      await (await openMirror(dataDir)).close();
      const { backup } = await createBackup(planIn(dataDir), clock);
      const path = join(dataDir, 'mirror.db');
      truncateSync(path);
      for (const ending of ['-wal', '-shm']) rmSync(path + ending, { force: true });
      writeFileSync(join(dataDir, beside), 'of the database that was');
      const failure = { code: 'store.emptied', message: expect.stringContaining(beside) };
      await expect(openFound(dataDir)).rejects.toMatchObject(failure);
      expect(statSync(path).size).toBe(0);
      await restoreBackup(restorePlan(dataDir, backup.path), clock);
      await (await openFound(dataDir)).close();
    },
  );

  it('is made where a first start was cut off before it wrote anything', async () => {
    const dataDir = temporaryFolder();
    writeFileSync(join(dataDir, 'mirror.db'), '');
    await (await openMirror(dataDir)).close();
  });

  it('starts with all that was open in doubt, sends nothing, keeps what was there', async () => {
    const dataDir = temporaryFolder();
    const store = await openMirror(dataDir);
    for (const state of ['queued', 'sending', 'sent', 'in_doubt', 'confirmed', 'refused']) {
      await addPush(store, state, state);
    }
    const { backup } = await createBackup(planIn(dataDir), clock);
    await addPush(store, 'later', 'queued');
    await store.close();
    await clock.advance(60_000);
    const plan = restorePlan(dataDir, backup.path);
    const { inDoubt, kept } = await restoreBackup(plan, clock);
    expect(inDoubt).toBe(4);
    expect(kept.filter((path) => existsSync(path))).toEqual(kept);
    const after = await openMirror(dataDir);
    const rows = await after.db.selectFrom('outbox').select(['reference', 'state']).execute();
    expect(Object.fromEntries(rows.map((row) => [row.reference, row.state]))).toEqual({
      ...{ queued: 'in_doubt', sending: 'in_doubt', sent: 'in_doubt' },
      ...{ in_doubt: 'in_doubt', confirmed: 'confirmed', refused: 'refused' },
    });
    // Also of what was sent once more since: it may take effect late.
    const doubts = after.db.selectFrom('outbox').select('in_doubt_since').distinct();
    expect(await doubts.where('state', '=', 'in_doubt').execute()).toEqual([
      { in_doubt_since: clock.now() },
    ]);
    expect(await after.db.selectFrom('audit').select(['action', 'actor']).execute()).toEqual([
      { action: 'restore', actor: 'ann' },
    ]);
    const reason = expect.stringMatching(/^restored from the backup of 2026/);
    expect(await readPauses(after.db)).toMatchObject([{ ...PUSHES, actor: 'ann', reason }]);
    const pauses = await pausesIn({ store: after, clock });
    expect(pauses.reason('pushes', 'order')).toContain('restored from the backup');
    await pauses.resume(PUSHES, { actor: 'ann', reason: 'looked through' });
    expect(pauses.reason('pushes', 'order')).toBeUndefined();
    await after.close();
    expect(modeOf(join(dataDir, 'mirror.db'))).toBe(0o600);
  });

  it('reads all anew, doubts from now on, and tells what orders it knows', async () => {
    const dataDir = temporaryFolder();
    const store = await openMirror(dataDir);
    const order = { orderId: 41, status: 'pending', orderLineItems: [] };
    const provenance = { source: 'run:1', readSeq: 1, at: clock.now() };
    await store.transaction((tx) =>
      writeOrders(tx, [order, { ...order, orderId: 42 }], provenance),
    );
    for (const reference of ['a', 'b']) await addPush(store, reference, 'sent');
    const database = new Database(store.path);
    database.exec(`insert into stream_state (stream, due_at) values ('orders', 9e15);
      update outbox set due_at = 9e15;
      update sales_order set deleted_at = 1 where order_id = 42`);
    database.close();
    const { backup } = await createBackup(planIn(dataDir), clock);
    await store.close();
    await clock.advance(60_000);
    await restoreBackup(restorePlan(dataDir, backup.path), clock);
    const at = clock.now();
    const after = await openMirror(dataDir);
    const { db } = after;
    const { createdAt } = backup.manifest;
    expect(await readRestored(db)).toEqual({ at, createdAt, maxOrderId: 41, maxDocumentId: 2 });
    const streams = await db.selectFrom('stream_state').select(['due_at', 'requested']).execute();
    expect(streams).toEqual([{ due_at: at, requested: 'full' }]);
    const doubts = await db.selectFrom('outbox').select(['due_at', 'in_doubt_since']).execute();
    expect(doubts).toEqual(['a', 'b'].map(() => ({ due_at: at, in_doubt_since: at })));
    await after.close();
  });

  it('has no rule armed, which somebody may have disarmed since the backup', async () => {
    const dataDir = temporaryFolder();
    const store = await openMirror(dataDir);
    const database = new Database(store.path);
    database.exec(`insert into arming (rule_id, rule_hash, at, actor, reason, report_id, expires_at,
      ended_at) values ('one', 'h', 0, 'bob', 'agreed', 1, 9e15, null), ('two', 'h', 0, 'bob',
      'agreed', 1, 9e15, 7), ('run out', 'h', 0, 'bob', 'agreed', 1, 1, null)`);
    const { backup } = await createBackup(planIn(dataDir), clock);
    database.exec("update arming set ended_at = 1, end_reason = 'wrong'");
    database.close();
    await store.close();
    const { disarmed } = await restoreBackup(restorePlan(dataDir, backup.path), clock);
    expect(disarmed).toEqual(['one']);
    const after = await openMirror(dataDir);
    const rows = await after.db.selectFrom('arming').select(['ended_at', 'ended_by']).execute();
    expect(rows).toEqual([
      { ended_at: clock.now(), ended_by: 'ann' },
      { ended_at: 7, ended_by: null },
      { ended_at: clock.now(), ended_by: 'ann' },
    ]);
    const audit = after.db.selectFrom('audit').select(['actor', 'action', 'reason']);
    expect(await audit.where('subject', '=', 'rule:one').execute()).toEqual([
      {
        actor: 'ann',
        action: 'rules.disarm',
        reason: `restored, as of ${backup.manifest.createdAt}`,
      },
    ]);
    await after.close();
  });

  it('leaves what was there as one file, with what a killed daemon had in its log', async () => {
    const dataDir = temporaryFolder();
    await (await openMirror(dataDir)).close();
    const { backup } = await createBackup(planIn(dataDir), clock);
    await leaveKilled(dataDir);
    for (const round of [1, 2]) {
      await clock.advance(60_000);
      const { kept } = await restoreBackup(restorePlan(dataDir, backup.path), clock);
      const aside = filesIn(dataDir).filter((name) => name.includes('before-restore'));
      expect(kept).toEqual([join(dataDir, aside.at(-1) ?? '')]);
      expect(aside).toHaveLength(round);
    }
    const [first = ''] = filesIn(dataDir).filter((name) => name.includes('before-restore'));
    const database = new Database(join(dataDir, first), { readonly: true });
    expect(database.prepare('select reference from outbox').pluck().all()).toEqual(['last']);
    database.close();
  });

  it('keeps what a killed daemon had in its log, also where it was cut off itself', async () => {
    const dataDir = temporaryFolder();
    await (await openMirror(dataDir)).close();
    const { backup } = await createBackup(planIn(dataDir), clock);
    await leaveKilled(dataDir);
    const plan = restorePlan(dataDir, backup.path);
    failToName(join(dataDir, `mirror.db.before-restore-${clock.now()}-wal`));
    await restoreBackup(plan, clock).catch(() => undefined);
    await clock.advance(60_000);
    await restoreBackup(plan, clock);
    const aside = filesIn(dataDir).find((name) => /before-restore-\d+$/.test(name)) ?? '';
    const database = new Database(join(dataDir, aside), { readonly: true });
    expect(database.prepare('select reference from outbox').pluck().all()).toEqual(['last']);
    database.close();
  });

  it('keeps a damaged one with all that lay beside it, for whoever wants some of it', async () => {
    const dataDir = temporaryFolder();
    await (await openMirror(dataDir)).close();
    const { backup } = await createBackup(planIn(dataDir), clock);
    for (const ending of ['', '-wal', '-shm']) {
      writeFileSync(join(dataDir, `mirror.db${ending}`), 'no database at all, but long enough');
    }
    const { kept } = await restoreBackup(restorePlan(dataDir, backup.path), clock);
    expect(kept.map((path) => path.replace(/.*\d/, ''))).toEqual(['', '-wal', '-shm']);
    expect(kept.slice(0, 2).map((path) => statSync(path).size)).toEqual([35, 35]);
  });

  it('keeps the log of one that is damaged in one table only', async () => {
    const dataDir = temporaryFolder();
    await (await openMirror(dataDir)).close();
    const { backup } = await createBackup(planIn(dataDir), clock);
    await damage(join(dataDir, 'mirror.db'), 'webhook_event');
    await leaveKilled(dataDir);
    const { kept } = await restoreBackup(restorePlan(dataDir, backup.path), clock);
    expect(kept.map((path) => path.replace(/.*\d/, ''))).toEqual(['', '-wal', '-shm']);
    expect(statSync(kept[1] ?? '').size).toBeGreaterThan(0);
  });

  it('comes back beside an exchange that this user may not look at, but not with it', async () => {
    const dataDir = temporaryFolder();
    await (await openMirror(dataDir)).close();
    const { backup } = await createBackup(planIn(dataDir), clock);
    const exchangeFile = closedExchange(dataDir);
    const plan = { ...restorePlan(dataDir, backup.path), exchangeFile };
    const error = await restoreBackup({ ...plan, withExchange: true }, clock).catch((e) => e);
    expect(error).toMatchObject({ code: 'backup.failed', hint: expect.stringContaining('group') });
    const { kept } = await restoreBackup(plan, clock);
    expect(kept[0]).toContain('mirror.db.before-restore-');
  });

  /** Makes a backup of a database that knew one document; three more came since. */
  async function threeSinceBackup() {
    const dataDir = temporaryFolder();
    const store = await openMirror(dataDir);
    await addPush(store, 'known', 'queued');
    const { backup } = await createBackup(planIn(dataDir), clock);
    for (const reference of ['a', 'b', 'c']) await addPush(store, reference, 'queued');
    await store.close();
    return { dataDir, path: store.path, backup };
  }

  it('gives no document a number that another one had since the backup', async () => {
    const { dataDir, backup } = await threeSinceBackup();
    const numbers = new Set([1, 2, 3, 4]);
    // The second time it is a backup of what was restored, before anything came.
    let from = backup.path;
    for (const reference of ['later', 'last']) {
      await clock.advance(60_000);
      await restoreBackup(restorePlan(dataDir, from), clock);
      from = (await createBackup(planIn(dataDir), clock)).backup.path;
      numbers.add(await numberGiven(dataDir, reference));
    }
    expect(numbers.size).toBe(6);
  });

  it('gives none either where what was there is gone, and nothing of it can be asked', async () => {
    const { dataDir, path, backup } = await threeSinceBackup();
    rmSync(path);
    await restoreBackup(restorePlan(dataDir, backup.path), clock);
    expect(await numberGiven(dataDir, 'later')).toBeGreaterThan(1_000_000);
  });

  it('gives no outcome of a delivery a number that the ERP has read up to', async () => {
    const dataDir = temporaryFolder();
    const store = await openMirror(dataDir);
    const outcome = async ({ db }: SqliteStore): Promise<number> => {
      const row = { decision_id: 1, state: 'confirmed', problem: null, at: 1 } as const;
      const written = db
        .insertInto('outcome')
        .values({ ...row, callback_due_at: null, callback_error: null })
        .returning('outcome_id');
      return (await written.executeTakeFirstOrThrow()).outcome_id;
    };
    await outcome(store);
    const { backup } = await createBackup(planIn(dataDir), clock);
    await outcome(store);
    const seen = await outcome(store);
    await store.close();
    await restoreBackup(restorePlan(dataDir, backup.path), clock);
    const restored = await openMirror(dataDir);
    expect(await outcome(restored)).toBeGreaterThan(seen);
    await restored.close();
  });

  it('gives no entry of the change feed a number that who follows it has seen', async () => {
    const dataDir = temporaryFolder();
    const store = await openMirror(dataDir);
    const row = { at: 1, entity: 'brand', key: 'x', op: 'update', diff: '{}', cause: '-' } as const;
    const change = async ({ db }: SqliteStore): Promise<number> => {
      const written = db.insertInto('change').values(row).returning('seq');
      return (await written.executeTakeFirstOrThrow()).seq;
    };
    await change(store);
    const { backup } = await createBackup(planIn(dataDir), clock);
    await change(store);
    const seen = await change(store);
    await store.close();
    await restoreBackup(restorePlan(dataDir, backup.path), clock);
    const restored = await openMirror(dataDir);
    expect(await change(restored)).toBeGreaterThan(seen);
    await restored.close();
  });

  it.each([
    ['restored before', false],
    ['restored before, also where the second restore was cut off', true],
  ])('gives none either that one had since the same backup was %s', async (_, isCutOff) => {
    const dataDir = temporaryFolder();
    await (await openMirror(dataDir)).close();
    const { backup } = await createBackup(planIn(dataDir), clock);
    const numbers = new Set<number>();
    for (const reference of ['first', 'second']) {
      await clock.advance(60_000);
      if (isCutOff && numbers.size > 0) {
        failToName(join(dataDir, 'mirror.db'));
        await expect(restoreBackup(restorePlan(dataDir, backup.path), clock)).rejects.toThrow();
        await clock.advance(60_000);
      }
      await restoreBackup(restorePlan(dataDir, backup.path), clock);
      numbers.add(await numberGiven(dataDir, reference));
    }
    expect(numbers.size).toBe(2);
  });

  it('is not made while a daemon runs, nor from a damaged backup', async () => {
    const dataDir = temporaryFolder();
    await (await openMirror(dataDir)).close();
    const { backup } = await createBackup(planIn(dataDir), clock);
    const plan = restorePlan(dataDir, backup.path);
    const lock = lockFolder(join(dataDir, 'daemon.lock'));
    await expect(restoreBackup(plan, clock)).rejects.toMatchObject({ code: 'store.locked' });
    lock.release();
    truncateSync(join(dirname(backup.path), backup.manifest.mirror.file), 0);
    await expect(restoreBackup(plan, clock)).rejects.toMatchObject({ code: 'backup.differs' });
    await (await openMirror(dataDir)).close();
  });

  it('is the one that was there when the backup is of a newer program', async () => {
    const dataDir = temporaryFolder();
    const store = await openMirror(dataDir);
    const database = new Database(store.path);
    database.exec("insert into schema_migration values (999, 'later', 'x', 0)");
    const { backup } = await createBackup(planIn(dataDir), clock);
    database.exec('delete from schema_migration where version = 999');
    database.close();
    await addPush(store, 'later', 'queued');
    await store.close();
    const before = filesIn(dataDir);
    await expect(restoreBackup(restorePlan(dataDir, backup.path), clock)).rejects.toMatchObject({
      code: 'store.newer_schema',
    });
    expect(filesIn(dataDir)).toEqual(before);
    const after = await openMirror(dataDir);
    expect(await after.db.selectFrom('outbox').select(['reference', 'state']).execute()).toEqual([
      { reference: 'later', state: 'queued' },
    ]);
    await after.close();
  });

  it('is the one that was there when the disk has no room for the copy', async () => {
    const dataDir = temporaryFolder();
    await (await openMirror(dataDir)).close();
    const { backup } = await createBackup(planIn(dataDir), clock);
    const config = join(dataDir, 'selvedge.yaml');
    const v1 = '{ baseUrl: https://key.example.com/api/v1, apiKey: { env: NONE } }';
    writeFileSync(config, `dataDir: .\nservice: { v1: ${v1} }\n`);
    const before = filesIn(dataDir);
    const { status, stderr } = spawnSync(
      'sh',
      ['-c', 'ulimit -f 64; exec "$@"', '', process.execPath, LAUNCHER, 'backup', 'restore'].concat(
        [backup.path, '--config', config],
      ),
      { env: launcherEnv(), encoding: 'utf8' },
    );
    expect(stderr).toContain('is there room on that disk');
    expect(status).toBe(EXIT.store.code);
    expect(filesIn(dataDir)).toEqual(before);
    await (await openMirror(dataDir)).close();
  });

  it('comes with an exchange that the ERP may write as before', async () => {
    const dataDir = temporaryFolder();
    await (await openMirror(dataDir)).close();
    const { exchangeFile } = planIn(dataDir);
    new Database(exchangeFile).exec('create table intake (id)').close();
    chmodSync(exchangeFile, 0o660);
    const { backup } = await createBackup(planIn(dataDir), clock);
    const plan = { ...restorePlan(dataDir, backup.path), withExchange: true };
    await restoreBackup(plan, clock);
    expect(modeOf(exchangeFile)).toBe(0o660);
  });

  it.each([
    ['leaves what the ERP has submitted since, unless it is asked', false, [1, 2]],
    ['takes back what the ERP has submitted since where it is asked', true, [1]],
  ])('%s', async (_, withExchange, rows) => {
    const dataDir = temporaryFolder();
    await (await openMirror(dataDir)).close();
    const { exchangeFile } = planIn(dataDir);
    const exchange = new Database(exchangeFile);
    exchange.exec('create table intake (id); insert into intake values (1)');
    const { backup } = await createBackup(planIn(dataDir), clock);
    exchange.exec('insert into intake values (2)').close();
    const plan = { ...restorePlan(dataDir, backup.path), withExchange };
    const { kept } = await restoreBackup(plan, clock);
    const idsIn = (path: string): unknown[] => {
      const database = new Database(path, { readonly: true });
      const ids = database.prepare('select id from intake').pluck().all();
      database.close();
      return ids;
    };
    expect(idsIn(exchangeFile)).toEqual(rows);
    const aside = kept.filter((path) => path.includes('exchange'));
    expect(aside.map(idsIn)).toEqual(withExchange ? [[1, 2]] : []);
  });

  it('leaves an exchange that is cut off to a restore that brings it', async () => {
    const dataDir = temporaryFolder();
    await (await openMirror(dataDir)).close();
    const { exchangeFile } = planIn(dataDir);
    openExchange(exchangeFile, clock)[Symbol.dispose]();
    const { backup } = await createBackup(planIn(dataDir), clock);
    const plan = { ...restorePlan(dataDir, backup.path), withExchange: true };
    failToName(exchangeFile);
    await expect(restoreBackup(plan, clock)).rejects.toThrow('does not answer');
    await clock.advance(60_000);
    await restoreBackup({ ...plan, withExchange: false }, clock);
    expect(() => openExchange(exchangeFile, clock)).toThrow('a restore was cut off');
    await clock.advance(60_000);
    await restoreBackup(plan, clock);
    openExchange(exchangeFile, clock)[Symbol.dispose]();
  });
});
