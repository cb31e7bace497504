/** Requests to the service for one accepted delivery where events are late, lost or others. */
import { describe, expect, it } from 'vitest';
import { deliveryShape } from '../../src/reference/world/trade/shapes.ts';
import { until } from '../support/house.ts';
import {
  expectLeftToPeople,
  HEARD,
  isDelivery,
  PUT_BACK,
  startAccepted,
  startAccepting,
} from './accepting.ts';

const ORDER = ['GET order', 'GET order/deliveries'];

it('an accepted delivery whose event is lost is read back by one request', async () => {
  const accepting = await startAccepting();
  const order = await accepting.place();
  accepting.holdEvents();
  accepting.pack(order);
  await accepting.hand(isDelivery('created', 'pending'));
  await accepting.confirmed();
  expect(accepting.requests()).toEqual([
    ...ORDER,
    'POST order/deliveries/1',
    'GET order/deliveries/1',
  ]);
});

describe('a delivery that is put back half a second after our accept', () => {
  it('is left to people with both events after it, in reverse', async () => {
    await expectLeftToPeople(await startAccepted(), [PUT_BACK, HEARD]);
  });

  it('is left to people where our accept was heard of before', async () => {
    const { accepting, delivery } = await startAccepted();
    await accepting.hand(HEARD);
    await accepting.confirmed();
    accepting.reference.world.trade.moveDelivery(delivery, 'pending');
    await accepting.hand(PUT_BACK);
    await until('the word about it', async () =>
      (await accepting.decisions()).length > 1 ? true : undefined,
    );
    expect(await accepting.decisions()).toEqual(['daemon accept', 'external hold']);
    expect(delivery.status).toBe('pending');
  });
});

it('an accept that reads do not show for 8 s is nobody else’s act, and is confirmed', async () => {
  const { accepting } = await startAccepted({ readLag: '8s' });
  await accepting.hand(HEARD);
  await accepting.confirmed();
  await accepting.allRead();
  expect(await accepting.decisions()).toEqual(['daemon accept']);
});

it('an event that shows the delivery with other lines has the order read in full', async () => {
  const { accepting, order, delivery } = await startAccepted();
  await accepting.hand(HEARD);
  await accepting.confirmed();
  accepting.reference.edge.journal.clear();
  const shape = deliveryShape(order, delivery);
  const { fulfilledLineItems: lines } = shape;
  const more = Array.isArray(lines) ? [...lines, ...lines] : [];
  const salesOrderDelivery = { ...shape, fulfilledLineItems: more };
  await accepting.handBody({ type: 'sales_order.delivery_updated', data: { salesOrderDelivery } });
  await accepting.allRead();
  expect(accepting.requests()).toEqual(ORDER);
});
