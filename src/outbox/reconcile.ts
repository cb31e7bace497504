/**
 * Where it leads that a complete look has not found what is in doubt: the first case that fits, in
 * the order of docs/mechanisms.md ("Absence"). What makes something new at the service is proved
 * absent by two such looks, both after the quiet time and apart from each other, and is then sent
 * again under the same reference.
 */

import type { Clock } from '../lib/clock.ts';
import { readState, writeState } from '../store/state.ts';
import type { Store, Tx } from '../store/store.ts';
import type { OutboxState } from '../store/tables.ts';
import type { OutboxItem } from './item.ts';
import type { Change } from './queue.ts';
import { type LookPace, nextLookAt } from './retry-policy.ts';

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


export interface Policy {
  /** From {@link OutboxKind}. */
  readonly creates: boolean;
  readonly conflictEnds: boolean;
  /** After so many attempts that may have had an effect a person is asked. */
  readonly attemptsMax: number;
  /** Its quiet time as configured. */
  readonly pace: LookPace;
  /** Since when this process has felt time pass. */
  readonly watchedSince: number;
  /** A doubt that lasts longer is for a person. */
  readonly deskAfterMs: number;
  /** Until the next step of what was answered and is not shown, or is sent again without proof. */
  readonly waitMs: number;
}

export interface Settled {
  readonly state: OutboxState;
  /** Nothing more will be done about it. */
  readonly ended: boolean;
  readonly reason: string | undefined;
}

export interface Verdict extends Settled {
  readonly change: Change;
}

/** It goes on by itself. */
function goesOn(state: OutboxState, change: Change): Verdict {
  return { state, ended: false, reason: undefined, change };
}

export function ended(
  state: OutboxState,
  now: number,
  reason?: string,
  change: Change = {},
): Verdict {
  const end = { in_doubt_since: null, ended_at: now, due_at: now };
  return { state, ended: true, reason, change: { ...change, ...end } };
}

export function desk(item: OutboxItem, now: number, reason: string): Verdict {
  const change = { desk_reason: reason, in_doubt_since: item.inDoubtSince ?? now, due_at: now };
  return { state: 'in_doubt', ended: false, reason, change };
}

export function beginDoubt(now: number, waitMs: number): Verdict {
  return goesOn('in_doubt', { in_doubt_since: now, due_at: now + waitMs });
}

/** From when its quiet time counts. */
export function quietSince(item: OutboxItem, { watchedSince }: Policy, now: number): number {
  return Math.max(item.inDoubtSince ?? now, watchedSince);
}

export function lookAgain(item: OutboxItem, policy: Policy, now: number): Verdict {
  const dueAt = nextLookAt(quietSince(item, policy, now), policy.pace, now);
  return goesOn('in_doubt', { in_doubt_since: item.inDoubtSince ?? now, due_at: dueAt });
}

export function lookAgainOrDesk(item: OutboxItem, policy: Policy, now: number): Verdict {
  return now - (item.inDoubtSince ?? now) < policy.deskAfterMs
    ? lookAgain(item, policy, now)
    : desk(item, now, 'for too long it could be neither found nor proved absent');
}

export function sendAgain(dueAt: number): Verdict {
  return goesOn('queued', { in_doubt_since: null, due_at: dueAt });
}


/**
 * Times of the complete looks that found nothing, also for earlier doubts. A time to come is from
 * before the clock was set back: it proves nothing about this doubt.
 */
export async function absences(tx: Tx, outboxId: number, now: number): Promise<number[]> {
  const rows = await tx
    .selectFrom('outbox_evidence')
    .select('at')
    .where('outbox_id', '=', outboxId)
    .where('found', '=', 'no')
    .where('complete', '=', 1)
    .where('at', '<=', now)
    .orderBy('at')
    .execute();
  return rows.map(({ at }) => at);
}

const LATENESS_KEY = 'outbox.latest_effect_ms';

/** How long after its request an effect was seen to be missing still, at the worst. */
export async function worstLateness(tx: Tx | Store['db']): Promise<number> {
  return Number((await readState(tx, LATENESS_KEY)) ?? 0);
}

/** Before an absence proves something: never less than twice the worst that was seen. */
export async function quietTime(tx: Tx | Store['db'], configuredMs: number): Promise<number> {
  return Math.max(configuredMs, 2 * (await worstLateness(tx)));
}

/** An effect that was proved absent and then appeared teaches how late effects can be. */
export async function learnLateness(
  tx: Tx,
  { outboxId, inDoubtSince }: OutboxItem,
  { clock, watchedSince }: { readonly clock: Clock; readonly watchedSince: number },
): Promise<void> {
  if (inDoubtSince === null) return;
  const since = Math.max(inDoubtSince, watchedSince);
  const last = (await absences(tx, outboxId, clock.now())).at(-1);
  if (last === undefined || last - since <= (await worstLateness(tx))) return;
  await writeState(tx, LATENESS_KEY, String(last - since), clock);
}
