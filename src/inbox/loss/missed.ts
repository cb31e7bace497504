/** The changes behind the figures: what no event told us of in time. */
import type { Db } from '../../store/store.ts';
import { untoldMs } from './figures.ts';

export interface MissedChange {
  /** Epoch milliseconds: when the mirror had it. */
  readonly at: number;
  readonly orderId: number;
  /** The type of the event that should have told us. */
  readonly type: string;
  readonly lateMs: number;
  /** The event that came in the end. */
  readonly eventId: string | null;
  /** Null: it may still come. */
  readonly verdict: 'announced' | 'late' | 'lost' | 'excused' | null;
}

/** The latest first; without what is excused. */
export function listMissed(
  db: Db,
  filter: { readonly since: number; readonly limit: number; readonly lateAfterMs: number },
): Promise<MissedChange[]> {
  return db
    .selectFrom('sighting')
    .leftJoin('webhook_event as event', 'event.event_id', 'sighting.event_id')
    .select(['at', 'sighting.order_id as orderId', 'sighting.type', 'late_ms as lateMs'])
    .select(['sighting.event_id as eventId', 'verdict'])
    .where('at', '>=', filter.since)
    .where((eb) =>
      eb.or([
        eb('verdict', 'is', null),
        eb('verdict', 'in', ['late', 'lost']),
        eb.and([eb('verdict', '=', 'announced'), eb(untoldMs, '>', filter.lateAfterMs)]),
      ]),
    )
    .orderBy('at', 'desc')
    .orderBy('change_seq')
    .limit(filter.limit)
    .execute();
}
