/** Pages from in front of the service, which may answer in its place for a moment. */
import { expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { RefusedError, RetryLaterError } from '../../src/lib/errors.ts';
import { createReadSequence } from '../../src/store/state.ts';
import { createOrderReader } from '../../src/sync/read-order.ts';
import { answerJson, envelope } from '../client/support.ts';
import { levelsOf } from '../support/levels.ts';
import { temporaryStore } from '../support/store.ts';
import { startClients } from './support.ts';

it.each([
  ['is asked for again after a page of a proxy', /\/orders\/7$/, undefined, RetryLaterError],
  ['is asked for again after one for its refunds', /7\/refunds$/, undefined, RetryLaterError],
  ['is asked for again after one for everything', /\/orders\//, undefined, RetryLaterError],
  ['is refused in the words of the service', /\/orders\/7$/, envelope(404, {}), RefusedError],
])('an order that cannot be found %s', async (_name, lost, body, expected) => {
  const later: (() => void)[] = [];
  const { v1 } = await startClients((request, response) => {
    if (request.url?.endsWith('/auth/login')) {
      answerJson(response, 200, envelope(200, { token: 'a' }));
    } else if (lost.test(request.url ?? '')) {
      if (body) answerJson(response, 404, body);
      else {
        const page = () => response.writeHead(404).end('<h1>404</h1>');
        // The page for the list that not all have comes first.
        const isFirst = request.url?.endsWith('pending-refunds');
        if (isFirst || !lost.test('/orders/7/pending-refunds')) page();
        else later.push(page);
        if (isFirst) response.once('close', () => later.map((send) => send()));
      }
    } else {
      const order = { orderId: 7, status: 'pending', orderLineItems: [] };
      const lists = { deliveries: [], refunds: [], pendingRefunds: [] };
      answerJson(response, 200, envelope(200, { ...order, ...lists }));
    }
  });
  const clock = systemClock();
  const store = await temporaryStore(clock);
  const also = { refunds: true, pendingRefunds: true };
  const sequence = createReadSequence(store, clock);
  const read = createOrderReader({
    ...{ store, v1, sequence, clock, also },
    levels: await levelsOf(store, clock),
  });
  const { signal } = new AbortController();
  const reading = read(7, { cause: 'event:msg_1', priority: 'read', refunds: true, signal });
  await expect(reading).rejects.toBeInstanceOf(expected);
});
