/** Final states of deliveries, and whether the rules or people brought them about. */
import { sql } from 'kysely';
import type { Db } from '../../store/store.ts';
import { MAY_HAVE_ARRIVED } from '../push.ts';
import type { Period } from './history.ts';

/** Outcome of a delivery in words for people; `gone`: the mirror no longer has the delivery. */
export type ActualOutcome =
  | 'gone'
  | 'pending'
  | 'canceled'
  | `${'accepted' | 'rejected'} by ${Doer}`;
type Doer = 'the rules' | 'people';

function actualOutcome(status: string, byDaemon: number): ActualOutcome {
  if (status !== 'accepted' && status !== 'rejected') {
    return status === 'pending' || status === 'canceled' ? status : 'gone';
  }
  return `${status} by ${byDaemon === 1 ? 'the rules' : 'people'}`;
}

/** Outcomes by delivery id, for every delivery that the daemon decided in the period. */
export async function actualOutcomesOf(
  db: Db,
  period: Period,
): Promise<ReadonlyMap<number, ActualOutcome>> {
  const rows = await db
    .selectFrom('delivery as d')
    .select(['d.order_delivery_id', 'd.status'])
    .select(
      sql<number>`exists (
        select 1 from decision as n
        join outbox on outbox.decision_id = n.decision_id
        where n.order_delivery_id = d.order_delivery_id and n.actor = 'daemon'
          and outbox.state in ('sent', 'confirmed') and outbox.body->>'$.status' = d.status
          -- One that found its status there has confirmed what somebody else did.
          and ${MAY_HAVE_ARRIVED})`.as('by_daemon'),
    )
    .where('d.deleted_at', 'is', null)
    .where('d.order_delivery_id', 'in', (eb) =>
      eb
        .selectFrom('decision as n')
        .select('n.order_delivery_id')
        .where('n.at', '>=', period.since)
        .where('n.at', '<', period.until),
    )
    .execute();
  return new Map(
    rows.map((row) => [row.order_delivery_id, actualOutcome(row.status, row.by_daemon)] as const),
  );
}
