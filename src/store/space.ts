/**
 * Free space on the disk of the database, and which activities it allows. An effect whose outcome
 * cannot be written is worse than a late one, so each activity has a floor of its own: below it the
 * activity stops by itself, and it continues once a margin above it is free again. The floor of
 * `send` is the lowest, because the outcomes of begun pushes must still be written.
 *
 * A disk that cannot be looked at changes nothing: the last look counts.
 */
import { type StatsFs, statfsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type Database from 'better-sqlite3';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../lib/clock.ts';
import { isDiskFull, RetryLaterError, toError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { formatSize } from '../lib/units.ts';

/**
 * Activities that need space: pulls, receiving events of the relay and documents of the ERP, and
 * pushes to the service.
 */
const ACTIVITIES = ['pull', 'receive', 'send'] as const;
type Activity = (typeof ACTIVITIES)[number];

export interface SpaceLimits {
  /** Bytes that must be free for each activity. */
  readonly floors: Readonly<Record<Activity, number>>;
  /** Bytes above its floor from which a stopped activity continues. */
  readonly marginBytes: number;
  readonly checkMs: number;
}

interface SpaceFigures {
  /** Free bytes at the last look; undefined until the disk could be looked at. */
  readonly freeBytes: number | undefined;
  readonly stopped: readonly Activity[];
}

export interface SpaceWatch {
  readonly name: 'space';
  look(): Promise<void>;
  /** Looks at the disk again and again until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  allows(activity: Activity): boolean;
  /**
   * Tells whether so many bytes may be taken: no activity stops by it, and as many again stay free.
   */
  canSpare(bytes: number): boolean;
  figures(): SpaceFigures;
}

export interface SpaceDeps {
  /** Gives the bytes that are free for this user. */
  readonly probe: () => Promise<number>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Bytes that an ordinary user may still write on the file system of this folder. */
export async function freeBytesAt(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/**
 * Names the activities that are stopped with this much free space; undefined: none. Between a floor
 * and its margin only the daemon knows whether an activity was stopped.
 */
export function restingWith(
  freeBytes: number,
  { space }: Pick<Config['store'], 'space'>,
): string | undefined {
  const floors = {
    pulls: space.pullFloor,
    'events and submissions': space.receiveFloor,
    pushes: space.sendFloor,
  };
  const stopped: string[] = [];
  const goingOn = new Map<number, string[]>();
  for (const [name, floor] of Object.entries(floors)) {
    const goesOnAt = floor + space.margin;
    if (freeBytes < floor) stopped.push(name);
    else if (freeBytes < goesOnAt) goingOn.set(goesOnAt, [...(goingOn.get(goesOnAt) ?? []), name]);
  }
  const parts = [...goingOn].map(
    ([bytes, names]) =>
      `${names.join(', ')}, once stopped, rest until ${formatSize(bytes)} are free`,
  );
  if (stopped.length > 0) parts.unshift(`${stopped.join(', ')} rest`);
  return parts.length === 0 ? undefined : parts.join('; ');
}

const FREE_SPACE =
  'free space on that disk; nothing is lost, and it may be tried again at any time';

function diskOf(path: string): StatsFs | undefined {
  try {
    return statfsSync(dirname(path));
  } catch {
    return undefined;
  }
}

/**
 * Tells whether SQLite could not open a file, or make one beside it; it has one code for all
 * reasons.
 */
function isCannotOpen(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const isIt = 'code' in error && /^SQLITE_CANTOPEN/.test(String(error.code));
  return isIt || isCannotOpen(error.cause);
}

/**
 * Tells whether the disk takes no more files though it may have room; a disk that does not count
 * files reports 0 of 0.
 */
function takesNoMoreFiles(path: string): boolean {
  const disk = diskOf(path);
  return disk !== undefined && disk.files > 0 && disk.ffree === 0;
}

const FREE_FILES =
  'remove files from that disk, which takes no more of them ("df -i" shows it); nothing is lost, ' +
  'and it may be tried again at any time';

/**
 * Translates an error from opening this file into "disk full" when the disk takes no more files.
 */
export function asDiskFullError(error: unknown, path: string): unknown {
  const lacksFiles = takesNoMoreFiles(path);
  const isFull = isDiskFull(error) || (isCannotOpen(error) && lacksFiles);
  if (error instanceof RetryLaterError || !isFull) return error;
  return new RetryLaterError('store.disk_full', `the disk is full: no room for ${path}`, {
    hint: lacksFiles ? FREE_FILES : FREE_SPACE,
    cause: error,
  });
}

/** Upper limit for the size of a copy of the database, in bytes. */
export function copyBytes(database: Database.Database): number {
  const figure = (name: string): number => Number(database.pragma(name, { simple: true }));
  return (figure('page_count') - figure('freelist_count')) * figure('page_size');
}

/**
 * Throws before a file is begun for which there clearly is no room: a full disk stops everybody who
 * writes on it, and a process that is started repeatedly would fill it each time. If the disk does
 * not tell its size, the file is tried.
 */
export function requireRoom(path: string, mostBytes: number, leastBytes = mostBytes): void {
  const disk = diskOf(path);
  if (!disk || disk.blocks === 0) return;
  const freeBytes = disk.bavail * disk.bsize;
  if (freeBytes >= leastBytes) return;
  const message =
    `the disk is full: no room for ${path}: ` +
    `it may need ${formatSize(mostBytes)}, ${formatSize(freeBytes)} are free`;
  throw new RetryLaterError('store.disk_full', message, { hint: FREE_SPACE });
}

export function createSpaceWatch(deps: SpaceDeps, limits: SpaceLimits): SpaceWatch {
  const { probe, clock, log } = deps;
  const stopped = new Set<Activity>();
  let freeBytes: number | undefined;

  const decide = (activity: Activity, free: number): void => {
    const floorBytes = limits.floors[activity];
    if (free < floorBytes && !stopped.has(activity)) {
      stopped.add(activity);
      log.error({ activity, freeBytes: free, floorBytes }, 'the disk is nearly full: stopped');
    } else if (free >= floorBytes + limits.marginBytes && stopped.delete(activity)) {
      log.info({ activity, freeBytes: free }, 'there is room on the disk again: goes on');
    }
  };

  const look = async (): Promise<void> => {
    try {
      const free = await probe();
      freeBytes = free;
      for (const activity of ACTIVITIES) decide(activity, free);
    } catch (error) {
      log.warn({ err: toError(error) }, 'cannot tell how full the disk is');
    }
  };

  return {
    name: 'space',
    look,
    async run(signal) {
      while (!signal.aborted) {
        await look();
        await clock.sleep(limits.checkMs, signal).catch(() => undefined);
      }
    },
    allows: (activity) => !stopped.has(activity),
    canSpare(bytes) {
      const left = (freeBytes ?? 0) - bytes;
      return stopped.size === 0 && left >= Math.max(bytes, ...Object.values(limits.floors));
    },
    figures: () => ({ freeBytes, stopped: ACTIVITIES.filter((one) => stopped.has(one)) }),
  };
}
