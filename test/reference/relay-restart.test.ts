import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { parseKnobs } from '../../src/reference/control/knob-store.ts';
import { type Reference, startReference } from '../../src/reference/reference.ts';
import { temporaryFolder } from '../support/store.ts';

it('sends after a restart what it could not send before it', async () => {
  const received: string[] = [];
  let answer = 500;
  const receiver = createServer((request, response) => {
    received.push(String(request.headers['svix-id']));
    request.resume();
    response.writeHead(answer).end();
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  onTestFinished(() => void receiver.close());
  const address = receiver.address();
  const port = typeof address === 'object' ? address?.port : undefined;

  const clock = manualClock();
  const relayState = join(temporaryFolder(), 'relay.db');
  const start = (): Promise<Reference> =>
    startReference({
      host: '127.0.0.1',
      ports: { service: 0, relay: 0, control: 0 },
      knobs: parseKnobs({ world: { styles: 20, orders: 0 }, life: { ordersPerMinute: 0 } }),
      clock,
      log: silentLogger(),
      relayState,
    });

  const before = await start();
  before.relay.createEndpoint({ url: `http://127.0.0.1:${port}/hook` });
  before.relay.publish('sales_order.order_created', { salesOrder: { orderId: 1 } });
  await before.relay.idle();
  await before.close();
  expect(received).toHaveLength(1);

  answer = 204;
  const after = await start();
  onTestFinished(() => after.close());
  await clock.advance(10_000);
  await after.relay.idle();
  expect(received).toHaveLength(2);
  expect(received[1]).toBe(received[0]);
});
