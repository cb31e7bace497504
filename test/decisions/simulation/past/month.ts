/**
 * Simulated days of the reference service, told to two mirrors at the same moments: the rules of
 * the first read nothing that is costly to gather; beside the same rules, the second has rules in
 * shadow that read all of it.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'vitest';
import type { LoadedRuleSet } from '../../../../src/decisions/rule-files.ts';
import { type Random, seededRandom } from '../../../../src/lib/random.ts';
import { STOCK_VARIANT } from '../../../../src/mirror/catalog/variant.ts';
import { upsertRows } from '../../../../src/mirror/entity.ts';
import { markDeleted } from '../../../../src/mirror/list.ts';
import { writeRefunds } from '../../../../src/mirror/refund.ts';
import { SALES_ORDER, writeDeliveries, writeOrders } from '../../../../src/mirror/sales-order.ts';
import { parseKnobs } from '../../../../src/reference/control/knob-store.ts';
import { createLife } from '../../../../src/reference/life/life.ts';
import {
  deliveryShape,
  orderShape,
  refundShape,
} from '../../../../src/reference/world/trade/shapes.ts';
import { createWorld, type World } from '../../../../src/reference/world/world.ts';
import type { Tx } from '../../../../src/store/store.ts';
import { createDeciderFixture, type DeciderFixture, loadedRules } from '../../support.ts';

const HOUR = 3_600_000;
/** Simulated time, and how long the mirrors look away from the service. */
export interface Span {
  readonly days: number;
  readonly lookHours: number;
}

export const SETTINGS = JSON.stringify({
  version: 1,
  base_currency: 'EUR',
  rates: { DKK: 0.134, SEK: 0.087, NOK: 0.085, GBP: 1.17, USD: 0.92, CHF: 1.04, JPY: 0.006 },
});

const LIVE = `
rules:
  - id: accept-covered
    title: In stock
    action: accept
    mode: live
    when: [ 'delivery.lines.all(line, line.missing == 0)', 'delivery.quantity <= 30' ]
  - id: hold-large
    title: Large
    action: hold
    mode: live
    when: [ delivery.quantity > 30 ]
`;

/** Rules in shadow; most are true now and then, so that more moments are journaled. */
const WATCHING = `${LIVE}
  - id: watch-account
    title: A busy account
    action: hold
    when: [ 'customer.accepted_today > 1 || customer.refunds_90d > 1' ]
  - id: watch-similar
    title: As before
    action: reject
    when: [ 'order.similar_within < days(3)', '!has(order.repeated_within)' ]
  - id: watch-new
    title: New
    action: hold
    when: [ 'customer.orders_before < 2 || clock.now - customer.first_order_at < days(2)' ]
  - id: watch-day
    title: Much in a day
    action: hold
    when:
      - today.accepted > 5
      - order.currency == "DKK" && (today.amount > 2000 || customer.amount_today > 900)
  - id: watch-base
    title: Much in the base currency
    action: hold
    when: [ 'today.amount_base > 3000 && order.base_currency == "EUR"' ]
  - id: watch-weight
    title: Heavy
    action: hold
    when: [ delivery.weight > 9000 ]
`;

/** What a mirror is told of an order besides what the service itself does. */
interface Twist {
  accountNo?: string;
  status?: string;
  pieces?: number;
  isGone?: boolean;
}

interface Told {
  readonly orders: Record<string, unknown>[];
  readonly gone: number[];
  readonly deliveries: Record<string, unknown>[];
  readonly refunds: Record<string, unknown>[];
  readonly stock: Record<string, unknown>[];
}

function startWorld(seed: number, fixture: DeciderFixture): World {
  const { clock } = fixture;
  const knobs = parseKnobs({
    world: { seed, styles: 5, orders: 0, accounts: 6 },
    life: {
      ...{ ordersPerMinute: 0.006, restocksPerMinute: 0.02, packAfter: '5h', shipAfter: '9h' },
      ...{ cancelAfter: '30h', cancelShare: 0.1, splitShare: 0.3, refundShare: 0.4 },
      ...{ refundAfter: '40h', preOrderShare: 0, confirmRefundAfter: '20h' },
    },
  });
  const deps = { clock, knobs: () => knobs };
  const world = createWorld({ ...deps, events: { publish: () => undefined } });
  createLife({ ...deps, world }).start();
  return world;
}

class Month {
  readonly #random: Random;
  readonly #world: World;
  readonly #twists = new Map<number, Twist>();
  readonly #weights = new Map<number, number>();
  readonly #said = new Map<string, string>();

  constructor(seed: number, fixture: DeciderFixture) {
    this.#random = seededRandom(seed);
    this.#world = startWorld(seed, fixture);
  }

  /** Now and then something changes that the service's own life leaves as it is. */
  twist(): void {
    const random = this.#random;
    const orders = this.#world.book.orders.all.slice(-12);
    const order = orders.length === 0 ? undefined : random.pick(orders);
    if (!order) return;
    const twist = this.#twists.get(order.orderId) ?? {};
    this.#twists.set(order.orderId, twist);
    const how = random.int(0, 39);
    if (how === 0) twist.accountNo = this.#world.accounts.at(random.int(0, 5)).accountNo;
    if (how === 1) twist.status = twist.status === undefined ? 'canceled' : 'pending';
    if (how === 2) twist.pieces = random.int(1, 3);
    if (how === 3) twist.isGone = twist.isGone !== true;
    if (how < 6) this.#weights.set(random.int(0, 30), random.int(100, 900));
    if (how > 30) this.#repeat(order.orderId);
  }

  /** The same is ordered again, sometimes under the same reference. */
  #repeat(orderId: number): void {
    const { book, trade } = this.#world;
    const order = book.orders.get(orderId);
    if (!order) return;
    const { reference, comment, lines, address, freight, currency, account } = order;
    const again = { comment, lines, address, freight, currency, account };
    const isSame = this.#random.chance(0.5);
    trade.place({ ...again, reference: isSame ? reference : `${reference}-again` });
  }

  #isNews(kind: string, record: Record<string, unknown>, id: unknown): boolean {
    const text = JSON.stringify(record);
    const key = `${kind} ${id}`;
    if (this.#said.get(key) === text) return false;
    this.#said.set(key, text);
    return true;
  }

  #orders(): Record<string, unknown>[] {
    return this.#world.book.orders.all.flatMap((order) => {
      const twist = this.#twists.get(order.orderId) ?? {};
      if (twist.isGone) return [];
      const { accountNo, status = order.status, pieces = 0 } = twist;
      const address = { ...order.address, ...(accountNo === undefined ? {} : { accountNo }) };
      const lines = order.lines.map((line) => ({ ...line, quantity: line.quantity + pieces }));
      const told = { ...orderShape({ ...order, address, lines }), status };
      return [told];
    });
  }

  #stock(): Record<string, unknown>[] {
    const { catalog, stock } = this.#world;
    const all = Array.from({ length: catalog.variantCount }, (_, variant) => variant);
    return all.map((variant) => {
      const style = catalog.style(catalog.place(variant).style);
      const weight = this.#weights.get(variant) ?? style.grams;
      const details = { styleNo: style.styleNo, weight, countryOfOrigin: style.origin };
      return { barcode: catalog.barcodeOf(variant), quantity: stock.of(variant), details };
    });
  }

  /** What is new since it was last asked. */
  news(): Told {
    const { book } = this.#world;
    const orders = this.#orders();
    const ids = new Set(orders.map(({ orderId }) => orderId));
    const gone = book.orders.all.flatMap(({ orderId }) => (ids.has(orderId) ? [] : [orderId]));
    const known = <R extends { readonly orderId: number }>(
      all: readonly R[],
      shape: (order: NonNullable<ReturnType<typeof book.orders.get>>, one: R) => object,
    ) =>
      all.flatMap((one) => {
        const order = book.orders.get(one.orderId);
        return order ? [{ ...shape(order, one) }] : [];
      });
    const onlyNew = (kind: string, id: string, all: Record<string, unknown>[]) =>
      all.filter((one) => this.#isNews(kind, one, one[id]));
    for (const id of gone) this.#said.delete(`order ${id}`);
    return {
      orders: onlyNew('order', 'orderId', orders),
      gone,
      deliveries: onlyNew('delivery', 'orderDeliveryId', known(book.deliveries.all, deliveryShape)),
      refunds: onlyNew('refund', 'orderRefundId', known(book.refunds.all, refundShape)),
      stock: this.#stock(),
    };
  }

  /** The service's answer to an accept: it is confirmed, refused, or given up before it is sent. */
  answer(orderDeliveryId: number): 'confirmed' | 'refused' | 'canceled' | undefined {
    const random = this.#random;
    const delivery = this.#world.book.deliveries.get(orderDeliveryId);
    if (random.chance(0.15)) return undefined;
    if (!delivery) return 'refused';
    if (random.chance(0.12)) {
      // The service has it no more as it was, so that no run makes the accept again.
      this.#world.trade.moveDelivery(delivery, 'canceled');
      return random.pick(['refused', 'canceled'] as const);
    }
    this.#world.trade.moveDelivery(delivery, 'accepted');
    return 'confirmed';
  }

  /** People at the service move refunds on. */
  moveRefunds(): void {
    for (const refund of this.#world.book.refunds.all) {
      if (refund.status === 'pending' && this.#random.chance(0.05)) {
        this.#world.trade.moveRefund(refund, this.#random.pick(['accepted', 'rejected'] as const));
      }
    }
  }
}

async function tell(tx: Tx, told: Told, at: number, readSeq: number): Promise<void> {
  const by = { at, readSeq, source: `run:${readSeq}` };
  await writeOrders(tx, told.orders as never, by);
  await markDeleted(tx, SALES_ORDER, told.gone, by);
  await writeDeliveries(tx, told.deliveries as never, by);
  await writeRefunds(tx, told.refunds as never, by);
  await upsertRows(tx, STOCK_VARIANT, structuredClone(told.stock).map(STOCK_VARIANT.toRow), by);
}

async function openPushes({ store }: DeciderFixture): Promise<readonly number[]> {
  const rows = await store.db
    .selectFrom('outbox')
    .select('order_delivery_id as id')
    .where('ended_at', 'is', null)
    .orderBy('outbox_id')
    .execute();
  return rows.flatMap(({ id }) => (id === null ? [] : [id]));
}

async function end(fixture: DeciderFixture, id: number, state: string): Promise<void> {
  const change = { state: state as 'confirmed', ended_at: fixture.clock.now() };
  await fixture.store.db
    .updateTable('outbox')
    .set(change)
    .where('order_delivery_id', '=', id)
    .where('ended_at', 'is', null)
    .execute();
}

/** Turns of the event loop after which a decider has looked at every delivery of such a world. */
const TURNS = 400;

async function decide(fixture: DeciderFixture, rules: LoadedRuleSet): Promise<void> {
  const stop = new AbortController();
  const done = fixture.decider({ rules: () => rules }).run(stop.signal);
  for (let turn = 0; turn < TURNS; turn += 1) await nextTurn();
  stop.abort();
  await done;
}

export interface Pair {
  /** Its rules read nothing that is costly. */
  readonly bare: DeciderFixture;
  readonly full: DeciderFixture;
  readonly since: number;
  readonly until: number;
}

/** Lives through these days, decided twice. */
export async function liveThrough(seed: number, { days, lookHours }: Span): Promise<Pair> {
  const bare = await createDeciderFixture();
  const { clock } = bare;
  const full = await createDeciderFixture(clock);
  const month = new Month(seed, bare);
  const since = clock.now();
  const runs = [
    [bare, loadedRules(LIVE, SETTINGS)],
    [full, loadedRules(WATCHING, SETTINGS)],
  ] as const;
  for (let look = 1; clock.now() < since + days * 24 * HOUR; look += 1) {
    await clock.advance(lookHours * HOUR - 60_000);
    month.twist();
    month.moveRefunds();
    const told = month.news();
    for (const [fixture] of runs) {
      await fixture.store.transaction((tx) => tell(tx, told, clock.now(), look));
      await fixture.complete('stock');
    }
    await clock.advance(30_000);
    for (const [fixture, rules] of runs) await decide(fixture, rules);
    await clock.advance(30_000);
    const pushed = await openPushes(bare);
    expect(await openPushes(full)).toEqual(pushed);
    for (const id of pushed) {
      const state = month.answer(id);
      if (state !== undefined) for (const [fixture] of runs) await end(fixture, id, state);
    }
  }
  return { bare, full, since, until: clock.now() + 1 };
}
