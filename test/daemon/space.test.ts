/** Floors of free space that no disk can meet: what the whole daemon then leaves alone. */
import { createHmac } from 'node:crypto';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { drawOrder } from '../../src/reference/life/arrivals.ts';
import {
  startTestDaemon,
  startTestReference,
  testConfig,
  until,
  WEBHOOK_SECRET,
} from '../support/house.ts';

const MORE_THAN_THERE_IS = '1000000GiB';

function floors(...names: readonly string[]) {
  return names.map((name) => ({ path: `store.space.${name}`, value: MORE_THAN_THERE_IS }));
}

/** Sends a signed event as the relay does; gives the status of the answer. */
async function send(url: string): Promise<number> {
  const body = '{"type":"ping","data":{"ping":true}}';
  const at = String(Math.floor(systemClock().now() / 1_000));
  const key = Buffer.from(WEBHOOK_SECRET.replace('whsec_', ''), 'base64');
  const signature = createHmac('sha256', key).update(`msg_1.${at}.${body}`).digest('base64');
  const headers = {
    ...{ 'content-type': 'application/json', 'svix-id': 'msg_1', 'svix-timestamp': at },
    'svix-signature': `v1,${signature}`,
  };
  return (await fetch(url, { method: 'POST', body, headers })).status;
}

it('takes no events and pulls nothing below their floors', async () => {
  const reference = await startTestReference({ auth: { loginSpacing: 0 } });
  const overrides = floors('pullFloor', 'receiveFloor');
  const daemon = await startTestDaemon(reference, testConfig(reference, { overrides }));
  const url = await daemon.listenerUrl;
  expect(await send(url ?? '')).toBe(503);
  expect(await daemon.store.db.selectFrom('webhook_event').select('event_id').execute()).toEqual(
    [],
  );
  expect(await daemon.store.db.selectFrom('sync_run').select('stream').execute()).toEqual([]);
});

it('decides, but sends nothing below the floor of sending', async () => {
  const reference = await startTestReference({
    auth: { loginSpacing: 0 },
    life: { ordersPerMinute: 0, packAfter: '1ms', splitShare: 0, cancelShare: 0 },
  });
  const overrides = [...floors('sendFloor'), { path: 'service.limits.loginSpacing', value: '0s' }];
  const rules = 'rules: [{ id: all, title: All, action: accept, mode: live, when: ["true"] }]';
  const config = testConfig(reference, { overrides, rules });
  const daemon = await startTestDaemon(reference, config);
  const { world } = reference;
  const outbox = () => daemon.store.db.selectFrom('outbox').select('state').execute();
  // A dispatcher that went on would have sent the first ones by the time the last is decided.
  for (let count = 1; count <= 4; count += 1) {
    const orderId = world.book.orders.nextId();
    world.trade.place(drawOrder(world, { seed: 7, orderId, preOrderShare: 0 }));
    await until('the decision', async () => (await outbox()).length >= count || undefined);
  }
  expect(await send((await daemon.listenerUrl) ?? '')).toBe(204);
  expect(new Set((await outbox()).map(({ state }) => state))).toEqual(new Set(['queued']));
  const posts = reference.edge.journal.list({ method: 'POST', path: '*/deliveries/*' });
  expect(posts).toEqual([]);
});
