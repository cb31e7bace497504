/**
 * Carries out rejects whose grace period is over. For each, it reads the delivery from the service;
 * then one transaction evaluates the rules on fresh facts, checks every safeguard, and either
 * enqueues the push (which the caps count) or journals the hold of the safeguard. The outbox sends
 * the push: it looks the delivery up once more, compares it exactly, and reads the result back.
 *
 * A timeout leaves the push with an unknown outcome, which only a lookup resolves: nothing is
 * repeated blindly. All state is in the database, so a kill loses nothing.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { isStoreUnusable, toError } from '../../lib/errors.ts';
import { enqueueDeliveryStatus } from '../../outbox/enqueue.ts';
import { reconcileIncidents } from '../../store/incidents.ts';
import type { Tx } from '../../store/store.ts';
import type { DeciderDeps } from '../decider.ts';
import { noteExternal } from '../external.ts';
import { readSubject } from '../facts.ts';
import { recordDecision } from '../journal.ts';
import { askRules, type Judgement, sendBefore } from '../judgement.ts';
import { disarmExpired } from './arm.ts';
import { endingArmings } from './arming.ts';
import { tripBreaker } from './breaker.ts';
import { countedOf } from './caps.ts';
import { cancelDisallowedRejects, finishPushedRejects, hasPushed } from './finish-reject.ts';
import { safeguardHold } from './outcome.ts';
import {
  endEntries,
  endEntry,
  entryById,
  postponeEntry,
  type RejectEntry,
  waitingEntries,
} from './queue.ts';
import { firstObjection, type Objection } from './safeguards.ts';

type Shared = 'store' | 'clock' | 'log' | 'rules' | 'mode' | 'freshness' | 'onPush';

export interface RejectDeps extends Pick<DeciderDeps, Shared> {
  /**
   * Reads the delivery from the service into the mirror; throws when the service cannot be asked.
   */
  readonly readDelivery: (
    orderId: number,
    orderDeliveryId: number,
    signal: AbortSignal,
  ) => Promise<unknown>;
  /** Called when deliveries must be decided again. */
  readonly onDecided: () => void;
}

export interface RejectExecutor {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
  /** Makes the executor look at once for rejects whose grace is over. */
  wake(): void;
  /** Cancels unsent rejects by rules that may not reject any more. */
  recall(): Promise<void>;
}

const SLEEP_MS_MAX = 30_000;
/** Milliseconds after which a postponed reject is checked again, if no safeguard names a time. */
const LOOK_AGAIN_MS = 300_000;

/** Result at the end of a grace period: the push, or the safeguard that objects to it. */
type Step = 'pushed' | Objection;

type Judged = Omit<Judgement, 'outcome' | 'dueAt'>;

/**
 * Ends or postpones the waiting reject as the safeguard demands; some safeguards trip the breaker.
 */
async function applyObjection(tx: Tx, entry: RejectEntry, stop: Objection, { at, rules }: Judged) {
  const { safeguard, detail, next, until = at + LOOK_AGAIN_MS } = stop;
  if (next === 'wait') {
    await postponeEntry(tx, entry.entryId, { safeguard, detail, until });
    return;
  }
  const end = { by: 'daemon', safeguard, detail, at };
  const state = next === 'decide-again' ? 'withdrawn' : 'held';
  await endEntry(tx, entry.orderDeliveryId, { ...end, state });
  if (next !== 'trip') return;
  await tripBreaker(tx, { at, safeguard, detail });
  const tripped = { safeguard: 'breaker', detail: `it tripped: ${safeguard}, ${detail}` };
  await endEntries(tx, undefined, { ...end, ...tripped, state: 'held' });
  await cancelDisallowedRejects(tx, rules.ruleSet, at);
}

/** Holds the delivery as the safeguard demands; one that postpones again is not journaled again. */
async function stopAt(tx: Tx, entry: RejectEntry, judged: Judged, stop: Objection): Promise<Step> {
  const { at } = judged;
  const outcome = safeguardHold(entry.ruleId, stop);
  if (entry.safeguard !== stop.safeguard || stop.next !== 'wait') {
    const dueAt = stop.next === 'decide-again' ? at : at + LOOK_AGAIN_MS;
    const by = { actor: 'daemon', trigger: 'grace' };
    await recordDecision(tx, { ...judged, outcome, dueAt }, by);
  }
  await applyObjection(tx, entry, stop, judged);
  return stop;
}

async function push(tx: Tx, entry: RejectEntry, judged: Judged): Promise<Step> {
  const { at, subject, evaluation, rules } = judged;
  const outcome = evaluation.live;
  const by = { actor: 'daemon', trigger: 'grace' };
  const decisionId = await recordDecision(tx, { ...judged, outcome, dueAt: null }, by);
  const { content_hash: contentHash, status: from } = subject.delivery;
  const { orderId, orderDeliveryId } = entry;
  const change = { orderId, orderDeliveryId, from, to: 'rejected', decisionId } as const;
  const until = sendBefore(rules.ruleSet.settings, at);
  await enqueueDeliveryStatus(tx, { ...change, contentHash, sendBefore: until }, at);
  const { accountNo, amount, currency } = countedOf(subject.facts);
  const intent = { intent_at: at, intent_decision_id: decisionId, account_no: accountNo };
  await tx
    .updateTable('reject_entry')
    .set({ state: 'pushing', safeguard: null, detail: null, ...intent, amount, currency })
    .where('entry_id', '=', entry.entryId)
    .execute();
  return 'pushed';
}

/** Decides about a reject at the end of its grace; undefined when it has ended in the meantime. */
async function decide(
  deps: RejectDeps,
  tx: Tx,
  { entryId, orderDeliveryId }: RejectEntry,
  unreadable: Objection | undefined,
): Promise<Step | undefined> {
  const now = deps.clock.now();
  const [rules, mode] = [deps.rules(), deps.mode()];
  await finishPushedRejects(tx, now);
  // The decider may not have noted the latest status change in the service yet.
  await noteExternal(tx, { rules, mode, now }, orderDeliveryId);
  const entry = await entryById(tx, entryId);
  if (entry?.state !== 'waiting') return undefined;
  const { ruleSet } = rules;
  const { settings, rules: read } = ruleSet;
  const subject = await readSubject(tx, orderDeliveryId, { now, settings, rules: read });
  if (!subject) {
    const detail = 'the delivery is gone from the mirror';
    await endEntry(tx, orderDeliveryId, { state: 'withdrawn', by: 'daemon', detail, at: now });
    return undefined;
  }
  const asked = await askRules(tx, { rules, mode, now }, subject);
  const judged = { rules, mode, subject, ...asked, at: now };
  const rule = ruleSet.rules.find(({ id }) => id === entry.ruleId);
  const { freshness } = deps;
  const inspection = { ...judged, now, ruleSet, rule, entry, freshness };
  const stop = unreadable ?? (await firstObjection(tx, inspection));
  return stop ? stopAt(tx, entry, judged, stop) : push(tx, entry, judged);
}

/** Looks the delivery up at the service; gives an objection to the reject when that fails. */
async function lookUp(
  deps: RejectDeps,
  { orderId, orderDeliveryId }: RejectEntry,
  signal: AbortSignal,
): Promise<Objection | undefined> {
  const safeguard = 're-read';
  try {
    const found = await deps.readDelivery(orderId, orderDeliveryId, signal);
    const detail = 'the service does not know it any more';
    return found === undefined ? { safeguard, detail, next: 'decide-again' } : undefined;
  } catch (thrown) {
    if (isStoreUnusable(thrown) || signal.aborted) throw thrown;
    const detail = `the service cannot be asked: ${toError(thrown).message}`;
    return { safeguard, detail, next: 'wait' };
  }
}

async function carryOut(deps: RejectDeps, entry: RejectEntry, signal: AbortSignal): Promise<void> {
  const unreadable = await lookUp(deps, entry, signal);
  const step = await deps.store.transaction((tx) => decide(deps, tx, entry, unreadable));
  if (!step) return;
  const { orderDeliveryId: delivery, ruleId: rule } = entry;
  if (step === 'pushed') {
    deps.log.warn({ delivery, rule }, `delivery ${delivery}: its grace is over, it is rejected`);
    deps.onPush();
    return;
  }
  const { safeguard, detail, next } = step;
  const text = `delivery ${delivery}: not rejected, safeguard ${safeguard}`;
  if (next === 'trip') deps.log.error({ delivery, rule, detail }, `${text}; the breaker tripped`);
  else if (entry.safeguard !== safeguard) deps.log.warn({ delivery, rule, detail }, text);
  deps.onDecided();
}

const ARMING_ENDS = 'arming_ends';

/** Opens an incident for each arming that ends soon; it ends once the rule is armed for longer. */
async function warnOfEnds({ store, clock, log }: RejectDeps): Promise<void> {
  const now = clock.now();
  const wanted = (await endingArmings(store.db, now)).map(({ ruleId, expiresAt }) => {
    const detail = { rule: ruleId, ends: new Date(expiresAt).toISOString() };
    return { kind: ARMING_ENDS, entity: 'rule', key: ruleId, detail };
  });
  const { opened } = await reconcileIncidents(store.db, [ARMING_ENDS], wanted, now);
  for (const { detail } of opened) log.warn(detail, 'a reject rule is armed for a few days more');
}

async function disarm(deps: RejectDeps): Promise<void> {
  const { log, rules, onDecided } = deps;
  await warnOfEnds(deps);
  const disarmed = await disarmExpired(deps, rules().ruleSet);
  if (disarmed.length === 0) return;
  log.warn({ disarmed }, 'the time that rules were armed for is over');
  onDecided();
}

async function recall({ store, clock, rules }: RejectDeps): Promise<void> {
  // Usually no push has ended, and a transaction would make other writers wait.
  if (!(await hasPushed(store.db))) return;
  await store.transaction(async (tx) => {
    await finishPushedRejects(tx, clock.now());
    await cancelDisallowedRejects(tx, rules().ruleSet, clock.now());
  });
}

export function createRejectExecutor(deps: RejectDeps): RejectExecutor {
  const { store, clock } = deps;
  let wake = new AbortController();
  return {
    name: 'rejects',
    wake: () => wake.abort(),
    recall: () => recall(deps),
    async run(signal) {
      while (!signal.aborted) {
        wake = new AbortController();
        await disarm(deps);
        await recall(deps);
        const waiting = await waitingEntries(store.db);
        const now = clock.now();
        for (const entry of waiting.filter(({ dueAt }) => dueAt <= now)) {
          if (signal.aborted) return;
          await carryOut(deps, entry, signal);
          await nextTurn();
        }
        const [first] = await waitingEntries(store.db);
        const due = first?.dueAt ?? Number.POSITIVE_INFINITY;
        const wait = Math.max(1, Math.min(SLEEP_MS_MAX, due - clock.now()));
        await clock.sleep(wait, AbortSignal.any([signal, wake.signal])).catch(() => undefined);
      }
    },
  };
}
