/**
 * The only writer to the service: gives open rows to free worker slots, one row per ordering key at
 * a time; `push.ts` takes each row through its steps. A row that is still `sending` when a run
 * begins gets an unknown outcome and never goes back to `queued`. When the database fails, `run`
 * rejects and the supervisor starts it again.
 */
import { createOutages, type OutageMessages } from '../lib/log/outages.ts';
import type { PauseLook } from '../store/pauses.ts';
import type { OutboxItem } from './item.ts';
import {
  createEchoes,
  type DispatcherDeps,
  type DispatcherLimits,
  type PushDeps,
  push,
} from './push.ts';
import {
  dueItems,
  type Excluded,
  markInterruptedAsUnknown,
  nextDueAt,
  sentItems,
  type Work,
} from './queue.ts';
import { createFailedLookups } from './retry-policy.ts';

export interface Dispatcher {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
  /** Makes the dispatcher look for due rows; call it when a row was added, or a pause is over. */
  wakeUp(): void;
  onOrderRead(orderId: number): void;
}

const OUTAGES: OutageMessages = {
  of: 'outboxId',
  begins: 'push postponed',
  over: 'pushes continue',
  hint: 'further ones with this reason are shown by: selvedge outbox list',
};

/** Due rows that were read ahead, so that not every free slot asks the database. */
type ReadAhead = Map<Work, OutboxItem[]>;
const READ_AHEAD_MAX = 64;

type Busy = Map<string, { readonly work: Work; readonly done: Promise<void> }>;

type Take = (item: OutboxItem) => Promise<void>;

const WORKS = ['lookup', 'send'] as const;

/** Rows that no slot may take: their key is busy, or their kind is paused by this look. */
function excluded({ kinds, pausedReason }: DispatcherDeps, seen: PauseLook, busy: Busy): Excluded {
  const paused = new Map<string, string>();
  for (const { kind } of kinds) {
    const reason = pausedReason(kind, seen);
    if (reason !== undefined) paused.set(kind, reason);
  }
  return { busy: new Set(busy.keys()), paused };
}

/**
 * Looks at the pauses since this look: a push that waited for a slot sees a pause that began and
 * ended meanwhile.
 */
function pausedSince(
  { pauses, pausedReason }: DispatcherDeps,
  { mark }: PauseLook,
): PushDeps['pausedReason'] {
  return (kind) => {
    const now = pauses.look();
    return pausedReason(kind, now) ?? (now.mark === mark ? undefined : 'paused in the meantime');
  };
}

function freeSlots({ concurrency, lookups }: DispatcherLimits, busy: Busy, work: Work): number {
  const taken = [...busy.values()].filter((one) => one.work === work).length;
  return (work === 'send' ? concurrency : lookups) - taken;
}

async function markInterrupted({ store, clock, log }: DispatcherDeps): Promise<void> {
  const unknown = await markInterruptedAsUnknown(store, clock.now());
  if (unknown > 0) log.warn({ unknown }, 'pushes were interrupted; their outcome is unknown');
}

export function createDispatcher(deps: DispatcherDeps): Dispatcher {
  const { store, clock, limits } = deps;
  const failedLookups = createFailedLookups(clock, limits.lookupMs);
  const outages = createOutages<number>(deps, OUTAGES);
  const echoes = createEchoes();
  let wake = new AbortController();

  const fillSlots = async (busy: Busy, ahead: ReadAhead, seen: PauseLook, take: Take) => {
    for (const work of WORKS) {
      const free = freeSlots(limits, busy, work);
      if (free <= 0) continue;
      let items = ahead.get(work) ?? [];
      if (work === 'send') {
        const read = echoes.takeRead(new Set(busy.keys()));
        if (read.length > 0) items = [...(await sentItems(store.db, read)), ...items];
      }
      if (items.length === 0) {
        const most = Math.max(free, READ_AHEAD_MAX);
        items = await dueItems(store.db, work, clock.now(), excluded(deps, seen, busy), most);
      }
      for (const item of items.splice(0, free)) {
        const done = take(item).finally(() => {
          busy.delete(item.orderingKey);
          wake.abort();
        });
        busy.set(item.orderingKey, { work, done });
      }
      ahead.set(work, items);
    }
  };

  /** Sleeps until a row is due (if a slot is free), a step ends, or a wake-up comes. */
  const sleep = async (busy: Busy, seen: PauseLook, signal: AbortSignal): Promise<void> => {
    if (wake.signal.aborted) return;
    const free = WORKS.filter((one) => freeSlots(limits, busy, one) > 0);
    const [first] = free;
    const work = free.length === WORKS.length ? 'any' : first;
    const next = work && (await nextDueAt(store.db, work, excluded(deps, seen, busy)));
    const due = next ?? Number.POSITIVE_INFINITY;
    const wait = Math.min(limits.idleMsMax, Math.max(1, due - clock.now()));
    await clock.sleep(wait, AbortSignal.any([signal, wake.signal])).catch(() => undefined);
  };
  return {
    name: 'outbox',
    wakeUp: () => wake.abort(),
    onOrderRead(orderId) {
      if (echoes.read(orderId)) wake.abort();
    },
    async run(signal) {
      const busy: Busy = new Map();
      const ahead: ReadAhead = new Map();
      let aheadSince = deps.processStartedAt();
      await markInterrupted(deps);
      const failures: unknown[] = [];
      try {
        while (!signal.aborted && failures.length === 0) {
          wake = new AbortController();
          const seen = await deps.pauses.followFiles();
          const pausedReason = pausedSince(deps, seen);
          // After a clock step, rows that were read ahead have due times of the old clock.
          if (aheadSince !== deps.processStartedAt()) ahead.clear();
          aheadSince = deps.processStartedAt();
          const own = { ...deps, failedLookups, echoes, outages, pausedReason };
          await fillSlots(busy, ahead, seen, (item) =>
            push(own, item, signal).catch((error: unknown) => void failures.push(error)),
          );
          await sleep(busy, seen, signal);
        }
      } finally {
        // Pushes end before `run` does, so that a restart finds no row that is still being sent.
        await Promise.all([...busy.values()].map(({ done }) => done));
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}
