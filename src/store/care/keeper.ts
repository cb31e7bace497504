/**
 * The housekeeping of the database, as one quiet worker: every minute the log is written back (if
 * no pull's thread does it), old rows go in small slices, free pages are given back to the disk,
 * the reserved space is made again, and rooms do their chores. Nothing here is urgent: a failure is
 * logged and tried again a minute later.
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
  /** Further work of other rooms, once a minute; each says itself when it is due. */
  readonly chores?: readonly ((signal: AbortSignal) => Promise<void>)[];
}

const EVERY_MS = 60_000;
/** After the start, which needs the disk and the processor for itself. */
const FIRST_MS = 5_000;
/** Between two slices, so that nobody waits for more than one. */
const PAUSE_MS = 50;
/** A minute's work must end within the minute. */
const SLICES_MAX = 200;
/** Pages of 8 KiB; as many at a time as are moved in some 10 ms. */
const VACUUM_PAGES = 64;
/** 8 MiB in a minute. */
const VACUUM_STEPS = 16;
/** Some row is old enough nearly every minute. */
const TELL_MS = 3_600_000;

/**
 * Deletes one slice of each table and gives how many rows went. Deleted rows do not come back, so
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
      // A full slice means that more rows may be due.
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
