/** Orders that the service takes otherwise than they were sent, or more often. */
import { expect, it, vi } from 'vitest';
import { markDeleted } from '../../src/mirror/list.ts';
import { DELIVERY, writeDeliveries } from '../../src/mirror/sales-order.ts';
import { enqueueDeliveryStatus } from '../../src/outbox/enqueue.ts';
import { until } from '../support/house.ts';
import { type House, type HouseParts, startHouse } from './house.ts';

const LOST = {
  kind: 'reset',
  moment: 'after',
  count: 1,
  path: '*/orders',
  method: 'POST',
} as const;

/** A busy machine must not look like a stalled service. */
const CALM = Object.fromEntries(
  ['connect', 'firstByte', 'idle', 'total'].map((name) => [`service.timeouts.${name}`, '5m']),
);

/** Makes an order at the service. */
type Place = House['reference']['world']['trade']['place'];

async function placing(
  knobs: HouseParts['knobs'],
  change: (place: Place) => Place,
): Promise<House> {
  const house = await startHouse({ knobs: knobs ?? {}, settings: CALM });
  const { trade } = house.reference.world;
  const changed = change(trade.place.bind(trade));
  vi.spyOn(trade, 'place').mockImplementation(changed);
  return house;
}

function put(house: House): Promise<number> {
  const [barcode = ''] = house.barcodes;
  return house.put('order', 'A-1', { lines: [{ barcode, quantity: 2, price: '12.50' }] });
}

/** Takes one piece more of each line. */
function more(place: Place): Place {
  return (input) => {
    const lines = input.lines.map((line) => ({ ...line, quantity: line.quantity + 1 }));
    return place({ ...input, lines });
  };
}

it('confirms what the service answered with, and tells how it differs', async () => {
  const house = await placing({}, more);
  const state = await house.until(await put(house), 'confirmed', 'in_doubt');
  expect(state).toMatchObject({ state: 'confirmed', blockedReason: null, attempts: 1 });
  const incident = await house.store.db
    .selectFrom('incident')
    .select(['kind', 'key', 'detail'])
    .executeTakeFirstOrThrow();
  expect(incident).toMatchObject({ kind: 'push_differs', key: String(state.outboxId) });
  const [barcode] = house.barcodes;
  expect(JSON.parse(incident.detail).differences).toEqual([
    `pieces: sent 2, shown 3 × ${barcode} at 12.50`,
  ]);
});

it('leaves it to a person where the answer was lost', async () => {
  const house = await placing({ faults: [LOST] }, more);
  const id = await put(house);
  await house.settled();
  const made = house.reference.world.book.orders.all.at(-1);
  expect((await house.until(id, 'in_doubt', 'confirmed')).blockedReason).toBe(
    `order ${made?.orderId} has this reference, but is not like this document`,
  );
  expect(house.ordersWith('A-1')).toBe(1);
});

it('leaves it to a person which one it is where the service made two', async () => {
  const house = await placing({ faults: [LOST] }, (place) => (input) => {
    place(input);
    return place(input);
  });
  const id = await put(house);
  await house.settled();
  const { blockedReason, orderId } = await house.until(id, 'in_doubt', 'confirmed');
  expect(blockedReason).toMatch(/^2 orders have this reference: \d+, \d+$/);
  expect(orderId).toBeNull();
});

it('is there once though it is shown too late, where the service knows the key', async () => {
  const house = await startHouse({
    knobs: { faults: [LOST], orders: { idempotencyKey: 'honour', listingLag: '20m' } },
    settings: {
      ...{ ...CALM, 'outbox.quietTime': '2m' },
      'service.dialect.v1.idempotencyHeader': 'Idempotency-Key',
    },
  });
  expect(await house.until(await put(house), 'confirmed')).toMatchObject({ attempts: 2 });
  expect(house.ordersWith('A-1')).toBe(1);
});

it('reads the stock of what was ordered at once', async () => {
  const house = await startHouse({ settings: { ...CALM, 'streams.off': [] } });
  await house.until(await put(house), 'confirmed');
  const stock = await until('the stock', () =>
    house.store.db.selectFrom('stock_variant').select(['barcode', 'quantity']).executeTakeFirst(),
  );
  expect(stock.barcode).toBe(house.barcodes[0]);
});

/** Pushes an accept of the first delivery of a new order. */
async function startAccept(settings: Record<string, string> = {}, knobs: HouseParts['knobs'] = {}) {
  const house = await startHouse({ settings: { ...CALM, ...settings }, knobs });
  const { book, trade } = house.reference.world;
  const { orderId } = await house.until(await put(house), 'confirmed');
  const order = book.orders.get(orderId ?? 0);
  const { orderDeliveryId = 0 } = (order && trade.packAll(order)) ?? {};
  const accept = async (shownId = orderDeliveryId): Promise<number> => {
    const one = { orderId: orderId ?? 0, orderDeliveryId: shownId, decisionId: 1 };
    const change = { ...one, from: 'pending', to: 'accepted' } as const;
    const id = await house.store.transaction((tx) =>
      enqueueDeliveryStatus(tx, change, house.clock.now()),
    );
    house.outbox.wakeUp();
    return id;
  };
  return { house, deliveries: book.deliveries, orderId: orderId ?? 0, orderDeliveryId, accept };
}

/** How far the reference moves the id of a delivery for its alias. */
const ALIAS = 5_000_000;

it.each([
  ['the alias that it answers under', { deliveryAliases: 'answers', deliveryTakenAs: 'alias' }],
  ['the id of its events', { deliveryAliases: 'lists', deliveryTakenAs: 'own' }, 0],
  ['no id that is its own', { deliveryAliases: 'lists', deliveryTakenAs: 'own' }, 1],
])('sets the status of a delivery once, under %s', async (_what, dialect, offset?) => {
  const { house, orderId, orderDeliveryId, accept } = await startAccept({}, { dialect });
  const { db } = house.store;
  if (offset !== undefined) {
    const delivery = { orderId, orderDeliveryId, deliveryNo: `DN-${orderDeliveryId + offset}` };
    const body = Buffer.from(JSON.stringify({ data: { salesOrderDelivery: delivery } }));
    const event = { event_id: 'msg_1', received_at: 1, sent_at: 1, order_id: orderId, body };
    await db
      .insertInto('webhook_event')
      .values({ ...event, secret_name: '', outcome: 'refresh' })
      .execute();
  }
  const [own, alias] = [orderDeliveryId, orderDeliveryId + ALIAS];
  const [shown, other] = dialect.deliveryAliases === 'lists' ? [alias, own] : [own, alias];
  const isOther = offset !== 1;
  const ended = await house.until(await accept(shown), 'confirmed', 'refused', 'dead');
  expect(ended.state).toBe(isOther ? 'confirmed' : 'refused');
  const posts = house.reference.edge.journal
    .list({ method: 'POST' })
    .filter(({ path }) => path.includes('/deliveries/'))
    .map(({ path, status }) => `${path.split('/').at(-1)}: ${status}`);
  expect(posts).toEqual([`${shown}: 404`, ...(isOther ? [`${other}: 200`] : [])]);
  const rows = await db.selectFrom('delivery').select(['order_delivery_id', 'status']).execute();
  const status = isOther ? 'accepted' : 'pending';
  expect(rows).toEqual([{ order_delivery_id: shown, status }]);
});

it('ends a decision on a delivery that is marked as deleted and is missing again', async () => {
  const { house, deliveries, orderId, orderDeliveryId, accept } = await startAccept();
  vi.spyOn(deliveries, 'ofOrder').mockReturnValue([]);
  const read = { source: 'test', readSeq: 1_000_000, at: house.clock.now() };
  await house.store.transaction(async (tx) => {
    const one = { orderDeliveryId, orderId, status: 'pending', fulfilledLineItems: [] };
    await writeDeliveries(tx, [one], read);
    await markDeleted(tx, DELIVERY, [orderDeliveryId], read);
  });
  const ended = await house.until(await accept(), 'refused');
  expect(ended.lastError ?? ended.blockedReason).toContain('gone at the service');
});

it('leaves a decision to a person that cannot be read back because of its delivery', async () => {
  const { house, deliveries, accept } = await startAccept({ 'outbox.reviewAfter': '1m' });
  const ofOrder: (id: number) => readonly { readonly status: string }[] =
    deliveries.ofOrder.bind(deliveries);
  const list = vi.spyOn<{ ofOrder: (id: number) => unknown }, 'ofOrder'>(deliveries, 'ofOrder');
  list.mockImplementation((id) =>
    ofOrder(id).map((one) => (one.status === 'accepted' ? { ...one, status: 7 } : one)),
  );
  const id = await accept();
  const begun = house.clock.now();
  const left = await until('a person, or ten minutes', async () => {
    const push = await house.until(id, 'queued', 'sending', 'sent', 'in_doubt');
    return push.blockedReason || house.clock.now() > begun + 600_000 ? push : undefined;
  });
  expect(left.blockedReason).toMatch(
    /could not be looked up: the status of delivery \d+ cannot be read/,
  );
});

it('lets a person confirm what the service answered with and can never show', async () => {
  const house = await startHouse({ settings: CALM });
  const orderId = Math.max(...house.reference.world.book.orders.all.map((one) => one.orderId)) + 1;
  const fault = { kind: 'serverError', status: 500, method: 'GET', path: `*/orders/${orderId}` };
  house.reference.knobs.patch({ faults: [fault] });
  const id = await put(house);
  await house.until(id, 'sent');
  const left = { in_doubt_since: house.clock.now(), blocked_reason: 'it cannot be looked for' };
  const toReview = house.store.db.updateTable('outbox').set({ state: 'in_doubt', ...left });
  await toReview.where('outbox_id', '=', id).execute();
  const { review } = house.outbox;
  const who = { actor: 'ann', reason: 'support sees it' };
  const said = (given: number) =>
    review.resolve(id, { as: 'confirmed', id: String(given) }, who).then(({ state }) => state);
  await expect(review.resolve(id, { as: 'absent' }, who)).rejects.toThrow('may still take effect');
  await expect(said(orderId - 1)).rejects.toThrow('has the reference');
  expect(await said(orderId)).toBe('confirmed');
  expect(await house.until(id, 'confirmed')).toMatchObject({ orderId, attempts: 1 });
  expect(house.ordersWith('A-1')).toBe(1);
});
