/** A season's book under the limit of an account: days of sweeps, on a clock that leaps. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createOrderRefetcher } from '../../../src/inbox/order-refetcher.ts';
import { createOutages } from '../../../src/lib/log/outages.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { oldestLookAt, readBook } from '../../../src/mirror/order-book.ts';
import { createReadSequence } from '../../../src/store/state.ts';
import { openStore } from '../../../src/store/store.ts';
import { createLevelWatch } from '../../../src/sync/account-traits.ts';
import { createVariantPages } from '../../../src/sync/bulk/variant-pages.ts';
import { createOrderLooks } from '../../../src/sync/order-looks.ts';
import { PULLS } from '../../../src/sync/planner.ts';
import { createOrderReader } from '../../../src/sync/read-order.ts';
import { createOrdersStream } from '../../../src/sync/streams/orders.ts';
import { folderInMemory } from '../../support/in-memory.ts';
import { runsOn } from '../pull.ts';
import { createAccount, SEASON, WINDOWS } from './account.ts';
import { leapingClock } from './clock.ts';
import { createHappenings } from './happenings.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const SWEEP_MS = 20 * MINUTE;
const FRESH_MS = 30 * MINUTE;
/** Time of the day at which all orders are walked. */
const FULL_AT_MS = 2 * HOUR + 37 * MINUTE;
const START = Date.parse('2027-01-11T00:00:00Z');

export interface BookWish {
  readonly orders: number;
  readonly hours: number;
  readonly perSecond: number;
  /** Share of the events that get lost. */
  readonly lost: number;
  readonly seed: number;
}

async function openMirror(scope: AsyncDisposableStack, clock: ReturnType<typeof leapingClock>) {
  const folder = mkdtempSync(join(folderInMemory() ?? tmpdir(), 'selvedge-book-'));
  scope.defer(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'mirror.db');
  const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, clock);
  scope.defer(() => store.close());
  const day = (days: number): string => new Date(START + days * DAY).toISOString().slice(0, 10);
  const windows = Array.from({ length: WINDOWS }, (_, at) => ({
    ...{ season_name: SEASON, delivery_name: `W${at + 1}` },
    ...{ from_day: day(at * 30 - 5), to_day: day(at * 30 + 20) },
  }));
  await store.db.insertInto('season_window').values(windows).execute();
  return store;
}

export async function simulateBook({ orders, hours, perSecond, lost, seed }: BookWish) {
  await using scope = new AsyncDisposableStack();
  const clock = leapingClock(START);
  const store = await openMirror(scope, clock);
  const random = seededRandom(seed);
  const account = createAccount(clock, random, perSecond);
  for (let left = orders; left > 0; left -= 1) account.place();
  const log = silentLogger();
  const sequence = createReadSequence(store, clock);
  const looks = createOrderLooks(clock);
  const levels = await createLevelWatch({ store, clock, log, level: '1.4.14' });
  const { v1, requests } = account;
  const also = { refunds: true, pendingRefunds: true };
  const readOrder = createOrderReader({ store, v1, sequence, clock, also, looks, levels });
  const happenings = createHappenings({
    ...{ store, clock, random, account, lost },
    wakeUp: () => refetcher.wakeUp(),
  });
  const refetcher = createOrderRefetcher({
    ...{ store, clock, random, log },
    async readOrder(orderId, request) {
      await readOrder(orderId, request);
      await happenings.onRead(orderId);
    },
    onRead: () => undefined,
    onRefused: async () => true,
  });
  const stop = new AbortController();
  const reading = refetcher.run(stop.signal);
  const { run, state } = runsOn({
    ...{ store, clock, log, sequence },
    variants: createVariantPages({ store, clock }),
    outages: createOutages({ clock, log }, PULLS),
  });
  const onRefetchRequested = (): void => refetcher.wakeUp();
  const deps = { v1, clock, db: () => store.db, onRefetchRequested, looks };
  const options = { deletionGuard: { absolute: 100, share: 0.05 }, closedOrders: 2_000, also };
  const short = createOrdersStream(deps, { name: 'orders', ...options });
  const full = createOrdersStream(deps, { name: 'ordersFull', ...options });
  const problems: string[] = [];

  await clock.drive(run(short));
  const first = { ...requests, ms: clock.now() - START };
  // The first sweep, which reads everything once, takes longer than the time between two.
  await clock.drive(run(short));
  const begunAt = clock.now();
  const until = begunAt + hours * HOUR;
  Object.assign(requests, { pages: 0, looks: 0, reads: 0 });
  happenings.begin(until);
  let [oldestMs, calmMs, fullAt] = [0, 0, START + FULL_AT_MS];
  let walking: Promise<unknown> = Promise.resolve();
  while (clock.now() < until) {
    const waitMs = SWEEP_MS - ((clock.now() - START) % SWEEP_MS);
    await clock.drive(clock.sleep(waitMs));
    if (clock.now() >= fullAt) {
      fullAt += DAY;
      walking = run(full);
    }
    const { complete_at } = await state('orders');
    const result = await clock.drive(run(short));
    if (result.outcome !== 'complete') problems.push(`orders: ${result.outcome}, ${result.reason}`);
    oldestMs = Math.max(oldestMs, clock.now() - (complete_at ?? 0));
    calmMs = Math.max(calmMs, clock.now() - ((await oldestLookAt(store.db)) ?? 0));
    await happenings.onRun();
  }
  await clock.drive(walking);
  // What was told at last is read.
  await clock.drive(clock.sleep(MINUTE));
  stop.abort(new Error('the days are over'));
  await clock.drive(reading);
  const judged = await happenings.judge();
  if (oldestMs > FRESH_MS) problems.push(`orders was ${oldestMs} ms old`);
  const seconds = (clock.now() - begunAt) / 1_000;
  const share = (requests.pages + requests.looks) / (seconds * perSecond);
  return {
    ...{ first, requests, share, oldestMs, calmMs, wrong: judged.wrong },
    book: await readBook(store.db),
    ...happenings.figures(),
    problems: [...problems, ...judged.problems],
  };
}
