/** A dispatcher on a real database and a stepped clock; the service is a scripted one. */

import { onTestFinished } from 'vitest';
import { OUTBOX_KINDS } from '../../src/config/words.ts';
import { type Clock, type ManualClock, manualClock } from '../../src/lib/clock.ts';
import { InDoubtError } from '../../src/lib/errors.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { type Logger, silentLogger } from '../../src/lib/log.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { createDispatcher, type Dispatcher } from '../../src/outbox/dispatcher.ts';
import {
  type DocumentIntent,
  enqueueDeliveryStatus,
  enqueueDocument,
} from '../../src/outbox/enqueue.ts';
import type { Search } from '../../src/outbox/evidence/find-order.ts';
import {
  clearByLookup,
  type LookupResult,
  type OutboxItem,
  type OutboxKind,
  type SendCall,
} from '../../src/outbox/item.ts';
import { createOutboxReview, type ReviewDeps } from '../../src/outbox/review/operations.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { guardClock } from '../support/clock-guard.ts';
import { temporaryStore } from '../support/store.ts';

export const YES: LookupResult = { outcome: 'matched', detail: {} };
export const NO: LookupResult = { outcome: 'not_found', detail: {} };
export const OVERTAKEN: LookupResult = {
  outcome: 'superseded',
  reason: 'decided elsewhere',
  detail: {},
};

/** Ends a sending as if nobody had answered. */
export function lost(): never {
  throw new InDoubtError('transport.in_doubt', 'reset');
}

/** Until the daemon stops. */
export function unanswered({ signal }: Pick<SendCall, 'signal'>): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new InDoubtError('cut', 'cut off')));
  });
}

const QUIET_MS = 720_000;

const LIMITS = {
  concurrency: 4,
  attemptsMax: 5,
  retryMsMin: 1_000,
  lookups: 4,
  retryMsMax: 60_000,
  reviewAfterMs: 86_400_000,
  lookupMs: 60_000,
  idleMsMax: 30_000,
};

/** Behaviour of the other side; a test replaces the part that it is about. */
interface Script {
  lookUp(item: OutboxItem): Promise<LookupResult> | LookupResult;
  send(item: OutboxItem, call: SendCall): Promise<JsonObject> | JsonObject;
}

export interface Bench {
  readonly clock: ManualClock;
  readonly store: SqliteStore;
  readonly script: Script;
  readonly looks: number[];
  readonly sends: number[];
  /** How often the dispatcher went to sleep: more than it has reasons for is a busy loop. */
  sleeps(): number;
  /** Ends as the dispatcher reported them, `1 confirmed`. */
  readonly ends: string[];
  /** Other states as the dispatcher reported them, `1 sent`. */
  readonly moves: string[];
  readonly limits: {
    concurrency: number;
    attemptsMax: number;
    reviewAfterMs: number;
    idleMsMax: number;
  };
  paused: boolean;
  /** Whether each sending makes something new. */
  creates: boolean;
  /** Whether a 409 is the last word. */
  conflictEnds: boolean;
  log: Logger;
  /** Puts a push of a delivery into the outbox. */
  add(orderDeliveryId: number, decisionId?: number): Promise<number>;
  /** Puts a document into it, or a correction. */
  put(intent: Pick<DocumentIntent, 'kind' | 'reference' | 'document'>): Promise<number>;
  /** Puts a document of another kind into it. */
  addStyle(reference: string): Promise<number>;
  /** Puts an order into it. */
  addOrder(reference: string): Promise<number>;
  /** Starts a dispatcher, as a new process would; stops it again. */
  start(): {
    readonly dispatcher: Dispatcher;
    readonly processStartedAt: () => number;
    stop(): Promise<void>;
    done: Promise<void>;
  };
  row(outboxId: number): ReturnType<typeof readRow>;
  attempts(outboxId: number): Promise<(string | null)[]>;
}

async function readRow(store: SqliteStore, outboxId: number) {
  return store.db
    .selectFrom('outbox')
    .selectAll()
    .where('outbox_id', '=', outboxId)
    .executeTakeFirstOrThrow();
}

function kindOf(
  bench: Pick<Bench, 'script' | 'looks' | 'sends' | 'creates' | 'conflictEnds'>,
): OutboxKind {
  const lookUp: OutboxKind['lookUp'] = async (item) => {
    bench.looks.push(item.outboxId);
    return bench.script.lookUp(item);
  };
  return {
    kind: 'delivery_status',
    creates: () => bench.creates,
    ...(bench.conflictEnds ? { conflictEnds: true } : {}),
    clear: (item, signal) => clearByLookup(lookUp, item, signal),
    lookUp,
    async send(item, call) {
      bench.sends.push(item.outboxId);
      return bench.script.send(item, call);
    },
  };
}

export async function createBench(): Promise<Bench> {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  let sleeps = 0;
  let isPaused = false;
  let pauses = 0;
  const counted: Clock = {
    ...clock,
    sleep: (ms, signal) => {
      sleeps += 1;
      return clock.sleep(ms, signal);
    },
  };
  const add = (intent: Pick<DocumentIntent, 'kind' | 'reference' | 'document'>) =>
    store.transaction(async (tx) => {
      const enqueued = await enqueueDocument(tx, { ...intent, cause: 'test' }, clock.now());
      return 'outboxId' in enqueued ? enqueued.outboxId : 0;
    });
  const bench: Bench = {
    ...{ clock, store, looks: [], sends: [], ends: [], moves: [] },
    get paused() {
      return isPaused;
    },
    set paused(next) {
      isPaused = next;
      if (next) pauses += 1;
    },
    ...{ creates: false, conflictEnds: false, log: silentLogger() },
    limits: {
      concurrency: LIMITS.concurrency,
      attemptsMax: LIMITS.attemptsMax,
      reviewAfterMs: LIMITS.reviewAfterMs,
      idleMsMax: LIMITS.idleMsMax,
    },
    sleeps: () => sleeps,
    script: { lookUp: () => NO, send: () => ({ status: 'accepted' }) },
    add: (orderDeliveryId, decisionId = orderDeliveryId) =>
      store.transaction((tx) => {
        const change = { orderId: 1, orderDeliveryId, from: 'pending', decisionId } as const;
        return enqueueDeliveryStatus(tx, { ...change, to: 'accepted' }, clock.now());
      }),
    put: add,
    addStyle: (reference) => add({ kind: 'style', reference, document: { styleId: '1' } }),
    addOrder: (reference) => {
      const lines = [{ barcode: 'b', quantity: 1, price: '12.50' }];
      return add({ kind: 'order', reference, document: { lines } });
    },
    start() {
      const guard = guardClock(store, clock);
      const { watchedSince: processStartedAt } = guard;
      const look = () => ({ pauses: [], reason: () => undefined, mark: String(pauses) });
      const dispatcher = createDispatcher({
        store,
        clock: { ...guard.clock, sleep: counted.sleep },
        random: seededRandom(3),
        log: bench.log,
        kinds: OUTBOX_KINDS.map((kind) => {
          return { ...kindOf(bench), kind };
        }),
        limits: { ...LIMITS, ...bench.limits },
        ...{ reconcileAfterMs: QUIET_MS, processStartedAt },
        pauses: { look, followFiles: async () => look() },
        pausedReason: () => (isPaused ? 'paused' : undefined),
        dryRun: false,
        onMoved: (item, state) => bench.moves.push(`${item.outboxId} ${state}`),
        onEnded: (item, state) => bench.ends.push(`${item.outboxId} ${state}`),
      });
      const stop = new AbortController();
      const done = guard.run(stop.signal, () => dispatcher.run(stop.signal));
      const close = async (): Promise<void> => {
        stop.abort();
        await done.catch(() => undefined);
      };
      onTestFinished(close);
      return { dispatcher, processStartedAt, stop: close, done };
    },
    row: (outboxId) => readRow(store, outboxId),
    async attempts(outboxId) {
      const rows = await store.db
        .selectFrom('outbox_attempt')
        .select('class')
        .where('outbox_id', '=', outboxId)
        .orderBy('attempt')
        .execute();
      return rows.map((row) => row.class);
    },
  };
  return bench;
}

/** A person's review of a daemon that has run for long; nobody hears of it. */
export function reviewOf(
  bench: Pick<ReviewDeps, 'store' | 'clock'>,
  more: Partial<ReviewDeps> = {},
) {
  const { store, clock } = bench;
  const deaf = { wakeUp: () => undefined, onMoved: () => undefined };
  return createOutboxReview({
    ...{
      store,
      clock,
      reconcileAfterMs: QUIET_MS,
      processStartedAt: () => 0,
      confirm: async () => ({}),
    },
    ...{ ...deaf, ...more },
  });
}

/** A search for this very reference. */
export function searchFor(reference: string): Search {
  const isIt = (shown: string | null | undefined) =>
    shown?.toLowerCase() === reference.toLowerCase();
  return {
    wants: (order) => isIt(order.reference),
    mayBe: (shown) => shown === undefined || isIt(shown),
  };
}

/** Lists incidents that have not ended, oldest first. */
export function openIncidents({ db }: SqliteStore): Promise<{ kind: string; key: string }[]> {
  return db
    .selectFrom('incident')
    .select(['kind', 'key'])
    .where('resolved_at', 'is', null)
    .orderBy('id')
    .execute();
}

/** Orders of the service's history, as a pull has brought them. */
export async function mirrorOrders(
  { db }: SqliteStore,
  orders: readonly { readonly orderId: number; readonly reference: string }[],
  seenAt = 0,
): Promise<void> {
  const rows = orders.map(({ orderId, reference }) => ({
    ...{ order_id: orderId, reference, status: 'pending', completed: 0, order_no: null },
    ...{ comment: null, created_at: null, currency: null, season_name: null },
    ...{ country_code: null, company: null, account_no: null, shipping_address: '{}' },
    ...{ freight_type: null, freight_amount: null, extra: '{}', content_hash: '' },
    ...{ first_seen_at: seenAt, changed_at: 0, deleted_at: null, read_seq: 0, source: 'test' },
  }));
  await db.insertInto('sales_order').values(rows).execute();
}

interface Before {
  /** Highest order before its first try; undefined: nothing was written down. */
  readonly max_order_id_before?: number | undefined;
  readonly count_before?: number | undefined;
  /** Ids that a person has disowned. */
  readonly notOurs: readonly number[];
}

/** The first row of the outbox was tried, nobody knows how it ended, and a person has looked. */
export async function triedBefore({ db }: SqliteStore, before: Before): Promise<void> {
  const { max_order_id_before = null, count_before = null, notOurs } = before;
  if (max_order_id_before !== null || count_before !== null) {
    await db
      .insertInto('outbox_attempt')
      .values({
        ...{ outbox_id: 1, attempt: 1, started_at: 0, ended_at: 0, class: 'ambiguous' },
        ...{ http_status: null, error_code: null, answer: null },
        ...{ max_order_id_before, count_before },
      })
      .execute();
  }
  await db
    .insertInto('outbox_evidence')
    .values({
      ...{ outbox_id: 1, at: 0, source: 'person', outcome: 'not_found', complete: 1 },
      detail: JSON.stringify({ notOurs }),
    })
    .execute();
}

/** No order was read a moment ago: what is sent is looked at before. */
export const NO_RECENT_READS = {
  recentReads: { ageOf: () => Number.POSITIVE_INFINITY },
  isInForce: () => true,
};

/** The call of a sending whose answer shows nothing. */
export function sendCall(signal: AbortSignal, more: Partial<SendCall> = {}): SendCall {
  const nothing = (): void => undefined;
  return {
    signal,
    onStatus: nothing,
    beforeSend: nothing,
    isByRecentRead: false,
    sentFor: () => ({ outboxId: 1, attempt: 1, kind: 'order', reference: 'A', bodyHash: '' }),
    alsoWrite: nothing,
    ...more,
  };
}
