/** One step of one row: it is cleared or looked for, and then sent, settled or put off. */

import type { Random } from '../lib/chance.ts';
import type { Clock } from '../lib/clock.ts';
import {
  BugError,
  isStoreUnusable,
  RetryLaterError,
  SelvedgeError,
  toError,
} from '../lib/errors.ts';
import { isJsonObject, type JsonObject, tryParseJson } from '../lib/json.ts';
import { type Outages, sharedReason } from '../lib/log/outages.ts';
import type { Logger } from '../lib/log.ts';
import { openWish } from '../mirror/refresh.ts';
import type { Pauses } from '../store/pauses.ts';
import type { Db, Store, Tx } from '../store/store.ts';
import { HELD_BY } from './document-state.ts';
import { learnSpelling } from './evidence/known-spellings.ts';
import { candidatesIn, claimsOf } from './evidence/records.ts';
import { noteSeasonShown } from './evidence/seasons.ts';
import {
  type Clearance,
  type Cleared,
  type Finding,
  mayHaveMissed,
  type OutboxItem,
  type OutboxKind,
  type SendCall,
} from './item.ts';
import { type AttemptEnd, endAttempt, markSending, move, openSince, postpone } from './queue.ts';
import {
  beginDoubt,
  desk,
  ended,
  learnLateness,
  lookAgain,
  lookAgainOrDesk,
  type Policy,
  quietSince,
  quietTime,
  type Settled,
  type Verdict,
  verdictOfAbsence,
} from './reconcile.ts';
import { type FailedLooks, isPassing, type LookPace, nextLookAt } from './retry-policy.ts';
import { classOf, linesOf, READ_TOO_OLD, wordsOf } from './service.ts';
import { tellDifferences } from './watch/differences.ts';

async function putOff(
  deps: Hand,
  kind: OutboxKind,
  item: OutboxItem,
  error: unknown,
): Promise<void> {
  const now = deps.clock.now();
  const { before, isHopeless } = deps.failedLooks.add(item, error);
  const isTooLate = async () =>
    now - (await openSince(deps.store.db, item)) >= deps.limits.deskAfterMs;
  if (isHopeless && (await isTooLate())) {
    const taken = item.result === null ? '' : 'the service answered that it took it; ';
    const others = isPassing(error) ? ', while others of its kind could' : '';
    const reason = `${taken}for too long it could not be looked for${others}: ${wordsOf(error)}`;
    const finding = { found: 'unclear', reason, detail: {} } as const;
    return settleItem(deps, kind, item, { finding, lookedAt: now });
  }
  const retryMs = retryDelay(deps, before, error);
  await postpone(deps.store, item, now + retryMs, wordsOf(error));
  tellPutOff(deps, item, error, retryMs);
}

/** Whether looks for it are of no use any more; those that may have missed it are counted. */
function isHopelessBy({ failedLooks }: Hand, item: OutboxItem, finding: Finding): boolean {
  if (mayHaveMissed(finding)) return failedLooks.add(item).isHopeless;
  failedLooks.end(item, finding.found === 'yes');
  return false;
}

function policyOf(deps: Hand, kind: OutboxKind, item: OutboxItem): Policy {
  const { attemptsMax, deskAfterMs } = deps.limits;
  return {
    ...{ attemptsMax, deskAfterMs, creates: kind.creates(item), pace: paceOf(deps) },
    watchedSince: deps.watchedSince(),
    conflictEnds: kind.conflictEnds === true,
    waitMs: retryDelay(deps, Math.max(0, item.attempts - 1)),
  };
}

function tell(deps: Hand, item: OutboxItem, { state, ended, reason }: Settled): void {
  if (state !== item.state || reason !== undefined) deps.onMoved(item, state);
  const fields = { outboxId: item.outboxId, reference: item.reference, state, reason };
  if (state === 'dead' || (!ended && reason !== undefined)) {
    deps.log.error(fields, 'push left to a person');
  } else if (ended) deps.log.info(fields, 'push settled');
  if (ended) deps.onEnded(item, state);
}

async function settleItem(
  deps: Hand,
  kind: OutboxKind,
  item: OutboxItem,
  { finding, lookedAt }: Omit<Look, 'isHopeless'>,
): Promise<void> {
  const look = { finding, lookedAt, isHopeless: isHopelessBy(deps, item, finding) };
  const settled = await settle(deps.store, deps.clock, item, look, policyOf(deps, kind, item));
  if (settled) tell(deps, item, settled);
}

const DRY_RUN = `${HELD_BY.dryRun}: it is fit and would be sent now`;

/** One step of one row: a look or a clearance, then what it leads to. Rejects with the database. */
export async function step(deps: Hand, item: OutboxItem, signal: AbortSignal): Promise<void> {
  const kind = deps.kinds.find((candidate) => candidate.kind === item.kind);
  if (!kind) throw new BugError('bug.outbox_kind', `no such outbox kind: ${item.kind}`);
  const lookedAt = deps.clock.now();
  if (item.state === 'sent') {
    const isComing = await deps.echoes.isComing(deps.store.db, item.outboxId);
    if (isComing) return postpone(deps.store, item, lookedAt + ECHO_MS, null);
    deps.echoes.end(item.outboxId);
  }
  let clearance: Clearance;
  try {
    clearance =
      item.state === 'queued'
        ? await kind.clear(item, signal)
        : { send: false, finding: await kind.look(item, signal) };
    if (clearance.send && deps.dryRun) throw new RetryLaterError('outbox.dry_run', DRY_RUN);
  } catch (error) {
    if (isStoreUnusable(error)) throw error;
    if (!signal.aborted) await putOff(deps, kind, item, error);
    return;
  }
  if (signal.aborted) return;
  if (!clearance.send) {
    deps.outages.over(item.outboxId);
    return settleItem(deps, kind, item, { finding: clearance.finding, lookedAt });
  }
  deps.failedLooks.end(item, false);
  const paused = deps.pausedReason(item.kind);
  // It was fit, and rests until nothing holds it any more; then it is checked again.
  if (paused !== undefined) return postpone(deps.store, item, deps.clock.now(), paused);
  const sent = await sendItem(deps, kind, item, clearance, signal);
  if (sent && !signal.aborted) await step(deps, sent, signal);
}


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


/** The event mostly comes within a second; without it, there is a read of our own. */
export const ECHO_MS = 10_000;

export interface Echoes {
  /** Before it is sent: the event may be faster than the answer. */
  begin(item: OutboxItem, kind: OutboxKind): void;
  /** It is in the mirror, and was not read since. */
  isAwaited(item: OutboxItem, kind: OutboxKind): boolean;
  /** Its event has come, and the read that it asks for waits for its turn. */
  isComing(db: Db, outboxId: number): Promise<boolean>;
  end(outboxId: number): void;
  /** The order was read; whether something has waited for that. */
  read(orderId: number): boolean;
  /** Those that were read meanwhile, but for what is being worked on. They are not given twice. */
  takeRead(busy: ReadonlySet<string>): number[];
}

export function createEchoes(): Echoes {
  const awaited = new Map<number, { orderId: number; orderingKey: string; isRead: boolean }>();
  return {
    begin(item, { echo }) {
      if (!echo) return;
      const { outboxId, orderingKey } = item;
      awaited.set(outboxId, { orderId: echo.orderOf(item), orderingKey, isRead: false });
    },
    isAwaited(item, { echo }) {
      if (!echo?.isAwaited(item)) awaited.delete(item.outboxId);
      return awaited.get(item.outboxId)?.isRead === false;
    },
    async isComing(db, outboxId) {
      const { orderId, isRead } = awaited.get(outboxId) ?? {};
      if (orderId === undefined || isRead) return false;
      return (await openWish(db, orderId))?.attempts === 0;
    },
    end: (outboxId) => void awaited.delete(outboxId),
    read(orderId) {
      const found = [...awaited.values()].filter((one) => one.orderId === orderId);
      for (const one of found) one.isRead = true;
      return found.length > 0;
    },
    takeRead(busy) {
      const found = [...awaited].filter(
        ([, { isRead, orderingKey }]) => isRead && !busy.has(orderingKey),
      );
      for (const [outboxId] of found) awaited.delete(outboxId);
      return found.map(([outboxId]) => outboxId);
    },
  };
}


interface Sent extends Omit<AttemptEnd, 'attempt'> {
  readonly error?: unknown;
}

const HELD = 'outbox.held';

async function attemptOnce(
  { pausedReason }: Hand,
  kind: OutboxKind,
  item: OutboxItem,
  { isByRecentRead = false }: Cleared,
  signal: AbortSignal,
): Promise<Sent> {
  let httpStatus: number | null = null;
  let write: Sent['write'];
  const onStatus = (status: number): void => {
    httpStatus = status;
  };
  const beforeSend = (): void => {
    const reason = pausedReason(item.kind);
    if (reason !== undefined) throw new RetryLaterError(HELD, reason);
    // Behind a 401 it is sent once more: what is answered now counts.
    httpStatus = null;
  };
  const alsoWrite: SendCall['alsoWrite'] = (shown) => {
    write = shown;
  };
  const call = { signal, onStatus, beforeSend, isByRecentRead, alsoWrite };
  try {
    const answer = JSON.stringify(await kind.send(item, call));
    return { class: 'done', httpStatus, errorCode: null, answer, problems: [], write };
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
  if (sent.errorCode === HELD || sent.errorCode === READ_TOO_OLD) return 0;
  if (sent.class === 'done') return deps.echoes.isAwaited(item, kind) ? ECHO_MS : 0;
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
  deps.echoes.begin(item, kind);
  const sent = await attemptOnce(deps, kind, item, clearance, signal);
  const { error, ...end } = sent;
  const now = clock.now();
  const dueAt = now + waitAfter(deps, kind, item, sent);
  const state = await endAttempt(store, item, { attempt, ...end }, now, dueAt);
  deps.onMoved(item, state);
  if (end.class === 'done') {
    if (dueAt > now) return undefined;
    return { ...item, state, attempts: attempt, result: end.answer };
  }
  const { outboxId, reference } = item;
  deps.echoes.end(outboxId);
  if (end.errorCode === READ_TOO_OLD) return undefined;
  if (end.class === 'not_processed') {
    tellPutOff(deps, item, error, dueAt - now);
    return undefined;
  }
  deps.outages.over(outboxId);
  deps.log.warn({ outboxId, reference, class: end.class, error: end.answer }, 'push not done');
  if (state === 'refused') deps.onEnded(item, state);
  return undefined;
}


export interface Look {
  readonly finding: Finding;
  /** When it began: what it found absent was absent then. */
  readonly lookedAt: number;
  /** It may have missed it, and looking once more will not tell more. */
  readonly isHopeless: boolean;
}

type Found = Extract<Finding, { readonly found: 'yes' }>;

/** What the answer told, and where it left something open what the look has shown of it. */
function resultOf({ result }: OutboxItem, shown: JsonObject): string {
  const answer = tryParseJson(result ?? '');
  const told = Object.entries(isJsonObject(answer) ? answer : {}).filter(
    ([, value]) => value !== null && !(Array.isArray(value) && value.length === 0),
  );
  return JSON.stringify({ ...shown, ...Object.fromEntries(told) });
}

async function verdictOfFound(
  tx: Tx,
  item: OutboxItem,
  { result, shownReference }: Found,
  now: number,
): Promise<Verdict> {
  const orderId = result?.orderId;
  const known = result ? { result: resultOf(item, result) } : {};
  const shown = shownReference === undefined ? {} : { shown_reference: shownReference };
  const change = { last_error: null, ...known, ...shown };
  if (typeof orderId !== 'number') return ended('confirmed', now, undefined, change);
  const claims = item.kind === 'order' ? await claimsOf(tx, [orderId], item.outboxId) : undefined;
  const other = claims?.get(orderId);
  if (!other) return ended('confirmed', now, undefined, { ...change, order_id: orderId });
  const whose = `what outbox ${other.outboxId} (${other.reference}) has become`;
  return desk(item, now, `order ${orderId} is ${whose}`);
}

/** What an answered document teaches: how references are shown, and whether pre-orders are. */
async function learn(
  tx: Tx,
  { kind, reference, result }: OutboxItem,
  { shownReference, seasonSeen }: Found,
  now: number,
): Promise<void> {
  if (seasonSeen === true) await noteSeasonShown(tx, now);
  // One that was looked for was found by what is known already.
  if (result === null || shownReference === undefined) return;
  await learnSpelling(tx, kind, { sent: reference, shown: shownReference }, now);
}

/** Orders that may be it, as long as nobody knows. */
async function keepCandidates(
  tx: Tx,
  { outboxId, kind }: OutboxItem,
  finding: Finding,
): Promise<void> {
  if (kind !== 'order') return;
  await tx.deleteFrom('outbox_candidate').where('outbox_id', '=', outboxId).execute();
  if (finding.found !== 'maybe' && finding.found !== 'unclear') return;
  const { orderIds } = candidatesIn([JSON.stringify(finding)]);
  const rows = orderIds.map((orderId) => ({ order_id: orderId, outbox_id: outboxId }));
  if (rows.length > 0) await tx.insertInto('outbox_candidate').values(rows).execute();
}

async function verdictOf(
  tx: Tx,
  item: OutboxItem,
  { finding, isHopeless }: Look,
  policy: Policy,
  now: number,
): Promise<Verdict> {
  switch (finding.found) {
    case 'yes':
      return verdictOfFound(tx, item, finding, now);
    case 'overtaken':
      return ended('refused', now, finding.reason);
    case 'unfit': {
      const problems = JSON.stringify(finding.problems);
      const errors = finding.problems.filter(({ severity }) => severity === 'error');
      const reason = errors
        .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
        .join('; ');
      return ended('refused', now, reason, { problems });
    }
    case 'unclear':
      return desk(item, now, finding.reason);
    case 'maybe':
      return now < quietSince(item, policy, now) + policy.pace.quietMs
        ? lookAgain(item, policy, now)
        : desk(item, now, finding.reason);
    case 'no':
      if (mayHaveMissed(finding)) {
        return isHopeless ? lookAgainOrDesk(item, policy, now) : lookAgain(item, policy, now);
      }
      // Looked at once more: an answer may come from a copy that lags behind.
      if (item.state === 'sent') return beginDoubt(now, policy.waitMs);
      return verdictOfAbsence(tx, item, policy, now);
  }
}

async function storeEvidence(
  tx: Tx,
  item: OutboxItem,
  finding: Exclude<Finding, { readonly found: 'unfit' }>,
  lookedAt: number,
): Promise<void> {
  const { found } = finding;
  await tx
    .insertInto('outbox_evidence')
    .values({
      outbox_id: item.outboxId,
      at: lookedAt,
      source: 'look-up',
      found: found === 'overtaken' || found === 'maybe' ? 'unclear' : found,
      detail: JSON.stringify(finding),
      complete: Number(!mayHaveMissed(finding)),
    })
    .execute();
}

/**
 * Whether the row is still in the doubt, or on the try, that was looked at: one that a person had
 * sent again meanwhile has a doubt of its own, of which an older item knows nothing.
 */
async function isAsLookedAt(tx: Tx, item: OutboxItem): Promise<boolean> {
  const row = await tx
    .selectFrom('outbox')
    .select(['state', 'attempts', 'in_doubt_since'])
    .where('outbox_id', '=', item.outboxId)
    .executeTakeFirst();
  const { state, attempts, inDoubtSince } = item;
  return row?.state === state && row.attempts === attempts && row.in_doubt_since === inDoubtSince;
}

/**
 * Stores what was found and moves the row to where the finding leads. Undefined: somebody else
 * moved the row meanwhile.
 */
export async function settle(
  store: Store,
  clock: Clock,
  item: OutboxItem,
  look: Look,
  policy: Policy,
): Promise<Settled | undefined> {
  const { finding, lookedAt } = look;
  return store.transaction(async (tx) => {
    const now = clock.now();
    const quietMs = await quietTime(tx, policy.pace.quietMs);
    const own = { ...policy, pace: { ...policy.pace, quietMs } };
    if (!(await isAsLookedAt(tx, item))) return undefined;
    if (finding.found !== 'unfit') await storeEvidence(tx, item, finding, lookedAt);
    if (finding.found === 'yes') {
      await learnLateness(tx, item, { clock, watchedSince: policy.watchedSince });
    }
    const { state, change, ...rest } = await verdictOf(tx, item, look, own, now);
    let from: OutboxItem = item;
    // An answered push that was overtaken goes through doubt: no other way leads there.
    if (item.state === 'sent' && state === 'refused') {
      await move(tx, item, 'in_doubt', { in_doubt_since: now });
      from = { ...item, state: 'in_doubt' };
    }
    const { reason } = rest;
    const error = reason === undefined ? {} : { last_error: reason };
    const isOurs = await move(tx, from, state, { ...change, ...error });
    if (!isOurs) return undefined;
    await keepCandidates(tx, item, finding);
    if (finding.found === 'yes' && state === 'confirmed') {
      await learn(tx, item, finding, now);
      const { differences = [], holds = false, seasonSeen, result } = finding;
      const found = { differences, holds, isSeasonUnseen: seasonSeen === false };
      await tellDifferences(tx, item, { ...found, orderId: result?.orderId ?? null }, now);
    }
    return { state, ...rest };
  });
}
