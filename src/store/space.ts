/**
 * How much is free on the disk of the database, and what may go on with it. An effect whose
 * outcome cannot be written is worse than a late one, so each activity has a floor of its own:
 * below it the activity stops by itself, and it goes on once a margin more is free again. The
 * floor of `send` is the lowest, because what was begun must still be written down.
 *
 * A disk that cannot be looked at changes nothing: the last look counts.
 */
import { statfs } from 'node:fs/promises';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../lib/clock.ts';
import { isDiskFull, RetryLaterError, toError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';

/** Pulls and hand-ins of the ERP, events of the relay, and pushes to the service. */
const ACTIVITIES = ['pull', 'receive', 'send'] as const;
type Activity = (typeof ACTIVITIES)[number];

export interface SpaceLimits {
  /** Bytes that must be free for each activity. */
  readonly floors: Readonly<Record<Activity, number>>;
  /** Bytes above its floor from which a stopped activity goes on. */
  readonly marginBytes: number;
  readonly checkMs: number;
}

interface SpaceFigures {
  /** Undefined until the disk could be looked at. */
  readonly freeBytes: number | undefined;
  readonly stopped: readonly Activity[];
}

export interface SpaceWatch {
  readonly name: 'space';
  /** Looks at the disk now. */
  look(): Promise<void>;
  /** Looks again and again until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  allows(activity: Activity): boolean;
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

/** What rests on a disk with this much free, in the words of whoever is told. */
export function restingWith(
  freeBytes: number,
  { space }: Pick<Config['store'], 'space'>,
): string[] {
  const floors = {
    pulls: space.pullFloor,
    'events and hand-ins': space.receiveFloor,
    pushes: space.sendFloor,
  };
  return Object.entries(floors).flatMap(([name, floor]) => (freeBytes < floor ? [name] : []));
}

/** What to throw instead of an error that came while this file was opened. */
export function toldFull(error: unknown, path: string): unknown {
  if (!isDiskFull(error)) return error;
  return new RetryLaterError('store.disk_full', `the disk is full: no room for ${path}`, {
    hint: 'free space on that disk; nothing is lost, and it may be tried again at any time',
    cause: error,
  });
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
    figures: () => ({ freeBytes, stopped: ACTIVITIES.filter((one) => stopped.has(one)) }),
  };
}
