/**
 * The order refetcher: reads again the orders named by events and sweeps. Ten requests for one
 * order are one row and one read; a request during the read causes one more. It never gives up: a
 * failed read is postponed, longer each time, and an order that the service refuses to show leaves
 * the queue and is reported. Uses the refetch queue (table `refresh`) through the mirror; the
 * caller supplies the read itself. When the database fails, `run` rejects and the supervisor
 * restarts it.
 */

import type { Clock } from '../lib/clock.ts';
import { isStoreUnusable, RefusedError, RetryLaterError, toError } from '../lib/errors.ts';
import { createOutages, type OutageMessages, sharedReason } from '../lib/log/outages.ts';
import type { Logger } from '../lib/log.ts';
import type { Random } from '../lib/random.ts';
import {
  completeRefetch,
  type DueRefetch,
  dueRefetches,
  type Look,
  nextRefetchAt,
  POSTPONE_MS_MAX,
  postponeRefetch,
  urgentRefetches,
} from '../mirror/refetch-queue.ts';
import type { Store, Tx } from '../store/store.ts';

export interface ReadRequest {
  readonly cause: string;
  /** Whether the order's refunds and pending refunds are wanted as well. */
  readonly refunds: boolean;
  /** Look of a sweep that the read counts as; undefined: no sweep waits for it. */
  readonly look: Look | undefined;
  /** Whether this cause alone requested the read, once, and it was not tried yet. */
  readonly isOnly: boolean;
  /** Number of reads for this request that failed. */
  readonly attempts: number;
  /** Rank in the client's request limiter: pushes, then reads after events, then pulls. */
  readonly priority: 'push' | 'read' | 'pull';
  /** To be called with the deliveries that the read has changed. */
  readonly onChanged: (orderDeliveryIds: readonly number[]) => void;
  /**
   * Ends the request in the transaction that writes what was read; a read that has not called it is
   * ended in one of its own.
   */
  readonly complete: (tx: Tx) => Promise<void>;
  readonly signal: AbortSignal;
}

export interface OrderRefetcherDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Reads the order and writes the mirror in its own transaction. */
  readonly readOrder: (orderId: number, request: ReadRequest) => Promise<void>;
  /**
   * Called after each read that reached the mirror, with the deliveries that it changed, once the
   * order is not asked for any more: what is decided then needs no other read.
   */
  readonly onRead: (orderId: number, changed: readonly number[]) => void;
  /**
   * Called when the service refuses to show the order (deleted, or of another account); returns
   * whether that is news to people.
   */
  readonly onRefused: (
    due: Pick<DueRefetch, 'orderId' | 'cause'>,
    error: RefusedError,
  ) => Promise<boolean>;
}

export interface OrderRefetcherLimits {
  readonly concurrency: number;
  /** Milliseconds until a failed read is tried again; doubled with each further failure. */
  readonly firstDelayMs: number;
  readonly delayMsMax: number;
  /** Most ms of sleep without a wake-up: another process may have requested a read. */
  readonly idleMsMax: number;
}

export const ORDER_REFETCHER_LIMITS: OrderRefetcherLimits = {
  // Enough reads at once to use up the request limit while some wait for the database.
  concurrency: 8,
  firstDelayMs: 1_000,
  delayMsMax: POSTPONE_MS_MAX,
  idleMsMax: 30_000,
};

const READS: OutageMessages = {
  of: 'orderId',
  begins: 'read failed',
  over: 'orders are read again',
  hint: 'further ones for this reason are logged once an hour',
};

/**
 * Rows fetched per lookup; among a hundred thousand waiting rows, a lookup takes longer than a
 * read.
 */
const FOUND_MAX = 64;

interface OrderRefetcherStats {
  readonly reading: number;
  readonly read: number;
  readonly failed: number;
  readonly refused: number;
}

export interface OrderRefetcher {
  readonly name: 'refetcher';
  /** Reads orders until the signal aborts; resolves when the last read has ended. */
  run(signal: AbortSignal): Promise<void>;
  /** Makes the refetcher look for due reads at once. */
  wakeUp(): void;
  stats(): OrderRefetcherStats;
}

interface WakeUp {
  call(): void;
  /** Resolves after `ms`, at the next wake-up or when the signal aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

/**
 * A wake-up signal that remembers one call, so that a call between a lookup and a sleep is not
 * lost.
 */
function createWakeUp(clock: Clock): WakeUp {
  let isPending = false;
  let wake = (): void => undefined;
  return {
    call() {
      isPending = true;
      wake();
    },
    async wait(ms, signal) {
      if (!isPending && !signal.aborted) {
        await new Promise<void>((resolve) => {
          const timer = clock.after(ms, () => wake());
          wake = () => {
            timer.cancel();
            signal.removeEventListener('abort', wake);
            resolve();
          };
          signal.addEventListener('abort', wake, { once: true });
        });
      }
      isPending = false;
    },
  };
}

/** Rank of a read: sweeps yield to everything else; reads after events do not wait for pulls. */
function priorityOf(cause: string): ReadRequest['priority'] {
  return cause.startsWith('sweep') ? 'pull' : 'read';
}

/**
 * Milliseconds until a failed read is tried again: doubled per failure up to the maximum, half of
 * it random, at least `least`.
 */
function delayAfter(
  failures: number,
  least: number,
  limits: OrderRefetcherLimits,
  random: Random,
): number {
  const full = Math.min(limits.firstDelayMs * 2 ** Math.min(failures, 30), limits.delayMsMax);
  return Math.min(Math.max(full * (0.5 + random.next() / 2), least), limits.delayMsMax);
}

interface Counts {
  read: number;
  failed: number;
  refused: number;
}

/**
 * Creates the function that makes one read, and tells whether its request is over; it rejects only
 * when the database fails.
 */
function createReader(
  deps: OrderRefetcherDeps,
  limits: OrderRefetcherLimits,
  count: Counts,
): (due: DueRefetch, signal: AbortSignal) => Promise<boolean> {
  const { store, clock, random, log } = deps;
  const outages = createOutages<number>(deps, READS);

  const putOff = async (due: DueRefetch, error: Error): Promise<boolean> => {
    count.failed += 1;
    const least = error instanceof RetryLaterError ? (error.retryAfterMs ?? 0) : 0;
    const delayMs = Math.round(delayAfter(due.attempts, least, limits, random));
    const { orderId, cause } = due;
    const fields = { err: error, cause, attempt: due.attempts + 1, delayMs };
    outages.note(orderId, sharedReason(error), fields);
    await store.transaction((tx) => postponeRefetch(tx, due, clock.now() + delayMs, error.message));
    return false;
  };

  const refused = async (due: DueRefetch, error: RefusedError): Promise<boolean> => {
    count.refused += 1;
    outages.over(due.orderId);
    const isNews = await deps.onRefused(due, error);
    const { orderId, cause } = due;
    log[isNews ? 'warn' : 'debug']({ err: error, orderId, cause }, 'order refused');
    return store.transaction((tx) => completeRefetch(tx, due));
  };

  return async (due, signal) => {
    const { cause, refunds, generation, attempts } = due;
    const isOnly = generation === 1 && attempts === 0;
    const priority = priorityOf(cause);
    // An event needs the order as well.
    const look = due.look !== undefined && priority === 'read' ? 'whole' : due.look;
    const changed: number[] = [];
    const onChanged = (ids: readonly number[]): void => void changed.push(...ids);
    let isOver: boolean | undefined;
    const complete = async (tx: Tx): Promise<void> => {
      isOver = await completeRefetch(tx, due);
    };
    const asked = { cause, refunds, look, isOnly, attempts, priority };
    const request = { ...asked, onChanged, complete, signal };
    try {
      await deps.readOrder(due.orderId, request);
    } catch (error) {
      // An aborted read has not failed: its row stays for the next start.
      if (signal.aborted) return true;
      if (isStoreUnusable(error)) throw error;
      const isGone =
        error instanceof RefusedError
          ? await refused(due, error)
          : await putOff(due, toError(error));
      if (changed.length > 0) deps.onRead(due.orderId, changed);
      return isGone;
    }
    count.read += 1;
    outages.over(due.orderId);
    if (isOver === undefined) await store.transaction(complete);
    deps.onRead(due.orderId, changed);
    return isOver === true;
  };
}

/** Number of reads of which one is the oldest, so that new ones let nothing wait for ever. */
const OLDEST_EVERY = 4;

function urgentAmong(found: readonly DueRefetch[]): DueRefetch[] {
  const urgent = found.filter(({ urgentAt }) => urgentAt !== null);
  return urgent.sort((one, other) => (other.urgentAt ?? 0) - (one.urgentAt ?? 0));
}

/** Due reads by two orders: new deliveries, the latest first; and all, the oldest first. */
function createLanes(store: Store, foundMax: number, idleMsMax: number) {
  let urgent: readonly DueRefetch[] = [];
  let all: readonly DueRefetch[] = [];
  /** Whether the last lookup left out reads that were due. */
  let areMore = false;
  let areMoreUrgent = false;
  /** Whether requests arrived since the last lookup, which may have to go first. */
  let isOutdated = true;
  /** When the next lookup is due: another read is, or another process may have asked for one. */
  let nextAt = 0;
  let foundAt = 0;
  let turn = 0;
  type Reading = ReadonlyMap<number, unknown>;
  const isOver = (found: readonly DueRefetch[], reading: Reading): boolean =>
    found.every(({ orderId }) => reading.has(orderId));
  const without = (found: readonly DueRefetch[], { orderId, generation }: DueRefetch) =>
    found.filter((one) => one.orderId !== orderId || one.generation > generation);
  return {
    outdate(): void {
      isOutdated = true;
    },
    async find(now: number, reading: Reading): Promise<void> {
      const isUsedUp =
        (areMore && isOver(all, reading)) || (areMoreUrgent && isOver(urgent, reading));
      if (!isOutdated && !isUsedUp && now >= foundAt && now < nextAt) return;
      isOutdated = false;
      foundAt = now;
      // Reads in progress are still rows of the queue, so the limit exceeds their number.
      all = await dueRefetches(store.db, now, foundMax);
      areMore = all.length === foundMax;
      urgent = areMore ? await urgentRefetches(store.db, now, foundMax) : urgentAmong(all);
      areMoreUrgent = urgent.length === foundMax;
      nextAt = Math.min((await nextRefetchAt(store.db, now)) ?? Infinity, now + idleMsMax);
    },
    nextAt: () => nextAt,
    /** The next read; sweeps only if they may be read now. */
    next(reading: Reading, withSweeps: boolean): DueRefetch | undefined {
      turn += 1;
      const inOrder = turn % OLDEST_EVERY === 0 ? [...all, ...urgent] : [...urgent, ...all];
      return inOrder.find(
        ({ orderId, cause }) =>
          !reading.has(orderId) && (withSweeps || priorityOf(cause) !== 'pull'),
      );
    },
    done(refetch: DueRefetch): void {
      urgent = without(urgent, refetch);
      all = without(all, refetch);
    },
  };
}

export function createOrderRefetcher(
  deps: OrderRefetcherDeps,
  limits: OrderRefetcherLimits = ORDER_REFETCHER_LIMITS,
): OrderRefetcher {
  const { store, clock } = deps;
  const wakeUp = createWakeUp(clock);
  const reading = new Map<number, { readonly isSweep: boolean; readonly done: Promise<void> }>();
  // Sweeps leave one slot for reads after events.
  const sweepsMax = Math.max(1, limits.concurrency - 1);
  const count: Counts = { read: 0, failed: 0, refused: 0 };
  const lanes = createLanes(store, Math.max(FOUND_MAX, limits.concurrency), limits.idleMsMax);
  const readOne = createReader(deps, limits, count);

  const startDue = async (
    now: number,
    signal: AbortSignal,
    fail: (error: unknown) => void,
  ): Promise<void> => {
    if (reading.size >= limits.concurrency) return;
    await lanes.find(now, reading);
    let sweeps = [...reading.values()].filter(({ isSweep }) => isSweep).length;
    while (reading.size < limits.concurrency) {
      const refetch = lanes.next(reading, sweeps < sweepsMax);
      if (!refetch) return;
      const isSweep = priorityOf(refetch.cause) === 'pull';
      if (isSweep) sweeps += 1;
      const done = readOne(refetch, signal)
        .then((isOver) => {
          if (!isOver) lanes.outdate();
        })
        .catch(fail)
        .finally(() => {
          reading.delete(refetch.orderId);
          lanes.done(refetch);
          wakeUp.call();
        });
      reading.set(refetch.orderId, { isSweep, done });
    }
  };

  return {
    name: 'refetcher',
    wakeUp() {
      lanes.outdate();
      wakeUp.call();
    },
    stats: () => ({ reading: reading.size, ...count }),
    async run(signal) {
      let failure: { readonly error: unknown } | undefined;
      lanes.outdate();
      while (!signal.aborted && !failure) {
        const now = clock.now();
        await startDue(now, signal, (error) => {
          failure ??= { error };
        });
        // With all slots taken the end of a read wakes it, whatever falls due meanwhile.
        const isFull = reading.size >= limits.concurrency;
        const untilNext = isFull ? limits.idleMsMax : lanes.nextAt() - clock.now();
        await wakeUp.wait(Math.min(Math.max(untilNext, 0), limits.idleMsMax), signal);
      }
      await Promise.all([...reading.values()].map(({ done }) => done));
      if (failure) throw failure.error;
    },
  };
}
