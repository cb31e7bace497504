/**
 * Undoes a person's latest decision about a delivery. An accept is canceled, or revoked once it was
 * sent, and the delivery is held; after a release it is held, too; a hold is given back to the
 * rules.
 */
import type { Review } from '../decisions/review/review.ts';
import { RefusedError, RetryLaterError } from '../lib/errors.ts';
import type { OutboxReview } from '../outbox/review/operations.ts';
import type { Actor } from '../store/audit.ts';
import type { Db, Store } from '../store/store.ts';

export interface UndoDeps {
  readonly store: Store;
  readonly review: Review;
  readonly outbox: OutboxReview;
}

export interface UndoWish {
  /** Id of the delivery whose decision is undone. */
  readonly delivery: number;
  /** Decision that is to be undone; another latest one is refused. Left out: the latest. */
  readonly decisionId?: number | undefined;
}

function latestDecision(db: Db, delivery: number) {
  return db
    .selectFrom('evaluation as e')
    .innerJoin('decision as d', 'd.decision_id', 'e.decision_id')
    .leftJoin('outbox as o', 'o.decision_id', 'd.decision_id')
    .select(['d.decision_id', 'd.actor', 'd.outcome', 'o.outbox_id', 'o.state'])
    .where('e.order_delivery_id', '=', delivery)
    .executeTakeFirst();
}

/**
 * Undoes the latest decision about a delivery.
 * @throws RefusedError where the latest decision is not this actor's, or a reject
 * @throws RetryLaterError while its push is on its way
 */
export async function undoLatest(
  { store, review, outbox }: UndoDeps,
  { delivery, decisionId }: UndoWish,
  actor: Actor,
): Promise<Awaited<ReturnType<Review['act']>>> {
  const latest = await latestDecision(store.db, delivery);
  const isOther = decisionId !== undefined && latest?.decision_id !== decisionId;
  if (isOther || latest?.actor !== `person:${actor.actor}`) {
    const hint = 'look at the delivery: it was decided again, or by somebody else';
    throw new RefusedError('console.undo', 'there is nothing to undo any more', { hint });
  }
  if (latest.outcome === 'reject') {
    const hint = 'a new delivery comes when the order is packed again';
    throw new RefusedError('console.undo', 'a reject is final and cannot be undone', { hint });
  }
  const id = `id:${delivery}`;
  if (latest.outcome === 'accept' && latest.outbox_id !== null) {
    if (latest.state === 'sending' || latest.state === 'sent' || latest.state === 'in_doubt') {
      const message = 'its push is on its way';
      throw new RetryLaterError('console.undo', message, { hint: 'try again in a moment' });
    }
    if (latest.state === 'queued') await outbox.cancel({ outboxId: latest.outbox_id }, actor);
    return review.act({ ...actor, action: 'hold', delivery: id });
  }
  if (latest.outcome !== 'hold') return review.act({ ...actor, action: 'hold', delivery: id });
  const why = 'other' as const;
  return review.act({ ...actor, action: 'release', delivery: id, why, toRules: true });
}
