/**
 * Which types of events the relay sends us at all. An endpoint may be subscribed to some types
 * only, and a service may not have all of them: what is never sent is not lost. Nor is what is no
 * longer sent, because somebody has chosen other types since.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import type { Db } from '../../store/store.ts';

export interface TypesSent {
  /** False when other events come, but none of this type, or none any more of its changes. */
  mayCome(type: string): Promise<boolean>;
}

/** Events that are looked at between two turns of the event loop. */
const SLICE_ROWS = 1_000;
/** A type whose changes come without events for longer, while others come, is not sent any more. */
export const AWAY_MS_MAX = 30 * 86_400_000;

/** Looks at each event once, in the order in which they came: there may be a million. */
export function createTypesSent(db: () => Db, clock: Pick<Clock, 'now'>): TypesSent {
  /** When an event of each type came last. */
  const lastAt = new Map<string, number>();
  let newest = 0;
  let lookedTo = 0;

  /** The clock was set back: beside the times of before none of now would ever count. */
  const forget = (): void => {
    lastAt.clear();
    newest = 0;
    lookedTo = 0;
  };

  /** Looks on; gives whether there was anything. */
  const lookOn = async (): Promise<boolean> => {
    // A time to come is from before the clock was set back, and says nothing.
    const slice = await sql<{
      readonly last: number;
      readonly type: string | null;
      readonly at: number;
    }>`
        select max(id) last, type, max(received_at) at from (
          select rowid id, received_at,
            iif(order_id is null or received_at > ${clock.now()}, null, type) type
          from webhook_event
          where rowid > ${lookedTo} order by rowid limit ${SLICE_ROWS}
        ) group by type`.execute(db());
    for (const { last, type, at } of slice.rows) {
      lookedTo = Math.max(lookedTo, last);
      if (type === null) continue;
      lastAt.set(type, Math.max(lastAt.get(type) ?? 0, at));
      newest = Math.max(newest, at);
    }
    return slice.rows.length > 0;
  };

  /** Not while there was nothing to tell, as of refunds in a month without any. */
  const isAway = async (type: string, last: number): Promise<boolean> => {
    const until = newest - AWAY_MS_MAX;
    if (last >= until) return false;
    const untold = await db()
      .selectFrom('sighting')
      .select('at')
      .where('at', '>', last)
      .where('at', '<=', until)
      .where('type', '=', type)
      .where('event_id', 'is', null)
      .limit(1)
      .executeTakeFirst();
    return untold !== undefined;
  };

  return {
    async mayCome(type) {
      if (newest > clock.now()) forget();
      while (await lookOn()) await nextTurn();
      // While nothing comes at all, everything is missing.
      if (lastAt.size === 0) return true;
      const last = lastAt.get(type);
      return last !== undefined && !(await isAway(type, last));
    },
  };
}
