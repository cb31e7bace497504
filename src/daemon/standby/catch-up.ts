/**
 * Ends the pauses of a take-over once every stream was read in full since: the mirror is as old as
 * the backup until then, and nobody may decide by it.
 */
import type { Clock } from '../../lib/clock.ts';
import { RefusedError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { TAKE_OVER } from '../../store/backup/taken-over.ts';
import type { Pause, Pauses } from '../../store/pauses.ts';
import type { Db, Store } from '../../store/store.ts';
import { requestFullAgain } from '../../sync/upkeep.ts';
import type { Worker } from '../supervisor.ts';

const LOOK_MS = 2_000;
/**
 * So often is a stream pulled again that was not whole, or whose run was begun before: it would
 * hold all pushes until the next pull of its schedule, which may be tomorrow's.
 */
const AGAIN_MS = 60_000;

export interface CatchUpDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly pauses: Pauses;
  /** Streams that are pulled. */
  readonly streams: readonly string[];
}

/**
 * Streams that were not read in full since. Of one that never was, perhaps because the account does
 * not have it, a run that has ended is enough.
 */
export async function behind(db: Db, streams: readonly string[], since: number): Promise<string[]> {
  const rows = await db
    .selectFrom('stream_state as state')
    .leftJoin('sync_run as run', 'run.run_id', 'state.last_run_id')
    .select(['state.stream', 'state.complete_at', 'run.ended_at'])
    .execute();
  const read = rows.filter((row) => (row.complete_at ?? row.ended_at ?? 0) >= since);
  const names = new Set(read.map(({ stream }) => stream));
  return streams.filter((stream) => !names.has(stream));
}

const isOurs = ({ actor, name }: Pause): boolean => actor === TAKE_OVER && name === '';

export function createCatchUp({ store, clock, log, pauses, streams }: CatchUpDeps): Worker {
  const resume = async (pause: Pause): Promise<void> => {
    try {
      await pauses.resume(pause, { actor: TAKE_OVER, reason: 'everything was read since' });
    } catch (thrown) {
      if (!(thrown instanceof RefusedError)) throw thrown;
      // Acts of people came to light; they are taken over, and it goes on at the next look.
      log.warn({ code: thrown.code, hint: thrown.hint }, thrown.message);
    }
  };
  return {
    name: 'standby-catch-up',
    async run(signal) {
      let askedAt = clock.monotonic();
      while (!signal.aborted) {
        const ours = pauses.list().filter(isOurs);
        const since = Math.max(0, ...ours.map(({ at }) => at));
        const left = ours.length === 0 ? [] : await behind(store.db, streams, since);
        if (left.length > 0 && clock.monotonic() - askedAt >= AGAIN_MS) {
          askedAt = clock.monotonic();
          await store.transaction((tx) => requestFullAgain(tx, left, clock.now()));
        }
        if (ours.length > 0 && left.length === 0) {
          // Decisions last: what is decided by the fresh mirror may then be sent at once.
          for (const pause of ours.toSorted((a, b) => b.target.localeCompare(a.target))) {
            await resume(pause);
          }
        }
        await clock.sleep(LOOK_MS, signal).catch(() => undefined);
      }
    },
  };
}
