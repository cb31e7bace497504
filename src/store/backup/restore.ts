/**
 * Puts a backup in the place of the database, while no daemon runs. The past that comes back does
 * not know what was sent since, so nothing may simply go on: whatever had not ended is in doubt
 * until it was looked up at the service, and nothing is sent until a person resumes it. The
 * database that was there is kept beside it.
 */
import { chmodSync, existsSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import type { Clock } from '../../lib/clock.ts';
import { pausePushes } from '../care/pause.ts';
import { lockFolder } from '../lock.ts';
import { writeState } from '../state.ts';
import { openStore, type Tx } from '../store.ts';
import { verifyBackup } from './verify.ts';

export interface RestorePlan {
  /** The path of the backup's manifest. */
  readonly backup: string;
  readonly dataDir: string;
  readonly exchangeFile: string;
  readonly busyTimeoutMs: number;
  /** Whether what the ERP handed in is taken back as well; without it that file stays. */
  readonly withExchange: boolean;
  readonly actor: string;
}

export interface Restored {
  readonly createdAt: string;
  /** Pushes that are in doubt now. */
  readonly inDoubt: number;
  /** Where the files are that were there before. */
  readonly kept: readonly string[];
}

/** The file and its log go aside together: the log belongs to that file alone. */
function setAside(path: string, suffix: string): string[] {
  return ['', '-wal', '-shm', '-journal'].flatMap((ending) => {
    if (!existsSync(path + ending)) return [];
    renameSync(path + ending, `${path}${suffix}${ending}`);
    return [`${path}${suffix}${ending}`];
  });
}

function copyBack(backup: string, target: string): void {
  const from = new Database(backup, { readonly: true, fileMustExist: true });
  try {
    from.prepare('vacuum into ?').run(target);
  } finally {
    from.close();
  }
  chmodSync(target, 0o600);
}

/** Pushes that may have been sent since the backup was made; those of the future ones first. */
async function doubtEverything(tx: Tx, plan: RestorePlan, createdAt: string, clock: Clock) {
  const now = clock.now();
  const { numUpdatedRows } = await tx
    .updateTable('outbox')
    .set({ state: 'in_doubt', in_doubt_since: now, due_at: now })
    .where('state', 'in', ['queued', 'sending', 'sent'])
    .executeTakeFirst();
  // The mirror is old as well: every stream is read again, as a whole.
  await tx.updateTable('stream_state').set({ due_at: now, requested: 'full' }).execute();
  await writeState(tx, 'restored', JSON.stringify({ at: now, createdAt }), clock);
  await tx
    .insertInto('audit')
    .values({
      ...{ at: now, actor: plan.actor, action: 'restore', subject: 'mirror.db' },
      reason: `backup of ${createdAt}`,
      detail: JSON.stringify({ backup: plan.backup, inDoubt: Number(numUpdatedRows) }),
    })
    .execute();
  return Number(numUpdatedRows);
}

/** Throws `store.locked` while a daemon runs, and a StoreError when the backup is not sound. */
export async function restoreBackup(plan: RestorePlan, clock: Clock): Promise<Restored> {
  const { dataDir, busyTimeoutMs } = plan;
  const folder = lockFolder(join(dataDir, 'daemon.lock'));
  try {
    const { createdAt, mirror, exchange } = await verifyBackup(plan.backup);
    const from = dirname(plan.backup);
    const path = join(dataDir, 'mirror.db');
    const suffix = `.before-restore-${clock.now()}`;
    // Before anything is replaced: a stop in between must not leave a past that sends.
    pausePushes(dataDir, `restored from the backup of ${createdAt}`);
    const kept = setAside(path, suffix);
    copyBack(join(from, mirror.file), path);
    if (plan.withExchange && exchange) {
      const other = plan.exchangeFile;
      kept.push(...setAside(other, suffix));
      copyBack(join(from, exchange.file), other);
    }
    const { store } = await openStore({ path, busyTimeoutMs }, clock);
    try {
      const inDoubt = await store.transaction((tx) => doubtEverything(tx, plan, createdAt, clock));
      return { createdAt, inDoubt, kept };
    } finally {
      await store.close();
    }
  } finally {
    folder.release();
  }
}
