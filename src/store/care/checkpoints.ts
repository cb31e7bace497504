/**
 * Keeps the write-ahead log small. SQLite writes the log back by itself with our commits; a program
 * that holds a read transaction open stops that, and the log grows for as long as it stays. So the
 * log is written back again in quiet moments and emptied when it has grown, and a reader that stays
 * is logged.
 */
import { statSync } from 'node:fs';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { SqliteStore } from '../store.ts';

export interface CheckpointDeps {
  readonly store: SqliteStore;
  readonly clock: Clock;
  readonly log: Logger;
  /** Gives the free bytes on the disk, where known. */
  readonly freeBytes?: () => number | undefined;
}

export interface Checkpoints {
  look(): void;
  figures(): LogFigures;
}

interface LogFigures {
  readonly walBytes: number;
  /** Milliseconds for which a reader has kept the log from being written back. */
  readonly pinnedMs: number;
}

/** Size of the log, in bytes, from which some reader must be keeping it from being emptied. */
export const LOG_BYTES_MAX = 536_870_912;

/** Size in bytes of the write-ahead log of the database at this path. */
export function logBytesOf(path: string): number {
  return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * Size of the log, in bytes, from which emptying it is worth a moment: SQLite does not shrink it by
 * itself.
 */
const TRUNCATE_BYTES = 67_108_864;
const WARN_PINNED_MS = 600_000;
const WARN_EVERY_MS = 3_600_000;

export function createCheckpoints(
  deps: CheckpointDeps,
  truncateBytes = TRUNCATE_BYTES,
): Checkpoints {
  const { store, clock, log } = deps;
  let pinnedSince: number | undefined;
  let warnedAt = Number.NEGATIVE_INFINITY;
  const walBytes = (): number => logBytesOf(store.path);
  const figures = (): LogFigures => ({
    walBytes: walBytes(),
    pinnedMs: pinnedSince === undefined ? 0 : clock.monotonic() - pinnedSince,
  });

  const note = (isPinned: boolean): void => {
    if (!isPinned) pinnedSince = undefined;
    else pinnedSince ??= clock.monotonic();
  };

  const writeBack = (): void => {
    const found = store.checkpoint('passive');
    if (!found) return;
    const isPinned = found.checkpointed < found.log;
    note(isPinned);
    // With little free space, the log is emptied earlier, because the database needs that room to
    // grow.
    const most = Math.min(truncateBytes, deps.freeBytes?.() ?? truncateBytes);
    if (!isPinned && walBytes() > most) store.checkpoint('truncate');
  };

  const warn = (): void => {
    const { walBytes: bytes, pinnedMs } = figures();
    const isBad = pinnedMs > WARN_PINNED_MS || bytes > LOG_BYTES_MAX;
    if (!isBad || clock.monotonic() - warnedAt < WARN_EVERY_MS) return;
    warnedAt = clock.monotonic();
    const hint = 'a program reads without end; "selvedge doctor", as root, names it';
    log.warn({ walBytes: bytes, pinnedMs, hint }, 'the log of the database cannot be emptied');
  };

  return {
    look() {
      // A checkpoint blocks, so during a pull the pull's thread runs it and reports the result.
      if (store.isCheckpointTaken) note(store.isTakenCheckpointPinned);
      else writeBack();
      warn();
    },
    figures,
  };
}
