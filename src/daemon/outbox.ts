/** Builds the outbox from the configuration: kinds of documents, dispatcher, review, watch. */
import type { CallOptions } from '../client/calls.ts';
import type { Listing } from '../client/v1/calls.ts';
import type { Config } from '../config/schema.ts';
import type { PushKind } from '../config/words.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Random } from '../lib/random.ts';
import type { RecentReads } from '../mirror/refetch-queue.ts';
import { createDispatcher, reasonsOf, troublesFor } from '../outbox/dispatcher.ts';
import { createOrderFinder } from '../outbox/evidence/find-order.ts';
import type { AlsoConfirm, OutboxItem, OutboxKind } from '../outbox/item.ts';
import {
  createDeliveryStatusApi,
  createDeliveryStatusKind,
} from '../outbox/kinds/delivery-status.ts';
import { createNewestOrders, createOrderKind, type OrderKindDeps } from '../outbox/kinds/order.ts';
import { createPendingRefundKind } from '../outbox/kinds/pending-refund.ts';
import { createRefundStatusKind } from '../outbox/kinds/refund-status.ts';
import { createStyleKind } from '../outbox/kinds/style.ts';
import { createArticles, createShortLists } from '../outbox/preflight/ask-service.ts';
import { createOrderCheck, type OrderCheck } from '../outbox/preflight/check-order.ts';
import { createPreOrderNames } from '../outbox/preflight/pre-order-names.ts';
import { createConfirmation } from '../outbox/review/confirmation.ts';
import { createOutboxReview, type OutboxReview } from '../outbox/review/operations.ts';
import { createAccountWatch } from '../outbox/watch/account-watch.ts';
import { createOrderedStock } from '../outbox/watch/ordered-stock.ts';
import { createWatch } from '../outbox/watch/watch.ts';
import type { Pauses } from '../store/pauses.ts';
import type { SpaceWatch } from '../store/space.ts';
import type { ReadSequence } from '../store/state.ts';
import type { Store } from '../store/store.ts';
import type { LevelWatch } from '../sync/account-traits.ts';
import type { ReadDelivery, ReadOrder } from '../sync/read-order.ts';
import type { RulesInForce } from './decisions.ts';
import type { Service } from './service.ts';
import type { Sending } from './standby/parts.ts';
import type { Worker } from './supervisor.ts';

export interface OutboxDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Clock of the dispatcher's loop, whose use shows that the loop makes progress. */
  readonly dispatcherClock: Clock;
  /** Epoch ms since when no jump of the clock was seen: {@link ClockGuard.watchedSince}. */
  readonly watchedSince: () => number;
  readonly random: Random;
  readonly log: Logger;
  readonly service: Service;
  readonly levels: LevelWatch;
  /** Reads the seasons in the way in which the account lists them. */
  readonly seasons: (call: CallOptions) => Promise<Listing<unknown>>;
  readonly sequence: ReadSequence;
  readonly readOrder: ReadOrder;
  readonly readDelivery: ReadDelivery;
  readonly recentReads: Pick<RecentReads, 'ageOf'>;
  readonly rules: Pick<RulesInForce, 'isInForce'>;
  readonly space: Pick<SpaceWatch, 'allows'>;
  readonly pauses: Pauses;
  /** Has a stream pulled soon, unless it just was. */
  readonly requestRun: (stream: string) => Promise<void>;
  readonly alsoConfirm?: AlsoConfirm;
  /** Whether this machine may send; left out: there is no standby. */
  readonly sending?: Sending | undefined;
  readonly onEnded: (item: OutboxItem, state: string) => void;
}

export interface Outbox {
  readonly workers: readonly Worker[];
  readonly review: OutboxReview;
  readonly kinds: readonly OutboxKind[];
  /** Makes the dispatcher look at once: a push was added, or pushes are held no more. */
  wakeUp(): void;
  /** Tells the outbox that a pull has read orders. */
  onOrdersRead(): void;
  /** Tells the outbox that the mirror has a fresh read of this order, after an event or a sweep. */
  onOrderRead(orderId: number): void;
}

const IDLE_MS_MAX = 30_000;
/** Most unknown outcomes to look up together, in one walk over the orders. */
const LOOKUPS = 200;

type Settings = Pick<Config, 'intake' | 'outbox' | 'service' | 'streams'>;

function createCheck(
  { intake: { priceFactor }, outbox, service, streams }: Settings,
  { store, clock, sequence, service: { v1 }, seasons, requestRun }: OutboxDeps,
): OrderCheck {
  const { detailed, detailedPricing, includeVariantsOnOrder } = streams.stock;
  const levels = {
    stock: { detailed, detailedPricing, includeVariantsOnOrder },
    season: {
      detailed: streams.season.detailed,
      detailedPricing: streams.season.detailedPricing,
    },
  };
  return createOrderCheck({
    store,
    rules: { freight: outbox.freight, level: service.dialect.v1.level, clock, priceFactor },
    articles: createArticles({ store, clock, v1, sequence, levels, requestRun }),
    shortLists: createShortLists({
      store,
      clock,
      read: (name, call) => (name === 'seasons' ? seasons(call) : v1.shortList(name, call)),
      sequence,
    }),
  });
}

function createKinds(
  { intake, outbox, service, streams }: Settings,
  deps: OutboxDeps,
  ordering: Pick<OrderKindDeps, 'onOrdered' | 'processStartedAt'>,
): OutboxKind[] {
  const { store, clock, readOrder, levels } = deps;
  const { v1, v2 } = deps.service;
  const { freightSpelling, preOrderNames: names } = service.dialect.v1;
  const account = service.v1.baseUrl;
  const limits = { refundsUpTo: outbox.refundsUpTo, priceFactor: intake.priceFactor };
  const kinds: Readonly<Record<PushKind, OutboxKind>> = {
    delivery_status: createDeliveryStatusKind(createDeliveryStatusApi(deps), {
      store,
      clock,
      recentReads: deps.recentReads,
      isInForce: deps.rules.isInForce,
      dryRun: outbox.dryRun,
    }),
    order: createOrderKind({
      ...ordering,
      store,
      clock,
      v1,
      readOrder,
      finder: createOrderFinder(v1),
      newest: createNewestOrders({ v1, clock }),
      freightSpelling,
      preOrderNames: createPreOrderNames({ store, clock, v1, freightSpelling, names, account }),
      level: service.dialect.v1.level,
      check: createCheck({ intake, outbox, service, streams }, deps),
    }),
    pending_refund: createPendingRefundKind({ store, v1, readOrder, levels, ...limits }),
    refund_status: createRefundStatusKind({ v1, readOrder, levels }),
    style: createStyleKind({ v2, enabled: outbox.styles, store, clock, sequence: deps.sequence }),
  };
  return Object.values(kinds);
}

/** Milliseconds after which a waiting push opens an incident; it goes on waiting. */
const ALERT_AFTER_MS = 3_600_000;

/** Milliseconds after which an unconfirmed pending refund opens an incident. */
const REFUND_ALERT_AFTER_MS = 2 * 86_400_000;

export function createOutbox(config: Config, deps: OutboxDeps): Outbox {
  const { store, clock, random, sequence, service, readOrder, onEnded, pauses } = deps;
  const { outbox } = config;
  const log = deps.log.child({ room: 'outbox' });
  const processStartedAt = deps.watchedSince;
  const settlement = { reconcileAfterMs: outbox.quietTime, processStartedAt };
  const { detailed, detailedPricing, includeVariantsOnOrder } = config.streams.stock;
  const level = { detailed, detailedPricing, includeVariantsOnOrder };
  const stock = createOrderedStock({ store, clock, log, v1: service.v1, sequence, level });
  const watch = createWatch({
    store,
    clock,
    log,
    limits: {
      alertAfterMs: ALERT_AFTER_MS,
      refundAlertAfterMs: REFUND_ALERT_AFTER_MS,
      auditEveryMs: outbox.auditEvery,
      reconcileAfterMs: outbox.quietTime,
    },
  });
  const kinds = createKinds(config, deps, { onOrdered: stock.add, processStartedAt });
  const dispatcher = createDispatcher({
    ...settlement,
    store,
    random,
    log,
    onEnded,
    ...(deps.alsoConfirm ? { alsoConfirm: deps.alsoConfirm } : {}),
    kinds,
    pauses,
    clock: deps.dispatcherClock,
    dryRun: outbox.dryRun,
    limits: {
      concurrency: config.service.limits.concurrency,
      lookups: LOOKUPS,
      attemptsMax: outbox.attemptsMax,
      retryMsMin: outbox.delayMin,
      retryMsMax: outbox.delayMax,
      reviewAfterMs: outbox.reviewAfter,
      lookupMs: outbox.lookEvery,
      idleMsMax: IDLE_MS_MAX,
    },
    pausedReason: reasonsOf(deps),
    onMoved: troublesFor(watch.wakeUp),
  });
  deps.sending?.onTurn(dispatcher.wakeUp);
  const review = createOutboxReview({
    ...settlement,
    store,
    clock,
    confirm: createConfirmation({ store, v1: service.v1, v2: service.v2, readOrder }),
    wakeUp: dispatcher.wakeUp,
    onMoved: watch.wakeUp,
  });
  const accountWatch = createAccountWatch({
    store,
    clock,
    log,
    readOrder,
    requestWalk: () => deps.requestRun('ordersFull'),
  });
  const stockWorker = config.streams.off.includes('stock') ? [] : [stock];
  return {
    workers: [dispatcher, watch, accountWatch, ...stockWorker],
    review,
    kinds,
    wakeUp: dispatcher.wakeUp,
    onOrdersRead: accountWatch.wakeUp,
    onOrderRead: dispatcher.onOrderRead,
  };
}
