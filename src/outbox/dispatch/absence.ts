/** Where it leads that a complete look has not found a push. */
import type { Tx } from '../../store/store.ts';
import type { OutboxItem } from '../item.ts';
import { absences } from './quiet-time.ts';
import { desk, ended, lookAgain, type Policy, stillInDoubt, type Verdict } from './verdict.ts';

const PUT_BACK = 'the service took it and shows the status of before: somebody put it back';

export async function verdictOfAbsence(
  tx: Tx,
  item: OutboxItem,
  policy: Policy,
  now: number,
): Promise<Verdict> {
  const { waitMs, pace } = policy;
  // Looked at once more: an answer may come from a copy that lags behind.
  if (item.state === 'sent') {
    const change = { in_doubt_since: now, due_at: now + waitMs };
    return { state: 'in_doubt', ended: false, reason: undefined, change };
  }
  const answered = item.result !== null;
  const since = item.inDoubtSince ?? now;
  if (policy.creates) {
    const times = await absences(tx, item.outboxId, now);
    const after = times.filter((at) => at >= since + pace.quietMs);
    const [first, last] = [after[0], after.at(-1)];
    if (first === undefined || last === undefined) return stillInDoubt(item, policy, now);
    // It is half of the proof, however late it came: after an outage, or a rest, of days.
    if (last - first < pace.everyMs) return lookAgain(since, policy, now);
    if (answered) return desk(now, since, 'the service answered that it took it, and has it not');
  } else if (answered) return ended('refused', now, { in_doubt_since: null }, PUT_BACK);
  if (policy.conflictEnds) {
    const last = await lastAttempt(tx, item);
    const reason = last?.answer ?? 'its state forbids it';
    if (last?.class === 'conflict') return ended('refused', now, { in_doubt_since: null }, reason);
  }
  const tried = await effectiveAttempts(tx, item.outboxId);
  // A person who has it tried again grants as many attempts as before.
  if (tried > 0 && tried % policy.attemptsMax === 0) {
    const reason = `tried ${tried} times without an effect`;
    return ended('dead', now, { in_doubt_since: null }, reason);
  }
  const due = policy.creates ? now : now + waitMs;
  const change = { in_doubt_since: null, due_at: due };
  return { state: 'queued', ended: false, reason: undefined, change };
}

function lastAttempt(tx: Tx, { outboxId }: OutboxItem) {
  return tx
    .selectFrom('outbox_attempt')
    .select(['class', 'answer'])
    .where('outbox_id', '=', outboxId)
    .orderBy('attempt', 'desc')
    .executeTakeFirst();
}

/** Attempts that may have had an effect. */
async function effectiveAttempts(tx: Tx, outboxId: number): Promise<number> {
  const row = await tx
    .selectFrom('outbox_attempt')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('outbox_id', '=', outboxId)
    .where('class', '!=', 'not_processed')
    .executeTakeFirstOrThrow();
  return Number(row.count);
}
