/** A decider on a real database and a stepped clock; tests write the mirror as the pulls do. */
import { onTestFinished } from 'vitest';
import { createDecider, type Decider, type DeciderDeps } from '../../src/decisions/decider.ts';
import type { DecisionMode } from '../../src/decisions/judgement.ts';
import { createReview } from '../../src/decisions/review/review.ts';
import type { LoadedRuleSet } from '../../src/decisions/rule-files.ts';
import {
  type Prospect,
  type QueueOptions,
  tryQueue,
} from '../../src/decisions/simulation/queue.ts';
import { type ManualClock, manualClock, untilAborted } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { STOCK_VARIANT } from '../../src/mirror/catalog/variant.ts';
import { upsertRows } from '../../src/mirror/entity.ts';
import { type ErpCustomerRow, writeErpCustomers } from '../../src/mirror/erp-customer.ts';
import { writeDeliveries, writeOrders } from '../../src/mirror/sales-order.ts';
import { endAttempt, markSending, waitingFor } from '../../src/outbox/queue.ts';
import type { Pauses } from '../../src/store/pauses.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { rulesOf } from '../rules/support.ts';
import { guardClock } from '../support/clock-guard.ts';
import { temporaryStore } from '../support/store.ts';

const YEAR_MS = 365 * 86_400_000;

export const ACCEPT_SMALL = `
rules:
  - id: accept-small
    title: Small deliveries
    action: accept
    mode: live
    when:
      - delivery.quantity <= 20
  - id: hold-large
    title: Large deliveries
    action: hold
    mode: live
    when:
      - delivery.quantity > 20
    message: '{{delivery.quantity}} pieces'
`;

/** Accepts what is in stock and holds the rest. */
export const ACCEPT_COVERED = `
rules:
  - id: accept-covered
    title: In stock
    action: accept
    mode: live
    when:
      - delivery.lines.all(line, line.stock_free >= line.quantity)
  - id: hold-short
    title: Not in stock
    action: hold
    mode: live
    when:
      - delivery.lines.exists(line, line.stock_free < line.quantity)
`;

export function loadedRules(text: string, settings?: string): LoadedRuleSet {
  const more = settings === undefined ? [] : [{ path: 'settings.yaml', text: settings }];
  return { ruleSet: rulesOf(text, settings), files: [{ path: 'r.yaml', text }, ...more] };
}

interface DeliveryInput {
  readonly id: number;
  readonly order?: number;
  readonly status?: string;
  /** Barcodes with their pieces. */
  readonly lines?: readonly (readonly [string, number])[];
  readonly more?: Readonly<Record<string, unknown>>;
}

interface DecideParts extends Partial<Omit<DeciderDeps, 'mode'>> {
  readonly mode?: DecisionMode;
  /** They may be paused, whatever the mode. */
  readonly pauses?: Pick<Pauses, 'reason' | 'followFiles'>;
}

export interface DeciderFixture {
  readonly clock: ManualClock;
  readonly store: SqliteStore;
  /** The service told us about an order. */
  order(id: number, more?: Readonly<Record<string, unknown>>): Promise<void>;
  /** The service told us about a delivery; its order comes with it unless it is known. */
  delivery(input: DeliveryInput): Promise<void>;
  /** A complete stock pull that started now; more members of its rows by barcode. */
  stock(
    levels: Readonly<Record<string, number>>,
    more?: Readonly<Record<string, object>>,
  ): Promise<void>;
  /** These streams were pulled completely now. */
  complete(...streams: string[]): Promise<void>;
  /** The ERP told us about customer C-1, or another one. */
  customer(row?: Partial<ErpCustomerRow>): Promise<void>;
  /** By small deliveries being accepted, live and at once, unless it is told otherwise. */
  decider(parts?: Partial<DeciderDeps>): Decider;
  /** Runs a decider until nothing is due; gives what it decided, `7 accept`. */
  decide(parts?: DecideParts): Promise<string[]>;
  /** Tells what would become of pending deliveries, the oldest first. */
  tried(options: Tried): Promise<readonly Prospect[]>;
  decisions(): Promise<
    { readonly id: number; readonly outcome: string; readonly trigger: string }[]
  >;
  pushes(): Promise<string[]>;
  /** The outbox has ended what is in it. */
  endPush(state: 'confirmed' | 'refused', how: { readonly answered: boolean }): Promise<void>;
}

/** Milliseconds that the streams may be old, unless a test tells otherwise. */
export const FRESHNESS = { stock: YEAR_MS, season: YEAR_MS, styles: YEAR_MS, seasons: YEAR_MS };

type Tried = Omit<QueueOptions, 'freshness'> & Partial<Pick<QueueOptions, 'freshness'>>;

function orderRecord(orderId: number, more: Readonly<Record<string, unknown>> = {}) {
  return {
    orderId,
    reference: `PO-${orderId}`,
    orderNo: `SO-${orderId}`,
    status: 'pending',
    completed: false,
    createdAt: '2026-01-05T08:00:00Z',
    currency: 'DKK',
    orderLineItems: [{ barcode: 'a', quantity: 10, price: 100 }],
    ...more,
  };
}

/**
 * @param clock that of another fixture, when two are told the same at the same time.
 * @param given its database, when it is there already.
 */
export async function createDeciderFixture(
  clock: ManualClock = manualClock(),
  given?: SqliteStore,
): Promise<DeciderFixture> {
  const store = given ?? (await temporaryStore(clock));
  let seq = 0;
  const now = () => {
    seq += 1;
    return { source: `run:${seq}`, readSeq: seq, at: clock.now() };
  };
  const order: DeciderFixture['order'] = async (id, more) => {
    await store.transaction((tx) => writeOrders(tx, [orderRecord(id, more)], now()));
  };
  const complete: DeciderFixture['complete'] = async (...streams) => {
    const state = { complete_at: clock.now(), due_at: clock.now() };
    const rest = { last_run_id: null, complete_rows: 1, last_error: null };
    await store.db
      .insertInto('stream_state')
      .values(streams.map((stream) => ({ stream, ...state, ...rest })))
      .onConflict((conflict) => conflict.column('stream').doUpdateSet(state))
      .execute();
  };
  const decider: DeciderFixture['decider'] = (parts) => {
    const rules = loadedRules(ACCEPT_SMALL);
    const nothing = () => undefined;
    return createDecider({
      ...{ store, clock, log: silentLogger(), settleMs: 0, reconsiderMs: 900_000 },
      freshness: FRESHNESS,
      ...{ rules: () => rules, mode: () => 'live' },
      ...{ onDecided: nothing, onPush: nothing, ...parts },
    });
  };
  return {
    ...{ clock, store, order, complete },
    async delivery({ id, order: orderId = 1, status = 'pending', lines = [['a', 2]], more }) {
      const known = await store.db
        .selectFrom('sales_order')
        .select('order_id')
        .where('order_id', '=', orderId)
        .executeTakeFirst();
      if (!known) await order(orderId);
      const fulfilledLineItems = lines.map(([barcode, fulfilledQuantity]) => ({
        ...{ barcode, fulfilledQuantity, price: 100 },
      }));
      const record = { orderDeliveryId: id, orderId, status, fulfilledLineItems, ...more };
      await store.transaction((tx) => writeDeliveries(tx, [record], now()));
    },
    async stock(levels, more = {}) {
      const records = Object.entries(levels).map(([barcode, quantity]) => ({
        ...{ barcode, quantity },
        ...structuredClone(more[barcode]),
      }));
      const rows = records.map(STOCK_VARIANT.toRow);
      await store.transaction((tx) => upsertRows(tx, STOCK_VARIANT, rows, now()));
      await complete('stock');
    },
    async customer(row) {
      const known = { accountNo: 'C-1', creditLimit: 1_000_0000, balance: 0, currency: 'DKK' };
      const rest = { overdueDays: 0, blocked: false, asOf: clock.now(), extra: {} };
      const rows = [{ ...known, ...rest, ...row }];
      await store.transaction((tx) => writeErpCustomers(tx, rows, clock.now()));
    },
    decider,
    async decide({ mode = 'live', pauses, ...parts } = {}) {
      await pauses?.followFiles();
      const decided: string[] = [];
      const worker = decider({
        mode: () => (pauses?.reason('decisions') === undefined ? mode : 'paused'),
        onDecided: ({ orderDeliveryId, outcome }) =>
          decided.push(`${orderDeliveryId} ${outcome.kind}`),
        ...parts,
      });
      const stop = new AbortController();
      const done = worker.run(stop.signal);
      const close = async (): Promise<void> => {
        stop.abort();
        await done.catch(() => undefined);
      };
      onTestFinished(close);
      for (let before = -1; before < decided.length; ) {
        before = decided.length;
        await clock.advance(0);
        await clock.advance(0);
      }
      stop.abort();
      await done;
      return decided;
    },
    async tried(options) {
      return (await tryQueue(store, clock.now(), { freshness: FRESHNESS, ...options })).prospects;
    },
    async decisions() {
      const rows = await store.db
        .selectFrom('decision')
        .select(['order_delivery_id as id', 'outcome', 'trigger'])
        .orderBy('decision_id')
        .execute();
      return rows;
    },
    async endPush(state, { answered }) {
      const result = answered ? '{}' : null;
      const change = { state, result, ended_at: clock.now() };
      await store.db.updateTable('outbox').set(change).where('ended_at', 'is', null).execute();
    },
    async pushes() {
      const rows = await store.db.selectFrom('outbox').select('reference').execute();
      return rows.map((row) => row.reference);
    },
  };
}

/** The push that is due is on its way; what is given puts it back as not taken by the service. */
export async function sendInVain({ store, clock }: DeciderFixture): Promise<() => Promise<void>> {
  const free = { busy: new Set<string>(), paused: new Map<string, string>() };
  const [item] = (await waitingFor(store.db, 'send', clock.now(), free)).due;
  if (!item) throw new Error('nothing is due');
  const at = { now: clock.now(), isPaused: () => false };
  await markSending(store, item, { send: true, baseline: {}, warnings: [] }, at);
  return async () => {
    const answer = { httpStatus: 503, errorCode: 'service.busy', answer: 'busy', problems: [] };
    const end = { attempt: 1, class: 'not_processed', ...answer } as const;
    await endAttempt(store, item, end, clock.now(), clock.now());
  };
}

/** A person accepts this delivery, which is not decided yet or held. */
export async function acceptByHand(
  { store, clock }: Pick<DeciderFixture, 'store' | 'clock'>,
  id: number,
) {
  const rules = loadedRules(ACCEPT_SMALL);
  const nothing = () => undefined;
  const told = { onPush: nothing, onReviewed: nothing };
  const review = createReview({ store, clock, rules: () => rules, ...told });
  const said = { actor: 'ada', reason: 'agreed by phone' };
  return review.act({ ...said, action: 'accept', delivery: String(id) });
}

/** The journal, `external accept`, from the first entry on. */
export async function journal({ store }: DeciderFixture): Promise<string[]> {
  const rows = await store.db
    .selectFrom('decision')
    .select(['actor', 'outcome'])
    .orderBy('decision_id')
    .execute();
  return rows.map(({ actor, outcome }) => `${actor} ${outcome}`);
}

/** Watches the clock as a daemon does; what it gives stops it. */
export async function watch({
  store,
  clock,
}: Pick<DeciderFixture, 'store' | 'clock'>): Promise<() => Promise<void>> {
  const guard = guardClock(store, clock);
  const stop = new AbortController();
  const done = guard.run(stop.signal, () => untilAborted(stop.signal));
  const close = async (): Promise<void> => {
    stop.abort();
    await done;
  };
  onTestFinished(close);
  await clock.advance(0);
  return close;
}
