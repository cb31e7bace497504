/**
 * Housekeeping of the database, as one quiet worker: every minute it writes the log back (if no
 * pull's thread does that), deletes old rows in small slices, gives free pages back to the disk,
 * makes the reserved space again, and runs the chores of other rooms. Nothing here is urgent: a
 * failure is logged and tried again a minute later.
 */
import type { Clock } from '../../lib/clock.ts';
import { toError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { type Timed, trustedNow } from '../clock-guard.ts';
import type { SpaceWatch } from '../space.ts';
import type { SqliteStore } from '../store.ts';
import { type RetentionStep, SLICE_ROWS } from '../upkeep.ts';
import type { Checkpoints } from './checkpoints.ts';
import type { ReservedSpace } from './reserved-space.ts';

export interface KeeperDeps {
  readonly store: SqliteStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly checkpoints: Checkpoints;
  readonly retention: readonly RetentionStep[];
  readonly reserved: ReservedSpace;
  readonly space: Pick<SpaceWatch, 'allows' | 'canSpare'>;
  /**
   * Further work of other rooms, called once a minute; each chore decides itself whether it is due.
   */
  readonly chores?: readonly ((signal: AbortSignal) => Promise<void>)[];
}

const EVERY_MS = 60_000;
/**
 * Milliseconds before the first round, because the start needs the disk and the processor for
 * itself.
 */
const FIRST_MS = 5_000;
/** Milliseconds between two slices, so that other writers wait for one slice at most. */
const PAUSE_MS = 50;
/** Maximum number of slices in a round, so that a minute's work ends within the minute. */
const SLICES_MAX = 200;
/** Number of pages, of 8 KiB each, that are given back at a time, which takes some 10 ms. */
const VACUUM_PAGES = 64;
/** Maximum number of times per round that pages are given back, in all 8 MiB. */
const VACUUM_STEPS = 16;
/**
 * Milliseconds between two log entries about deleted rows, because some are deleted nearly every
 * minute.
 */
const TELL_MS = 3_600_000;

/**
 * Deletes one slice of each table, and returns how many rows. Deleted rows do not come back, so
 * their age is measured by the trusted time of the clock guard.
 */
export async function deleteOldRows(
  { store, clock }: Timed,
  retention: readonly RetentionStep[],
): Promise<number> {
  let rows = 0;
  const now = await trustedNow({ store, clock });
  for (const { keepMs, deleteOld } of retention) {
    rows += await store.transaction((tx) => deleteOld(tx, now - keepMs));
  }
  return rows;
}

export function createKeeper(deps: KeeperDeps) {
  const { store, clock, log, checkpoints, retention, reserved, space, chores = [] } = deps;

  let rows = 0;
  let toldAt: number | undefined;
  const forget = async (signal: AbortSignal): Promise<void> => {
    for (let slice = 0; slice < SLICES_MAX && !signal.aborted; slice += 1) {
      const gone = await deleteOldRows({ store, clock }, retention);
      rows += gone;
      // A full slice means that more rows may be old enough.
      if (gone < SLICE_ROWS) break;
      await clock.sleep(PAUSE_MS, signal).catch(() => undefined);
    }
    const now = clock.monotonic();
    if (rows === 0 || (toldAt !== undefined && now - toldAt < TELL_MS)) return;
    log.info({ rows }, 'old rows deleted');
    rows = 0;
    toldAt = now;
  };

  const giveBack = async (signal: AbortSignal): Promise<void> => {
    for (let step = 0; step < VACUUM_STEPS && !signal.aborted; step += 1) {
      if (!(await store.giveBackPages(VACUUM_PAGES))) break;
      await clock.sleep(PAUSE_MS, signal).catch(() => undefined);
    }
    store.giveBackMemory();
  };

  const warn = (error: unknown): void => {
    log.warn({ err: toError(error) }, 'housekeeping failed');
  };

  let restoring: Promise<void> | undefined;
  const keep = async (signal: AbortSignal): Promise<void> => {
    if (space.canSpare(reserved.bytes)) restoring = reserved.restore(signal).catch(warn);
    else if (!space.allows('send') && reserved.release()) log.warn('reserved space was released');
    checkpoints.look();
    await forget(signal);
    await giveBack(signal);
    for (const chore of chores) await chore(signal);
  };

  return {
    name: 'keeper',
    async run(signal: AbortSignal): Promise<void> {
      const pause = (ms: number) => clock.sleep(ms, signal).catch(() => undefined);
      await pause(FIRST_MS);
      while (!signal.aborted) {
        await keep(signal).catch(warn);
        await pause(EVERY_MS);
      }
      await restoring;
    },
  };
}
