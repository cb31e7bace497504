/**
 * Upkeep of the decisions' tables: stored times follow jumps of the clock, and a restore disarms
 * every rule.
 */
import { sql } from 'kysely';
import { writeAudits } from '../store/audit.ts';
import type { Tx } from '../store/store.ts';
import {
  type ClockStep,
  type ClockStepHandler,
  moveDueTimes,
  movePastTimes,
  type RestoreSteps,
} from '../store/upkeep.ts';
import { endEntries } from './reject/queue.ts';

/**
 * Moves the ends of grace periods when the clock jumps forward: grace passes only while a daemon
 * runs, and never gets longer. A reject that a safeguard postponed keeps its time.
 */
async function moveGraces(tx: Tx, { step, now }: ClockStep): Promise<void> {
  const by = sql<number>`max(0, min(${step}, ${now} - queued_at))`;
  await tx
    .updateTable('reject_entry')
    .set({ due_at: sql<number>`due_at + ${by}`, queued_at: sql<number>`queued_at + ${by}` })
    .where('ended_at', 'is', null)
    .where('state', '=', 'waiting')
    .where('safeguard', 'is', null)
    .execute();
}

export const decisionsClockStep: ClockStepHandler = {
  async back(tx, step) {
    const { step: by, now } = step;
    // Evaluations from the time when the clock was ahead are repeated.
    await sql`update evaluation set evaluated_at = min(evaluated_at + ${by}, ${now}),
      due_at = iif(due_at is null, null, ${now}) where evaluated_at > ${now}`.execute(tx);
    // A hold from before the clock was ahead keeps its end, but is no longer marked as expired.
    await sql`update hold set until_at = until_at + ${by}, expires_at = expires_at + ${by},
      since = min(since + ${by}, ${now}) where since > ${now}`.execute(tx);
    await sql`update hold set lapsed_at = null where lapsed_at > ${now}`.execute(tx);
    await movePastTimes(tx, 'reject_entry', ['queued_at'], step);
    await moveDueTimes(tx, 'reject_entry', 'due_at', step);
  },
  forth: moveGraces,
};

/** Ends every arming, with an audit row for each, and withdraws every reject that waits. */
export const disarmAll: RestoreSteps['disarmAll'] = async (tx, who, now) => {
  const ended = await tx
    .updateTable('arming')
    .set({ ended_at: now, ended_by: who.actor, end_reason: who.reason })
    .where('ended_at', 'is', null)
    .returning(['rule_id', 'expires_at'])
    .execute();
  const disarmed = ended.filter((one) => one.expires_at > now).map((one) => one.rule_id);
  const each = disarmed.map((ruleId) => ({ subject: `rule:${ruleId}`, detail: {} }));
  await writeAudits(tx, { ...who, action: 'rules.disarm' }, each, now);
  const detail = `disarmed by ${who.actor}: ${who.reason}`;
  const end = { state: 'withdrawn', by: who.actor, safeguard: 'arming', detail, at: now } as const;
  return { disarmed, withdrawn: await endEntries(tx, undefined, end) };
};
