/**
 * Puts a backup in the place of the database, while no daemon runs. The restored database does not
 * know what was sent since, so nothing may simply continue: every push that had not ended is in
 * doubt until it was looked up at the service, and nothing is sent until a person resumes it. The
 * replaced database is kept beside the new one.
 */
import { chmodSync, existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { sql } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import { RefusedError } from '../../lib/errors.ts';
import { writeAudit } from '../audit.ts';
import { EXCHANGE_MODE } from '../exchange/exchange.ts';
import { lockFile, lockFolder } from '../lock.ts';
import { writePause } from '../pauses.ts';
import { writeRestored } from '../state.ts';
import { openStore, type Tx } from '../store.ts';
import type { Disarmed, RestoreSteps } from '../upkeep.ts';
import { RESTORING } from '../writers/in-place.ts';
import { type ActsSince, takeOverActs } from './acts-since.ts';
import { copyDatabase, isThere } from './copy.ts';
import { databaseMadeAt } from './inspect.ts';
import { type BackupManifest, mayBeSame, OTHER_DATABASE_HINT } from './manifest.ts';
import { sealAside } from './seal.ts';
import { goOnFrom, type RecordSince } from './taken-over.ts';
import { verifyBackup } from './verify.ts';

export interface RestorePlan {
  readonly backup: string;
  readonly dataDir: string;
  readonly exchangeFile: string;
  readonly busyTimeoutMs: number;
  /**
   * Whether the exchange file, with the ERP's documents, is restored as well; otherwise it stays as
   * it is.
   */
  readonly withExchange: boolean;
  readonly actor: string;
  /** Folder in which the daemon lists acts, beside that of the backup. */
  readonly directory: string;
  /** Steps that other rooms take on their own tables in a restore. */
  readonly steps: RestoreSteps;
  /** Record of another machine since the backup; left out: nobody knows what was done. */
  readonly record?: RecordSince;
}

export interface Restored extends Disarmed {
  readonly createdAt: string;
  readonly inDoubt: number;
  /** Acts of people since the backup; null: no list of them lies beside it. */
  readonly since: ActsSince | null;
  readonly kept: readonly string[];
  /** Whether no standby can take over before a new backup: its record is of a past given up. */
  readonly isRecordEnded: boolean;
  /** Parts that the record lacks, so that a person must resume; empty: it goes on by itself. */
  readonly missing: readonly string[];
}

type Doubted = Omit<Restored, 'createdAt' | 'kept'>;

/** Endings of the files that belong to one database: its log is moved with it. */
const ENDINGS = ['', '-wal', '-shm', '-journal'];

function move(from: string, to: string): string[] {
  return ENDINGS.flatMap((ending) => {
    if (!existsSync(from + ending)) return [];
    renameSync(from + ending, to + ending);
    return [to + ending];
  });
}

function discard(path: string): void {
  for (const ending of ENDINGS) rmSync(path + ending, { force: true });
}

/** Pattern of the mirror's file, and of those that earlier restores replaced. */
const REPLACED = /^mirror\.db(?:\.before-restore-\d+)?$/;

function replacedIn(dataDir: string): string[] {
  return readdirSync(dataDir).filter((name) => REPLACED.test(name));
}

/**
 * Numbers per table that a restore skips: more rows than the backup can lack. Few enough that an
 * ERP with 32-bit numbers lives through twenty restores.
 */
const LOST_ROWS_MAX = { outbox: 1_000_000, outcome: 10_000_000, change: 100_000_000 };

/**
 * The same where the other machine has handed over: its record has all numbers but those of the
 * change feed, and this is done each month.
 */
const CHANGES_SINCE_BACKUP_MAX = 10_000_000;

type Numbered = keyof typeof LOST_ROWS_MAX;

const NUMBERED = ['outbox', 'outcome', 'change'] as const;

/** Reads the last number of a table in a replaced database; 0 when it is gone or too damaged. */
function lastNumberIn(path: string, table: Numbered): number {
  let database: Database.Database | undefined;
  try {
    database = new Database(path, { readonly: true, fileMustExist: true });
    const last = database.prepare('select seq from sqlite_sequence where name = ?').pluck();
    return Number(last.get(table) ?? 0);
  } catch {
    return 0;
  } finally {
    database?.close();
  }
}

/**
 * Keeps numbers that were given out since the backup from being given to other rows: the ERP knows
 * those of documents, and follows those of outcomes and of the change feed. Returns the last number
 * that the backup had given out.
 */
async function leaveNumbersOut(
  tx: Tx,
  dataDir: string,
  table: Numbered,
  rows = LOST_ROWS_MAX[table],
): Promise<number> {
  const known = sql<{ seq: number }>`select seq from sqlite_sequence where name = ${table}`;
  const last = (await known.execute(tx)).rows[0]?.seq ?? 0;
  // A restore that was interrupted has put the replaced database aside already.
  const numbers = replacedIn(dataDir).map((name) => lastNumberIn(join(dataDir, name), table));
  const next = Math.max(last, ...numbers) + rows;
  await sql`delete from sqlite_sequence where name = ${table}`.execute(tx);
  await sql`insert into sqlite_sequence values (${table}, ${next})`.execute(tx);
  return last;
}

/** Notes the restore, and leaves out the numbers that may have been given out since. */
async function noteRestored(
  tx: Tx,
  { dataDir }: RestorePlan,
  createdAt: string,
  clock: Clock,
): Promise<void> {
  // Orders since the backup have a higher number than this one. Deleted orders do not count,
  // because no list begins at one that is gone.
  const newest = await tx
    .selectFrom('sales_order')
    .select((eb) => eb.fn.max('order_id').as('order_id'))
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  const maxOrderId = newest?.order_id ?? null;
  const maxDocumentId = await leaveNumbersOut(tx, dataDir, 'outbox');
  await leaveNumbersOut(tx, dataDir, 'outcome');
  await leaveNumbersOut(tx, dataDir, 'change');
  const at = clock.now();
  await writeRestored(tx, { at, createdAt, maxOrderId, maxDocumentId }, clock);
}

/**
 * Makes sure that nothing of the backup continues by itself: pushes become unknown and paused,
 * rules are disarmed and their rejects withdrawn, streams become due.
 */
async function markEverythingOld(
  tx: Tx,
  plan: RestorePlan,
  manifest: BackupManifest,
  clock: Clock,
): Promise<Doubted> {
  const now = clock.now();
  const { createdAt } = manifest;
  const { actor, steps } = plan;
  // First: what follows is no change of the past that was recorded.
  const isRecordEnded = await steps.endRecord(tx);
  const inDoubt = await steps.markPushesUnknown(tx, now);
  const directories = [...new Set([dirname(plan.backup), plan.directory])];
  const listed = { steps, directories, madeAt: manifest.databaseMadeAt };
  const since = await takeOverActs(tx, listed, createdAt, now);
  // The pause is written into the new database before it is put in place, so that an interrupted
  // restore leaves none that sends.
  const reason = `restored from the backup of ${createdAt}`;
  await writePause(tx, { target: 'pushes', name: '', reason, actor, at: now });
  // The backup does not know why a rule was disarmed or the breaker tripped since, so a person arms
  // rules again.
  const why = { actor, reason: `restored, as of ${createdAt}` };
  const disarmed = await steps.disarmAll(tx, why, now);
  // The mirror is as old as the backup, so every stream is pulled in full.
  await steps.requestFullPulls(tx, now);
  await noteRestored(tx, plan, createdAt, clock);
  const act = { action: 'restore', subject: 'mirror.db', reason: `backup of ${createdAt}` };
  const detail = { backup: plan.backup, inDoubt, since, ...disarmed };
  await writeAudit(tx, { actor, ...act, detail }, now);
  return { inDoubt, since, ...disarmed, isRecordEnded, missing: [] };
}

/**
 * Prepares the mirror of the backup beside the present one: in this program's schema, and with
 * everything in doubt.
 */
async function prepareMirror(
  copy: string,
  plan: RestorePlan,
  manifest: BackupManifest,
  clock: Clock,
): Promise<Doubted> {
  const { dataDir, busyTimeoutMs } = plan;
  const path = join(dataDir, `mirror.db${RESTORING}`);
  copyDatabase(copy, path, busyTimeoutMs);
  const { store, migrated } = await openStore({ path, busyTimeoutMs }, clock);
  try {
    // The copy that the migration made is not needed, because the backup itself is still there.
    if (migrated.backup !== undefined) rmSync(migrated.backup, { force: true });
    const { record } = plan;
    return await store.transaction((tx): Promise<Doubted> => {
      if (!record) return markEverythingOld(tx, plan, manifest, clock);
      const numbers = {
        afterLoss: (createdAt: string) => noteRestored(tx, plan, createdAt, clock),
        async afterDeath() {
          for (const table of NUMBERED) await leaveNumbersOut(tx, dataDir, table);
        },
        afterHandOver: () => leaveNumbersOut(tx, dataDir, 'change', CHANGES_SINCE_BACKUP_MAX),
      };
      return goOnFrom(tx, plan, record, numbers, clock);
    });
  } finally {
    await store.close();
  }
}

/**
 * Refuses a backup of another database: what one brand has sent says nothing about another brand's
 * pushes.
 */
function requireSameDatabase(copy: string, path: string): void {
  const [ofCopy, here] = [databaseMadeAt(copy), databaseMadeAt(path)];
  if (mayBeSame(ofCopy, here)) return;
  const message = `${copy} is of another database, made ${ofCopy}; ${path} was made ${here}`;
  throw new RefusedError('backup.other_database', message, {
    hint: OTHER_DATABASE_HINT,
  });
}

/**
 * Prepares the exchange file with the mode of the present one, so that the ERP gets in as before.
 */
function prepareExchange(copy: string, { exchangeFile, busyTimeoutMs }: RestorePlan): void {
  copyDatabase(copy, exchangeFile + RESTORING, busyTimeoutMs);
  const mode = statSync(exchangeFile, { throwIfNoEntry: false })?.mode ?? EXCHANGE_MODE;
  chmodSync(exchangeFile + RESTORING, mode & 0o777);
}

/**
 * Restores a backup. Throws `store.locked` while a daemon runs, and a StoreError when the backup is
 * not sound. Nothing is replaced before everything is ready: a full disk or a stop leaves all as it
 * was.
 */
export async function restoreBackup(plan: RestorePlan, clock: Clock): Promise<Restored> {
  const { dataDir, exchangeFile } = plan;
  const path = join(dataDir, 'mirror.db');
  if (plan.withExchange) isThere(exchangeFile);
  const folder = lockFolder(lockFile(dataDir));
  const discardAll = (): void => {
    discard(path + RESTORING);
    // A half copy of exchange.db stays only where exchange.db is gone, because it explains why.
    if (plan.withExchange || existsSync(exchangeFile)) discard(exchangeFile + RESTORING);
  };
  let isReady = false;
  try {
    const manifest = await verifyBackup(plan.backup);
    const { createdAt, mirror, exchange } = manifest;
    const from = dirname(plan.backup);
    const replaced = [path];
    discardAll();
    const doubted = await prepareMirror(join(from, mirror.file), plan, manifest, clock);
    requireSameDatabase(join(from, mirror.file), path);
    if (plan.withExchange && exchange) {
      prepareExchange(join(from, exchange.file), plan);
      replaced.push(exchangeFile);
    }
    // Logs are written back first: a stop between the renaming of a database and of its log would
    // part them for good.
    for (const name of replacedIn(dataDir)) sealAside(join(dataDir, name));
    // The prepared database may be the only one from here on: if it were removed, the next start
    // would make an empty one.
    isReady = true;
    const suffix = `.before-restore-${clock.now()}`;
    const kept = replaced.flatMap((file) => {
      const aside = move(file, file + suffix);
      move(file + RESTORING, file);
      return aside;
    });
    return { createdAt, ...doubted, kept };
  } finally {
    if (!isReady) discardAll();
    folder.release();
  }
}
