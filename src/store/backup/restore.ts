/**
 * Puts a backup in the place of the database, while no daemon runs. The past that comes back does
 * not know what was sent since, so nothing may simply go on: whatever had not ended is in doubt
 * until it was looked up at the service, and nothing is sent until a person resumes it. The
 * database that was there is kept beside it.
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
import { copyDatabase, isThere } from './copy.ts';
import { databaseMadeAt } from './inspect.ts';
import { mayBeSame, OTHER_DATABASE_HINT } from './manifest.ts';
import { sealAside } from './seal.ts';
import { verifyBackup } from './verify.ts';

export interface RestorePlan {
  readonly backup: string;
  readonly dataDir: string;
  readonly exchangeFile: string;
  readonly busyTimeoutMs: number;
  /** Whether what the ERP handed in is taken back as well; without it that file stays. */
  readonly withExchange: boolean;
  readonly actor: string;
  /** Steps of the other rooms on their tables. */
  readonly steps: RestoreSteps;
}

export interface Restored extends Disarmed {
  readonly createdAt: string;
  readonly inDoubt: number;
  readonly kept: readonly string[];
}

/** A database and what belongs to it alone: its log goes where it goes. */
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

/** The mirror, and those that were in its place before. */
const REPLACED = /^mirror\.db(?:\.before-restore-\d+)?$/;

function replacedIn(dataDir: string): string[] {
  return readdirSync(dataDir).filter((name) => REPLACED.test(name));
}

/**
 * Numbers that a restore skips: more rows than may be missing in the backup. Small enough that an
 * ERP with 32-bit numbers lives through twenty restores.
 */
const LOST_ROWS_MAX = { outbox: 1_000_000, outcome: 10_000_000, change: 100_000_000 };

type Numbered = keyof typeof LOST_ROWS_MAX;

/** Reads the last number of a replaced database; 0 when it is gone or too damaged. */
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
 * Numbers that were given since are in the hands of the ERP, those of documents and those of
 * outcomes and the change feed, which it follows by them: none is given to another row. Gives the
 * last number that the backup had given.
 */
async function leaveNumbersOut(tx: Tx, dataDir: string, table: Numbered): Promise<number> {
  const known = sql<{ seq: number }>`select seq from sqlite_sequence where name = ${table}`;
  const last = (await known.execute(tx)).rows[0]?.seq ?? 0;
  // A restore that was cut off has put it aside already.
  const numbers = replacedIn(dataDir).map((name) => lastNumberIn(join(dataDir, name), table));
  const next = Math.max(last, ...numbers) + LOST_ROWS_MAX[table];
  await sql`delete from sqlite_sequence where name = ${table}`.execute(tx);
  await sql`insert into sqlite_sequence values (${table}, ${next})`.execute(tx);
  return last;
}

/**
 * Leaves nothing of the backup to go on by itself: pushes are unknown and paused, rules disarmed
 * and their rejects withdrawn, streams due.
 */
async function markEverythingOld(tx: Tx, plan: RestorePlan, createdAt: string, clock: Clock) {
  const now = clock.now();
  const { actor, steps } = plan;
  const inDoubt = await steps.markPushesUnknown(tx, now);
  // The pause is written into the new database: a stop in between must leave none that sends.
  const reason = `restored from the backup of ${createdAt}`;
  await writePause(tx, { target: 'pushes', name: '', reason, actor, at: now });
  // The backup does not know why a rule was disarmed or the breaker tripped: a person arms again.
  const why = { actor, reason: `restored, as of ${createdAt}` };
  const disarmed = await steps.disarmAll(tx, why, now);
  // The mirror is old as well: every stream is read again, as a whole.
  await steps.requestFullPulls(tx, now);
  // Whatever was ordered since the backup has a higher number; no list begins at one that is gone.
  const newest = await tx
    .selectFrom('sales_order')
    .select((eb) => eb.fn.max('order_id').as('order_id'))
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  const maxOrderId = newest?.order_id ?? null;
  const maxDocumentId = await leaveNumbersOut(tx, plan.dataDir, 'outbox');
  await leaveNumbersOut(tx, plan.dataDir, 'outcome');
  await leaveNumbersOut(tx, plan.dataDir, 'change');
  await writeRestored(tx, { at: now, createdAt, maxOrderId, maxDocumentId }, clock);
  const act = { action: 'restore', subject: 'mirror.db', reason: `backup of ${createdAt}` };
  const detail = { backup: plan.backup, inDoubt, ...disarmed };
  await writeAudit(tx, { actor, ...act, detail }, now);
  return { inDoubt, ...disarmed };
}

/** The mirror of the backup, in this program's schema and with everything in doubt. */
async function prepareMirror(copy: string, plan: RestorePlan, createdAt: string, clock: Clock) {
  const { dataDir, busyTimeoutMs } = plan;
  const path = join(dataDir, `mirror.db${RESTORING}`);
  copyDatabase(copy, path, busyTimeoutMs);
  const { store, migrated } = await openStore({ path, busyTimeoutMs }, clock);
  try {
    // The copy that the migration made is not needed: the backup itself is still there.
    if (migrated.backup !== undefined) rmSync(migrated.backup, { force: true });
    return await store.transaction((tx) => markEverythingOld(tx, plan, createdAt, clock));
  } finally {
    await store.close();
  }
}

/** Whatever the folder of the backups holds: what one brand has sent is no past of another's. */
function requireSameDatabase(copy: string, path: string): void {
  const [ofCopy, here] = [databaseMadeAt(copy), databaseMadeAt(path)];
  if (mayBeSame(ofCopy, here)) return;
  const message = `${copy} is of another database, made ${ofCopy}; ${path} was made ${here}`;
  throw new RefusedError('backup.other_database', message, {
    hint: OTHER_DATABASE_HINT,
  });
}

/** The ERP gets in as it did before. */
function prepareExchange(copy: string, { exchangeFile, busyTimeoutMs }: RestorePlan): void {
  copyDatabase(copy, exchangeFile + RESTORING, busyTimeoutMs);
  const mode = statSync(exchangeFile, { throwIfNoEntry: false })?.mode ?? EXCHANGE_MODE;
  chmodSync(exchangeFile + RESTORING, mode & 0o777);
}

/**
 * Throws `store.locked` while a daemon runs, and a StoreError when the backup is not sound. Until
 * all of it is ready nothing is replaced: a full disk or a stop leaves everything as it was.
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
    const { createdAt, mirror, exchange } = await verifyBackup(plan.backup);
    const from = dirname(plan.backup);
    const replaced = [path];
    discardAll();
    const doubted = await prepareMirror(join(from, mirror.file), plan, createdAt, clock);
    requireSameDatabase(join(from, mirror.file), path);
    if (plan.withExchange && exchange) {
      prepareExchange(join(from, exchange.file), plan);
      replaced.push(exchangeFile);
    }
    // First: a stop between the names of a database and of its log would part them for good.
    for (const name of replacedIn(dataDir)) sealAside(join(dataDir, name));
    // From here on it may be all there is: without it the next start would make an empty one.
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
