/**
 * Where it leads that a complete look has not found what is in doubt: the first case that fits, in
 * the order of docs/mechanisms.md ("Absence"). What makes something new at the service is proved
 * absent by two such looks, both after the quiet time and apart from each other, and is then sent
 * again under the same reference.
 */
import type { Tx } from '../../store/store.ts';
import type { OutboxItem } from '../item.ts';
import { absences } from './quiet-time.ts';
import {
  desk,
  ended,
  lookAgain,
  lookAgainOrDesk,
  type Policy,
  quietSince,
  sendAgain,
  type Verdict,
} from './verdict.ts';

const NOT_THERE = 'the service answered that it took it, and has it not';
/** The service answered that it took it; a copy that lags behind may show that later. */
const SHOWN_LATE_MS = 120_000;
const PUT_BACK = 'the service took it and shows the status of before: somebody put it back';

/** The service had answered that it took it. */
function wasTaken({ result }: OutboxItem): boolean {
  return result !== null;
}

/** Between the first and the last of the looks since then; undefined: there was none. */
async function absentForMs(
  tx: Tx,
  { outboxId }: OutboxItem,
  since: number,
  now: number,
): Promise<number | undefined> {
  const proof = (await absences(tx, outboxId, now)).filter((at) => at >= since);
  const [first, last] = [proof[0], proof.at(-1)];
  return first === undefined || last === undefined ? undefined : last - first;
}

async function lastAttempt(tx: Tx, { outboxId }: OutboxItem) {
  return tx
    .selectFrom('outbox_attempt')
    .select(['class', 'answer', 'ended_at'])
    .where('outbox_id', '=', outboxId)
    .orderBy('attempt', 'desc')
    .executeTakeFirst();
}

/** Attempts that may have had an effect. */
async function effectiveAttempts(tx: Tx, { outboxId }: OutboxItem): Promise<number> {
  const row = await tx
    .selectFrom('outbox_attempt')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('outbox_id', '=', outboxId)
    .where('class', '!=', 'not_processed')
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

/** What makes something new is not there only once that is proved. */
async function whereItMakes(
  tx: Tx,
  item: OutboxItem,
  policy: Policy,
  now: number,
): Promise<Verdict | undefined> {
  const { quietMs, everyMs } = policy.pace;
  const provedMs = await absentForMs(tx, item, quietSince(item, policy, now) + quietMs, now);
  if (provedMs === undefined) {
    // What an earlier process left is watched for a quiet time here, however old it is; but not
    // from start to start for ever.
    const begun = item.inDoubtSince ?? now;
    const byClockMs = (await absentForMs(tx, item, begun + quietMs, now)) ?? policy.deskAfterMs;
    const isNewHere = byClockMs < policy.deskAfterMs;
    return isNewHere ? lookAgain(item, policy, now) : lookAgainOrDesk(item, policy, now);
  }
  // It is half of the proof, however late it came: after an outage, or a rest, of days.
  if (provedMs < everyMs) return lookAgain(item, policy, now);
  if (wasTaken(item)) return desk(item, now, NOT_THERE);
  return undefined;
}

/** What only sets a status or a member needs no proof: setting it twice does no harm. */
async function whereItSets(
  tx: Tx,
  item: OutboxItem,
  policy: Policy,
  now: number,
): Promise<Verdict | undefined> {
  const { conflictEnds } = policy;
  if (wasTaken(item)) {
    // The answer itself is evidence: only what is shown long after it speaks against it.
    const { ended_at: answeredAt } = (await lastAttempt(tx, item)) ?? {};
    const isEarly = Math.abs(now - (answeredAt ?? 0)) < SHOWN_LATE_MS;
    return isEarly ? lookAgain(item, policy, now) : ended('refused', now, PUT_BACK);
  }
  const last = conflictEnds ? await lastAttempt(tx, item) : undefined;
  if (last?.class === 'conflict') return ended('refused', now, last.answer ?? undefined);
  return undefined;
}

export async function verdictOfAbsence(
  tx: Tx,
  item: OutboxItem,
  policy: Policy,
  now: number,
): Promise<Verdict> {
  const { creates, attemptsMax, waitMs } = policy;
  const own = await (creates ? whereItMakes : whereItSets)(tx, item, policy, now);
  if (own) return own;
  const tried = await effectiveAttempts(tx, item);
  // A person who has it tried again grants as many attempts as before.
  if (tried > 0 && tried % attemptsMax === 0) {
    return ended('dead', now, `tried ${tried} times without an effect`);
  }
  return sendAgain(creates ? now : now + waitMs);
}
