/** A replica of the service lags behind its events, and an endpoint hears of several accounts. */
import { describe, expect, it, vi } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { noteAnnounced, UNSEEN_MS_MAX, unseenOf } from '../../src/mirror/announced.ts';
import { quarantineRows } from '../../src/mirror/quarantine.ts';
import type { Reference } from '../../src/reference/reference.ts';
import { readSystemKey } from '../../src/store/state.ts';
import { openSystemKeys } from '../../src/store/system-keys.ts';
import { placeOrders } from '../e2e/support.ts';
import { startTestDaemon, startTestReference, testConfig, until } from '../support/house.ts';
import { temporaryStore } from '../support/store.ts';

/** No sweep finds what an event has announced. */
const EVENTS_ALONE = [
  { path: 'service.limits.loginSpacing', value: '0s' },
  { path: 'streams.orders.schedule', value: '0 3 1 1 *' },
  { path: 'streams.ordersFull.schedule', value: '0 3 1 1 *' },
];

async function startHouse() {
  const reference = await startTestReference({
    world: { styles: 6, orders: 0 },
    life: { ordersPerMinute: 0, packAfter: '1h', cancelShare: 0 },
    auth: { loginSpacing: 0 },
  });
  const config = testConfig(reference, { overrides: EVENTS_ALONE });
  const daemon = await startTestDaemon(reference, config);
  await until('the first sweep', () =>
    daemon.store.db
      .selectFrom('stream_state')
      .select('stream')
      .where('stream', '=', 'orders')
      .where('complete_at', 'is not', null)
      .executeTakeFirst(),
  );
  return { reference, daemon };
}

function lastOrder({ world }: Reference): number {
  return Math.max(...world.book.orders.all.map(({ orderId }) => orderId));
}

describe('what an event announces', () => {
  it('is asked for until it is shown, and is decided then', async () => {
    const { reference, daemon } = await startHouse();
    placeOrders(reference, 1);
    const orderId = lastOrder(reference);
    const { deliveries } = reference.world.book;
    let shows = 3;
    const real = deliveries.ofOrder.bind(deliveries);
    vi.spyOn(deliveries, 'ofOrder').mockImplementation((id) => {
      shows -= 1;
      return shows < 0 ? real(id) : [];
    });
    const order = reference.world.book.orders.get(orderId);
    if (order) reference.world.trade.packAll(order);
    const row = await until('the decision', () =>
      daemon.store.db
        .selectFrom('delivery as d')
        .innerJoin('evaluation as e', 'e.order_delivery_id', 'd.order_delivery_id')
        .select('d.order_delivery_id')
        .where('order_id', '=', orderId)
        .executeTakeFirst(),
    );
    expect(real(orderId).map((one) => one.orderDeliveryId)).toContain(row.order_delivery_id);
    expect(await daemon.store.db.selectFrom('announced').selectAll().execute()).toEqual([]);
  });

  it('is no longer waited for once it was seen, cannot be read, or is long past', async () => {
    const clock = manualClock();
    const store = await temporaryStore(clock);
    const note = (id: number, status?: string, sentAt = clock.now()) =>
      store.transaction((tx) =>
        noteAnnounced(tx, [{ thing: 'delivery', id, orderId: 7, status, sentAt }], clock.now()),
      );
    const unseen = async () =>
      (await unseenOf(store.db, 7, clock.now(), true)).map(({ id, isGivenUp }) => [id, isGivenUp]);
    await note(1, 'accepted');
    await note(2);
    await note(3);
    // The list shows delivery 1 instead, which has the number that this id was announced with.
    await note(4, 'pending');
    const data = { salesOrderDelivery: { orderId: 7, orderDeliveryId: '4', deliveryNo: 'DN-1' } };
    const event = { event_id: 'msg_4', received_at: 0, sent_at: 0, order_id: 7 } as const;
    const body = Buffer.from(JSON.stringify({ type: 'sales_order.delivery_created', data }));
    await store.db
      .insertInto('webhook_event')
      .values({ ...event, body, secret_name: '', outcome: 'refresh' })
      .execute();
    expect(await unseen()).toEqual([
      [1, false],
      [2, false],
      [3, false],
      [4, false],
    ]);
    const values = { order_id: 7, extra: '{}', content_hash: '', source: '' };
    const times = { first_seen_at: 0, changed_at: 0, read_seq: 1 };
    const tracking = { tracking_numbers: '[]', tracking_links: '[]' };
    await store.db
      .insertInto('delivery')
      .values({
        order_delivery_id: 1,
        delivery_no: 'DN-1',
        status: 'pending',
        ...values,
        ...times,
        ...tracking,
      })
      .execute();
    const reject = { raw: { orderDeliveryId: 2, orderId: 7 }, path: 'status', reason: 'odd' };
    const from = { source: '', readSeq: 1, at: clock.now() };
    await store.transaction((tx) => quarantineRows(tx, 'delivery', [reject], from));
    expect(await unseen()).toEqual([
      [1, false],
      [3, false],
    ]);
    // Somebody put it back before it was read; an older word about it comes later than this one.
    await note(1, 'pending', clock.now() + 1);
    await note(1, 'accepted', clock.now() - 1);
    expect(await unseen()).toEqual([[3, false]]);
    await clock.advance(UNSEEN_MS_MAX + 1);
    expect(await unseen()).toEqual([[3, true]]);
    expect(await unseen()).toEqual([]);
  });
});

describe('events of other accounts', () => {
  it('are told apart by the keys of orders that we have under the same reference', async () => {
    const clock = manualClock();
    const store = await temporaryStore(clock);
    const told: string[] = [];
    const keys = await openSystemKeys(store, clock, (key, isForeign) =>
      told.push(`${key} ${isForeign}`),
    );
    for (let i = 0; i < 3; i += 1) await keys.note('theirs', false);
    expect(keys.isForeign('theirs')).toBe(false);
    await keys.note('ours', true);
    await keys.note('ours', true);
    expect(keys.isForeign('theirs')).toBe(true);
    expect(keys.isForeign('ours')).toBe(false);
    expect(keys.isForeign(null)).toBe(false);
    expect(await readSystemKey(store.db)).toBe('ours');
    await keys.note('theirs too', false);
    expect(told).toEqual([]);
    const again = await openSystemKeys(store, clock, () => undefined);
    expect(again.isForeign('theirs')).toBe(true);
    await again.note('theirs', true);
    expect(again.isForeign('theirs')).toBe(false);
  });
});
