/**
 * Decides pending deliveries. For each one that is due it builds the facts, asks the rules (pure
 * functions) and writes one journal entry and, for an accept, the push, all in one transaction:
 * after a kill either everything of a decision is there or nothing is.
 *
 * Nothing is decided twice on the same facts by the same rules; a delivery with a push on its way
 * is left alone; one that somebody put back to pending is held for a person. What cannot be
 * decided stays pending, the only state that harms nobody.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../lib/clock.ts';
import { StoreError, toError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { enqueueDeliveryStatus } from '../outbox/enqueue.ts';
import type { Outcome } from '../rules/combine.ts';
import { evaluate } from '../rules/evaluate.ts';
import type { Store, Tx } from '../store/store.ts';
import { type DueDelivery, dueDeliveries, nextDueDelivery, wasPutBack } from './due.ts';
import { readSubject } from './facts.ts';
import {
  type DecisionMode,
  lastIfSame,
  recordDecision,
  rememberEvaluation,
  rulesKey,
} from './record.ts';
import { armedHashes } from './reject/arming.ts';
import { isReviewed } from './review/touched.ts';
import type { LoadedRuleSet } from './rule-files.ts';

export interface Decided {
  readonly decisionId: number;
  readonly orderDeliveryId: number;
  readonly outcome: Outcome;
}

export interface DeciderDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly rules: () => LoadedRuleSet;
  /** `observe` decides and journals but pushes nothing; `shadow` lets no rule be live. */
  readonly mode: DecisionMode;
  readonly settleMs: number;
  /** Rules may read the clock: every pending delivery is looked at again this often. */
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
}

/** Deliveries decided between two looks at the table. */
const BATCH = 50;
const SLEEP_MS_MAX = 30_000;
/** How long a delivery that could not be decided is left alone. */
const ASIDE_MS = 60_000;
const UNDECIDABLE = 'undecidable';

const PUT_BACK: Outcome = {
  kind: 'hold',
  code: 'hold_rule',
  rules: [],
  reason: 'somebody put it back to pending; it is left to people',
  missing: [],
};

/** One delivery, one transaction. Undefined when there was nothing new to decide. */
async function decideOne(
  deps: DeciderDeps,
  due: DueDelivery,
  signalPush: () => void,
): Promise<Decided | undefined> {
  const { store, clock, mode } = deps;
  return store.transaction(async (tx, onCommit) => {
    const rules = deps.rules();
    const { ruleSet } = rules;
    const now = clock.now();
    const subject = await readSubject(tx, due.orderDeliveryId, { now, settings: ruleSet.settings });
    if (subject?.delivery.status !== 'pending') return undefined;
    const evaluation = evaluate(ruleSet, subject.facts, {
      mode: mode === 'shadow' ? 'shadow' : 'live',
      armed: await armedHashes(tx, ruleSet, now),
    });
    const putBack = await wasPutBack(tx, due.orderDeliveryId);
    const outcome = putBack && evaluation.live.kind !== 'hold' ? PUT_BACK : evaluation.live;
    const dueAt = now + deps.reconsiderMs;
    const judgement = { rules, mode, subject, evaluation, outcome, at: now, dueAt };
    await resolveUndecidable(tx, due.orderDeliveryId, now);
    if (await isReviewed(tx, subject)) {
      await rememberEvaluation(tx, judgement, undefined);
      return undefined;
    }
    if ((await lastIfSame(tx, judgement)) !== undefined) {
      await rememberEvaluation(tx, judgement, undefined);
      return undefined;
    }
    const { trigger } = due;
    const decisionId = await recordDecision(tx, judgement, { actor: 'daemon', trigger });
    if (outcome.kind === 'accept' && mode === 'live') {
      const { order_id: orderId, status } = subject.delivery;
      const { orderDeliveryId } = due;
      const change = {
        orderId,
        orderDeliveryId,
        from: status,
        to: 'accepted',
        decisionId,
      } as const;
      await enqueueDeliveryStatus(tx, change, now);
      onCommit(signalPush);
    }
    return { decisionId, orderDeliveryId: due.orderDeliveryId, outcome };
  });
}

/** What cannot be decided is told to people, once, and taken back when it can be decided. */
async function recordUndecidable(deps: DeciderDeps, id: number, error: Error): Promise<void> {
  await deps.store.db
    .insertInto('incident')
    .values({
      at: deps.clock.now(),
      kind: UNDECIDABLE,
      entity: 'delivery',
      key: String(id),
      detail: JSON.stringify({ message: error.message }),
      resolved_at: null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  deps.log.error({ delivery: id, err: error }, 'cannot decide');
}

async function resolveUndecidable(tx: Tx, id: number, now: number): Promise<void> {
  await tx
    .updateTable('incident')
    .set({ resolved_at: now })
    .where('kind', '=', UNDECIDABLE)
    .where('entity', '=', 'delivery')
    .where('key', '=', String(id))
    .where('resolved_at', 'is', null)
    .execute();
}

function report(deps: DeciderDeps, trigger: string, decided: Decided): void {
  const { outcome, orderDeliveryId, decisionId } = decided;
  const { kind, rules, reason } = outcome;
  deps.log.info(
    { delivery: orderDeliveryId, decisionId, trigger, rules, reason },
    `delivery ${orderDeliveryId}: ${kind}`,
  );
  deps.onDecided(decided);
}

/** Decides a batch. A delivery that cannot be decided is put aside for a while, with its error. */
async function decideDue(
  deps: DeciderDeps,
  aside: Map<number, number>,
  signal: AbortSignal,
): Promise<number> {
  const now = deps.clock.now();
  for (const [id, until] of aside) if (until <= now) aside.delete(id);
  const query = { rulesKey: rulesKey(deps.mode, deps.rules()), now, settleMs: deps.settleMs };
  const due = await dueDeliveries(deps.store.db, query, [...aside.keys()], BATCH);
  for (const delivery of due) {
    if (signal.aborted) break;
    try {
      const decided = await decideOne(deps, delivery, deps.onPush);
      if (decided) report(deps, delivery.trigger, decided);
    } catch (thrown) {
      if (thrown instanceof StoreError) throw thrown;
      aside.set(delivery.orderDeliveryId, now + ASIDE_MS);
      await recordUndecidable(deps, delivery.orderDeliveryId, toError(thrown));
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
    async run(signal) {
      const aside = new Map<number, number>();
      while (!signal.aborted) {
        wake = new AbortController();
        const decided = await decideDue(deps, aside, signal);
        if (decided > 0 || wake.signal.aborted) continue;
        const next = await nextDueDelivery(deps.store.db, deps.settleMs, [...aside.keys()]);
        const wait = Math.max(1, (next ?? Infinity) - deps.clock.now());
        await deps.clock
          .sleep(Math.min(SLEEP_MS_MAX, wait), AbortSignal.any([signal, wake.signal]))
          .catch(() => undefined);
      }
    },
  };
}
