/** Walks over the orders of a reference service, and the refetcher that reads what they ask for. */
import { onTestFinished } from 'vitest';
import { createOrderRefetcher, ORDER_REFETCHER_LIMITS } from '../../src/inbox/order-refetcher.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createOrderLooks } from '../../src/sync/order-looks.ts';
import { createOrderReader } from '../../src/sync/read-order.ts';
import { createOrdersStream, type OrdersDeps } from '../../src/sync/streams/orders.ts';
import { testLogger } from '../support/house.ts';
import { levelsOf } from '../support/levels.ts';
import { DELETION_GUARD, type SourceOptions } from './pull.ts';
import { startPull } from './support.ts';

interface OrdersWish {
  readonly full?: boolean;
  readonly v1?: Pick<OrdersDeps['v1'], 'orders'>;
  readonly closedOrders?: number;
  readonly pendingRefunds?: boolean;
}

export async function startOrders(
  knobs: Record<string, unknown> = {},
  options: SourceOptions = {},
) {
  const pull = await startPull(knobs, options);
  const { store, deps, reference } = pull;
  const system = systemClock();
  let stepped = 0;
  const clock = { ...system, now: () => system.now() + stepped };
  /** Moves the clock of the order reads, not of the run: that has begun already. */
  const step = (ms: number): void => {
    stepped += ms;
  };
  const read: { readonly orderId: number; readonly cause: string }[] = [];
  const refused: number[] = [];
  const also = { refunds: true, pendingRefunds: true };
  const looks = createOrderLooks(clock);
  const readOrder = createOrderReader({
    ...{ store, v1: pull.v1, sequence: deps.sequence, clock, also, looks },
    levels: await levelsOf(store, clock),
  });
  const refetcher = createOrderRefetcher(
    {
      ...{ store, clock, random: systemRandom(), log: testLogger() },
      async readOrder(orderId, request) {
        read.push({ orderId, cause: request.cause });
        await readOrder(orderId, request);
      },
      onRead: () => undefined,
      onRefused: async ({ orderId }) => {
        refused.push(orderId);
        return true;
      },
    },
    // Reads go one at a time, so that a test can tell their order; no long pauses.
    { ...ORDER_REFETCHER_LIMITS, concurrency: 1, firstDelayMs: 20, delayMsMax: 100 },
  );
  const stop = new AbortController();
  const running = refetcher.run(stop.signal);
  onTestFinished(async () => {
    stop.abort(new Error('the test has ended'));
    await running;
  });
  const stream = (wish: OrdersWish = {}) => {
    const { full = false, v1: own, closedOrders = 1_000, pendingRefunds = true } = wish;
    const wakeUp = (): void => refetcher.wakeUp();
    const v1 = { ...pull.v1, ...own };
    // Looks often whether all was read: between two looks a test does nothing.
    const quick = { ...clock, sleep: (_ms: number, end?: AbortSignal) => clock.sleep(5, end) };
    const parts = { v1, clock: quick, db: () => store.db, onRefetchRequested: wakeUp, looks };
    const name = full ? 'ordersFull' : 'orders';
    return createOrdersStream(parts, {
      name,
      deletionGuard: DELETION_GUARD,
      closedOrders,
      also: { ...also, pendingRefunds },
    });
  };
  const runOrders = (wish?: OrdersWish) => pull.run(stream(wish));
  const requests = (pattern: RegExp): string[] =>
    reference.edge.journal
      .list({ method: 'GET' })
      .map(({ path, query }) => (query === '' ? path : `${path}?${query}`))
      .filter((path) => pattern.test(path));
  const wakeUp = (): void => refetcher.wakeUp();
  return { ...pull, read, refused, stream, runOrders, requests, wakeUp, step, clock };
}
