/** The sending of one row that was cleared for it, and what its answer leads to. */
import { RetryLaterError, SelvedgeError } from '../../lib/errors.ts';
import type { Cleared, OutboxItem, OutboxKind } from '../item.ts';
import { type AttemptEnd, endAttempt, markSending } from '../ledger.ts';
import { classOf, linesOf, wordsOf } from '../service.ts';
import { type Hand, paceOf, retryDelay, tellPutOff } from './hand.ts';
import { nextLookAt } from './looks.ts';

interface Sent extends Omit<AttemptEnd, 'attempt'> {
  readonly error?: unknown;
}

const HELD = 'outbox.held';

async function attemptOnce(
  { pausedReason }: Hand,
  kind: OutboxKind,
  item: OutboxItem,
  signal: AbortSignal,
): Promise<Sent> {
  let httpStatus: number | null = null;
  const onStatus = (status: number): void => {
    httpStatus = status;
  };
  const beforeSend = (): void => {
    const reason = pausedReason(item.kind);
    if (reason !== undefined) throw new RetryLaterError(HELD, reason);
    // Behind a 401 it is sent once more: what is answered now counts.
    httpStatus = null;
  };
  try {
    const answer = JSON.stringify(await kind.send(item, { signal, onStatus, beforeSend }));
    return { class: 'done', httpStatus, errorCode: null, answer, problems: [] };
  } catch (error) {
    return {
      httpStatus,
      class: classOf(error),
      errorCode: error instanceof SelvedgeError ? error.code : null,
      answer: wordsOf(error),
      problems: linesOf(error),
      error,
    };
  }
}

/** How long after an attempt the row is taken up again. */
function waitAfter(deps: Hand, kind: OutboxKind, item: OutboxItem, sent: Sent): number {
  if (sent.errorCode === HELD) return 0;
  if (sent.class === 'not_processed') return retryDelay(deps, item.attempts, sent.error);
  const isDoubt = sent.class === 'ambiguous' || sent.class === 'conflict';
  return isDoubt && kind.creates(item) ? nextLookAt(0, paceOf(deps), 0) : 0;
}

/** Sends a cleared row and records how that ended; gives it back when it is to be read back. */
export async function sendItem(
  deps: Hand,
  kind: OutboxKind,
  item: OutboxItem,
  clearance: Cleared,
  signal: AbortSignal,
): Promise<OutboxItem | undefined> {
  const { store, clock } = deps;
  // Asked again: who is told that sending is paused must not see this one leave.
  const isHeld = (): boolean => deps.pausedReason(item.kind) !== undefined;
  const attempt = await markSending(store, item, clearance, { now: clock.now(), isHeld });
  if (attempt === undefined) return undefined;
  const sent = await attemptOnce(deps, kind, item, signal);
  const { error, ...end } = sent;
  const now = clock.now();
  const dueAt = now + waitAfter(deps, kind, item, sent);
  const state = await endAttempt(store, item, { attempt, ...end }, now, dueAt);
  deps.onMoved(item, state);
  if (end.class === 'done') return { ...item, state, attempts: attempt, result: end.answer };
  const { outboxId, reference } = item;
  if (end.class === 'not_processed') {
    tellPutOff(deps, item, error, dueAt - now);
    return undefined;
  }
  deps.outages.over(outboxId);
  deps.log.warn({ outboxId, reference, class: end.class, error: end.answer }, 'push not done');
  if (state === 'refused') deps.onEnded(item, state);
  return undefined;
}
