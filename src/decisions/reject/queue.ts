/**
 * The queue of rejects: an entry exists from the decision to reject until the delivery is rejected,
 * or something prevented it. During its grace period everybody can see and stop it here.
 */
import type { Rule } from '../../rules/rule.ts';
import type { Db, Tx } from '../../store/store.ts';
import type { Subject } from '../facts.ts';

type EntryState = 'waiting' | 'pushing' | 'rejected' | 'stopped' | 'held' | 'withdrawn' | 'failed';

interface End {
  /**
   * How a waiting reject ends without a push. `stopped`: by a person, here or in the service.
   * `held`: by a safeguard, until a person has decided or the delivery has changed. `withdrawn`:
   * the rules decide otherwise, have changed or may not reject any more, or the delivery has
   * changed or is gone.
   */
  readonly state: 'stopped' | 'held' | 'withdrawn';
  /** Author of the end: a person's name, `external` for somebody in the service, or `daemon`. */
  readonly by: string;
  /** Name of the safeguard that ended the entry, if one did. */
  readonly safeguard?: string;
  readonly detail: string;
  readonly at: number;
}

function ending({ state, by, safeguard, detail, at }: End) {
  return { state, safeguard: safeguard ?? null, detail, ended_at: at, ended_by: by };
}

/** Ends the waiting reject of this delivery, if there is one. */
export async function endEntry(tx: Tx, orderDeliveryId: number, end: End): Promise<void> {
  await tx
    .updateTable('reject_entry')
    .set(ending(end))
    .where('order_delivery_id', '=', orderDeliveryId)
    .where('ended_at', 'is', null)
    .where('state', '=', 'waiting')
    .execute();
}

/** Ends the waiting rejects by this rule, or all of them; gives how many there were. */
export async function endEntries(tx: Tx, ruleId: string | undefined, end: End): Promise<number> {
  let query = tx
    .updateTable('reject_entry')
    .set(ending(end))
    .where('ended_at', 'is', null)
    .where('state', '=', 'waiting');
  if (ruleId !== undefined) query = query.where('rule_id', '=', ruleId);
  const ended = await query.returning('order_delivery_id').execute();
  return ended.length;
}

export interface Begin {
  readonly subject: Subject;
  readonly rule: Rule;
  /** Id of the decision to reject. */
  readonly decisionId: number;
  readonly at: number;
}

/** Begins the grace period of a reject and gives the time at which it ends. */
export async function beginEntry(tx: Tx, begin: Begin): Promise<number> {
  const { subject, rule, decisionId, at } = begin;
  const { delivery } = subject;
  const dueAt = at + (rule.reject?.graceMs ?? Number.POSITIVE_INFINITY);
  await tx
    .insertInto('reject_entry')
    .values({
      order_delivery_id: delivery.order_delivery_id,
      order_id: delivery.order_id,
      rule_id: rule.id,
      rule_hash: rule.hash,
      delivery_hash: delivery.content_hash,
      decision_id: decisionId,
      queued_at: at,
      due_at: dueAt,
      state: 'waiting',
    })
    .execute();
  return dueAt;
}

export interface RejectEntry {
  readonly entryId: number;
  readonly orderDeliveryId: number;
  readonly orderId: number;
  readonly ruleId: string;
  readonly ruleHash: string;
  readonly deliveryHash: string;
  readonly decisionId: number;
  readonly queuedAt: number;
  readonly dueAt: number;
  readonly state: EntryState;
  /** Name of the safeguard that postponed or ended the entry. */
  readonly safeguard: string | null;
  readonly detail: string | null;
}

function entries(db: Db | Tx) {
  return db
    .selectFrom('reject_entry')
    .select([
      'entry_id as entryId',
      'order_delivery_id as orderDeliveryId',
      'order_id as orderId',
      'rule_id as ruleId',
      'rule_hash as ruleHash',
      'delivery_hash as deliveryHash',
      'decision_id as decisionId',
      'queued_at as queuedAt',
      'due_at as dueAt',
      'state',
      'safeguard',
      'detail',
    ]);
}

/** The latest queue entry of a delivery, whether it still waits or has ended. */
export function latestEntry(tx: Tx, orderDeliveryId: number): Promise<RejectEntry | undefined> {
  return entries(tx)
    .where('order_delivery_id', '=', orderDeliveryId)
    .orderBy('entry_id', 'desc')
    .executeTakeFirst();
}

export function entryById(tx: Tx, entryId: number): Promise<RejectEntry | undefined> {
  return entries(tx).where('entry_id', '=', entryId).executeTakeFirst();
}

/** Entries in their grace period; the one that ends first comes first. */
export function waitingEntries(db: Db): Promise<RejectEntry[]> {
  return entries(db)
    .where('ended_at', 'is', null)
    .where('state', '=', 'waiting')
    .orderBy('due_at')
    .orderBy('entry_id')
    .execute();
}

/** Postpones a reject to which a safeguard objects; it is checked again at `until`. */
export async function postponeEntry(
  tx: Tx,
  entryId: number,
  stop: { readonly safeguard: string; readonly detail: string; readonly until: number },
): Promise<void> {
  const { safeguard, detail, until } = stop;
  await tx
    .updateTable('reject_entry')
    .set({ safeguard, detail, due_at: until })
    .where('entry_id', '=', entryId)
    .execute();
}
