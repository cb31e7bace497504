/**
 * The path of one push.
 *
 * A new kind of push is its words in `config/words.ts`, a file in `kinds/` that makes an
 * `OutboxKind` of `item.ts`, an entry in `createKinds` of `daemon/outbox.ts`, a call in `client/`,
 * and its way in. If the ERP submits it, that is its schema and reader in `documents.ts`, with
 * what its pushes are about, by which they leave in turn. If an act enqueues it, that is the act in
 * the room's `surface.ts` and a function in `enqueue.ts`. It may also need:
 * - words that the ERP may use for it and its members, in `member-words.ts`; personal ones in
 *   `PERSONAL` of `documents.ts`;
 * - if it names an order or a person otherwise than the others: `forget.ts`, which finds the pushes
 *   of an order and blanks what is personal, and `console/mask.ts`, which masks it;
 * - if it creates something: the id that it makes in `document-state.ts`, `intake/receipt.ts`,
 *   `intake/exchange-channel.ts` and `review/confirmation.ts`, the lookup of what may be there in
 *   `evidence/`, and in `watch/differences.ts` when what was taken is as it was sent.
 *
 * The dispatcher claims a row; `push` then takes one step of it:
 *
 *   1. look before sending: the kind's pre-flight, or the lookup of an answered push or of one
 *      whose outcome is unknown; its result goes to `reconcile.ts` and ends the step
 *   2. send: `sending` is durable before the first byte leaves
 *   3. classify: the class of the error, never its text, says what is provable
 *   4. finish: record the attempt, and read an answered push back
 *
 *   queued ── cleared ─────▶ sending ── answered ──▶ sent ── matched ───▶ confirmed
 *      │  ▲                    │ │                    └───── not found ─▶ in_doubt
 *      │  └── not processed ───┘ ├ ambiguous, 409 ─▶ in_doubt
 *      │                         └ refused ────────▶ refused
 *      ├── matched ─────────────▶ confirmed             ├── matched ───────▶ confirmed
 *      ├── invalid, superseded ─▶ refused               ├── superseded ────▶ refused
 *      └── ambiguous ───────────▶ in_doubt (blocked)    ├── proved absent ─▶ queued
 *                                                       ├── tried too often ▶ dead
 *                                                       └── ambiguous, old ▶ in_doubt (blocked)
 *
 * A row that cannot move now is postponed with a growing delay; it stays, so that nothing is lost.
 */

import type { Clock } from '../lib/clock.ts';
import {
  BugError,
  isStoreUnusable,
  RetryLaterError,
  SelvedgeError,
  toError,
} from '../lib/errors.ts';
import { type Outages, sharedReason } from '../lib/log/outages.ts';
import type { Logger } from '../lib/log.ts';
import type { Random } from '../lib/random.ts';
import { pendingRefetch } from '../mirror/refetch-queue.ts';
import type { PauseLook, Pauses } from '../store/pauses.ts';
import type { Db, Store } from '../store/store.ts';
import { PAUSED_BY } from './document-state.ts';
import { contentHash } from './documents.ts';
import type {
  AlsoConfirm,
  Clearance,
  Cleared,
  LookupResult,
  OutboxItem,
  OutboxKind,
  SendCall,
} from './item.ts';
import { type AttemptEnd, endAttempt, markSending, openSince, postpone } from './queue.ts';
import { applyLookup, mayHaveMissed, type Transition } from './reconcile.ts';
import {
  type FailedLookups,
  isPassing,
  type LookupPace,
  nextLookupAt,
  retryDelay,
} from './retry-policy.ts';
import { classOf, linesOf, messageOf, READ_TOO_OLD } from './service.ts';

export interface DispatcherLimits {
  readonly concurrency: number;
  /** Unknown outcomes that are looked up at the same time. */
  readonly lookups: number;
  /** Attempts that may have had an effect before a person is asked. */
  readonly attemptsMax: number;
  readonly retryMsMin: number;
  readonly retryMsMax: number;
  /** Age at which an unknown outcome is left to a person. */
  readonly reviewAfterMs: number;
  readonly lookupMs: number;
  /** Longest sleep of the dispatcher, whatever the clock does. */
  readonly idleMsMax: number;
}

export interface DispatcherDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly kinds: readonly OutboxKind[];
  readonly limits: DispatcherLimits;
  readonly reconcileAfterMs: number;
  readonly processStartedAt: () => number;
  readonly pauses: Pick<Pauses, 'look' | 'followFiles'>;
  /**
   * Says why nothing of this kind may be sent by this look at the pauses; lookups and confirmations
   * go on.
   */
  readonly pausedReason: (kind: string, pauses: PauseLook) => string | undefined;
  readonly dryRun: boolean;
  /** Writes something else in the transaction that confirms a row. */
  readonly alsoConfirm?: AlsoConfirm;
  /** Called for every row that changed its state. */
  readonly onMoved: (item: OutboxItem, state: string) => void;
  readonly onEnded: (item: OutboxItem, state: string) => void;
}

export interface PushDeps extends Omit<DispatcherDeps, 'pauses' | 'pausedReason'> {
  /** Looks why nothing of this kind may be sent now. */
  readonly pausedReason: (kind: string) => string | undefined;
  readonly failedLookups: FailedLookups;
  readonly echoes: Echoes;
  readonly outages: Outages<number>;
}

const DRY_RUN = `${PAUSED_BY.dryRun}: it is fit and would be sent now`;

/** Takes one step of one row. Rejects when the database fails. */
export async function push(deps: PushDeps, item: OutboxItem, signal: AbortSignal): Promise<void> {
  const kind = deps.kinds.find((candidate) => candidate.kind === item.kind);
  if (!kind) throw new BugError('bug.outbox_kind', `no such outbox kind: ${item.kind}`);
  const startedAt = deps.clock.now();
  if (item.state === 'sent') {
    const isComing = await deps.echoes.isComing(deps.store.db, item.outboxId);
    if (isComing) return postpone(deps.store, item, startedAt + ECHO_MS, null);
    deps.echoes.end(item.outboxId);
  }
  let clearance: Clearance;
  try {
    clearance =
      item.state === 'queued'
        ? await kind.clear(item, signal)
        : { send: false, lookup: await kind.lookUp(item, signal) };
    if (clearance.send && deps.dryRun) throw new RetryLaterError('outbox.dry_run', DRY_RUN);
  } catch (error) {
    if (isStoreUnusable(error)) throw error;
    if (!signal.aborted) await postponeFailed(deps, kind, item, error);
    return;
  }
  if (signal.aborted) return;
  if (!clearance.send) {
    deps.outages.over(item.outboxId);
    return finish(deps, kind, item, clearance.lookup, startedAt);
  }
  deps.failedLookups.end(item, false);
  const paused = deps.pausedReason(item.kind);
  // A cleared push rests until the pause is over; then it is checked again.
  if (paused !== undefined) return postpone(deps.store, item, deps.clock.now(), paused);
  const sent = await send(deps, kind, item, clearance, signal);
  if (sent && !signal.aborted) await push(deps, sent, signal);
}

/** Applies the result of a lookup, and reports how the row moved. */
async function finish(
  deps: PushDeps,
  kind: OutboxKind,
  item: OutboxItem,
  result: LookupResult,
  startedAt: number,
): Promise<void> {
  const { failedLookups, log } = deps;
  const { attemptsMax, reviewAfterMs } = deps.limits;
  const isHopeless = mayHaveMissed(result) && failedLookups.add(item).isHopeless;
  if (!mayHaveMissed(result)) failedLookups.end(item, result.outcome === 'matched');
  const transition = await applyLookup(
    deps,
    item,
    { result, startedAt, isHopeless },
    {
      creates: kind.creates(item),
      conflictEnds: kind.conflictEnds === true,
      attemptsMax,
      pace: paceOf(deps),
      processStartedAt: deps.processStartedAt(),
      reviewAfterMs,
      waitMs: retryDelay(deps, Math.max(0, item.attempts - 1)),
    },
  );
  if (!transition) return;
  const { state, ended, reason }: Transition = transition;
  if (state !== item.state || reason !== undefined) deps.onMoved(item, state);
  const fields = { outboxId: item.outboxId, reference: item.reference, state, reason };
  if (state === 'dead' || (!ended && reason !== undefined)) {
    log.error(fields, 'push needs manual resolution');
  } else if (ended) log.info(fields, 'push ended');
  if (ended) deps.onEnded(item, state);
}

/** Postpones a row that could not be looked up; one that never can be is left to a person. */
async function postponeFailed(
  deps: PushDeps,
  kind: OutboxKind,
  item: OutboxItem,
  error: unknown,
): Promise<void> {
  const { store, clock, limits } = deps;
  const now = clock.now();
  const { before, isHopeless } = deps.failedLookups.add(item, error);
  if (isHopeless && now - (await openSince(store.db, item)) >= limits.reviewAfterMs) {
    const taken = item.result === null ? '' : 'the service answered that it took it; ';
    const others = isPassing(error) ? ', while others of its kind could' : '';
    const reason = `${taken}for too long it could not be looked up${others}: ${messageOf(error)}`;
    return finish(deps, kind, item, { outcome: 'ambiguous', reason, detail: {} }, now);
  }
  const retryMs = retryDelay(deps, before, error);
  await postpone(store, item, now + retryMs, messageOf(error));
  logPostponed(deps, item, error, retryMs);
}

/** Logs a postponed push: many rows share a reason of the service, none shares one of our own. */
function logPostponed(
  { outages }: PushDeps,
  { outboxId, kind, reference }: OutboxItem,
  error: unknown,
  retryMs: number,
): void {
  const isOurs = error instanceof SelvedgeError && error.code.startsWith('outbox.');
  const reason = isOurs ? `${kind} ${reference}: ${error.message}` : sharedReason(toError(error));
  outages.note(outboxId, reason, { reference, error: messageOf(error), retryMs });
}

function paceOf({ reconcileAfterMs, limits }: PushDeps): LookupPace {
  return { reconcileAfterMs, everyMs: limits.lookupMs };
}

interface Sent extends Omit<AttemptEnd, 'attempt'> {
  readonly error?: unknown;
}

const PAUSED = 'outbox.paused';

/** Codes of errors after which the row is looked at again at once: it may rest then. */
const AGAIN_AT_ONCE: readonly unknown[] = [PAUSED, READ_TOO_OLD, 'standby.no_permit'];

async function attemptOnce(
  { pausedReason }: PushDeps,
  kind: OutboxKind,
  item: OutboxItem,
  { isByRecentRead = false }: Cleared,
  attempt: number,
  signal: AbortSignal,
): Promise<Sent> {
  let httpStatus: number | null = null;
  let write: Sent['write'];
  const onStatus = (status: number): void => {
    httpStatus = status;
  };
  const beforeSend = (): void => {
    const reason = pausedReason(item.kind);
    if (reason !== undefined) throw new RetryLaterError(PAUSED, reason);
    // After a 401 the request is sent once more: only its second answer counts.
    httpStatus = null;
  };
  const alsoWrite: SendCall['alsoWrite'] = (shown) => {
    write = shown;
  };
  const sentFor: SendCall['sentFor'] = () => {
    const { outboxId, reference, body } = item;
    return { outboxId, attempt, kind: item.kind, reference, bodyHash: contentHash(body) };
  };
  const call = { signal, onStatus, beforeSend, sentFor, isByRecentRead, alsoWrite };
  try {
    const answer = JSON.stringify(await kind.send(item, call));
    return { class: 'done', httpStatus, errorCode: null, answer, problems: [], write };
  } catch (error) {
    return {
      httpStatus,
      class: classOf(error),
      errorCode: error instanceof SelvedgeError ? error.code : null,
      answer: messageOf(error),
      problems: linesOf(error),
      error,
    };
  }
}

/** Delay before the row is taken up again after an attempt. */
function waitAfter(deps: PushDeps, kind: OutboxKind, item: OutboxItem, sent: Sent): number {
  if (AGAIN_AT_ONCE.includes(sent.errorCode)) return 0;
  if (sent.class === 'done') return deps.echoes.isAwaited(item, kind) ? ECHO_MS : 0;
  if (sent.class === 'not_processed') return retryDelay(deps, item.attempts, sent.error);
  const isUnknown = sent.class === 'ambiguous' || sent.class === 'conflict';
  return isUnknown && kind.creates(item) ? nextLookupAt(0, paceOf(deps), 0) : 0;
}

/** Sends a cleared row and records the attempt; returns the row when it is to be read back now. */
async function send(
  deps: PushDeps,
  kind: OutboxKind,
  item: OutboxItem,
  clearance: Cleared,
  signal: AbortSignal,
): Promise<OutboxItem | undefined> {
  const { store, clock } = deps;
  // Asked again inside the transaction: after a pause is acknowledged, no push may leave.
  const isPaused = (): boolean => deps.pausedReason(item.kind) !== undefined;
  const attempt = await markSending(store, item, clearance, { now: clock.now(), isPaused });
  if (attempt === undefined) return undefined;
  deps.echoes.begin(item, kind);
  const sent = await attemptOnce(deps, kind, item, clearance, attempt, signal);
  const { error, ...end } = sent;
  const now = clock.now();
  const dueAt = now + waitAfter(deps, kind, item, sent);
  const state = await endAttempt(store, item, { attempt, ...end }, now, dueAt);
  deps.onMoved(item, state);
  if (end.class === 'done') {
    const answered = { ...item, state, attempts: attempt, result: end.answer };
    if (dueAt <= now) return answered;
    deps.echoes.answered(answered);
    return undefined;
  }
  const { outboxId, reference } = item;
  deps.echoes.end(outboxId);
  if (end.errorCode === READ_TOO_OLD) return undefined;
  if (end.class === 'not_processed') {
    logPostponed(deps, item, error, dueAt - now);
    return undefined;
  }
  deps.outages.over(outboxId);
  deps.log.warn({ outboxId, reference, class: end.class, error: end.answer }, 'push not done');
  if (state === 'refused') deps.onEnded(item, state);
  return undefined;
}

/** Wait for the event of an answered push, which mostly comes within a second. */
const ECHO_MS = 10_000;

/**
 * Answered pushes whose event is yet to come. The read that the event asks for confirms them as
 * well, so that no extra read is made. Forgotten with the process: then they are read back when
 * due.
 */
export interface Echoes {
  /** Call it before the request: the event may be faster than the answer. */
  begin(item: OutboxItem, kind: OutboxKind): void;
  /** Notes the row as its answer has left it, until the read that the event asks for. */
  answered(item: OutboxItem): void;
  /** Whether the answer is in the mirror and the order was not read since. */
  isAwaited(item: OutboxItem, kind: OutboxKind): boolean;
  /** Whether the event has come and its read still waits for a slot. */
  isComing(db: Db, outboxId: number): Promise<boolean>;
  end(outboxId: number): void;
  /** Notes that the order was read; returns whether a push has waited for that. */
  read(orderId: number): boolean;
  /** Returns pushes that were read meanwhile and are not being worked on, each once. */
  takeRead(busy: ReadonlySet<string>): OutboxItem[];
}

export function createEchoes(): Echoes {
  const awaited = new Map<number, { orderId: number; item?: OutboxItem; isRead: boolean }>();
  return {
    begin(item, { echo }) {
      if (!echo) return;
      awaited.set(item.outboxId, { orderId: echo.orderOf(item), isRead: false });
    },
    answered(item) {
      const own = awaited.get(item.outboxId);
      if (own) own.item = item;
    },
    isAwaited(item, { echo }) {
      if (!echo?.isAwaited(item)) awaited.delete(item.outboxId);
      return awaited.get(item.outboxId)?.isRead === false;
    },
    async isComing(db, outboxId) {
      const { orderId, isRead } = awaited.get(outboxId) ?? {};
      if (orderId === undefined || isRead) return false;
      return (await pendingRefetch(db, orderId))?.attempts === 0;
    },
    end: (outboxId) => void awaited.delete(outboxId),
    read(orderId) {
      const found = [...awaited.values()].filter((one) => one.orderId === orderId);
      for (const one of found) one.isRead = true;
      return found.length > 0;
    },
    takeRead(busy) {
      const read = [...awaited.values()].flatMap(({ item, isRead }) =>
        item && isRead ? item : [],
      );
      const found = read.filter(({ orderingKey }) => !busy.has(orderingKey));
      for (const { outboxId } of found) awaited.delete(outboxId);
      return found;
    },
  };
}
