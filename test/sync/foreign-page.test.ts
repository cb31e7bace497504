/** What stands before the service may answer in its place, maybe for a moment. */
import { expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { RefusedError, RetryLaterError } from '../../src/lib/errors.ts';
import { createReadSequence } from '../../src/store/state.ts';
import { createOrderReader } from '../../src/sync/read-order.ts';
import { answerJson, envelope } from '../client/support.ts';
import { temporaryStore } from '../support/store.ts';
import { startClients } from './support.ts';

it.each([
  ['is asked for again after a page of a proxy', undefined, RetryLaterError],
  ['is refused in the words of the service', envelope(404, {}), RefusedError],
])('an order that cannot be found %s', async (_name, body, expected) => {
  const { v1 } = await startClients((request, response) => {
    if (request.url?.endsWith('/auth/login')) {
      answerJson(response, 200, envelope(200, { token: 'a' }));
    } else if (request.url?.endsWith('/orders/7')) {
      if (body) answerJson(response, 404, body);
      else response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>404</h1>');
    } else {
      answerJson(response, 200, envelope(200, { deliveries: [] }));
    }
  });
  const clock = systemClock();
  const store = await temporaryStore(clock);
  const also = { refunds: false, pendingRefunds: false };
  const sequence = createReadSequence(store, clock);
  const read = createOrderReader({ store, v1, sequence, clock, also });
  const { signal } = new AbortController();
  const reading = read(7, { cause: 'event:msg_1', priority: 'read', signal });
  await expect(reading).rejects.toBeInstanceOf(expected);
});
