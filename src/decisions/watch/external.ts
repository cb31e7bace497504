/**
 * What people did to a delivery in the service itself. Every change of its status that was not
 * our push is journaled as a decision of `external`, and from then on the rules leave the delivery
 * alone until its lines change. A reject of it that waits is stopped.
 *
 * A change is ours when a push to that status had been sent and had not ended before the change
 * was seen. A push that found its status there before it was sent has confirmed somebody else's
 * decision.
 */
import { sql } from 'kysely';
import type { Tx } from '../../store/store.ts';
import { readSubject } from '../facts.ts';
import { askRules } from '../holds/ask-rules.ts';
import { MAY_HAVE_ARRIVED, undonePush } from '../push.ts';
import { type DecisionMode, recordDecision } from '../record.ts';
import { endEntry } from '../reject/queue.ts';
import { writeReview } from '../review/touched.ts';
import type { LoadedRuleSet } from '../rule-files.ts';

export interface ExternalContext {
  readonly rules: LoadedRuleSet;
  readonly mode: DecisionMode;
  /** Epoch milliseconds. */
  readonly now: number;
}

interface StatusChange {
  /** Place in the change feed. */
  readonly seq: number;
  readonly at: number;
  readonly to: string;
}

/** The latest change of the status whose author is not known yet. */
async function newChange(tx: Tx, orderDeliveryId: number): Promise<StatusChange | undefined> {
  const known = await tx
    .selectFrom('evaluation')
    .select('feed_seq')
    .where('order_delivery_id', '=', orderDeliveryId)
    .executeTakeFirst();
  return tx
    .selectFrom('change')
    .select(['seq', 'at', sql<string>`diff->>'$.status[1]'`.as('to')])
    .where('entity', '=', 'delivery')
    .where('key', '=', String(orderDeliveryId))
    .where('op', '=', 'update')
    .where('seq', '>', known?.feed_seq ?? 0)
    .where(sql<string>`diff->>'$.status[1]'`, 'is not', null)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
}

async function isOurs(tx: Tx, orderDeliveryId: number, { at, to }: StatusChange): Promise<boolean> {
  const row = await tx
    .selectFrom('outbox')
    .select('outbox_id')
    .where('order_delivery_id', '=', orderDeliveryId)
    .where(sql<string>`body->>'$.status'`, '=', to)
    .where(MAY_HAVE_ARRIVED)
    .where('created_at', '<=', at)
    .where((eb) => eb.or([eb('ended_at', 'is', null), eb('ended_at', '>=', at)]))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Whether it shows the status of before a push that was answered and is still read back: that may
 * be a copy that lags. It stays news until the push has ended.
 */
async function mayLag(tx: Tx, orderDeliveryId: number, { to }: StatusChange): Promise<boolean> {
  const row = await tx
    .selectFrom('outbox')
    .select('outbox_id')
    .where('order_delivery_id', '=', orderDeliveryId)
    .where('ended_at', 'is', null)
    .where('expected_from', '=', to)
    .where('result', 'is not', null)
    .executeTakeFirst();
  return row !== undefined;
}

const WHAT = {
  accepted: { action: 'accept', reason: 'somebody accepted it in the service' },
  rejected: { action: 'reject', reason: 'somebody rejected it in the service' },
  pending: {
    action: 'hold',
    reason: 'somebody put it back to pending; it is left to people',
  },
} as const;

function isDone(status: string): status is keyof typeof WHAT {
  return Object.hasOwn(WHAT, status);
}

/** Journals what somebody did, and leaves the delivery to people; false: its order is not here. */
async function record(
  tx: Tx,
  { rules, mode, now }: ExternalContext,
  orderDeliveryId: number,
  to: keyof typeof WHAT,
): Promise<boolean> {
  const { settings } = rules.ruleSet;
  const subject = await readSubject(tx, orderDeliveryId, { now, settings });
  if (!subject) return false;
  const { action, reason } = WHAT[to];
  const evaluation = await askRules(tx, { rules, mode, now }, subject);
  const outcome = { kind: action, reason, rules: [] };
  const judgement = { rules, mode, subject, evaluation, outcome, at: now, dueAt: null };
  const actor = 'external';
  const decisionId = await recordDecision(tx, judgement, { actor, trigger: 'external' });
  const word = { action, at: now, actor, reason, why: null };
  await writeReview(tx, subject, { ...word, decision_id: decisionId });
  return true;
}

/** Finds out who changed the delivery, if somebody did. Safe to ask at any moment. */
export async function noteExternal(
  tx: Tx,
  context: ExternalContext,
  orderDeliveryId: number,
): Promise<void> {
  const change = await newChange(tx, orderDeliveryId);
  if (change && (await mayLag(tx, orderDeliveryId, change))) return;
  if (change) {
    if (!(await isOurs(tx, orderDeliveryId, change))) {
      const end = { by: 'external', detail: `it was made ${change.to} in the service` };
      await endEntry(tx, orderDeliveryId, { ...end, state: 'stopped', at: context.now });
      // It stays news until it can be told.
      if (isDone(change.to) && !(await record(tx, context, orderDeliveryId, change.to))) return;
    }
    await tx
      .updateTable('evaluation')
      .set({ feed_seq: change.seq })
      .where('order_delivery_id', '=', orderDeliveryId)
      .execute();
    return;
  }
  // Put back before we read our own push back: the mirror never showed another status.
  if (await undonePush(tx, orderDeliveryId)) await record(tx, context, orderDeliveryId, 'pending');
}
