/** Requests for one accepted delivery; accept-requests.slow.test.ts has the rarer ways. */
import { expect, it } from 'vitest';
import { expectLeftToPeople, HEARD, PUT_BACK, startAccepted, startAccepting } from './accepting.ts';

const ORDER = ['GET order', 'GET order/deliveries'];

it('an accepted delivery takes four requests, from its event to the confirmed push', async () => {
  const accepting = await startAccepting();
  accepting.pack(await accepting.place());
  await accepting.confirmed();
  await accepting.allRead();
  expect(accepting.requests()).toEqual([
    ...ORDER,
    'POST order/deliveries/1',
    'GET order/deliveries/1',
  ]);
});

it('a delivery that is put back half a second after our accept is left to people', async () => {
  await expectLeftToPeople(await startAccepted(), [HEARD, PUT_BACK]);
});
