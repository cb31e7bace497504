/**
 * Needs of the daemon while documents go through it (memory, descriptors, the log of its database),
 * and whether it gives them back: once all is quiet, one that has worked may not take much more
 * than one that has just started.
 */
import { join } from 'node:path';
import { systemClock } from '../../../src/lib/clock.ts';
import { logBytesOf } from '../../../src/store/care/checkpoints.ts';
import type { ChildDaemon, Needs } from '../../support/daemon-process.ts';

const LOOK_MS = 200;
const MEBIBYTE = 1_048_576;

const PEAK_MIB_MAX = 250;
const LOG_MIB_MAX = 64;
const DESCRIPTORS_MAX = 100;
/** Beyond a fresh start: connections to the service that are still kept open. */
const DESCRIPTORS_LEFT_MAX = 20;
const RESIDENT_LEFT_MIB_MAX = 64;

export interface Most extends Omit<Needs, 'residentMiB'> {
  readonly logMiB: number;
}

/** Looks from now on; what it gives ends that, with the most that was seen. */
export function watchNeeds(daemon: ChildDaemon, folder: string): () => Promise<Most> {
  const clock = systemClock();
  const end = new AbortController();
  const most = { descriptors: 0, peakMiB: 0, logMiB: 0 };
  const look = async (): Promise<void> => {
    while (!end.signal.aborted) {
      const { descriptors, peakMiB } = daemon.needs() ?? most;
      const logMiB = logBytesOf(join(folder, 'data', 'mirror.db')) / MEBIBYTE;
      most.descriptors = Math.max(most.descriptors, descriptors);
      most.peakMiB = Math.max(most.peakMiB, peakMiB);
      most.logMiB = Math.max(most.logMiB, logMiB);
      await clock.sleep(LOOK_MS, end.signal).catch(() => undefined);
    }
  };
  const looking = look();
  return async () => {
    end.abort();
    await looking;
    return most;
  };
}

/** Gives a text for each limit that was passed. */
export function needsProblems(
  most: Most,
  worked: Needs | undefined,
  fresh: Needs | undefined,
): string[] {
  const limits: readonly (readonly [string, number, number])[] = [
    ['MiB resident', most.peakMiB, PEAK_MIB_MAX],
    ['MiB of log', most.logMiB, LOG_MIB_MAX],
    ['descriptors', most.descriptors, DESCRIPTORS_MAX],
  ];
  const passed = limits.filter(([, found, limit]) => found > limit);
  const problems = passed.map(([what, found, limit]) => `${found} ${what} for at most ${limit}`);
  if (!worked || !fresh) return [...problems, 'the daemon was not there to be looked at'];
  const descriptors = worked.descriptors - fresh.descriptors;
  const residentMiB = worked.residentMiB - fresh.residentMiB;
  if (descriptors > DESCRIPTORS_LEFT_MAX) problems.push(`kept ${descriptors} descriptors open`);
  if (residentMiB > RESIDENT_LEFT_MIB_MAX) problems.push(`kept ${residentMiB} MiB`);
  return problems;
}
