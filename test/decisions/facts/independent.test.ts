/**
 * Facts of orders, accounts and refunds against a reader of docs/facts.md who counts by hand.
 * `SELVEDGE_FACTS_SEEDS` (`1-300`) makes it longer; `npm run campaign -- rules` does.
 */
import { expect, it } from 'vitest';
import { readSubject } from '../../../src/decisions/facts.ts';
import { type Random, seededRandom } from '../../../src/lib/random.ts';
import { writeRefunds } from '../../../src/mirror/refund.ts';
import { completeFacts } from '../../../src/rules/facts/build.ts';
import { together } from '../../../src/store/transaction/together.ts';
import { rulesOf } from '../../rules/support.ts';
import { ACCEPT_SMALL, createDeciderFixture, type DeciderFixture } from '../support.ts';

const [FIRST = 1, LAST = FIRST] = (process.env.SELVEDGE_FACTS_SEEDS ?? '1-3')
  .split('-')
  .map(Number);
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ORDERS = 14;
const SEED_MS_MAX = 60_000;
const STATUSES = ['pending', 'pending', 'fulfilled', 'partially_fulfilled', 'canceled'] as const;

interface Line {
  readonly barcode: string;
  /** Undefined: the service does not tell. */
  readonly pieces: number | undefined;
}

interface Packed {
  readonly id: number;
  readonly status: string;
  readonly lines: readonly Line[];
}

interface Order {
  readonly id: number;
  readonly account: string | undefined;
  readonly at: number;
  readonly status: (typeof STATUSES)[number];
  readonly reference: string;
  readonly address: Readonly<Record<string, string>>;
  readonly lines: readonly Line[];
  readonly deliveries: readonly Packed[];
  readonly refunds: readonly { readonly status: string; readonly at: number }[];
}

function some<T>(random: Random, most: number, make: () => T): readonly T[] {
  return Array.from({ length: random.int(0, most) }, make);
}

/** Baskets are few, so that some orders are alike. */
function basket(random: Random): readonly Line[] {
  const pieces = () => (random.chance(0.05) ? undefined : random.int(1, 2) * 2);
  const whole = random.pick([['a'], ['a', 'b'], ['b', 'a'], ['c']]).map((barcode) => ({
    ...{ barcode, pieces: pieces() },
  }));
  // The same goods in two lines.
  return whole.flatMap(({ barcode, pieces: all }) =>
    all !== undefined && random.chance(0.2)
      ? [
          { barcode, pieces: all / 2 },
          { barcode, pieces: all / 2 },
        ]
      : [{ barcode, pieces: all }],
  );
}

function randomOrder(random: Random, id: number, now: number): Order {
  const members = { address: 'Havnegade 1', city: 'Aarhus', zip: '8000', countryCode: 'DK' };
  const told = Object.entries(members).filter(() => random.chance(0.85));
  const packed = (at: number): Packed => ({
    id: id * 10 + at,
    status: random.pick(['pending', 'accepted', 'rejected', 'canceled']),
    lines: basket(random),
  });
  const last = { ...packed(9), status: 'pending' };
  const ago = random.int(0, 24 * 50) * HOUR_MS;
  return {
    id,
    account: random.chance(0.2) ? undefined : random.pick(['C-1', 'C-1', 'C-2']),
    at: now - (random.chance(0.5) ? ago : Math.trunc(ago / 40)),
    status: random.pick(STATUSES),
    reference: random.pick(['PO 7', 'PO 8', '', `PO-${id}`]),
    address: Object.fromEntries(told.map(([name, text]) => [name, random.pick([text, text, ' '])])),
    lines: basket(random),
    deliveries: [...some(random, 2, () => 0).map((_, at) => packed(at)), last],
    refunds: some(random, 2, () => ({
      status: random.pick(['pending', 'accepted', 'rejected', 'canceled']),
      at: now - random.int(0, 120) * DAY_MS,
    })),
  };
}

async function write(fixture: DeciderFixture, order: Order): Promise<void> {
  const { id, account, at, status, reference, address } = order;
  const number = (pieces: number | undefined, name: string) =>
    pieces === undefined ? {} : { [name]: pieces };
  await fixture.order(id, {
    ...{ status, reference, createdAt: new Date(at).toISOString() },
    shippingAddress: { ...address, ...(account === undefined ? {} : { accountNo: account }) },
    orderLineItems: order.lines.map(({ barcode, pieces }) => ({
      ...{ barcode, price: 100, ...number(pieces, 'quantity') },
    })),
  });
  for (const { id: delivery, status: state, lines } of order.deliveries) {
    const fulfilledLineItems = lines.map(({ barcode, pieces }) => ({
      ...{ barcode, price: 100, ...number(pieces, 'fulfilledQuantity') },
    }));
    const more = { fulfilledLineItems };
    await fixture.delivery({ id: delivery, order: id, status: state, more });
  }
  const refunds = order.refunds.map((refund, index) => ({
    ...{ orderRefundId: id * 10 + index, orderId: id, status: refund.status },
    refundedLineItems: [],
    createdAt: new Date(refund.at).toISOString(),
  }));
  const now = fixture.clock.now();
  const provenance = { source: 'run:1', readSeq: 1_000 + id, at: now };
  await fixture.store.transaction((tx) => writeRefunds(tx, refunds, provenance));
}

/** Null when one of them is not told. */
function sum(lines: readonly Line[]): number | null {
  return lines.reduce<number | null>(
    (all, { pieces }) => (all === null || pieces === undefined ? null : all + pieces),
    0,
  );
}

/** The same barcodes and pieces; undefined where a line does not tell. */
function goodsOf({ lines }: Order): string | undefined {
  const byBarcode = Map.groupBy(lines, ({ barcode }) => barcode);
  const sums = [...byBarcode].map(([barcode, own]) => [barcode, sum(own)] as const);
  if (sums.some(([, pieces]) => pieces === null)) return undefined;
  return sums
    .map(([barcode, pieces]) => `${barcode}:${pieces}`)
    .toSorted()
    .join();
}

function within(order: Order, all: readonly Order[], isRepeated: boolean): number | null {
  if (order.account === undefined || (isRepeated && order.reference === '')) return null;
  const alike = all.filter(
    (other) =>
      other.account === order.account &&
      other.id < order.id &&
      other.status !== 'canceled' &&
      other.at > order.at - 30 * DAY_MS &&
      (!isRepeated || other.reference === order.reference) &&
      goodsOf(order) !== undefined &&
      goodsOf(other) === goodsOf(order),
  );
  const newest = alike.at(-1);
  return newest ? Math.max(0, order.at - newest.at) : null;
}

function customerOf(order: Order, all: readonly Order[], now: number) {
  if (order.account === undefined) return undefined;
  const own = all.filter((other) => other.account === order.account);
  const kept = own.filter(({ status }) => status !== 'canceled');
  const refunds = own.flatMap((other) => other.refunds);
  return {
    orders_before: kept.filter(({ id }) => id < order.id).length,
    first_order_at: kept.length > 0 ? Math.min(...kept.map(({ at }) => at)) : null,
    refunds_90d: refunds.filter(
      ({ status, at }) => !/rejected|canceled/.test(status) && at > now - 90 * DAY_MS,
    ).length,
  };
}

function known(text: string | undefined): string | null {
  return text === undefined || text.trim() === '' ? null : text;
}

function expected(order: Order, all: readonly Order[], now: number) {
  const coming = order.deliveries.filter(({ status }) => /pending|accepted/.test(status));
  const packed = coming.flatMap(({ lines }) => lines);
  const [ordered, delivered] = [sum(order.lines), sum(packed)];
  const difference = (a: number | null, b: number | null) =>
    a === null || b === null ? null : a - b;
  const { address, city, zip, countryCode } = order.address;
  const whole = [address, city, zip, countryCode].every((text) => known(text) !== null);
  const isTold = order.account !== undefined || Object.keys(order.address).length > 0;
  return {
    order: {
      canceled: order.status === 'canceled',
      quantity: ordered,
      delivered_quantity: delivered,
      remaining_quantity: difference(ordered, delivered),
      similar_within: within(order, all, false),
      repeated_within: within(order, all, true),
      address_complete: isTold ? whole : null,
      ...{ city: known(city), zip: known(zip) },
    },
    lines: (order.deliveries.at(-1)?.lines ?? []).map(({ barcode }) => {
      const same = (lines: readonly Line[]) => lines.filter((line) => line.barcode === barcode);
      const wanted = same(order.lines);
      const own = wanted.length > 0 ? sum(wanted) : null;
      return { ordered: own, remaining_quantity: difference(own, sum(same(packed))) };
    }),
    customer: customerOf(order, all, now),
  };
}

/** The delivery's facts, read alone, and read together with those of all others. */
async function subjectOf(fixture: DeciderFixture, id: number, all: readonly number[]) {
  const { settings } = rulesOf(ACCEPT_SMALL);
  const context = { now: fixture.clock.now(), settings };
  const alone = await fixture.store.transaction((tx) => readSubject(tx, id, context));
  const others = await fixture.store.snapshot((tx) =>
    together(tx, all, (one) => readSubject(tx, one, context)),
  );
  expect(others[all.indexOf(id)]).toEqual({ status: 'fulfilled', value: alone });
  return alone;
}

function gathered(
  subject: Awaited<ReturnType<typeof subjectOf>>,
  like: ReturnType<typeof expected>,
) {
  if (!subject) throw new Error('no delivery');
  const { order, delivery, customer } = completeFacts(subject.facts);
  const only = (names: object, from: object | null | undefined) => {
    const values = new Map(Object.entries(from ?? {}));
    return Object.fromEntries(Object.keys(names).map((name) => [name, values.get(name) ?? null]));
  };
  return {
    order: only(like.order, order),
    lines: delivery.lines.map((line) => only({ ordered: 0, remaining_quantity: 0 }, line)),
    customer: like.customer && only(like.customer, customer),
  };
}

it.each(Array.from({ length: LAST - FIRST + 1 }, (_, at) => FIRST + at))(
  'facts of orders and accounts are what a reader of the manual counts (seed %i)',
  async (seed) => {
    const random = seededRandom(seed);
    const fixture = await createDeciderFixture();
    const now = fixture.clock.now();
    const orders = Array.from({ length: ORDERS }, (_, at) => randomOrder(random, at + 1, now));
    for (const order of orders) await write(fixture, order);
    const all = orders.flatMap(({ deliveries }) => deliveries.map(({ id }) => id));
    for (const order of orders) {
      const wanted = expected(order, orders, now);
      const about = `seed ${seed}, order ${order.id}`;
      const subject = await subjectOf(fixture, order.id * 10 + 9, all);
      expect(gathered(subject, wanted), about).toEqual(wanted);
    }
  },
  SEED_MS_MAX,
);
