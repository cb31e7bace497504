/** Stored events as people look at them. */
import { expect, it } from 'vitest';
import { eventPlace, eventsFrom, listEvents, traceEvent } from '../../src/inbox/overview.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { writePendingRefunds, writeRefunds } from '../../src/mirror/refund.ts';
import { writeDeliveries, writeOrders } from '../../src/mirror/sales-order.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { temporaryStore } from '../support/store.ts';

async function addEvent(
  { db }: SqliteStore,
  eventId: string,
  receivedAt: number,
  again: number | null = null,
): Promise<void> {
  await db
    .insertInto('webhook_event')
    .values({
      ...{ event_id: eventId, received_at: receivedAt, sent_at: 0, body: Buffer.from('{}') },
      ...{ type: 'sales_order.delivery_created', order_id: 7, secret_name: 'a' },
      ...{ outcome: 'refresh', duplicates: Number(again !== null), last_duplicate_at: again },
    })
    .execute();
}

const idsOf = (rows: readonly { readonly eventId: string }[]): string[] =>
  rows.map(({ eventId }) => eventId);

it('lists the latest, and what came from some time on, again or for the first time', async () => {
  const store = await temporaryStore();
  for (const at of [100, 300, 200]) await addEvent(store, `msg_${at}`, at);
  await addEvent(store, 'msg_50', 50, 250);
  expect(idsOf(await listEvents(store.db, {}, { limit: 2 }))).toEqual(['msg_300', 'msg_200']);
  const since = await listEvents(store.db, { since: 200 }, { limit: 9 });
  expect(idsOf(since)).toEqual(['msg_300', 'msg_200']);
  await addEvent(store, 'msg_201', 200);
  const [first = '', second = ''] = (await listEvents(store.db, {}, { limit: 2 })).map(eventPlace);
  const after = await listEvents(store.db, {}, { after: second, limit: 2 });
  expect(idsOf(after)).toEqual(['msg_201', 'msg_100']);
  const back = await listEvents(store.db, {}, { back: after.map(eventPlace)[0], limit: 2 });
  expect(back.map(eventPlace)).toEqual([first, second]);
  expect(idsOf(await eventsFrom(store.db, 201))).toEqual(['msg_50', 'msg_300']);
});

it('tells what an event led to from what else has happened to its order, since then', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  let readSeq = 0;
  const write = async (source: string, status: string): Promise<void> => {
    readSeq += 1;
    const provenance = { source, readSeq, at: clock.now() };
    const order = { orderId: 7, status, orderLineItems: [] };
    const delivery = { orderDeliveryId: 70, orderId: 7, status, fulfilledLineItems: [] };
    const refund = { orderRefundId: 71, orderId: 7, status, refundedLineItems: [] };
    const pending = { pendingRefundId: 72, orderId: 7, status, refundLineItems: [] };
    await store.transaction(async (tx) => {
      await writeOrders(tx, [order], provenance);
      await writeDeliveries(tx, [delivery], provenance);
      await writeRefunds(tx, [refund], provenance);
      await writePendingRefunds(tx, [pending], provenance);
    });
  };
  const decide = (reason: string) =>
    store.db
      .insertInto('decision')
      .values({
        ...{ order_delivery_id: 70, order_id: 7, at: clock.now(), trigger: 't', actor: 'daemon' },
        ...{ rule_set_hash: 'r', facts_digest: 'f', mode: 'live', outcome: 'hold', reason },
        ...{ rules: '[]', shadow: '[]', said: 'hold', matched: '[]', lapsed: '[]' },
        ...{ evaluation: Buffer.from(''), previous_hash: '', hash: reason },
      })
      .execute();
  await write('run:1', 'pending');
  await decide('before');
  await clock.advance(1_000);
  await addEvent(store, 'msg_1', clock.now());
  await clock.advance(1_000);
  await write('refresh:event:msg_1', 'accepted');
  await write('refresh:event:msg_2', 'rejected');
  await decide('after');
  const trace = await traceEvent(store.db, 'msg_1');
  expect(trace?.changes).toMatchObject([
    { entity: 'sales_order', key: '7', cause: 'refresh:event:msg_1' },
    { entity: 'delivery', key: '70', cause: 'refresh:event:msg_1' },
    { entity: 'refund', key: '71', cause: 'refresh:event:msg_1' },
    { entity: 'pending_refund', key: '72', cause: 'refresh:event:msg_1' },
  ]);
  expect(trace?.orderSince.map(({ cause }) => cause)).toEqual([
    ...Array(4).fill('refresh:event:msg_1'),
    ...Array(4).fill('refresh:event:msg_2'),
  ]);
  expect(await store.db.selectFrom('decision').select('reason').execute()).toHaveLength(2);
  expect(trace?.decisions).toMatchObject([{ decisionId: 2, orderDeliveryId: 70 }]);
});
