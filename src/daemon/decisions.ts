/** Builds the decisions from the configuration: decider, rejects, review, rules. */
import type { Config } from '../config/schema.ts';
import { createDecider, type Decider } from '../decisions/decider.ts';
import type { Decided, DecisionMode } from '../decisions/judgement.ts';
import { createRejectOperations } from '../decisions/reject/arm.ts';
import { createRejectExecutor } from '../decisions/reject/executor.ts';
import type { RuleOperations } from '../decisions/reject/surface.ts';
import { createReview, type Review } from '../decisions/review/review.ts';
import { heldUnarmed } from '../decisions/simulation/not-armed.ts';
import type { Logger } from '../lib/log.ts';
import { freshnessOf } from '../ops/status.ts';
import { DELIVERY_STATUS_KIND } from '../outbox/enqueue.ts';
import type { AlsoConfirm } from '../outbox/item.ts';
import { createDeliveryReader, targetOf } from '../outbox/kinds/delivery-status.ts';
import type { RuleSet } from '../rules/rule.ts';
import type { Pauses } from '../store/pauses.ts';
import type { Store } from '../store/store.ts';
import type { ReadOrder } from '../sync/read-order.ts';
import type { RulesInForce } from './rules/reload.ts';
import type { Pulse, Worker } from './supervisor.ts';

export interface DecisionsDeps {
  readonly pauses: Pick<Pauses, 'reason'>;
  readonly store: Store;
  readonly pulse: Pulse;
  readonly log: Logger;
  readonly rules: RulesInForce;
  readonly readOrder: ReadOrder;
  readonly onDecided: (decided: Decided) => void;
  readonly onPush: () => void;
}

interface EndedPush {
  readonly orderDeliveryId: number;
  readonly status: string;
  readonly state: string;
}

export interface Decisions {
  readonly workers: readonly Worker[];
  readonly review: Review;
  readonly ruleOperations: RuleOperations;
  /** Makes decider and rejects look for all that is due: rules, people or a pause have changed. */
  wakeUp(): void;
  /** Decides deliveries at once whose content, status or order has changed. */
  decideNow: Decider['decideNow'];
  runEnded: Decider['runEnded'];
  /** Decides the delivery again, or ends its reject: its push has ended. */
  pushEnded(push: EndedPush): void;
  readonly alsoConfirm: AlsoConfirm;
  /** Reloads the rules and the configuration, and takes unsent decisions back. */
  readonly reload: RuleOperations['reload'];
}

export function createDecisions(config: Config, deps: DecisionsDeps): Decisions {
  const { store, pulse, onPush, pauses } = deps;
  const { current: rules } = deps.rules;
  const mode = () => (pauses.reason('decisions') === undefined ? deps.rules.mode() : 'paused');
  const log = deps.log.child({ room: 'decisions' });
  const clock = pulse.clockOf('decisions');
  const freshness = freshnessOf(config);
  const decider = createDecider({
    store,
    clock,
    log,
    rules,
    mode,
    onPush,
    freshness,
    settleMs: config.decisions.settle,
    reconsiderMs: config.decisions.reconsider,
    onDecided(decided) {
      if (decided.rejectAt !== undefined) rejects.wake();
      deps.onDecided(decided);
    },
  });
  const rejects = createRejectExecutor({
    store,
    log,
    rules,
    mode,
    onPush,
    freshness,
    clock: pulse.clockOf('rejects'),
    readDelivery: createDeliveryReader(deps, 'reject'),
    onDecided: decider.wake,
  });
  const wakeUp = (): void => {
    decider.wake();
    rejects.wake();
  };
  const review = createReview({ store, clock, rules, onPush, onReviewed: wakeUp });
  /** Counts what reject rules hold, or would, that are not armed. */
  const notArmed = (most: DecisionMode, { ruleSet }: { readonly ruleSet: RuleSet }) =>
    most === 'live'
      ? heldUnarmed(store, ruleSet, clock.now())
      : Promise.resolve({ rules: [], deliveries: 0 });
  const reload: RuleOperations['reload'] = async (who, agreed) => {
    const reloaded = await deps.rules.reload(who, agreed);
    // Unsent decisions are canceled before the reload is answered: a person who reads that rules
    // only observe from now on must not see one leave afterwards.
    await decider.recall();
    await rejects.recall();
    wakeUp();
    return { ...reloaded, notArmed: await notArmed(reloaded.mode.to, rules()) };
  };
  const preview: RuleOperations['preview'] = async () => {
    const { ruleSet, ...previewed } = await deps.rules.preview();
    return { ...previewed, notArmed: await notArmed(previewed.mode.to, { ruleSet }) };
  };
  const ruleSet = () => rules().ruleSet;
  const operations = createRejectOperations({ store, clock, ruleSet, onChanged: wakeUp });
  return {
    workers: [decider, rejects, deps.rules.listReader(wakeUp)],
    review,
    ruleOperations: { rejects: operations, preview, reload },
    wakeUp,
    decideNow: decider.decideNow,
    runEnded: decider.runEnded,
    async alsoConfirm(tx, item, onCommit) {
      if (item.kind !== DELIVERY_STATUS_KIND) return;
      const { orderDeliveryId, status } = targetOf(item);
      if (status === 'accepted') await decider.noteAccepted(tx, orderDeliveryId, onCommit);
    },
    pushEnded({ orderDeliveryId, status, state }) {
      // A confirmed accept was noted with its end.
      if (status === 'accepted' && state === 'confirmed') return;
      decider.decideNow([orderDeliveryId]);
      if (status === 'rejected') rejects.wake();
    },
    reload,
  };
}
