/**
 * Cancels pushes of delivery statuses whose decision no longer counts. A push that was not sent is
 * canceled. A push that is being sent may have arrived, so it is only marked, and is not sent
 * again.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Tx } from '../store/store.ts';

const UNSENT = sql<boolean>`outbox.state = 'queued'`;

/**
 * SQL: the push is being sent or its outcome is unknown, and it must be marked. A revocation is not
 * marked: it may be sent again, because pending harms nobody.
 */
const UNDER_WAY = sql<boolean>`(outbox.state in ('sending', 'in_doubt')
  and outbox.expected_from <> 'accepted' and outbox.body->>'$.cancelRequested' is null)`;

interface CancelRequest {
  /** SQL condition that chooses the pushes in the table `outbox`. */
  readonly which: RawBuilder<boolean>;
  readonly reason: string;
  /** Time of the cancellation, in epoch milliseconds. */
  readonly at: number;
}

/**
 * Cancels or marks the pushes. Returns the canceled ones, and the decisions of those only marked.
 * The grounds of a canceled accept are taken out: it is no answer to a later one on the same.
 */
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
    .set({ body: sql<string>`json_remove(body, '$.grounds')` })
    .where(which)
    .where(UNSENT)
    .returning(['decision_id', 'expected_from'])
    .execute();
  return { canceled, marked };
}
