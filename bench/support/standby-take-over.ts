/**
 * A holder that is killed with deliveries packed behind it, and the machine that takes over, as its
 * units would start it: how long each part takes until it decides.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import Database from 'better-sqlite3';
import { EXIT } from '../../src/lib/errors.ts';
import { startCalmService, until, watchMirror } from './accepting.ts';
import { LAUNCHER, startConfigured, writeConfig } from './daemon-process.ts';
import { standbyLines } from './standby-sides.ts';

export interface TakeOverFigures {
  /** From the kill until the lease was taken. */
  readonly leaseSeconds: number;
  /** Backup and record. */
  readonly restoreSeconds: number;
  readonly startSeconds: number;
  /** Full pulls, until nothing is paused any more. */
  readonly pullSeconds: number;
  /** From there until the first accept was at the service. */
  readonly decideSeconds: number;
}

const TAKEN = 'this machine has taken the lease';

function folderOf(root: string, name: string): string {
  const folder = join(root, name);
  mkdirSync(folder);
  return folder;
}

/** Waits as the unit does; gives when the lease was taken, once it has taken over. */
async function waitAsStandby(config: string, onWaiting: () => void): Promise<number> {
  const child = spawn(process.execPath, [LAUNCHER, 'standby', 'wait', '--config', config], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let takenAt = Number.NaN;
  createInterface(child.stdout).on('line', (line) => {
    if (line.includes('"msg":"waits"')) onWaiting();
    if (line.includes(TAKEN)) takenAt = performance.now();
  });
  const [code] = await once(child, 'exit');
  if (code !== EXIT.takenOver.code) throw new Error(`the standby ended with ${code}`);
  return takenAt;
}

export async function measureTakeOver(
  url: string,
  { deliveries }: { readonly deliveries: number },
): Promise<TakeOverFigures> {
  const { reference, wish, place } = await startCalmService(10_000);
  const { book, trade } = reference.world;
  const root = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
  const [a, b] = [folderOf(root, 'a'), folderOf(root, 'b')];
  const configOf = (folder: string): string => {
    const backups = `store: { backup: { directory: ${join(root, 'backups')} } }`;
    return writeConfig(folder, reference, {
      ...wish,
      more: [...standbyLines(folder, url), backups],
    });
  };
  const [here, there] = [configOf(a), configOf(b)];
  const first = await startConfigured(here, reference);
  const mirror = watchMirror(join(a, 'data', 'mirror.db'));
  place(deliveries);
  await until('the orders in the mirror', () => mirror.isRead(deliveries));
  mirror.close();
  execFileSync(process.execPath, [LAUNCHER, 'backup', 'create', '--config', here]);
  const waits = Promise.withResolvers<void>();
  const waiting = waitAsStandby(there, waits.resolve);
  await waits.promise;
  await until('the standby to be ready', () => isReady(join(b, 'data', 'standby-status.json')));
  await first.kill();
  const killedAt = performance.now();
  for (const order of book.orders.all) trade.packAll(order);
  const takenAt = await waiting;
  const restoredAt = performance.now();
  const second = await startConfigured(there, reference);
  const startedAt = performance.now();
  const database = new Database(join(b, 'data', 'mirror.db'), { readonly: true });
  const pauses = database.prepare<[], number>('select count(*) from pause').pluck();
  await until('the pauses to end', () => pauses.get() === 0);
  const readAt = performance.now();
  await until('an accept', () => book.deliveries.all.some((one) => one.acceptedAt !== null));
  const decidedAt = performance.now();
  database.close();
  await second.stop();
  await reference.close();
  rmSync(root, { recursive: true, force: true });
  const seconds = (from: number, to: number): number => (to - from) / 1_000;
  return {
    leaseSeconds: seconds(killedAt, takenAt),
    restoreSeconds: seconds(takenAt, restoredAt),
    startSeconds: seconds(restoredAt, startedAt),
    pullSeconds: seconds(startedAt, readAt),
    decideSeconds: seconds(readAt, decidedAt),
  };
}

function isReady(status: string): boolean {
  try {
    return JSON.parse(readFileSync(status, 'utf8')).state === 'waiting';
  } catch {
    // Not written yet.
    return false;
  }
}
