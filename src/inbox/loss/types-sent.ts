/**
 * Which types of events the relay sends us at all. An endpoint may be subscribed to some types
 * only, and a service may not have all of them: what is never sent is not lost.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Db } from '../../store/store.ts';

export interface TypesSent {
  /** False when other events have come, but never one of this type. */
  mayCome(type: string): Promise<boolean>;
}

/** Events that are looked at between two turns of the event loop. */
const SLICE_ROWS = 1_000;

/** Looks at each event once, in the order in which they came: there may be a million. */
export function createTypesSent(db: () => Db): TypesSent {
  const present = new Set<string>();
  let lookedTo = 0;

  /** Reads on until one of this type has come, or the last event. */
  const hasCome = async (type: string): Promise<boolean> => {
    while (!present.has(type)) {
      const slice = await sql<{ readonly last: number; readonly type: string | null }>`
        select max(id) last, type from (
          select rowid id, iif(order_id is null, null, type) type from webhook_event
          where rowid > ${lookedTo} order by rowid limit ${SLICE_ROWS}
        ) group by type`.execute(db());
      if (slice.rows.length === 0) return false;
      for (const row of slice.rows) {
        if (row.type !== null) present.add(row.type);
        lookedTo = Math.max(lookedTo, row.last);
      }
      await nextTurn();
    }
    return true;
  };

  return {
    // While nothing has come at all, everything is missing.
    mayCome: async (type) => (await hasCome(type)) || present.size === 0,
  };
}
