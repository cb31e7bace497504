/** What a hand of the dispatcher works with, and how long it leaves what it could not move. */

import type { Clock } from '../../lib/clock.ts';
import { RetryLaterError, SelvedgeError, toError } from '../../lib/errors.ts';
import { type Outages, sharedReason } from '../../lib/log/outages.ts';
import type { Logger } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import type { Pauses } from '../../store/pauses.ts';
import type { Store } from '../../store/store.ts';
import type { OutboxItem, OutboxKind } from '../item.ts';
import { wordsOf } from '../service.ts';
import type { Echoes } from './echoes.ts';
import type { FailedLooks, LookPace } from './looks.ts';

export interface DispatcherLimits {
  /** Documents on their way at the same time. */
  readonly concurrency: number;
  /** Doubts that are looked at at the same time. */
  readonly looks: number;
  /** After so many attempts without a clear answer a person is asked. */
  readonly attemptsMax: number;
  readonly retryMsMin: number;
  readonly retryMsMax: number;
  /** A doubt that lasts longer is for a person. */
  readonly deskAfterMs: number;
  /** How often a doubt is looked at in the end, and how far apart two looks must be as a proof. */
  readonly lookMs: number;
  /** The longest sleep between two looks at the table, whatever the clock does. */
  readonly idleMsMax: number;
}

export interface DispatcherDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly kinds: readonly OutboxKind[];
  readonly limits: DispatcherLimits;
  /** Before an absence proves something, as configured. */
  readonly quietMs: number;
  /** {@link ClockGuard.watchedSince} */
  readonly watchedSince: () => number;
  readonly pauses: Pick<Pauses, 'mark' | 'followFiles'>;
  /** Why nothing of this kind may be sent now; looks and confirmations go on. */
  readonly pausedReason: (kind: string) => string | undefined;
  /** Everything is checked, and nothing is sent. */
  readonly dryRun: boolean;
  /** Told about every row that changed its state. */
  readonly onMoved: (item: OutboxItem, state: string) => void;
  /** Told about every row that reached its end. */
  readonly onEnded: (item: OutboxItem, state: string) => void;
}

export interface Hand extends DispatcherDeps {
  readonly failedLooks: FailedLooks;
  readonly echoes: Echoes;
  readonly outages: Outages<number>;
}

/** Doubles with each failure, from `retryMsMin` up to `retryMsMax`; up to 20 % more by chance. */
export function retryDelay(deps: DispatcherDeps, failures: number, error?: unknown): number {
  const { retryMsMin, retryMsMax } = deps.limits;
  const asked = error instanceof RetryLaterError ? (error.retryAfterMs ?? 0) : 0;
  const backOff = Math.min(retryMsMax, retryMsMin * 2 ** Math.min(failures, 20));
  return Math.max(asked, Math.round(backOff * (1 + deps.random.next() * 0.2)));
}

export function paceOf({ quietMs, limits }: DispatcherDeps): LookPace {
  return { quietMs, everyMs: limits.lookMs };
}

/** In the log: a reason of the service is shared by many, our own is about this one. */
export function tellPutOff(
  { outages }: Hand,
  { outboxId, kind, reference }: OutboxItem,
  error: unknown,
  retryMs: number,
): void {
  const isOurs = error instanceof SelvedgeError && error.code.startsWith('outbox.');
  const reason = isOurs ? `${kind} ${reference}: ${error.message}` : sharedReason(toError(error));
  outages.note(outboxId, reason, { reference, error: wordsOf(error), retryMs });
}
