/**
 * Finds status changes of deliveries that somebody else made in the service. A change that no push
 * of the outbox made is journaled as a decision of `external`, and from then on the rules leave the
 * delivery alone until its lines change. A reject of the delivery that waits is stopped.
 *
 * A change is ours when a push to that status had been sent and had not ended before the change was
 * seen. A push that found the delivery in its status before it was sent did not make the change: it
 * only confirmed somebody else's decision.
 */
import { sql } from 'kysely';
import { STATUSES } from '../config/statuses.ts';
import { inKeys, updateRows } from '../store/bulk.ts';
import { writeStateAt } from '../store/state.ts';
import type { Db, Store, Tx } from '../store/store.ts';
import { kept, type Value } from '../store/transaction/kept.ts';
import { readSubject } from './facts.ts';
import { endHolds } from './holds.ts';
import { resolveEvaluationErrors, resolveRevokedTooOften } from './incidents.ts';
import { recordDecision, writeReview } from './journal.ts';
import { askRules, type RulesContext } from './judgement.ts';
import { MAY_HAVE_ARRIVED, undonePush } from './push.ts';
import { endEntry } from './reject/queue.ts';

interface StatusChange {
  /** Sequence number of the change in the change feed. */
  readonly seq: number;
  readonly at: number;
  readonly from: string;
  readonly to: string;
}

const newChanges = kept((db: Db, orderDeliveryId: Value<number>, key: Value<string>) =>
  db
    .selectFrom('change')
    .select([
      'seq',
      'at',
      sql<string>`diff->>'$.status[0]'`.as('from'),
      sql<string>`diff->>'$.status[1]'`.as('to'),
    ])
    .where('entity', '=', 'delivery')
    .where('key', '=', key)
    .where('op', '=', 'update')
    .where(sql<boolean>`seq > coalesce((select e.feed_seq from evaluation e
      where e.order_delivery_id = ${orderDeliveryId}), 0)`)
    .where(sql<string>`diff->>'$.status[1]'`, 'is not', null)
    .orderBy('seq', 'desc')
    .limit(1),
);

/** Finds the latest change of a delivery's status whose author is not known yet. */
async function newChange(tx: Tx, orderDeliveryId: number): Promise<StatusChange | undefined> {
  return (await newChanges(tx, orderDeliveryId, String(orderDeliveryId)))[0];
}

const pushesBehind = kept(
  (db: Db, orderDeliveryId: Value<number>, to: Value<string>, at: Value<number>) =>
    db
      .selectFrom('outbox')
      .select('outbox_id')
      .where('order_delivery_id', '=', orderDeliveryId)
      .where(sql<string>`body->>'$.status'`, '=', to)
      .where(MAY_HAVE_ARRIVED)
      .where('created_at', '<=', at)
      .where((eb) => eb.or([eb('ended_at', 'is', null), eb('ended_at', '>=', at)]))
      .limit(1),
);

async function isOurs(tx: Tx, orderDeliveryId: number, { at, to }: StatusChange): Promise<boolean> {
  return (await pushesBehind(tx, orderDeliveryId, to, at)).length > 0;
}

const answeredPushes = kept((db: Db, orderDeliveryId: Value<number>, from: Value<string>) =>
  db
    .selectFrom('outbox')
    .select('outbox_id')
    .where('order_delivery_id', '=', orderDeliveryId)
    .where('ended_at', 'is', null)
    .where('expected_from', '=', from)
    .where('result', 'is not', null),
);

/**
 * Whether the change shows the status that the delivery had before a push that was answered and is
 * still read back: it may come from a lagging replica. Such a change stays unprocessed until the
 * push has ended.
 */
async function mayLag(tx: Tx, orderDeliveryId: number, { to }: StatusChange): Promise<boolean> {
  return (await answeredPushes(tx, orderDeliveryId, to)).length > 0;
}

const UNDERSTOOD: readonly string[] = STATUSES.delivery;

/**
 * Whether a delivery became pending only because the setting `service.dialect.v1.statuses` now
 * translates the service's word for it: then nobody put the delivery back.
 */
async function isFirstUnderstood(
  tx: Tx,
  orderDeliveryId: number,
  { from, to, seq }: StatusChange,
): Promise<boolean> {
  if (to !== 'pending' || UNDERSTOOD.includes(from)) return false;
  const decision = await tx
    .selectFrom('decision')
    .select('decision_id')
    .where('order_delivery_id', '=', orderDeliveryId)
    .limit(1)
    .executeTakeFirst();
  if (decision) return false;
  const understood = await tx
    .selectFrom('change')
    .select('seq')
    .where('entity', '=', 'delivery')
    .where('key', '=', String(orderDeliveryId))
    .where('seq', '<', seq)
    .where(sql<string>`diff->>'$.status[0]'`, 'in', UNDERSTOOD)
    .limit(1)
    .executeTakeFirst();
  return understood === undefined;
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

/**
 * Journals what somebody did in the service, and leaves the delivery to people; false: its order is
 * not mirrored yet.
 */
async function record(
  tx: Tx,
  { rules, mode, now }: RulesContext,
  orderDeliveryId: number,
  to: keyof typeof WHAT,
): Promise<boolean> {
  const { settings, rules: read } = rules.ruleSet;
  const subject = await readSubject(tx, orderDeliveryId, { now, settings, rules: read });
  if (!subject) return false;
  const { action, reason } = WHAT[to];
  const asked = await askRules(tx, { rules, mode, now }, subject);
  const outcome = { kind: action, reason, rules: [] };
  const judgement = { rules, mode, subject, ...asked, outcome, at: now, dueAt: null };
  const actor = 'external';
  const decisionId = await recordDecision(tx, judgement, { actor, trigger: 'external' });
  const word = { action, at: now, actor, reason, why: null };
  await writeReview(tx, subject, { ...word, decision_id: decisionId });
  return true;
}

async function setNoted(tx: Tx, orderDeliveryId: number, { seq }: StatusChange): Promise<void> {
  await updateRows(tx, 'evaluation', { feed_seq: seq }, { order_delivery_id: orderDeliveryId });
}

/** Finds out whether somebody else changed the delivery's status. Safe to call at any moment. */
export async function noteExternal(
  tx: Tx,
  context: RulesContext,
  orderDeliveryId: number,
  /** Whether anything was ever decided about it: else no push can have been undone. */
  isDecided = true,
): Promise<void> {
  const change = await newChange(tx, orderDeliveryId);
  if (change && (await mayLag(tx, orderDeliveryId, change))) return;
  if (change) {
    const isNews =
      !(await isFirstUnderstood(tx, orderDeliveryId, change)) &&
      !(await isOurs(tx, orderDeliveryId, change));
    if (isNews) {
      const end = { by: 'external', detail: `it was made ${change.to} in the service` };
      await endEntry(tx, orderDeliveryId, { ...end, state: 'stopped', at: context.now });
      // The change stays unprocessed until the order is mirrored and can be journaled.
      if (isDone(change.to) && !(await record(tx, context, orderDeliveryId, change.to))) return;
    }
    await setNoted(tx, orderDeliveryId, change);
    return;
  }
  // Somebody put the delivery back before our push was read back: the mirror never showed the new
  // status.
  if (isDecided && (await undonePush(tx, orderDeliveryId)))
    await record(tx, context, orderDeliveryId, 'pending');
}

const CURSOR_KEY = 'decisions_feed_seq';
/** Number of status changes that are handled in one transaction. */
const CHANGES_MAX = 20;
/** Changes that a restart looks at once more at most, beside those of the last look. */
const UNSTORED_MAX = 100;

/**
 * Finds deliveries whose status changed behind the last look, and those deleted or back. The
 * condition repeats that of the partial index, which skips millions of stock entries.
 */
const statusChanges = kept(
  (_db: Db, behind: Value<number>) => sql<{ readonly seq: number; readonly id: number }>`
    select seq, cast(key as integer) as id from change indexed by change_delivery_status
    where entity = 'delivery' and (op <> 'update' or diff->>'$.status[1]' is not null)
      and op <> 'insert' and seq > max(${behind}, coalesce((
        select value + 0 from daemon_state where key = ${CURSOR_KEY}), 0))
    order by seq limit ${sql.lit(CHANGES_MAX)}`,
);

const decidedAmong = kept((db: Db, ids: Value<string>) =>
  db
    .selectFrom('delivery')
    .select(['order_delivery_id', 'status', 'deleted_at'])
    .where(inKeys('order_delivery_id', ids))
    .where((eb) => eb.or([eb('status', '<>', 'pending'), eb('deleted_at', 'is not', null)])),
);

/**
 * Ends the holds and the planned evaluations of deliveries that the rules no longer decide about.
 */
async function forgetDecided(tx: Tx, ids: readonly number[], now: number): Promise<void> {
  const rows = await decidedAmong(tx, JSON.stringify(ids));
  const done = rows.map((row) => row.order_delivery_id);
  if (done.length === 0) return;
  await endHolds(tx, done, now);
  await resolveEvaluationErrors(tx, done, now);
  // An accepted delivery stays due, because its accept may still be revoked (accept/revocation.ts).
  const over = rows.filter((row) => row.status !== 'accepted' || row.deleted_at !== null);
  const overIds = over.map((row) => row.order_delivery_id);
  if (overIds.length === 0) return;
  await resolveRevokedTooOften(tx, overIds, now);
  await tx
    .updateTable('evaluation')
    .set({ due_at: null, due_why: null })
    .where(inKeys('order_delivery_id', overIds))
    .where('due_at', 'is not', null)
    .execute();
}

export interface StatusNotes {
  /** Handles the next few new status changes; gives false when there are more. */
  noteAll(): Promise<boolean>;
  /**
   * Handles the status that a push has made, in the transaction that confirms the push; gives false
   * where somebody else made it.
   */
  noteOwn(
    tx: Tx,
    push: { readonly id: number; readonly now: number },
    onCommit: OnCommit,
  ): Promise<boolean>;
}

export type OnCommit = (effect: () => void) => void;

export function createStatusNotes(store: Store, contextNow: () => RulesContext): StatusNotes {
  /** Changes that were handled with their pushes; after a restart they are looked at once more. */
  const own = new Set<number>();
  let passed = 0;
  let passedUnstored = 0;
  return {
    async noteAll() {
      const changes = await statusChanges(store.db, passed);
      const last = changes.at(-1);
      if (!last) return true;
      const left = changes.filter(({ seq }) => !own.has(seq));
      passedUnstored += changes.length;
      if (left.length > 0 || passedUnstored >= UNSTORED_MAX) {
        const ids = [...new Set(left.map(({ id }) => id))];
        await store.transaction(async (tx) => {
          const context = contextNow();
          for (const id of ids) await noteExternal(tx, context, id);
          await forgetDecided(tx, ids, context.now);
          await writeStateAt(tx, CURSOR_KEY, String(last.seq), context.now);
        });
        passedUnstored = 0;
      }
      passed = last.seq;
      for (const { seq } of changes) own.delete(seq);
      return changes.length < CHANGES_MAX;
    },
    async noteOwn(tx, { id, now }, onCommit) {
      const change = await newChange(tx, id);
      if (!change) return true;
      if (!(await isOurs(tx, id, change))) return false;
      await setNoted(tx, id, change);
      await forgetDecided(tx, [id], now);
      onCommit(() => own.add(change.seq));
      return true;
    },
  };
}
