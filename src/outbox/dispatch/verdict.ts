/** Where a finding can lead a row, and by which limits. */
import type { OutboxState } from '../../store/tables.ts';
import type { OutboxItem } from '../item.ts';
import type { Change } from '../ledger.ts';
import { type LookPace, nextLookAt } from './looks.ts';

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
