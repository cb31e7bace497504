/**
 * Life: carries out the world's agenda on the service's clock. Orders arrive and are packed,
 * accepted deliveries ship, rejected ones are packed again. It has one timer, for the next entry
 * that is due, and no state of its own: everything is on the agenda or in the order book.
 */
import type { Clock, Timer } from '../../lib/clock.ts';
import type { CurrentKnobs } from '../control/knobs.ts';
import { hashAt } from '../world/catalog/hash.ts';
import type { Task } from '../world/trade/agenda.ts';
import type { World } from '../world/world.ts';
import { drawOrder } from './arrivals.ts';

export interface Life {
  start(): void;
  /** Brings arrivals and restocks forward after their rates were raised. */
  hasten(): void;
  stop(): void;
}

export interface LifeDeps {
  readonly world: World;
  readonly clock: Clock;
  readonly knobs: CurrentKnobs;
}

/** Milliseconds after which a rate of zero per minute is looked at again. */
const IDLE_MS = 5_000;
const MINUTE_MS = 60_000;
/** Maximum number of units that one restock adds. */
const RESTOCK_MAX = 40;
const SALT_RESTOCK = 90;

function spacingOf(perMinute: number): number {
  return perMinute === 0 ? IDLE_MS : Math.max(1, Math.round(MINUTE_MS / perMinute));
}

function arrive({ world, clock, knobs }: LifeDeps): void {
  const { life } = knobs();
  const { seed } = world.catalog.size;
  if (life.ordersPerMinute > 0) {
    const orderId = world.book.orders.nextId();
    const { preOrderShare } = life;
    world.trade.place(drawOrder(world, { seed, orderId, preOrderShare }));
  }
  world.agenda.add(clock.now() + spacingOf(life.ordersPerMinute), { kind: 'arrive' });
}

/** Restocks one variant, which is drawn by the time, and puts the next restock on the agenda. */
function restock({ world, clock, knobs }: LifeDeps): void {
  const { catalog, stock } = world;
  const { restocksPerMinute } = knobs().life;
  if (restocksPerMinute > 0) {
    const draw = hashAt(catalog.size.seed, clock.now() % 2 ** 31, SALT_RESTOCK);
    const stocked = Math.max(1, stock.stockedIn(0, catalog.variantCount));
    const variant = stock.nth(0, catalog.variantCount, draw % stocked);
    if (variant >= 0) stock.set(variant, stock.of(variant) + 1 + ((draw >>> 8) % RESTOCK_MAX));
  }
  world.agenda.add(clock.now() + spacingOf(restocksPerMinute), { kind: 'restock' });
}

function run(deps: LifeDeps, task: Task): void {
  const { book, trade } = deps.world;
  switch (task.kind) {
    case 'arrive':
      arrive(deps);
      return;
    case 'pack': {
      const order = book.orders.get(task.orderId);
      if (order) trade.packSome(order);
      return;
    }
    case 'ship': {
      const delivery = book.deliveries.get(task.orderDeliveryId);
      if (delivery && delivery.acceptedAt === task.acceptedAt) trade.ship(delivery);
      return;
    }
    case 'cancel': {
      const delivery = book.deliveries.get(task.orderDeliveryId);
      if (delivery?.status === 'pending') trade.moveDelivery(delivery, 'canceled');
      return;
    }
    case 'return': {
      const delivery = book.deliveries.get(task.orderDeliveryId);
      if (delivery) trade.returnDelivery(delivery);
      return;
    }
    case 'confirm': {
      const pending = book.pendingRefunds.get(task.pendingRefundId);
      if (pending) trade.confirmRefund(pending);
      return;
    }
    case 'commit': {
      const { made } = task.order;
      if (made === undefined || !book.made.has(made)) trade.place(task.order);
      return;
    }
    case 'restock':
      restock(deps);
  }
}

/** Shortens waits that were drawn under lower rates, so that a raised rate takes effect at once. */
function hasten({ world, clock, knobs }: LifeDeps): void {
  const { ordersPerMinute, restocksPerMinute } = knobs().life;
  const now = clock.now();
  const latest: Partial<Record<Task['kind'], number>> = {
    arrive: now + spacingOf(ordersPerMinute),
    restock: now + spacingOf(restocksPerMinute),
  };
  const entries = world.agenda.entries().map(({ at, task }) => ({
    at: Math.min(at, latest[task.kind] ?? at),
    task,
  }));
  world.agenda.replace(entries.sort((one, other) => one.at - other.at));
}

export function createLife(deps: LifeDeps): Life {
  const { world, clock, knobs } = deps;
  const { agenda } = world;
  let timer: Timer | undefined;
  let running = false;
  let working = false;

  const arm = (): void => {
    timer?.cancel();
    timer = undefined;
    const next = agenda.nextAt();
    if (!running || working || next === undefined) return;
    timer = clock.after(Math.max(0, next - clock.now()), work);
  };

  const work = (): void => {
    working = true;
    const now = clock.now();
    for (let due = agenda.takeDue(now); due; due = agenda.takeDue(now)) run(deps, due.task);
    working = false;
    arm();
  };

  agenda.onAdded(arm);
  return {
    hasten: () => hasten(deps),
    start() {
      running = true;
      const waiting = new Set(agenda.entries().map(({ task }) => task.kind));
      const { ordersPerMinute, restocksPerMinute } = knobs().life;
      const now = clock.now();
      if (!waiting.has('arrive')) agenda.add(now + spacingOf(ordersPerMinute), { kind: 'arrive' });
      if (!waiting.has('restock')) {
        agenda.add(now + spacingOf(restocksPerMinute), { kind: 'restock' });
      }
      arm();
    },
    stop() {
      running = false;
      timer?.cancel();
      timer = undefined;
    },
  };
}
