/**
 * Decides pending deliveries. For each one that is due it builds the facts, asks the rules (pure
 * functions) and writes one journal entry and, for an accept, the push, all in one transaction:
 * after a kill either everything of a decision is there or nothing is.
 *
 * Nothing is decided twice on the same facts by the same rules; a delivery with a push on its way
 * is left alone, and so is one that a person has touched. What cannot be decided stays pending, the
 * only state that harms nobody.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../lib/clock.ts';
import { isStoreUnusable, toError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import type { Store } from '../store/store.ts';
import { NOT_ACTING, recallAccepts } from './accept/recall.ts';
import { type Decided, decide } from './decide.ts';
import { type DueDelivery, dueDeliveries, nextDueDelivery } from './due.ts';
import { tellUndecidable } from './incidents.ts';
import { type DecisionMode, rulesKey } from './record.ts';
import type { LoadedRuleSet } from './rule-files.ts';
import { cancelUnsent, hasUnsent } from './unsent.ts';
import { createFollower } from './watch/follow.ts';
import { readsOf } from './watch/reads.ts';

export interface DeciderDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly rules: () => LoadedRuleSet;
  readonly mode: () => DecisionMode;
  readonly settleMs: number;
  /** Rules may read ages: then every pending delivery is looked at again this often. */
  readonly reconsiderMs: number;
  readonly onDecided: (decided: Decided) => void;
  /** A push was put into the outbox. */
  readonly onPush: () => void;
}

export interface Decider {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
  /** A delivery may have become due. */
  nudge(): void;
  /** Cancels what was decided by rules that acted and was not sent, if they do not any more. */
  recall(): Promise<void>;
}

/** Deliveries decided between two looks at the table. */
const BATCH = 50;
const SLEEP_MS_MAX = 30_000;
/** How long a delivery that could not be decided is left alone. */
const ASIDE_MS = 60_000;

/** Mode, rules and time at this moment. */
function contextOf({ rules, mode, clock }: DeciderDeps) {
  return { rules: rules(), mode: mode(), now: clock.now() };
}

function decideOne(deps: DeciderDeps, due: DueDelivery): Promise<Decided | undefined> {
  const { trigger, orderDeliveryId } = due;
  return deps.store.transaction((tx, onCommit) => {
    const context = { ...contextOf(deps), tickMs: deps.reconsiderMs, trigger };
    return decide(tx, context, orderDeliveryId, () => onCommit(deps.onPush));
  });
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
    const stop = `selvedge rules stop ${orderDeliveryId} --reason "…"`;
    deps.log.warn({ delivery: orderDeliveryId, rules, stop }, text);
  }
  deps.onDecided(decided);
}

/** What was accepted while the rules acted and was not sent since stays here when they do not. */
async function recallUnsent(deps: DeciderDeps): Promise<void> {
  const { mode, rules, now } = contextOf(deps);
  if (mode === 'paused' || !(await hasUnsent(deps.store.db))) return;
  const isLive = mode === 'live';
  const why = isLive ? NOT_ACTING : `the rules are in the mode ${mode} by now`;
  const canceled = await deps.store.transaction((tx) =>
    isLive ? recallAccepts(tx, rules.ruleSet, now) : cancelUnsent(tx, why, now),
  );
  if (canceled > 0) deps.log.warn({ canceled }, `canceled what was not sent yet: ${why}`);
}

/**
 * The same between two looks, when nothing is just being decided: once is enough for rules that
 * act, because while they are those nothing else comes of it.
 */
function createRecall(deps: DeciderDeps): () => Promise<void> {
  let recalledFor: string | undefined;
  return async () => {
    const { mode, rules } = contextOf(deps);
    const key = rulesKey(mode, rules);
    if (mode === 'live' && key === recalledFor) return;
    await recallUnsent(deps);
    recalledFor = key;
  };
}

function isAgain({ trigger }: DueDelivery): boolean {
  return ['facts', 'tick', 'hold', 'arming'].includes(trigger);
}

/** Decides a batch. A delivery that cannot be decided is put aside for a while, with its error. */
async function decideDue(
  deps: DeciderDeps,
  aside: Map<number, number>,
  signal: AbortSignal,
  wake: AbortSignal,
): Promise<number> {
  const now = deps.clock.now();
  const at = deps.clock.monotonic();
  for (const [id, until] of aside) if (until <= at) aside.delete(id);
  const { mode, rules } = contextOf(deps);
  const { accepted } = readsOf(rules.ruleSet);
  const query = { rulesKey: rulesKey(mode, rules), now, settleMs: deps.settleMs, accepted };
  const due = await dueDeliveries(deps.store.db, query, [...aside.keys()], BATCH);
  let again = 0;
  for (const delivery of due) {
    if (signal.aborted) break;
    if (isAgain(delivery)) again += 1;
    // Something came in: it should not wait until the rest has been looked at again; one of these
    // is, whatever comes, so that they are not left for ever.
    if (wake.aborted && isAgain(delivery) && again > 1) continue;
    try {
      const decided = await decideOne(deps, delivery);
      if (decided) report(deps, delivery.trigger, decided);
    } catch (thrown) {
      if (isStoreUnusable(thrown)) throw thrown;
      aside.set(delivery.orderDeliveryId, at + ASIDE_MS);
      const error = toError(thrown);
      await tellUndecidable(deps.store.db, delivery.orderDeliveryId, error, now);
      deps.log.error({ delivery: delivery.orderDeliveryId, err: error }, 'cannot decide');
    }
    // The driver is synchronous: without this a backlog would keep the listener from its turn.
    await nextTurn();
  }
  return due.length;
}

export function createDecider(deps: DeciderDeps): Decider {
  let wake = new AbortController();
  return {
    name: 'decisions',
    nudge: () => wake.abort(),
    recall: () => recallUnsent(deps),
    async run(signal) {
      const aside = new Map<number, number>();
      const recall = createRecall(deps);
      const follower = createFollower(deps.store, () => contextOf(deps));
      while (!signal.aborted) {
        wake = new AbortController();
        await recall();
        const followed = await follower.follow();
        const decided = await decideDue(deps, aside, signal, wake.signal);
        if (decided > 0 || !followed || wake.signal.aborted) continue;
        const next = await nextDueDelivery(deps.store.db, deps.settleMs, [...aside.keys()]);
        const wait = Math.max(1, (next ?? Infinity) - deps.clock.now());
        await deps.clock
          .sleep(Math.min(SLEEP_MS_MAX, wait), AbortSignal.any([signal, wake.signal]))
          .catch(() => undefined);
      }
    },
  };
}
