/** Events as a relay may really send them: shuffled, doubled, lost, many for the same order. */
import { describe, expect, it } from 'vitest';
import type { Reference } from '../../src/reference/reference.ts';
import {
  type RunningDaemon,
  startTestDaemon,
  testConfig,
  until,
  without,
} from '../support/house.ts';
import { temporaryFolder } from '../support/store.ts';
import { fastClock, placeOrders, startFastReference } from './support.ts';

const ORDERS = 100;
const EVENTS = 1_000;
const LOST_ORDERS = 5;

/** An event that changes nothing: what the service says about a delivery as it is. */
function repeatDelivery({ relay, world }: Reference, index: number): void {
  const delivery = world.book.deliveries.all[index % world.book.deliveries.all.length];
  if (!delivery) return;
  const { orderDeliveryId, orderId, status } = delivery;
  const salesOrderDelivery = { orderDeliveryId, orderId, status, fulfilledLineItems: [] };
  relay.publish('sales_order.delivery_updated', { salesOrderDelivery });
}

function orderReads({ edge }: Reference): number {
  return edge.journal
    .list({ method: 'GET', path: '/api/v1/orders/*' })
    .filter(({ path }) => /\/orders\/\d+$/.test(path)).length;
}

/** Waits until nothing is left to do; gives the number of decisions. */
async function everythingDecided(
  reference: Reference,
  daemon: RunningDaemon,
  mode: string,
): Promise<number> {
  const { deliveries } = reference.world.book;
  return until('a decision of every delivery', async () => {
    const { db } = daemon.store;
    const decisions = await db
      .selectFrom('decision')
      .select('order_delivery_id')
      // A delivery that was held before, and is held in this mode, is not journaled again.
      .where((eb) => eb.or([eb('mode', '=', mode), eb('outcome', '=', 'hold')]))
      .execute();
    const open = await db
      .selectFrom('outbox')
      .select('ordering_key')
      .where('ended_at', 'is', null)
      .execute();
    const waiting = await db.selectFrom('refresh').select('order_id').execute();
    const decided = new Set(decisions.map((row) => row.order_delivery_id)).size;
    const done = decided === deliveries.all.length && open.length === 0 && waiting.length === 0;
    return done ? decisions.length : undefined;
  });
}

describe('a storm of events', () => {
  it('has every delivery decided once, and a sweep finds what was lost', async () => {
    const clock = fastClock();
    const reference = await startFastReference(
      {
        world: { styles: 20, orders: 0 },
        life: { packAfter: '10ms', shipAfter: '1h', cancelShare: 0, splitShare: 0 },
        webhooks: { seed: 5, lost: 0.1, duplicated: 0.3, reordered: 1, reorderMax: '10s' },
      },
      clock,
    );
    const folder = temporaryFolder();
    const configFor = (mode: 'observe' | 'live', requestsPerSecond: number) =>
      testConfig(reference, {
        folder,
        overrides: [
          { path: 'rules.mode', value: mode },
          { path: 'service.limits.requestsPerSecond', value: requestsPerSecond },
          { path: 'service.limits.loginSpacing', value: '0s' },
          { path: 'streams.orders.schedule', value: '0 0 1 1 *' },
          without('ordersFull'),
        ],
      });
    // Without pushes every read is an event's; how fast they may go decides how many there are.
    const daemon = await startTestDaemon(reference, configFor('observe', 20), clock);
    placeOrders(reference, ORDERS);
    const { deliveries } = reference.world.book;
    await until('packing', () => (deliveries.all.length === ORDERS ? true : undefined));
    for (let index = 0; index < EVENTS - 2 * ORDERS; index += 1) repeatDelivery(reference, index);
    // The relay holds each event back for up to 10 s.
    await clock.sleep(10_500);
    expect(await everythingDecided(reference, daemon, 'observe')).toBe(ORDERS);
    const received = await daemon.store.db.selectFrom('webhook_event').selectAll().execute();
    const duplicates = received.reduce((sum, row) => sum + row.duplicates, 0);
    const reads = orderReads(reference);
    const times = received.map((row) => Math.max(row.received_at, row.last_duplicate_at ?? 0));
    const seconds = (Math.max(...times) - Math.min(...times)) / 1_000;
    const arrived = `${received.length} events and ${duplicates} duplicates in ${seconds} s`;
    const figures = `${arrived}, ${reads} reads`;
    expect(received.length, figures).toBeGreaterThan(EVENTS * 0.85);
    expect(duplicates, figures).toBeGreaterThan(EVENTS * 0.2);
    expect(reads, figures).toBeLessThanOrEqual(3 * ORDERS);
    if (process.env.SELVEDGE_FIGURES !== undefined) process.stderr.write(`${figures}\n`);

    reference.knobs.patch({ webhooks: { lost: 1 } });
    placeOrders(reference, LOST_ORDERS);
    await until('packing of the lost ones', () =>
      deliveries.all.length === ORDERS + LOST_ORDERS ? true : undefined,
    );
    await daemon.store.db
      .updateTable('stream_state')
      .set({ due_at: 0 })
      .where('stream', '=', 'orders')
      .execute();
    await daemon.stop();
    const next = await startTestDaemon(reference, configFor('live', 1_000), clock);
    expect(await everythingDecided(reference, next, 'live')).toBe(ORDERS + LOST_ORDERS);
    const posts = reference.edge.journal.list({ method: 'POST', path: '*/deliveries/*' });
    const paths = posts.filter(({ status }) => status === 200).map(({ path }) => path);
    expect(new Set(paths).size).toBe(paths.length);
    const accepted = deliveries.all.filter(({ status }) => status === 'accepted');
    expect(paths).toHaveLength(accepted.length);
  });
});
