/**
 * Cancels pushes of delivery statuses whose decision no longer counts. A push that was not sent is
 * canceled. One that is being sent may have arrived, so it is only marked: it is not sent again.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../store/store.ts';

const UNSENT = sql<boolean>`outbox.state = 'queued'`;

/** A revocation is not marked: it may be sent again, because pending harms nobody. */
const UNDER_WAY = sql<boolean>`(outbox.state in ('sending', 'in_doubt')
  and outbox.expected_from <> 'accepted' and outbox.body->>'$.cancelRequested' is null)`;

/** Whether {@link cancelPushes} would change anything; needs no turn to write. */
export async function hasCancelablePush(db: Db, which: RawBuilder<boolean>): Promise<boolean> {
  const row = await db
    .selectFrom('outbox')
    .select('outbox_id')
    // SQLite finds these by an index.
    .where('state', 'in', ['queued', 'sending', 'in_doubt'])
    .where(which)
    .where((eb) => eb.or([UNSENT, UNDER_WAY]))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

interface CancelRequest {
  /** SQL: the pushes of the table `outbox` that are meant. */
  readonly which: RawBuilder<boolean>;
  readonly reason: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** Gives the pushes that were canceled, and the decisions of those that were only marked. */
export async function cancelPushes(tx: Tx, { which, reason, at }: CancelRequest) {
  const marked = await tx
    .updateTable('outbox')
    .set({ body: sql<string>`json_set(body, '$.cancelRequested', ${reason})` })
    .where(which)
    .where(UNDER_WAY)
    .returning('decision_id')
    .execute();
  const canceled = await tx
    .updateTable('outbox')
    .set({ state: 'canceled', ended_at: at, last_error: reason })
    .where(which)
    .where(UNSENT)
    .returning(['decision_id', 'expected_from'])
    .execute();
  return { canceled, marked };
}
