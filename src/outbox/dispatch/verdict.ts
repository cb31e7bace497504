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

export function ended(state: OutboxState, now: number, change: Change, reason?: string): Verdict {
  return { state, ended: true, reason, change: { ...change, ended_at: now, due_at: now } };
}

export function desk(now: number, since: number | null, reason: string): Verdict {
  const change = { desk_reason: reason, in_doubt_since: since ?? now, due_at: now };
  return { state: 'in_doubt', ended: false, reason, change };
}

export function stillInDoubt(item: OutboxItem, policy: Policy, now: number): Verdict {
  const since = item.inDoubtSince ?? now;
  if (now - since >= policy.deskAfterMs) {
    return desk(now, since, 'for too long it could be neither found nor proved absent');
  }
  return lookAgain(since, policy, now);
}

export function lookAgain(since: number, { pace }: Policy, now: number): Verdict {
  const change = { in_doubt_since: since, due_at: nextLookAt(since, pace, now) };
  return { state: 'in_doubt', ended: false, reason: undefined, change };
}
