/**
 * The only writer to the service. It takes open rows lane by lane, looks before it writes, sends,
 * and reads back:
 *
 *   queued ── look: not there ──▶ sending ── answered ──▶ sent ── look: there ──▶ confirmed
 *      │  ▲                          │ │                    │
 *      │  └── provably not processed ┘ └ ambiguous ─▶ in_doubt ── look: there ──▶ confirmed
 *      │                                                    ├── look: not there ▶ queued
 *      └── look: there ▶ confirmed                          └── overtaken ──────▶ refused
 *
 * `sending` is durable before the first byte leaves; after a crash it is doubt, never `queued`.
 * What may be retried is decided by the class of the error, never by its text. A row that cannot
 * be settled now is put off with a growing delay; the row stays, so that nothing is lost.
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
import type { OutboxItem, OutboxKind } from './item.ts';
import {
  type AttemptClass,
  dueItems,
  endAttempt,
  markSending,
  nextDueAt,
  postpone,
  settle,
} from './ledger.ts';

export interface DispatcherLimits {
  readonly concurrency: number;
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
  if (error instanceof RefusedError || error instanceof ConflictError) return 'refused';
  return 'ambiguous';
}

function codeOf(error: unknown): string | null {
  return error instanceof SelvedgeError ? error.code : null;
}

function wordsOf(error: unknown): string {
  if (error instanceof RefusedError && error.lines.length > 0) return error.lines.join('; ');
  return toError(error).message;
}

/** Doubles from `retryMsMin` up to `retryMsMax`, with up to 20 % added by chance. */
function retryDelay(deps: DispatcherDeps, attempts: number, error: unknown): number {
  const { retryMsMin, retryMsMax } = deps.limits;
  const asked = error instanceof RetryLaterError ? (error.retryAfterMs ?? 0) : 0;
  const backOff = Math.min(retryMsMax, retryMsMin * 2 ** Math.min(attempts, 20));
  return Math.max(asked, backOff * (1 + deps.random.next() * 0.2));
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
  try {
    const answer = await kind.send(item, signal);
    const end = {
      attempt,
      class: 'done',
      errorCode: null,
      answer: JSON.stringify(answer),
    } as const;
    await endAttempt(store, item, end, clock.now(), clock.now());
  } catch (error) {
    const end = {
      attempt,
      class: classOf(error),
      errorCode: codeOf(error),
      answer: wordsOf(error),
    };
    const wait = end.class === 'ambiguous' ? 0 : retryDelay(deps, item.attempts, error);
    await endAttempt(store, item, end, clock.now(), clock.now() + wait);
    const { outboxId, reference } = item;
    deps.log.warn({ outboxId, reference, class: end.class, error: end.answer }, 'push not done');
    if (end.class === 'refused') deps.onEnded(item, 'refused');
  }
}

/** One step of one row: a look, then what the look leads to. */
async function step(deps: DispatcherDeps, item: OutboxItem, signal: AbortSignal): Promise<void> {
  const kind = deps.kinds.find((candidate) => candidate.kind === item.kind);
  if (!kind) throw new BugError('bug.outbox_kind', `no such outbox kind: ${item.kind}`);
  const finding = await kind.look(item, signal);
  if (item.state === 'queued' && finding.found === 'no') {
    if (deps.stopped()) {
      throw new RetryLaterError('outbox.stopped', 'pushes are stopped by configuration');
    }
    await sendItem(deps, kind, item, signal);
    return;
  }
  const state = await settle(deps.store, item, finding, deps.clock.now());
  if (state === 'queued') return;
  const reason = finding.found === 'overtaken' ? finding.reason : undefined;
  deps.log.info(
    { outboxId: item.outboxId, reference: item.reference, state, reason },
    'push settled',
  );
  deps.onEnded(item, state);
}

async function stepOrPostpone(
  deps: DispatcherDeps,
  item: OutboxItem,
  signal: AbortSignal,
): Promise<void> {
  try {
    await step(deps, item, signal);
  } catch (error) {
    if (signal.aborted) return;
    const wait = retryDelay(deps, item.attempts, error);
    await postpone(deps.store, item, deps.clock.now() + wait, wordsOf(error));
    deps.log.warn(
      { outboxId: item.outboxId, reference: item.reference, error: wordsOf(error), retryMs: wait },
      'push put off',
    );
  }
}

export function createDispatcher(deps: DispatcherDeps): Dispatcher {
  const { store, clock, limits } = deps;
  let wake = new AbortController();

  const pause = async (lanes: ReadonlySet<string>, signal: AbortSignal): Promise<void> => {
    const due = await nextDueAt(store.db, lanes);
    const wait = Math.min(limits.idleMsMax, Math.max(1, (due ?? Infinity) - clock.now()));
    await clock.sleep(wait, AbortSignal.any([signal, wake.signal])).catch(() => undefined);
  };

  return {
    name: 'outbox',
    nudge: () => wake.abort(),
    async run(signal) {
      const busy = new Map<string, Promise<void>>();
      while (!signal.aborted) {
        wake = new AbortController();
        const lanes = new Set(busy.keys());
        const free = limits.concurrency - busy.size;
        const items = free > 0 ? await dueItems(store.db, clock.now(), lanes, free) : [];
        for (const item of items) {
          const work = stepOrPostpone(deps, item, signal).finally(() => {
            busy.delete(item.lane);
            wake.abort();
          });
          busy.set(item.lane, work);
        }
        if (items.length === 0 && !wake.signal.aborted) await pause(lanes, signal);
        else if (busy.size >= limits.concurrency) await Promise.race(busy.values());
        else await Promise.resolve();
      }
      await Promise.allSettled(busy.values());
    },
  };
}
