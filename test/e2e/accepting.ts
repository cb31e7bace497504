/** A daemon that accepts whatever is packed, and an order for it to be packed. */
import { expect } from 'vitest';
import type { Clock } from '../../src/lib/clock.ts';
import type { Reference } from '../../src/reference/reference.ts';
import type { Delivery, Order } from '../../src/reference/world/trade/orders.ts';
import { sign } from '../inbox/support.ts';
import { startTestDaemon, testConfig, until } from '../support/house.ts';
import { fastClock, placeOrders, startFastReference } from './support.ts';

const RULES = `
rules:
  - { id: accept-all, title: Everything, action: accept, mode: live, when: [delivery.quantity > 0] }
`;

/** Only events, pushes and what a test does move anything. */
const EVENTS_ALONE = [
  { path: 'service.limits.loginSpacing', value: '0s' },
  { path: 'streams.orders.schedule', value: '0 3 1 1 *' },
  { path: 'streams.ordersFull.schedule', value: '0 3 1 1 *' },
];
const STILL = { packAfter: '30d', shipAfter: '30d', cancelShare: 0, splitShare: 0 };

export interface Accepting {
  readonly reference: Reference;
  readonly clock: Clock;
  /** An order that the daemon has read. */
  place(): Promise<Order>;
  /** Packs it; what was asked before is forgotten. */
  pack(order: Order): Delivery;
  /** Requests about orders since then, `POST order/deliveries/1`. */
  requests(): string[];
  /** From now on events come by hand. */
  holdEvents(): void;
  /** Hands over the newest event in which this is so. */
  hand(is: (body: Record<string, unknown>) => boolean): Promise<void>;
  /** Hands over this body as an event of its own. */
  handBody(body: unknown): Promise<void>;
  /** The pushes in order. */
  pushes(): Promise<{ readonly state: string; readonly last_error: string | null }[]>;
  /** The decisions in order, `daemon accept`. */
  decisions(): Promise<string[]>;
  /** Nothing is left to read. */
  allRead(): Promise<void>;
  confirmed(): Promise<void>;
}

export async function startAccepting(
  dialect: Readonly<Record<string, unknown>> = {},
): Promise<Accepting> {
  const clock = fastClock();
  const reference = await startFastReference({ life: STILL, dialect }, clock);
  const config = testConfig(reference, { rules: RULES, overrides: EVENTS_ALONE });
  const daemon = await startTestDaemon(reference, config, clock);
  const { db } = daemon.store;
  // A first sweep that is under way would read the orders of the test, too.
  await until('the first sweeps', async () => {
    const whole = await db
      .selectFrom('stream_state')
      .select('stream')
      .where('stream', 'in', ['orders', 'ordersFull'])
      .where('complete_at', 'is not', null)
      .execute();
    return whole.length === 2 ? true : undefined;
  });
  const isAllRead = async (): Promise<true | undefined> => {
    const left = await db.selectFrom('refresh').select('order_id').executeTakeFirst();
    return left ? undefined : true;
  };
  const { world, relay, edge } = reference;
  const post = async (body: Buffer | string): Promise<void> => {
    const headers = sign(body, { at: clock.now() });
    const answer = await fetch((await daemon.listenerUrl) ?? '', { method: 'POST', headers, body });
    if (!answer.ok) throw new Error(`the event was answered ${answer.status}`);
  };
  const pushes: Accepting['pushes'] = () =>
    db.selectFrom('outbox').select(['state', 'last_error']).orderBy('outbox_id').execute();
  return {
    ...{ reference, clock, pushes },
    async place() {
      placeOrders(reference, 1);
      const order = world.book.orders.all.at(-1);
      if (!order) throw new Error('no order was placed');
      await until('the order in the mirror', () =>
        db
          .selectFrom('sales_order')
          .select('order_id')
          .where('order_id', '=', order.orderId)
          .executeTakeFirst(),
      );
      await until('the order to be read', isAllRead);
      return order;
    },
    pack(order) {
      edge.journal.clear();
      const delivery = world.trade.packAll(order);
      if (!delivery) throw new Error('nothing was packed');
      return delivery;
    },
    requests: () =>
      edge.journal
        .list()
        .filter(({ path }) => path.includes('/orders'))
        .map(({ method, path }) => {
          const [, below = ''] = /\/orders\/\d+(.*)$/.exec(path) ?? [];
          return `${method} order${below.replace(/\d+$/, '1')}`;
        }),
    holdEvents() {
      for (const { id } of relay.listEndpoints()) relay.deleteEndpoint(id);
    },
    async hand(is) {
      const bodies = relay.messages({ limit: 250 }).data.map(({ body }) => body);
      const found = bodies.find((body) => is(JSON.parse(body.toString())));
      if (!found) throw new Error('there is no such event');
      await post(found);
    },
    handBody: (body) => post(JSON.stringify(body)),
    async decisions() {
      const rows = await db
        .selectFrom('decision')
        .select(['actor', 'outcome'])
        .orderBy('decision_id')
        .execute();
      return rows.map(({ actor, outcome }) => `${actor} ${outcome}`);
    },
    allRead: () => until('all that was to read', isAllRead).then(() => undefined),
    confirmed: () =>
      until('a confirmed push', async () =>
        (await pushes()).at(-1)?.state === 'confirmed' ? true : undefined,
      ).then(() => undefined),
  };
}

/** Whether the body of an event shows the delivery in this status. */
export function isDelivery(what: string, status: string) {
  return (body: unknown): boolean => {
    const text = JSON.stringify(body);
    return text.includes(`sales_order.delivery_${what}`) && text.includes(`"status":"${status}"`);
  };
}

export interface Accepted {
  readonly accepting: Accepting;
  readonly order: Order;
  readonly delivery: Delivery;
}

/** The daemon has accepted, and its event is yet to come. */
export async function startAccepted(
  dialect?: Readonly<Record<string, unknown>>,
): Promise<Accepted> {
  const accepting = await startAccepting(dialect);
  const order = await accepting.place();
  accepting.holdEvents();
  const delivery = accepting.pack(order);
  await accepting.hand(isDelivery('created', 'pending'));
  await until('our accept', () => (delivery.status === 'accepted' ? true : undefined));
  return { accepting, order, delivery };
}

/** Puts the delivery back half a second after our accept, and gives these events after it. */
export async function expectLeftToPeople(
  { accepting, delivery }: Accepted,
  events: readonly ((body: unknown) => boolean)[],
): Promise<void> {
  const { clock, reference } = accepting;
  await clock.sleep(500);
  reference.world.trade.moveDelivery(delivery, 'pending');
  for (const is of events) {
    await accepting.hand(is);
    await clock.sleep(200);
  }
  await until('the end of the push', async () =>
    ['confirmed', 'refused'].includes((await accepting.pushes()).at(-1)?.state ?? '')
      ? true
      : undefined,
  );
  await until('the word about it', async () =>
    (await accepting.decisions()).length > 1 ? true : undefined,
  );
  expect(await accepting.decisions()).toEqual(['daemon accept', 'external hold']);
  // Nothing has shown the accept: what the answer told is no proof of it.
  expect(await accepting.pushes()).toMatchObject([{ state: 'refused' }]);
  expect(delivery.status).toBe('pending');
}

export const HEARD = isDelivery('updated', 'accepted');
export const PUT_BACK = isDelivery('updated', 'pending');
