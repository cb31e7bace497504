/**
 * The only writer to the service. It gives open rows to free hands, one for each ordering key at a
 * time. Step by step (`step.ts`) each is cleared for sending (the pre-flight, and for what changes
 * a status a look), sent, and read back:
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
import { createOutages, type OutageWords } from '../lib/log/outages.ts';
import type { OutboxItem } from './item.ts';
import {
  createEchoes,
  type DispatcherDeps,
  type DispatcherLimits,
  type Hand,
  step,
} from './push.ts';
import {
  doubtWhatWasSending,
  dueItems,
  type Excluded,
  nextDueAt,
  sentItems,
  type Work,
} from './queue.ts';
import { createFailedLooks } from './retry-policy.ts';

export interface Dispatcher {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
  /** Something was put into the outbox. */
  nudge(): void;
  /** An order was read into the mirror. */
  onOrderRead(orderId: number): void;
}

const PUSHES: OutageWords = {
  ...{ of: 'outboxId', begins: 'push put off', over: 'pushes go on' },
  hint: 'further ones for this reason are told by: selvedge outbox list',
};

/** Rows that were found due, so that not every free hand asks the database. */
type Found = Map<Work, OutboxItem[]>;
const FOUND_MAX = 64;

/** What is being worked on, by ordering key. */
type Busy = Map<string, { readonly work: Work; readonly done: Promise<void> }>;

const WORKS = ['doubt', 'send'] as const;

/** What is worked on, and what is paused. */
function excluded({ kinds, pausedReason }: DispatcherDeps, busy: Busy): Excluded {
  const held = new Map<string, string>();
  for (const { kind } of kinds) {
    const reason = pausedReason(kind);
    if (reason !== undefined) held.set(kind, reason);
  }
  return { busy: new Set(busy.keys()), held };
}

/** A push that waits for its slot, or is being checked, also sees a pause that is over by then. */
function pausedSince({ pauses, pausedReason }: DispatcherDeps): DispatcherDeps['pausedReason'] {
  const mark = pauses.mark();
  return (kind) =>
    pausedReason(kind) ?? (pauses.mark() === mark ? undefined : 'paused in the meantime');
}

function freeHands({ concurrency, looks }: DispatcherLimits, busy: Busy, work: Work): number {
  const taken = [...busy.values()].filter((one) => one.work === work).length;
  return (work === 'send' ? concurrency : looks) - taken;
}

async function begin({ store, clock, log }: DispatcherDeps): Promise<void> {
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
    if (work === 'send') {
      const read = deps.echoes.takeRead(new Set(busy.keys()));
      if (read.length > 0) items = [...(await sentItems(store.db, read)), ...items];
    }
    if (items.length === 0) {
      const most = Math.max(free, FOUND_MAX);
      items = await dueItems(store.db, work, clock.now(), excluded(deps, busy), most);
    }
    for (const item of items.splice(0, free)) {
      const done = take(item).finally(() => {
        busy.delete(item.orderingKey);
        ended();
      });
      busy.set(item.orderingKey, { work, done });
    }
    found.set(work, items);
  }
}

export function createDispatcher(own: DispatcherDeps): Dispatcher {
  const { store, clock, limits } = own;
  const failedLooks = createFailedLooks(clock, limits.lookMs);
  const outages = createOutages<number>(own, PUSHES);
  const echoes = createEchoes();
  const deps: Hand = { ...own, failedLooks, echoes, outages };
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
    nudge: () => wake.abort(),
    onOrderRead(orderId) {
      if (echoes.read(orderId)) wake.abort();
    },
    async run(signal) {
      const busy: Busy = new Map();
      const found: Found = new Map();
      let foundAt = deps.watchedSince();
      await begin(deps);
      let failure: { readonly error: unknown } | undefined;
      try {
        while (!signal.aborted && !failure) {
          wake = new AbortController();
          const pausedReason = pausedSince(own);
          await own.pauses.followFiles();
          // After a step of the clock, rows that were found have the times of before.
          if (foundAt !== deps.watchedSince()) found.clear();
          foundAt = deps.watchedSince();
          const take = (item: OutboxItem): Promise<void> =>
            step({ ...deps, pausedReason }, item, signal).catch((error: unknown) => {
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
