/** Work that an event asks for is done at once, not at the next look. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { drawOrder } from '../../src/reference/life/arrivals.ts';
import { startTestDaemon, startTestReference, testConfig, until } from '../support/house.ts';
import { placeDatabase } from '../support/store.ts';

const QUICK = [{ path: 'service.limits.loginSpacing', value: '0s' }];

/** A clock on which a sleep of seconds lasts until the end. */
function sleepyClock(): Clock {
  const clock = systemClock();
  return {
    ...clock,
    after: (ms, task) => (ms < 2_000 ? clock.after(ms, task) : { cancel: () => undefined }),
    // A day is longer than any test.
    sleep: (ms, signal) => clock.sleep(ms < 2_000 ? ms : 86_400_000, signal),
  };
}

it('understands what an older program could only store, as soon as it starts', async () => {
  const reference = await startTestReference({ auth: { loginSpacing: 0 } });
  const config = testConfig(reference, { overrides: QUICK });
  const path = join(config.dataDir, 'mirror.db');
  placeDatabase(path);
  const database = new Database(path);
  const body = '{"type":"sales_order.order_created","data":{"salesOrder":{"orderId":7}}}';
  database
    .prepare(
      `insert into webhook_event (event_id, received_at, sent_at, body, secret_name, outcome)
       values ('msg_1', 0, 0, ?, 's', 'stored')`,
    )
    .run(Buffer.from(body));
  database.close();
  const { store } = await startTestDaemon(reference, config, sleepyClock());
  await until('the event to name its order', async () => {
    const event = await store.db.selectFrom('webhook_event').selectAll().executeTakeFirst();
    return (event?.order_id === 7 && event.outcome === 'refresh') || undefined;
  });
});

it('reads the order that an event names, and decides about its delivery', async () => {
  const reference = await startTestReference({
    auth: { loginSpacing: 0 },
    life: { ordersPerMinute: 0, packAfter: '1ms', splitShare: 0, cancelShare: 0 },
  });
  const config = testConfig(reference, { overrides: QUICK });
  const { store } = await startTestDaemon(reference, config, sleepyClock());
  await until('the first sweep', async () => {
    const runs = await store.db.selectFrom('sync_run').selectAll().execute();
    const swept = runs.filter(({ stream }) => stream.startsWith('orders'));
    return (swept.length === 2 && swept.every((run) => run.outcome === 'complete')) || undefined;
  });
  const { world } = reference;
  const orderId = world.book.orders.nextId();
  world.trade.place(drawOrder(world, { seed: 7, orderId, preOrderShare: 0 }));
  await until('the decision', async () =>
    store.db.selectFrom('decision').select('order_id').executeTakeFirst(),
  );
  const events = await store.db.selectFrom('webhook_event').select('type').execute();
  expect(events.map(({ type }) => type)).toContain('sales_order.delivery_created');
});
