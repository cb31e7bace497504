/** Ends the queue entries of rejects whose push has ended, and counts the pushes that failed. */
import { sql } from 'kysely';
import type { RuleSet } from '../../rules/rule.ts';
import type { Db, Tx } from '../../store/store.ts';
import { MAY_HAVE_ARRIVED } from '../push.ts';
import { cancelUnsent } from '../unsent.ts';
import { armedRuleIds } from './arming.ts';

const DAY_MS = 86_400_000;

/** Queue entries of rejects whose push is in the outbox and that were not finished yet. */
function pushed(db: Db | Tx) {
  return db
    .selectFrom('reject_entry as r')
    .innerJoin('outbox', 'outbox.decision_id', 'r.intent_decision_id')
    .where('r.ended_at', 'is', null)
    .where('r.state', '=', 'pushing');
}

/** Whether {@link finishPushedRejects} would find any entry. */
export async function hasPushed(db: Db): Promise<boolean> {
  return (await pushed(db).select('r.entry_id').limit(1).executeTakeFirst()) !== undefined;
}

/** Ends the queue entries of rejects whose push has ended. */
export async function finishPushedRejects(tx: Tx, at: number): Promise<void> {
  const ended = await pushed(tx)
    .select(['r.entry_id', 'outbox.state', 'outbox.last_error'])
    .where('outbox.ended_at', 'is not', null)
    .execute();
  for (const { entry_id: entryId, state, last_error: error } of ended) {
    const detail = `the push is ${state}: ${error ?? ''}`;
    await tx
      .updateTable('reject_entry')
      .set(
        state === 'confirmed'
          ? { state: 'rejected', safeguard: null, detail: null }
          : { state: 'failed', safeguard: 'push', detail },
      )
      .set({ ended_at: at, ended_by: 'daemon' })
      .where('entry_id', '=', entryId)
      .execute();
  }
}

/**
 * Cancels the pushes of rules that may not reject any more: disarmed, changed, not live, or stopped
 * by the breaker. A push that was sent is not sent again. Gives how many were canceled.
 */
export async function cancelDisallowedRejects(
  tx: Tx,
  ruleSet: RuleSet,
  at: number,
): Promise<number> {
  let canceled = 0;
  const armed = await armedRuleIds(tx, ruleSet, at);
  const may = new Map(
    ruleSet.rules
      .filter(
        ({ id, mode }) => armed.has(id) && mode === 'live' && ruleSet.settings.mode === 'live',
      )
      .map(({ id, hash }) => [id, hash]),
  );
  const pushes = pushed(tx).select(['r.rule_id', 'r.rule_hash', 'outbox.outbox_id']);
  for (const { rule_id: rule, rule_hash: hash, outbox_id: id } of await pushes.execute()) {
    if (may.get(rule) === hash) continue;
    const which = sql<boolean>`outbox.outbox_id = ${id}`;
    canceled += await cancelUnsent(tx, `rule ${rule} may not reject any more`, at, which);
  }
  return canceled;
}

/**
 * Says that too many pushes of rejects failed within a day since `after`; undefined: not too many
 * did. A push that was canceled, or whose delivery changed before it was sent, does not count.
 */
export async function failuresExceeded(
  tx: Tx,
  { safeguards }: RuleSet['settings'],
  now: number,
  after: number,
): Promise<string | undefined> {
  const row = await tx
    .selectFrom('reject_entry as r')
    .innerJoin('outbox', 'outbox.decision_id', 'r.intent_decision_id')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('r.state', '=', 'failed')
    .where(MAY_HAVE_ARRIVED)
    .where(sql<boolean>`coalesce(outbox.last_error <> outbox.body->>'$.cancelRequested', 1)`)
    .where('r.ended_at', '>', Math.max(after, now - DAY_MS))
    .executeTakeFirstOrThrow();
  const count = Number(row.count);
  const { write_failures: max } = safeguards.reject;
  return count >= max ? `${count} pushes of rejects failed in a day` : undefined;
}
