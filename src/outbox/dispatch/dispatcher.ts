/**
 * The only writer to the service. It takes open rows lane by lane, clears each for sending (the
 * pre-flight, and for what changes a status a look), sends, and reads back:
 *
 *   queued ── cleared ───▶ sending ── answered ──▶ sent ── look: there ──▶ confirmed
 *      │  ▲                    │ │                   └── look: not there ─▶ in_doubt
 *      │  └── not processed ───┘ ├ ambiguous, 409 ─▶ in_doubt
 *      │                         └ refused ────────▶ refused
 *      ├── there already ──▶ confirmed                  ├── look: there ───▶ confirmed
 *      ├── unfit, overtaken ▶ refused                   ├── look: overtaken ▶ refused
 *      └── unclear ────────▶ in_doubt (desk)            ├── proved absent ─▶ queued
 *                                                       ├── tried too often ▶ dead
 *                                                       └── unclear, too old ▶ in_doubt (desk)
 *
 * `sending` is durable before the first byte leaves; whatever is still `sending` when a run begins
 * is doubt, never `queued`. What may be retried is decided by the class of the error, never by its
 * text. A row that cannot be settled now is put off with a growing delay; the row stays, so that
 * nothing is lost. When the database fails, `run` rejects and the supervisor starts it again.
 */
import type { Random } from '../../lib/chance.ts';
import { type Clock, watchSteps } from '../../lib/clock.ts';
import { BugError, isStoreUnusable, RetryLaterError, SelvedgeError } from '../../lib/errors.ts';
import { createOutages, type Outages, type OutageWords } from '../../lib/log/outages.ts';
import type { Logger } from '../../lib/log.ts';
import type { Store } from '../../store/store.ts';
import type { Clearance, Cleared, Finding, OutboxItem, OutboxKind } from '../item.ts';
import {
  type AttemptEnd,
  doubtWhatWasSending,
  dueItems,
  type Excluded,
  endAttempt,
  markSending,
  nextDueAt,
  openSince,
  postpone,
  type Work,
} from '../ledger.ts';
import { classOf, linesOf, putOffBy, wordsOf } from '../service.ts';
import { createGate, type Gate } from '../stops.ts';
import { bringForward, followClockStep } from './clock-step.ts';
import {
  createFailedLooks,
  type FailedLooks,
  isPassing,
  type LookPace,
  nextLookAt,
} from './looks.ts';
import { settle } from './settle.ts';

interface DispatcherLimits {
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
  /** Why nothing of this kind may be sent now; looks and confirmations go on. */
  readonly brake: (kind: string) => string | undefined;
  /** Everything is checked, and nothing is sent. */
  readonly dryRun: boolean;
  /** Told about every row that changed its state. */
  readonly onMoved: (item: OutboxItem, state: string) => void;
  /** Told about every row that reached its end. */
  readonly onEnded: (item: OutboxItem, state: string) => void;
}

export interface Dispatcher {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
  /** Something was put into the outbox. */
  nudge(): void;
}

/** Doubles with each failure, from `retryMsMin` up to `retryMsMax`; up to 20 % more by chance. */
function retryDelay(deps: DispatcherDeps, failures: number, error?: unknown): number {
  const { retryMsMin, retryMsMax } = deps.limits;
  const asked = error instanceof RetryLaterError ? (error.retryAfterMs ?? 0) : 0;
  const backOff = Math.min(retryMsMax, retryMsMin * 2 ** Math.min(failures, 20));
  return Math.max(asked, Math.round(backOff * (1 + deps.random.next() * 0.2)));
}

const PUSHES: OutageWords = {
  ...{ of: 'outboxId', begins: 'push put off', over: 'pushes go on' },
  hint: 'further ones for this reason are told by: selvedge outbox list',
};

interface Sent extends Omit<AttemptEnd, 'attempt'> {
  readonly error?: unknown;
}

const HELD = 'outbox.held';
type HeldBy = ReturnType<Gate['enter']>;

async function attemptOnce(
  kind: OutboxKind,
  item: OutboxItem,
  heldBy: HeldBy,
  signal: AbortSignal,
): Promise<Sent> {
  let httpStatus: number | null = null;
  const onStatus = (status: number): void => {
    httpStatus = status;
  };
  const beforeSend = (): void => {
    const reason = heldBy();
    if (reason !== undefined) throw new RetryLaterError(HELD, reason);
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

function paceOf({ quietMs, limits }: DispatcherDeps): LookPace {
  return { quietMs, everyMs: limits.lookMs };
}

/** How long after an attempt the row is taken up again. */
function waitAfter(deps: DispatcherDeps, kind: OutboxKind, item: OutboxItem, sent: Sent): number {
  if (sent.errorCode === HELD) return 0;
  if (sent.class === 'not_processed') return retryDelay(deps, item.attempts, sent.error);
  const isDoubt = sent.class === 'ambiguous' || sent.class === 'conflict';
  return isDoubt && kind.creates(item) ? nextLookAt(0, paceOf(deps), 0) : 0;
}

/** Sends a cleared row and records how that ended; gives it back when it is to be read back. */
async function sendItem(
  deps: Hand,
  kind: OutboxKind,
  item: OutboxItem,
  clearance: Cleared,
  heldBy: HeldBy,
  signal: AbortSignal,
): Promise<OutboxItem | undefined> {
  const { store, clock } = deps;
  // Asked again: who is told that sending is stopped must not see this one leave.
  const isHeld = (): boolean => heldBy() !== undefined;
  const attempt = await markSending(store, item, clearance, { now: clock.now(), isHeld });
  if (attempt === undefined) return undefined;
  const sent = await attemptOnce(kind, item, heldBy, signal);
  const { error, ...end } = sent;
  const now = clock.now();
  const dueAt = now + waitAfter(deps, kind, item, sent);
  const state = await endAttempt(store, item, { attempt, ...end }, now, dueAt);
  deps.onMoved(item, state);
  if (end.class === 'done') return { ...item, state, attempts: attempt, result: end.answer };
  const { outboxId, reference } = item;
  if (end.class === 'not_processed') {
    const fields = { reference, error: end.answer, retryMs: dueAt - now };
    deps.outages.note(outboxId, putOffBy(item, error), fields);
    return undefined;
  }
  deps.outages.over(outboxId);
  deps.log.warn({ outboxId, reference, class: end.class, error: end.answer }, 'push not done');
  if (state === 'refused') deps.onEnded(item, state);
  return undefined;
}

interface Hand extends DispatcherDeps {
  readonly gate: Gate;
  readonly failedLooks: FailedLooks;
  readonly outages: Outages<number>;
}

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
  const fields = { reference: item.reference, error: wordsOf(error), retryMs };
  deps.outages.note(item.outboxId, putOffBy(item, error), fields);
}

async function settleItem(
  deps: Hand,
  kind: OutboxKind,
  item: OutboxItem,
  look: { readonly finding: Finding; readonly lookedAt: number },
): Promise<void> {
  const { failedLooks, limits } = deps;
  const { attemptsMax } = limits;
  const { finding } = look;
  let { deskAfterMs } = limits;
  if (finding.found === 'no' && finding.complete === false) {
    if (!failedLooks.add(item).isHopeless) deskAfterMs = Number.POSITIVE_INFINITY;
  } else failedLooks.end(item, finding.found === 'yes');
  const settled = await settle(deps.store, deps.clock, item, look, {
    ...{ attemptsMax, deskAfterMs, creates: kind.creates(item), pace: paceOf(deps) },
    conflictEnds: kind.conflictEnds === true,
    waitMs: retryDelay(deps, Math.max(0, item.attempts - 1)),
  });
  if (!settled) return;
  const { state, ended, reason } = settled;
  if (state !== item.state || reason !== undefined) deps.onMoved(item, state);
  const fields = { outboxId: item.outboxId, reference: item.reference, state, reason };
  if (state === 'dead' || (!ended && reason !== undefined)) {
    deps.log.error(fields, 'push left to a person');
  } else if (ended) deps.log.info(fields, 'push settled');
  if (ended) deps.onEnded(item, state);
}

const DRY_RUN = 'dry run (outbox.dryRun): it is fit and would be sent now';

/** One step of one row: a look or a clearance, then what it leads to. Rejects with the database. */
async function step(deps: Hand, item: OutboxItem, signal: AbortSignal): Promise<void> {
  const kind = deps.kinds.find((candidate) => candidate.kind === item.kind);
  if (!kind) throw new BugError('bug.outbox_kind', `no such outbox kind: ${item.kind}`);
  const lookedAt = deps.clock.now();
  const heldBy = deps.gate.enter(item.kind);
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
  const brake = heldBy();
  // It was fit, and rests until nothing holds it any more; then it is checked anew.
  if (brake !== undefined) return postpone(deps.store, item, deps.clock.now(), brake);
  const sent = await sendItem(deps, kind, item, clearance, heldBy, signal);
  if (sent && !signal.aborted) await step(deps, sent, signal);
}

/** Rows that were found due, so that not every free hand asks the database. */
type Found = Map<Work, OutboxItem[]>;
const FOUND_MAX = 64;

/** What is being worked on, by lane. */
type Busy = Map<string, { readonly work: Work; readonly done: Promise<void> }>;

const WORKS = ['doubt', 'send'] as const;

/** What is worked on, and what is under the brake. */
function excluded({ gate }: Hand, busy: Busy): Excluded {
  return { busy: new Set(busy.keys()), held: gate.look() };
}

function freeHands({ concurrency, looks }: DispatcherLimits, busy: Busy, work: Work): number {
  const taken = [...busy.values()].filter((one) => one.work === work).length;
  return (work === 'send' ? concurrency : looks) - taken;
}

/** Steps of the clock; those that were not followed yet outlive a run that fails. */
interface Steps {
  readonly moved: () => number;
  left: number;
}

/** After a step of the clock; what is under way or found would go by, or write, times of before. */
async function follow(deps: DispatcherDeps, steps: Steps, busy: Busy, found: Found): Promise<void> {
  steps.left += steps.moved();
  if (steps.left === 0) return;
  await Promise.all([...busy.values()].map(({ done }) => done));
  await followClockStep(deps.store, steps.left, deps.clock.now());
  found.clear();
  steps.left = 0;
}

async function begin({ store, clock, log, limits }: DispatcherDeps): Promise<void> {
  await bringForward(store, limits, clock.now());
  const inDoubt = await doubtWhatWasSending(store, clock.now());
  if (inDoubt > 0) log.warn({ inDoubt }, 'pushes were cut off by the last stop');
}

/** Gives free hands what is due; `ended` hears of each that is free again. */
async function start(
  deps: Hand,
  { busy, found }: { readonly busy: Busy; readonly found: Found },
  take: (item: OutboxItem) => Promise<void>,
  ended: () => void,
): Promise<void> {
  const { store, clock, limits } = deps;
  for (const work of WORKS) {
    const free = freeHands(limits, busy, work);
    if (free <= 0) continue;
    let items = found.get(work) ?? [];
    if (items.length === 0) {
      const most = Math.max(free, FOUND_MAX);
      items = await dueItems(store.db, work, clock.now(), excluded(deps, busy), most);
    }
    for (const item of items.splice(0, free)) {
      const done = take(item).finally(() => {
        busy.delete(item.lane);
        ended();
      });
      busy.set(item.lane, { work, done });
    }
    found.set(work, items);
  }
}

export function createDispatcher(own: DispatcherDeps): Dispatcher {
  const { store, clock, limits } = own;
  const failedLooks = createFailedLooks(clock, limits.lookMs);
  const outages = createOutages<number>(own, PUSHES);
  const deps: Hand = { ...own, failedLooks, outages, gate: createGate(own) };
  const steps: Steps = { moved: watchSteps(clock), left: 0 };
  let wake = new AbortController();

  /** Until a row falls due, a step ends or a nudge comes; with every hand busy, the last two. */
  const pause = async (busy: Busy, signal: AbortSignal): Promise<void> => {
    let due = Number.POSITIVE_INFINITY;
    for (const work of WORKS) {
      if (wake.signal.aborted) return;
      if (freeHands(limits, busy, work) <= 0) continue;
      due = Math.min(due, (await nextDueAt(store.db, work, excluded(deps, busy))) ?? due);
    }
    const wait = Math.min(limits.idleMsMax, Math.max(1, due - clock.now()));
    await clock.sleep(wait, AbortSignal.any([signal, wake.signal])).catch(() => undefined);
  };

  return {
    name: 'outbox',
    nudge() {
      // Whoever stops or resumes nudges: what waits now must not miss a stop that ends at once.
      deps.gate.look();
      wake.abort();
    },
    async run(signal) {
      const busy: Busy = new Map();
      const found: Found = new Map();
      await follow(deps, steps, busy, found);
      await begin(deps);
      let failure: { readonly error: unknown } | undefined;
      try {
        while (!signal.aborted && !failure) {
          wake = new AbortController();
          await follow(deps, steps, busy, found);
          const take = (item: OutboxItem): Promise<void> =>
            step(deps, item, signal).catch((error: unknown) => {
              failure ??= { error };
            });
          await start(deps, { busy, found }, take, () => wake.abort());
          await pause(busy, signal);
        }
      } finally {
        // A restart must not find rows that are still on their way from here.
        await Promise.all([...busy.values()].map(({ done }) => done));
      }
      if (failure) throw failure.error;
    },
  };
}
