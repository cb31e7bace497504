/**
 * Decides deliveries. For each one that is due it builds the facts, asks the rules (pure functions)
 * and writes one journal entry and, for an accept, the push, all in one transaction: after a kill
 * either everything of a decision is there or nothing is.
 *
 * Each round: status changes in the service are noted (external.ts), deliveries that are due by
 * their own rows are decided, new ones first (due.ts), and the others are evaluated again
 * in passes. Nothing is decided twice on the same facts; a delivery with a push on its way is left
 * alone, and so is one that a person has decided about. A delivery that cannot be decided
 * stays pending, the only state that harms nobody.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../lib/clock.ts';
import { isStoreUnusable, toError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import type { Store, Tx } from '../store/store.ts';
import { endPauseOver } from './accept/pace.ts';
import { recallUnsent } from './accept/recall.ts';
import { tellWaits, waitingFor } from './accept/waits.ts';
import {
  createReevaluation,
  type Due,
  type DueDelivery,
  dueAmong,
  dueDeliveries,
  FIRST,
  nextDueAt,
  type Reevaluation,
  sweepPending,
} from './due.ts';
import { createStatusNotes, type OnCommit, type StatusNotes } from './external.ts';
import {
  dropDecidedCustomers,
  reportEvaluationError,
  resolveEvaluationErrors,
} from './incidents.ts';
import {
  type Decided,
  type DecisionMode,
  type FreshnessMs,
  type PendingContext,
  rulesKey,
} from './judgement.ts';
import { decide } from './plan/plan.ts';
import type { LoadedRuleSet } from './rule-files.ts';

export interface DeciderDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly rules: () => LoadedRuleSet;
  readonly mode: () => DecisionMode;
  /** Milliseconds that the data of each pulled stream may be old. */
  readonly freshness: FreshnessMs;
  readonly settleMs: number;
  /**
   * Milliseconds after which every open delivery is evaluated again, because ages in the facts
   * grow.
   */
  readonly reconsiderMs: number;
  readonly onDecided: (decided: Decided) => void;
  /** Called after a push was put into the outbox. */
  readonly onPush: () => void;
}

/** A run of a stream that has ended. */
interface EndedRun {
  readonly stream: string;
  readonly outcome: string;
  readonly changed: number;
}

export interface Decider {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
  /** Makes the decider look for all that is due at once: rules, people or a pause have changed. */
  wake(): void;
  /** Decides those of these deliveries that are due, at once, and searches for no others. */
  decideNow(orderDeliveryIds: readonly number[]): void;
  /**
   * Evaluates at once what waits for a stream that was read completely; the incidents about such
   * data are looked at.
   */
  runEnded(run: EndedRun): void;
  /** Notes a confirmed accept in the transaction that confirms it. */
  noteAccepted(tx: Tx, orderDeliveryId: number, onCommit: OnCommit): Promise<void>;
  /** Takes back what was not sent yet and the rules in force would not decide so. */
  recall(): Promise<void>;
}

/** Number of deliveries that are decided between two searches for due ones. */
const BATCH = 50;
const SLEEP_MS_MAX = 30_000;
/** Milliseconds for which a delivery is skipped after an evaluation error. */
const ASIDE_MS = 60_000;

/** Milliseconds between two steps of the sweep of pending deliveries. */
const SWEEP_MS = 5_000;

interface Running extends DeciderDeps {
  /** Gives mode, rules, freshness limits and time as they are at this moment. */
  readonly contextNow: () => PendingContext;
}

function report(deps: DeciderDeps, trigger: string, decided: Decided): void {
  const { outcome, orderDeliveryId, decisionId, rejectAt } = decided;
  const { kind, rules, reason } = outcome;
  deps.log.info(
    { delivery: orderDeliveryId, decisionId, trigger, rules, reason },
    `delivery ${orderDeliveryId}: ${kind}`,
  );
  if (rejectAt !== undefined) {
    const at = new Date(rejectAt).toISOString();
    const text = `delivery ${orderDeliveryId} will be rejected at ${at}`;
    const stop = `selvedge deliveries hold ${orderDeliveryId} --if-reject-waits --reason "…"`;
    deps.log.warn({ delivery: orderDeliveryId, rules, stop }, text);
  }
  deps.onDecided(decided);
}

interface Attempts {
  /** Ids of deliveries that are skipped for now, because their evaluation failed. */
  readonly aside: ReadonlySet<number>;
  /**
   * Runs `work` for a delivery; if it fails, the delivery is skipped for a while, with an incident.
   */
  attempt(orderDeliveryId: number, work: () => Promise<void>): Promise<void>;
  /** Ends the skipping of deliveries whose waiting time is over. */
  retryExpired(): void;
}

function createAttempts({ store, clock, log }: DeciderDeps): Attempts {
  const aside = new Set<number>();
  const until = new Map<number, number>();
  return {
    aside,
    async attempt(id, work) {
      try {
        await work();
        if (until.delete(id)) await resolveEvaluationErrors(store.db, [id], clock.now());
      } catch (thrown) {
        if (isStoreUnusable(thrown)) throw thrown;
        aside.add(id);
        until.set(id, clock.monotonic() + ASIDE_MS);
        const error = toError(thrown);
        await reportEvaluationError(store.db, id, error, clock.now());
        log.error({ delivery: id, err: error }, 'cannot decide');
      }
    },
    retryExpired() {
      for (const id of aside) if ((until.get(id) ?? 0) <= clock.monotonic()) aside.delete(id);
    },
  };
}

/**
 * Makes a function that looks, from time to time, whether some of the pending deliveries are due
 * without anybody having been told, and makes them so.
 */
function createSweep({ store, clock, log }: DeciderDeps): () => Promise<void> {
  let after = FIRST;
  let nextAt = Number.NEGATIVE_INFINITY;
  return async () => {
    const begun = clock.monotonic();
    if (begun < nextAt) return;
    nextAt = begun + SWEEP_MS;
    const { next, found } = await sweepPending(store, clock.now(), after);
    after = next;
    const deliveries = found.slice(0, 20);
    const text = 'deliveries were due by their rows alone; they are decided now';
    if (found.length > 0) log.warn({ count: found.length, deliveries }, text);
  };
}

/**
 * Makes a function that says once for each rule set, after all open deliveries were evaluated, what
 * reject rules hold that may not reject: at the first start with this version nobody expects it.
 */
function createUnarmedNote({ store, log }: DeciderDeps) {
  let toldFor: string | undefined;
  return async ({ rules, mode }: PendingContext): Promise<void> => {
    const key = rulesKey(mode, rules);
    if (key === toldFor || mode !== 'live') return;
    toldFor = key;
    const rejects = rules.ruleSet.rules.filter(({ action }) => action === 'reject');
    const ids = rejects.map(({ id }) => id);
    if (ids.length === 0) return;
    const held = await store.db
      .selectFrom('hold')
      .select(({ fn }) => ['rule_id as rule', fn.countAll<number>().as('deliveries')])
      .where('rule_id', 'in', ids)
      .groupBy('rule_id')
      .execute();
    const text = 'reject rules that may not reject hold deliveries; see: selvedge rules queue';
    if (held.length > 0) log.warn({ held }, text);
  };
}

/** A text that changes when other rules are in force, or the time of one has come or is over. */
function inForce({ mode, rules, now }: PendingContext): string {
  const off = rules.ruleSet.rules.filter(({ effectiveFrom = now, effectiveUntil = now + 1 }) => {
    return now < effectiveFrom || now >= effectiveUntil;
  });
  return [rulesKey(mode, rules), ...off.map(({ id }) => id)].join(' ');
}

/**
 * Makes the function that takes back between two rounds of decisions; in the mode live only after
 * the rules in force have changed.
 */
function createRecall(deps: Running): (context: PendingContext) => Promise<void> {
  let recalledFor: string | undefined;
  return async (context) => {
    const key = inForce(context);
    if (context.mode === 'live' && key === recalledFor) return;
    await recallUnsent(deps, deps.contextNow);
    recalledFor = key;
  };
}

/** Milliseconds between two looks at incidents that time alone begins or ends. */
const CHORES_MS = 60_000;

/** Tells what accepts wait for, and ends incidents whose reason is gone without a decision. */
async function doChores({ store }: DeciderDeps, context: PendingContext): Promise<void> {
  const { rules, freshness, now } = context;
  const { ruleSet } = rules;
  await tellWaits(store.db, { ruleSet, freshness, now });
  await endPauseOver(store.db, ruleSet.settings, now);
  await dropDecidedCustomers(store.db, now);
}

/** Requests to the decider since its last round. */
interface Asked {
  /** Whether all is searched for what is due. */
  isAll: boolean;
  /** Whether a run has ended. */
  isRunOver: boolean;
  /** Deliveries that may be due. */
  readonly ids: Set<number>;
  /** Streams that were read completely. */
  readonly streams: Set<string>;
}

function createAsks() {
  const nothing = (): Asked => {
    return { isAll: false, isRunOver: false, ids: new Set(), streams: new Set() };
  };
  let asked = nothing();
  let wake = new AbortController();
  return {
    /** Takes what was asked for; the signal aborts once something more is. */
    take(): Asked & { readonly woken: AbortSignal } {
      const taken = asked;
      asked = nothing();
      wake = new AbortController();
      return { ...taken, woken: wake.signal };
    },
    isAll: () => asked.isAll,
    /** Asks for the next round, which comes in its time. */
    note(what: { readonly isAll?: boolean; readonly ids?: readonly number[] }): void {
      asked.isAll ||= what.isAll ?? false;
      for (const id of what.ids ?? []) asked.ids.add(id);
    },
    noteRun({ stream, outcome, changed }: EndedRun): void {
      asked.isRunOver = true;
      if (outcome === 'complete') asked.streams.add(stream);
      if (changed > 0) asked.isAll = true;
    },
    wake: () => wake.abort(),
    /** Waits until something is asked for, or the time is over. */
    async wait(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
      await clock.sleep(ms, AbortSignal.any([signal, wake.signal])).catch(() => undefined);
    },
  };
}

type Asks = ReturnType<typeof createAsks>;

/** Milliseconds from a decision to the search whose facts it may have changed. */
const SEARCH_AFTER_MS = 2_000;

async function decideDue(deps: Running, { trigger, orderDeliveryId }: DueDelivery): Promise<void> {
  const decided = await deps.store.transaction((tx, onCommit) => {
    const context = { ...deps.contextNow(), trigger };
    return decide(tx, context, orderDeliveryId, () => onCommit(deps.onPush));
  });
  if (decided) report(deps, trigger, decided);
}

/** Decides what is due; what others keep from its turn is asked for again. */
async function decideEach(
  deps: Running,
  { first, later, unsettled }: Due,
  { attempt }: Attempts,
  asks: Asks,
  signals: { readonly signal: AbortSignal; readonly woken: AbortSignal },
): Promise<void> {
  const all = [...first, ...later];
  let done = 0;
  for (const due of all) {
    // New deliveries interrupt repeated evaluations, but after one at the earliest: under a
    // constant flow of events these would never have their turn.
    if (signals.signal.aborted || (signals.woken.aborted && done > first.length)) break;
    await attempt(due.orderDeliveryId, () => decideDue(deps, due));
    // The SQLite driver is synchronous: without this pause a backlog would block the event
    // listener.
    await nextTurn();
    done += 1;
  }
  const left = all.slice(done).map(({ orderDeliveryId }) => orderDeliveryId);
  asks.note({ ids: [...unsettled, ...left] });
}

/** Goes on with the pass, by one decision at least; gives whether it has come to its end. */
async function goThrough(
  deps: Running,
  pass: Reevaluation,
  { aside, attempt }: Attempts,
  isBusy: () => boolean,
): Promise<boolean> {
  let decided = 0;
  for (let ids = pass.next(); ids.length > 0; ids = isBusy() ? [] : pass.next()) {
    const own = ids.filter((id) => !aside.has(id));
    const found = await pass.evaluate(own);
    await nextTurn();
    for (const id of own) {
      const due = found.get(id);
      if (due && decided > 0 && isBusy()) {
        pass.goBackTo(id);
        return false;
      }
      await attempt(id, async () => {
        if (due) await decideDue(deps, due);
      });
      if (!due) continue;
      decided += 1;
      await nextTurn();
    }
  }
  return !pass.isUnderWay();
}

/**
 * Makes the function of one round, which gives the milliseconds until the next one. Deliveries that
 * were named are decided alone; all are searched at the start, when somebody asks for it, when a
 * planned time has come, and every half a minute, so that no wake-up that was lost matters.
 */
function createRound(
  deps: Running,
  asks: Asks,
  notes: StatusNotes,
): (signal: AbortSignal) => Promise<number> {
  const { store, clock, settleMs, reconsiderMs, contextNow } = deps;
  const recall = createRecall(deps);
  const attempts = createAttempts(deps);
  const noteUnarmed = createUnarmedNote(deps);
  const sweep = createSweep(deps);
  const pass = createReevaluation({ store, clock, contextNow, reconsiderMs });
  let choresAt = Number.NEGATIVE_INFINITY;
  let searchAt = Number.NEGATIVE_INFINITY;
  let plannedAt = Number.POSITIVE_INFINITY;

  const search = async (now: number) => {
    await sweep();
    return dueDeliveries(store.db, { now, settleMs }, attempts.aside, BATCH);
  };
  /** Begins a pass if it is time for one. */
  const prepare = async (context: PendingContext): Promise<void> => {
    const waitMs = await pass.prepare({ ...context, now: clock.now() });
    if (waitMs > 0) await noteUnarmed(context);
    searchAt = clock.monotonic() + Math.min(SLEEP_MS_MAX, waitMs > 0 ? waitMs : SLEEP_MS_MAX);
  };

  return async (signal) => {
    const { ids, streams, woken, ...asked } = asks.take();
    const isAll = asked.isAll || clock.monotonic() >= searchAt || clock.now() >= plannedAt;
    const context = contextNow();
    await recall(context);
    attempts.retryExpired();
    const areNoted = await notes.noteAll();
    if (asked.isRunOver || clock.monotonic() >= choresAt) {
      choresAt = clock.monotonic() + CHORES_MS;
      await doChores(deps, context);
    }
    const now = clock.now();
    const query = { now, settleMs };
    const due = isAll
      ? await search(now)
      : await dueAmong(store.db, query, attempts.aside, [...ids]);
    const isFound = due.first.length + due.later.length > 0;
    await decideEach(deps, due, attempts, asks, { signal, woken });
    if (isAll || isFound) plannedAt = await nextDueAt(store.db, now);
    if (isAll) await prepare(context);
    else if (isFound) searchAt = Math.min(searchAt, clock.monotonic() + SEARCH_AFTER_MS);
    if (streams.size > 0) pass.putFirst(await waitingFor(store.db, streams));
    const nextAt = Math.min(plannedAt, due.settledAt);
    const isBusy = () =>
      signal.aborted || due.first.length > 0 || woken.aborted || clock.now() >= nextAt;
    const wasUnderWay = pass.isUnderWay();
    const isOver = await goThrough(deps, pass, attempts, isBusy);
    // At the end of a pass it is known when the next one begins.
    if ((isAll && isFound) || (wasUnderWay && isOver)) asks.note({ isAll: true });
    if (asks.isAll() || !areNoted || !isOver) return 0;
    return Math.max(1, Math.min(searchAt - clock.monotonic(), nextAt - clock.now()));
  };
}

export function createDecider(deps: DeciderDeps): Decider {
  const { rules, mode, freshness, clock } = deps;
  const contextNow = (): PendingContext => {
    return { rules: rules(), mode: mode(), freshness, now: clock.now() };
  };
  const asks = createAsks();
  const notes = createStatusNotes(deps.store, contextNow);
  const decideNow = (ids: readonly number[]): void => {
    asks.note({ ids });
    if (ids.length > 0) asks.wake();
  };
  return {
    name: 'decisions',
    async run(signal) {
      const round = createRound({ ...deps, contextNow }, asks, notes);
      while (!signal.aborted) {
        const waitMs = await round(signal);
        if (waitMs > 0) await asks.wait(deps.clock, waitMs, signal);
      }
    },
    wake() {
      asks.note({ isAll: true });
      asks.wake();
    },
    decideNow,
    async noteAccepted(tx, id, onCommit) {
      const isOwn = await notes.noteOwn(tx, { id, now: deps.clock.now() }, onCommit);
      if (!isOwn) onCommit(() => decideNow([id]));
    },
    runEnded(run) {
      asks.noteRun(run);
      asks.wake();
    },
    recall: () => recallUnsent(deps, contextNow),
  };
}
