/**
 * Undoes a person's latest decision about a delivery. An accept is canceled, or revoked once it was
 * sent, and the delivery is held; after a release it is held, too; a hold is given back to the
 * rules.
 */
import { RefusedError, RetryLaterError } from '../../lib/errors.ts';
import type { Actor } from '../../store/audit.ts';
import type { Db } from '../../store/store.ts';
import type { Review, Reviewed } from './review.ts';

export interface UndoDeps {
  readonly db: Db;
  readonly review: Review;
  /** Cancels a push that was not sent. */
  readonly cancelPush: (outboxId: number, actor: Actor) => Promise<unknown>;
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

function refuse(why: string): never {
  const hint = `look at the delivery: ${why}`;
  throw new RefusedError('console.undo', 'there is nothing to undo any more', { hint });
}

/** Steps that undoing the decision takes. */
export interface Undoing {
  readonly decisionId: number;
  readonly outcome: string;
  /** Push to cancel before; undefined: none waits. */
  readonly outboxId: number | undefined;
  readonly action: 'hold' | 'release';
}

/**
 * Finds how the latest decision about a delivery is undone.
 * @throws RefusedError where the latest decision is not this actor's, or a reject
 * @throws RetryLaterError while its push is on its way
 */
export async function undoingOf(db: Db, delivery: number, { actor }: Actor): Promise<Undoing> {
  const latest = await latestDecision(db, delivery);
  if (latest?.actor !== `person:${actor}`)
    return refuse('it was decided again, or by somebody else');
  const { decision_id: decisionId, outcome, outbox_id: outboxId, state } = latest;
  if (outcome === 'reject') {
    const hint = 'a new delivery comes when the order is packed again';
    throw new RefusedError('console.undo', 'a reject is final and cannot be undone', { hint });
  }
  const isAccept = outcome === 'accept' && outboxId !== null;
  if (isAccept && (state === 'sending' || state === 'sent' || state === 'in_doubt')) {
    const message = 'its push is on its way';
    throw new RetryLaterError('console.undo', message, { hint: 'try again in a moment' });
  }
  return {
    decisionId,
    outcome,
    outboxId: isAccept && state === 'queued' ? outboxId : undefined,
    action: outcome === 'hold' ? 'release' : 'hold',
  };
}

/** Undoes this decision; throws as {@link undoingOf}, also where another one is the latest. */
export async function undoLatest(
  { db, review, cancelPush }: UndoDeps,
  delivery: number,
  actor: Actor,
  decisionId: number,
): Promise<Reviewed> {
  const undoing = await undoingOf(db, delivery, actor);
  if (undoing.decisionId !== decisionId) refuse('it was decided again');
  const { outboxId, action } = undoing;
  if (outboxId !== undefined) await cancelPush(outboxId, actor);
  // Somebody else may have decided since the look above: the act itself looks once more.
  const request = { ...actor, action, delivery: `id:${delivery}`, seen: { decisionId } };
  return review.act(action === 'hold' ? request : { ...request, why: 'other', toRules: true });
}
