/** What became of the pushes of rejects, and whether too many of them failed. */
import { sql } from 'kysely';
import { DELIVERY_STATUS_KIND, pushReference } from '../../outbox/enqueue.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Db, Tx } from '../../store/store.ts';
import { isPushOf, MAY_HAVE_ARRIVED } from '../push.ts';
import { cancelUnsent } from '../stop/kill-switch.ts';
import { armedRuleIds } from './arming.ts';

const DAY_MS = 86_400_000;

async function pushed(db: Db | Tx) {
  const rows = await db
    .selectFrom('reject_entry')
    .select(['entry_id', 'order_delivery_id', 'intent_decision_id', 'rule_id', 'rule_hash'])
    .where('ended_at', 'is', null)
    .where('state', '=', 'pushing')
    .execute();
  return rows.flatMap(({ intent_decision_id: decisionId, ...row }) =>
    decisionId === null ? [] : [{ ...row, decisionId }],
  );
}

/** Whether there is anything for {@link settlePushed}. */
export async function hasPushed(db: Db): Promise<boolean> {
  return (await pushed(db)).length > 0;
}

/** Ends the entries whose push has come to its end. */
export async function settlePushed(tx: Tx, at: number): Promise<void> {
  for (const { entry_id: entryId, order_delivery_id: id, decisionId } of await pushed(tx)) {
    const push = await tx
      .selectFrom('outbox')
      .select(['state', 'last_error', 'ended_at'])
      .where('kind', '=', 'delivery_status')
      .where('reference', '=', pushReference(id, decisionId))
      .executeTakeFirst();
    if (!push || push.ended_at === null) continue;
    const confirmed = push.state === 'confirmed';
    const failed = { rail: 'push', detail: `the push is ${push.state}: ${push.last_error ?? ''}` };
    await tx
      .updateTable('reject_entry')
      .set({
        ...(confirmed ? { state: 'rejected', rail: null, detail: null } : { state: 'failed' }),
        ...(confirmed ? {} : failed),
        ...{ ended_at: at, ended_by: 'daemon' },
      })
      .where('entry_id', '=', entryId)
      .execute();
  }
}

/**
 * Calls off the pushes of rules that may not reject any more: disarmed, with another text, only
 * watching, or behind the breaker. What was not sent is canceled, and what was is not sent again.
 * Gives how many were canceled.
 */
export async function recallPushed(tx: Tx, ruleSet: RuleSet, at: number): Promise<number> {
  let canceled = 0;
  const armed = await armedRuleIds(tx, ruleSet, at);
  const may = new Map(
    ruleSet.rules
      .filter(
        ({ id, mode }) => armed.has(id) && mode === 'live' && ruleSet.settings.mode === 'live',
      )
      .map(({ id, hash }) => [id, hash]),
  );
  for (const { rule_id: rule, rule_hash: hash, ...push } of await pushed(tx)) {
    if (may.get(rule) === hash) continue;
    const reference = pushReference(push.order_delivery_id, push.decisionId);
    const which = sql<boolean>`(outbox.kind = ${DELIVERY_STATUS_KIND}
      and outbox.reference = ${reference})`;
    canceled += await cancelUnsent(tx, `rule ${rule} may not reject any more`, at, which);
  }
  return canceled;
}

/**
 * Pushes of a day that were sent and came to nothing, since `after`; one that was not, because
 * somebody was faster or it was called off in time, is none of them.
 */
export async function failuresExceeded(
  tx: Tx,
  { rails }: RuleSet['settings'],
  now: number,
  after: number,
): Promise<string | undefined> {
  const row = await tx
    .selectFrom('reject_entry as r')
    .innerJoin('outbox', (join) => join.on(isPushOf('r.order_delivery_id', 'r.intent_decision_id')))
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('r.state', '=', 'failed')
    .where(MAY_HAVE_ARRIVED)
    .where(sql<boolean>`coalesce(outbox.last_error <> outbox.body->>'$.calledOff', 1)`)
    .where('r.ended_at', '>', Math.max(after, now - DAY_MS))
    .executeTakeFirstOrThrow();
  const count = Number(row.count);
  const { write_failures: max } = rails.reject;
  return count >= max ? `${count} pushes of rejects failed in a day` : undefined;
}
