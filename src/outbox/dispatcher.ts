/**
 * The only writer to the service: gives open rows to free worker slots, one row per ordering key at
 * a time; `push.ts` takes each row through its steps. A row that is still `sending` when a run
 * begins gets an unknown outcome and never goes back to `queued`. When the database fails, `run`
 * rejects and the supervisor starts it again.
 */
import { createOutages, type OutageMessages } from '../lib/log/outages.ts';
import type { PauseLook } from '../store/pauses.ts';
import type { SpaceWatch } from '../store/space.ts';
import { PAUSED_BY } from './document-state.ts';
import type { OutboxItem } from './item.ts';
import {
  createEchoes,
  type DispatcherDeps,
  type DispatcherLimits,
  type PushDeps,
  push,
} from './push.ts';
import {
  type Excluded,
  markInterruptedAsUnknown,
  type Waiting,
  type Work,
  waitingFor,
  workOf,
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

/** Rows that were read ahead, so that not every free slot asks the database. */
type ReadAhead = Map<Work, Waiting>;
const NOTHING: Waiting = { due: [], nextAt: Number.POSITIVE_INFINITY, areMore: true };

/** Reason of a wake-up: one that is made each time costs a stack trace. */
const WOKEN = 'woken';

type Busy = Map<string, { readonly work: Work; readonly done: Promise<void> }>;

type Take = (item: OutboxItem) => Promise<void>;

const WORKS = ['lookup', 'send'] as const;

/** Says what keeps pushes from being sent: the standby, the disk or a person, in this order. */
export function reasonsOf({
  sending,
  space,
}: {
  readonly sending?: { whyNot(): string | undefined } | undefined;
  readonly space: Pick<SpaceWatch, 'allows'>;
}): DispatcherDeps['pausedReason'] {
  return (kind, seen) => {
    const why = sending?.whyNot();
    if (why !== undefined) return `${PAUSED_BY.standby}: ${why}`;
    return space.allows('send') ? seen.reason('pushes', kind) : PAUSED_BY.disk;
  };
}

/** Calls `task` for rows that gave up or whose outcome is unknown. */
export function troublesFor(task: () => void): DispatcherDeps['onMoved'] {
  return (_item, state) => {
    if (state === 'dead' || state === 'in_doubt') task();
  };
}

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

/** Reads what waits for these works: all of it at once, unless there is much. */
async function readAhead(
  { store, clock }: DispatcherDeps,
  works: readonly Work[],
  excluded: Excluded,
  ahead: ReadAhead,
): Promise<void> {
  const now = clock.now();
  const read = (work: Work | 'any') => waitingFor(store.db, work, now, excluded);
  const whole = works.length === WORKS.length ? await read('any') : undefined;
  for (const work of works) {
    const isEach = whole === undefined || whole.areMore;
    const due = whole?.due.filter((item) => workOf(item) === work) ?? [];
    ahead.set(work, isEach ? await read(work) : { ...whole, due });
  }
}

type Start = (work: Work, item: OutboxItem) => void;

function starter(busy: Busy, take: Take, onEnd: () => void): Start {
  return (work, item) => {
    const done = take(item).finally(() => {
      busy.delete(item.orderingKey);
      onEnd();
    });
    busy.set(item.orderingKey, { work, done });
  };
}

/** Starts what is due and has a free slot. */
function startDue(limits: DispatcherLimits, busy: Busy, ahead: ReadAhead, start: Start): void {
  for (const work of WORKS) {
    const free = Math.max(0, freeSlots(limits, busy, work));
    for (const item of ahead.get(work)?.due.splice(0, free) ?? []) {
      // An answered row may have been due just as its order was read.
      if (!busy.has(item.orderingKey)) start(work, item);
    }
  }
}

export function createDispatcher(deps: DispatcherDeps): Dispatcher {
  const { clock, limits } = deps;
  const failedLookups = createFailedLookups(clock, limits.lookupMs);
  const outages = createOutages<number>(deps, OUTAGES);
  const echoes = createEchoes();
  let wake = new AbortController();
  /** Whether other rows may be due than those read ahead. */
  let isOutdated = true;
  const wakeUp = (): void => {
    isOutdated = true;
    wake.abort(WOKEN);
  };

  const fillSlots = async (busy: Busy, ahead: ReadAhead, seen: PauseLook, take: Take) => {
    const start = starter(busy, take, wakeUp);
    if (freeSlots(limits, busy, 'send') > 0) {
      for (const item of echoes.takeRead(new Set(busy.keys()))) start('send', item);
    }
    const wasOutdated = isOutdated;
    isOutdated = false;
    const works = WORKS.filter((work) => {
      const { due, areMore } = ahead.get(work) ?? NOTHING;
      return freeSlots(limits, busy, work) > 0 && due.length === 0 && (wasOutdated || areMore);
    });
    if (works.length > 0) await readAhead(deps, works, excluded(deps, seen, busy), ahead);
    startDue(limits, busy, ahead, start);
    // A lane without a free slot was not looked at.
    isOutdated ||= wasOutdated && works.length < WORKS.length;
  };

  /** Sleeps until a row is due (if a slot is free), a step ends, or a wake-up comes. */
  const sleep = async (busy: Busy, ahead: ReadAhead, signal: AbortSignal): Promise<void> => {
    if (wake.signal.aborted) return;
    const free = WORKS.filter((one) => freeSlots(limits, busy, one) > 0);
    const due = Math.min(...free.map((work) => (ahead.get(work) ?? NOTHING).nextAt));
    const wait = Math.min(limits.idleMsMax, Math.max(1, due - clock.now()));
    await clock.sleep(wait, AbortSignal.any([signal, wake.signal])).catch(() => undefined);
    // Time has passed: what was not due may be, and another process may have added a row.
    isOutdated ||= !wake.signal.aborted;
  };
  return {
    name: 'outbox',
    wakeUp,
    onOrderRead(orderId) {
      if (echoes.read(orderId)) wake.abort(WOKEN);
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
          if (aheadSince !== deps.processStartedAt()) {
            ahead.clear();
            isOutdated = true;
          }
          aheadSince = deps.processStartedAt();
          const own = { ...deps, failedLookups, echoes, outages, pausedReason };
          await fillSlots(busy, ahead, seen, (item) =>
            push(own, item, signal).catch((error: unknown) => void failures.push(error)),
          );
          await sleep(busy, ahead, signal);
        }
      } finally {
        // Pushes end before `run` does, so that a restart finds no row that is still being sent.
        await Promise.all([...busy.values()].map(({ done }) => done));
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}
