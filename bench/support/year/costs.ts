/** CPU of a whole daemon for events, decisions, ticks and pages, on a mirror of some size. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../../src/lib/clock.ts';
import { openReader } from '../../../src/store/connection.ts';
import type { YearDaemon } from './daemon.ts';
import { FIRST_NEW_DELIVERY, type Shop } from './shop.ts';

const EVENTS = 20;
const EVENTS_MIN = 3;
/** Pace at which work that follows events once a second, at most, is done for each. */
const EVENT_EVERY_MS = 500;
const LOOKS = 10;
const WAIT_MS_MAX = 180_000;
const SETTLE_MS_MAX = 90_000;
const QUIET_SHARE = 0.05;

/** Reads the daemon's mirror, by keys: it costs nothing however large that is. */
export function openLook(dataDir: string) {
  const reader = openReader(join(dataDir, 'mirror.db'), { busyTimeoutMs: 5_000 });
  const read = reader
    .prepare<[number, number], number>(
      `select count(*) from sales_order where order_id = ?
       and not exists (select 1 from refresh where order_id = ?)`,
    )
    .pluck();
  const confirmed = reader
    .prepare<[number], number>(
      `select count(*) from delivery d join outbox p on p.order_delivery_id = d.order_delivery_id
       where d.order_id = ? and p.state = 'confirmed'`,
    )
    .pluck();
  const completed = reader
    .prepare<[number], number>('select count(*) from sales_order where order_id = ? and completed')
    .pluck();
  const counted = reader
    .prepare<[number], number>('select count(*) from stock_age where counted_at >= ?')
    .pluck();
  return {
    isStockCounted: (since: number) => (counted.get(since) ?? 0) > 0,
    isCompleted: (orderId: number) => completed.get(orderId) === 1,
    isRead: (orderId: number) => read.get(orderId, orderId) === 1,
    isConfirmed: (orderId: number) => (confirmed.get(orderId) ?? 0) > 0,
    close: () => reader.close(),
  };
}

export async function until(clock: Clock, what: string, isSo: () => boolean): Promise<void> {
  const deadline = clock.monotonic() + WAIT_MS_MAX;
  while (!isSo()) {
    if (clock.monotonic() > deadline) throw new Error(`waited in vain for ${what}`);
    await sleep(10);
  }
}

/** Waits until it has done what it does after a start, or does not become quiet. */
async function settle(daemon: YearDaemon, clock: Clock): Promise<void> {
  const deadline = clock.monotonic() + SETTLE_MS_MAX;
  for (let share = 1; share > QUIET_SHARE && clock.monotonic() < deadline; ) {
    const before = await daemon.cpuMs();
    await sleep(2_000);
    share = ((await daemon.cpuMs()) - before) / 2_000;
  }
}

const PAGES: readonly string[] = [
  '/',
  '/changes.json',
  '/review',
  '/review?shown=all',
  '/review?shown=all&q=Shop+77',
  '/review?shown=all&sort=value',
  '/review?shown=accepted',
  '/review?shown=refused',
  `/deliveries/${FIRST_NEW_DELIVERY}`,
  ...['/outbox', '/events', '/pulls', '/rules', '/stock', '/reports', '/system'],
];

export interface CostsDeps {
  readonly daemon: YearDaemon;
  readonly shop: Shop;
  readonly clock: Clock;
  readonly dataDir: string;
  readonly idleSeconds: number;
}

export interface Costs {
  /** CPU milliseconds of each by its name; a page that cannot be shown has none. */
  readonly costs: ReadonlyMap<string, number>;
  /** An order whose delivery was accepted meanwhile. */
  readonly orderId: number;
}

export async function measureCosts(deps: CostsDeps): Promise<Costs> {
  const { daemon, shop, clock, idleSeconds } = deps;
  const costs = new Map<string, number>();
  const startedAt = clock.now();
  const look = openLook(deps.dataDir);
  const spent = async (work: () => Promise<unknown>): Promise<number> => {
    const before = await daemon.cpuMs();
    await work();
    return (await daemon.cpuMs()) - before;
  };
  /** One after the other, as many as there is time for. */
  const each = async (name: string, one: () => Promise<void>): Promise<void> => {
    const deadline = clock.monotonic() + 3 * EVENTS * EVENT_EVERY_MS;
    await one();
    let count = 0;
    const cpuMs = await spent(async () => {
      while (count < EVENTS_MIN || (count < EVENTS && clock.monotonic() < deadline)) {
        const next = clock.monotonic() + EVENT_EVERY_MS;
        await one();
        await sleep(Math.max(0, next - clock.monotonic()));
        count += 1;
      }
    });
    costs.set(name, cpuMs / count);
  };

  // It grows with the stock, and is made once in a quarter of an hour.
  await until(clock, 'the count of the stock', () => look.isStockCounted(startedAt));
  await settle(daemon, clock);
  costs.set(`ticks of ${idleSeconds} s`, await spent(() => sleep(idleSeconds * 1_000)));
  const placed: number[] = [];
  let accepted = 0;
  await each('event', async () => {
    const [orderId = 0] = await shop.ask({ place: 1 });
    placed.push(orderId);
    await until(clock, 'an order in the mirror', () => look.isRead(orderId));
  });
  await each('decision', async () => {
    const orderId = placed.shift() ?? (await shop.ask({ place: 1 }))[0] ?? 0;
    await shop.ask({ pack: [orderId] });
    await until(clock, 'a confirmed accept', () => look.isConfirmed(orderId));
    accepted = orderId;
  });
  await settle(daemon, clock);
  for (const path of PAGES) {
    try {
      await daemon.page(path);
      const cpuMs = await spent(async () => {
        for (let nth = 0; nth < LOOKS; nth += 1) await daemon.page(path);
      });
      costs.set(path, cpuMs / LOOKS);
    } catch (error) {
      console.log(`${error}`);
    }
  }
  const metrics = () => daemon.local('/metrics');
  await metrics();
  const cpuMs = await spent(async () => {
    for (let nth = 0; nth < LOOKS; nth += 1) await metrics();
  });
  costs.set('/metrics', cpuMs / LOOKS);
  look.close();
  return { costs, orderId: accepted };
}
