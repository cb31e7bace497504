/**
 * Life: works off the world's agenda on the service's clock. Orders arrive and are packed,
 * accepted deliveries ship, rejected ones are packed again. It keeps one timer, for the next entry
 * that falls due, and no state of its own: everything is on the agenda or in the book.
 */
import type { Clock, Timer } from '../../lib/clock.ts';
import type { CurrentKnobs } from '../control/knobs.ts';
import type { Task } from '../world/trade/agenda.ts';
import type { World } from '../world/world.ts';
import { drawOrder } from './arrivals.ts';

export interface Life {
  start(): void;
  stop(): void;
}

export interface LifeDeps {
  readonly world: World;
  readonly clock: Clock;
  readonly knobs: CurrentKnobs;
}

/** How often a rate of zero orders per minute is looked at again. */
const IDLE_MS = 5_000;
const MINUTE_MS = 60_000;

function arrivalSpacing(knobs: CurrentKnobs): number {
  const { ordersPerMinute } = knobs().life;
  return ordersPerMinute === 0 ? IDLE_MS : Math.max(1, Math.round(MINUTE_MS / ordersPerMinute));
}

function arrive({ world, clock, knobs }: LifeDeps): void {
  const { life, world: size } = knobs();
  if (life.ordersPerMinute > 0) {
    const orderId = world.book.orders.nextId();
    const { preOrderShare } = life;
    world.trade.place(drawOrder(world, { seed: size.seed, orderId, preOrderShare }));
  }
  world.agenda.add(clock.now() + arrivalSpacing(knobs), { kind: 'arrive' });
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
      if (delivery?.status === 'pending') trade.moveDelivery(delivery, 'canceled', 'service');
      return;
    }
    default:
      return;
  }
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
    start() {
      running = true;
      const first = !agenda.entries().some(({ task }) => task.kind === 'arrive');
      if (first) agenda.add(clock.now() + arrivalSpacing(knobs), { kind: 'arrive' });
      arm();
    },
    stop() {
      running = false;
      timer?.cancel();
      timer = undefined;
    },
  };
}
