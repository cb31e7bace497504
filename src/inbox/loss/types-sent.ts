/**
 * Which types of events the relay sends us at all. An endpoint may be subscribed to some types
 * only, and a service may not have all of them: what is never sent is not lost.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Db } from '../../store/store.ts';

export interface TypesSent {
  /** False when other events have come, but never one of this type. */
  mayCome(type: string): Promise<boolean>;
}

/** To look through all events for one that is not there is not cheap. */
const ABSENT_MS = 600_000;

export function createTypesSent(db: () => Db, clock: Clock): TypesSent {
  const present = new Set<string>();
  const absentAt = new Map<string, number>();

  const hasCome = async (type: string | undefined): Promise<boolean> => {
    const key = type ?? '';
    if (present.has(key)) return true;
    const lookedAt = absentAt.get(key);
    if (lookedAt !== undefined && clock.monotonic() - lookedAt < ABSENT_MS) return false;
    const any = db()
      .selectFrom('webhook_event')
      .select('event_id')
      .where('order_id', 'is not', null);
    const row = await (type === undefined ? any : any.where('type', '=', type))
      .limit(1)
      .executeTakeFirst();
    if (row) present.add(key);
    else absentAt.set(key, clock.monotonic());
    return row !== undefined;
  };

  return {
    // While nothing has come at all, everything is missing.
    mayCome: async (type) => (await hasCome(type)) || !(await hasCome(undefined)),
  };
}
