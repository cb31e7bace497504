/**
 * The only writer to the service. It takes open rows lane by lane, looks before it writes, sends,
 * and reads back:
 *
 *   queued ── look: not there ──▶ sending ── answered ──▶ sent ── look: there ──▶ confirmed
 *      │  ▲                          │ │                    └── look: not there ─▶ in_doubt
 *      │  └── provably not processed ┘ └ ambiguous, 409 ─▶ in_doubt
 *      ├── look: there ───▶ confirmed                         ├── look: there ───▶ confirmed
 *      └── look: overtaken ▶ refused                          ├── look: overtaken ▶ refused
 *                                                             ├── look: not there ▶ queued
 *                                                             └── tried too often ▶ dead
 *
 * `sending` is durable before the first byte leaves; whatever is still `sending` when a run begins
 * is doubt, never `queued`. What may be retried is decided by the class of the error, never by its
 * text. A row that cannot be settled now is put off with a growing delay; the row stays, so that
 * nothing is lost. When the database fails, `run` rejects and the supervisor starts it again.
 */
import type { Random } from '../lib/chance.ts';
import type { Clock } from '../lib/clock.ts';
import {
  BugError,
  ConflictError,
  LoginAgainError,
  RefusedError,
  RetryLaterError,
  SelvedgeError,
  toError,
} from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import type { Store } from '../store/store.ts';
import type { Finding, OutboxItem, OutboxKind } from './item.ts';
import {
  type AttemptClass,
  type AttemptEnd,
  doubtWhatWasSending,
  dueItems,
  endAttempt,
  markSending,
  nextDueAt,
  postpone,
  settle,
} from './ledger.ts';

interface DispatcherLimits {
  readonly concurrency: number;
  /** After so many attempts without a clear answer a person is asked. */
  readonly attemptsMax: number;
  readonly retryMsMin: number;
  readonly retryMsMax: number;
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
  /** True while nothing may be sent (a brake); looks and confirmations go on. */
  readonly stopped: () => boolean;
  /** Told about every row that reached its end. */
  readonly onEnded: (item: OutboxItem, state: string) => void;
}

export interface Dispatcher {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
  /** Something was put into the outbox. */
  nudge(): void;
}

function classOf(error: unknown): AttemptClass {
  if (error instanceof RetryLaterError || error instanceof LoginAgainError) return 'not_processed';
  if (error instanceof ConflictError) return 'conflict';
  return error instanceof RefusedError ? 'refused' : 'ambiguous';
}

function wordsOf(error: unknown): string {
  if (error instanceof RefusedError && error.lines.length > 0) return error.lines.join('; ');
  return toError(error).message;
}

/** Doubles with each failure, from `retryMsMin` up to `retryMsMax`; up to 20 % more by chance. */
function retryDelay(deps: DispatcherDeps, failures: number, error?: unknown): number {
  const { retryMsMin, retryMsMax } = deps.limits;
  const asked = error instanceof RetryLaterError ? (error.retryAfterMs ?? 0) : 0;
  const backOff = Math.min(retryMsMax, retryMsMin * 2 ** Math.min(failures, 20));
  return Math.max(asked, Math.round(backOff * (1 + deps.random.next() * 0.2)));
}

/** Sends once and says how that ended; what is in doubt is looked at without delay. */
async function attemptOnce(
  deps: DispatcherDeps,
  kind: OutboxKind,
  item: OutboxItem,
  signal: AbortSignal,
): Promise<Omit<AttemptEnd, 'attempt'> & { readonly waitMs: number }> {
  try {
    const answer = JSON.stringify(await kind.send(item, signal));
    return { class: 'done', errorCode: null, answer, waitMs: 0 };
  } catch (error) {
    const errorClass = classOf(error);
    return {
      class: errorClass,
      errorCode: error instanceof SelvedgeError ? error.code : null,
      answer: wordsOf(error),
      waitMs: errorClass === 'not_processed' ? retryDelay(deps, item.attempts, error) : 0,
    };
  }
}

/** Sends a row that a look has cleared, and records how that ended. */
async function sendItem(
  deps: DispatcherDeps,
  kind: OutboxKind,
  item: OutboxItem,
  signal: AbortSignal,
): Promise<void> {
  const { store, clock } = deps;
  const attempt = await markSending(store, item, clock.now());
  const { waitMs, ...end } = await attemptOnce(deps, kind, item, signal);
  const now = clock.now();
  await endAttempt(store, item, { attempt, ...end }, now, now + waitMs);
  if (end.class === 'done') return;
  const { outboxId, reference } = item;
  deps.log.warn({ outboxId, reference, class: end.class, error: end.answer }, 'push not done');
  if (end.class === 'refused') deps.onEnded(item, 'refused');
}

/** What the service shows now; throws when that cannot be told, or must not be acted on yet. */
async function lookAt(
  deps: DispatcherDeps,
  kind: OutboxKind,
  item: OutboxItem,
  signal: AbortSignal,
): Promise<Finding> {
  const finding = await kind.look(item, signal);
  if (item.state === 'queued' && finding.found === 'no' && deps.stopped()) {
    throw new RetryLaterError('outbox.stopped', 'pushes are stopped by configuration');
  }
  return finding;
}

/** Failed looks in a row, by outbox id; forgotten with the process, which costs a short wait. */
type PutOffs = Map<number, number>;

async function putOff(
  deps: DispatcherDeps,
  item: OutboxItem,
  putOffs: PutOffs,
  error: unknown,
): Promise<void> {
  const { outboxId, reference } = item;
  const failures = putOffs.get(outboxId) ?? 0;
  putOffs.set(outboxId, failures + 1);
  const retryMs = retryDelay(deps, failures, error);
  await postpone(deps.store, item, deps.clock.now() + retryMs, wordsOf(error));
  deps.log.warn({ outboxId, reference, error: wordsOf(error), retryMs }, 'push put off');
}

async function settleItem(
  deps: DispatcherDeps,
  kind: OutboxKind,
  item: OutboxItem,
  finding: Finding,
): Promise<void> {
  const { attemptsMax } = deps.limits;
  const waitMs = retryDelay(deps, item.attempts - 1);
  const again = { attemptsMax, waitMs, conflictEnds: kind.conflictEnds === true };
  const { state, ended, reason } = await settle(deps.store, item, finding, deps.clock.now(), again);
  if (!ended) return;
  const fields = { outboxId: item.outboxId, reference: item.reference, state, reason };
  if (state === 'dead') deps.log.error(fields, 'push left to a person');
  else deps.log.info(fields, 'push settled');
  deps.onEnded(item, state);
}

/** One step of one row: a look, then what the look leads to. Rejects when the database fails. */
async function step(
  deps: DispatcherDeps,
  item: OutboxItem,
  putOffs: PutOffs,
  signal: AbortSignal,
): Promise<void> {
  const kind = deps.kinds.find((candidate) => candidate.kind === item.kind);
  if (!kind) throw new BugError('bug.outbox_kind', `no such outbox kind: ${item.kind}`);
  let finding: Finding;
  try {
    finding = await lookAt(deps, kind, item, signal);
  } catch (error) {
    if (!signal.aborted) await putOff(deps, item, putOffs, error);
    return;
  }
  putOffs.delete(item.outboxId);
  if (signal.aborted) return;
  if (item.state === 'queued' && finding.found === 'no') await sendItem(deps, kind, item, signal);
  else await settleItem(deps, kind, item, finding);
}

export function createDispatcher(deps: DispatcherDeps): Dispatcher {
  const { store, clock, limits, log } = deps;
  let wake = new AbortController();

  const start = async (
    busy: Map<string, Promise<void>>,
    work: (item: OutboxItem) => Promise<void>,
  ): Promise<void> => {
    const free = limits.concurrency - busy.size;
    if (free === 0) return;
    const items = await dueItems(store.db, clock.now(), new Set(busy.keys()), free);
    for (const item of items) {
      const done = work(item).finally(() => {
        busy.delete(item.lane);
        wake.abort();
      });
      busy.set(item.lane, done);
    }
  };

  /** Until a row falls due, a step ends or a nudge comes; with every hand busy, the last two. */
  const pause = async (busy: ReadonlyMap<string, unknown>, signal: AbortSignal): Promise<void> => {
    const hasHand = busy.size < limits.concurrency;
    const due = hasHand ? await nextDueAt(store.db, new Set(busy.keys())) : undefined;
    const wait = Math.min(limits.idleMsMax, Math.max(1, (due ?? Infinity) - clock.now()));
    await clock.sleep(wait, AbortSignal.any([signal, wake.signal])).catch(() => undefined);
  };

  return {
    name: 'outbox',
    nudge: () => wake.abort(),
    async run(signal) {
      const inDoubt = await doubtWhatWasSending(store, clock.now());
      if (inDoubt > 0) log.warn({ inDoubt }, 'pushes were cut off by the last stop');
      const busy = new Map<string, Promise<void>>();
      const putOffs: PutOffs = new Map();
      let failure: { readonly error: unknown } | undefined;
      try {
        while (!signal.aborted && !failure) {
          wake = new AbortController();
          await start(busy, (item) =>
            step(deps, item, putOffs, signal).catch((error: unknown) => {
              failure ??= { error };
            }),
          );
          await pause(busy, signal);
        }
      } finally {
        // A restart must not find rows that are still on their way from here.
        await Promise.all(busy.values());
      }
      if (failure) throw failure.error;
    },
  };
}
