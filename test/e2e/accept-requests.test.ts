/** Requests to the service for one accepted delivery, at no loss of care. */
import { describe, expect, it } from 'vitest';
import { deliveryShape } from '../../src/reference/world/trade/shapes.ts';
import { until } from '../support/house.ts';
import { type Accepting, startAccepting } from './accepting.ts';

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

function isDelivery(what: string, status: string) {
  return (body: unknown): boolean => {
    const text = JSON.stringify(body);
    return text.includes(`sales_order.delivery_${what}`) && text.includes(`"status":"${status}"`);
  };
}

/** The daemon has accepted, and its event is yet to come. */
async function accepted(dialect?: Readonly<Record<string, unknown>>) {
  const accepting = await startAccepting(dialect);
  const order = await accepting.place();
  accepting.holdEvents();
  const delivery = accepting.pack(order);
  await accepting.hand(isDelivery('created', 'pending'));
  await until('our accept', () => (delivery.status === 'accepted' ? true : undefined));
  return { accepting, order, delivery };
}

async function pushEnded({ pushes }: Accepting): Promise<void> {
  await until('the end of the push', async () =>
    ['confirmed', 'refused'].includes((await pushes()).at(-1)?.state ?? '') ? true : undefined,
  );
}

describe('a delivery that is put back half a second after our accept', () => {
  const heard = isDelivery('updated', 'accepted');
  const back = isDelivery('updated', 'pending');
  it.each([
    ['with both events after it, in order', [heard, back]],
    ['with both events after it, in reverse', [back, heard]],
  ])('is left to people %s', async (_, events) => {
    const { accepting, delivery } = await accepted();
    const { clock, reference } = accepting;
    await clock.sleep(500);
    reference.world.trade.moveDelivery(delivery, 'pending');
    for (const is of events) {
      await accepting.hand(is);
      await clock.sleep(200);
    }
    await pushEnded(accepting);
    await until('the word about it', async () =>
      (await accepting.decisions()).length > 1 ? true : undefined,
    );
    expect(await accepting.decisions()).toEqual(['daemon accept', 'external hold']);
    // Nothing has shown the accept: what the answer told is no proof of it.
    expect(await accepting.pushes()).toMatchObject([{ state: 'refused' }]);
    expect(delivery.status).toBe('pending');
  });

  it('is left to people where our accept was heard of before', async () => {
    const { accepting, delivery } = await accepted();
    await accepting.hand(heard);
    await accepting.confirmed();
    accepting.reference.world.trade.moveDelivery(delivery, 'pending');
    await accepting.hand(back);
    await until('the word about it', async () =>
      (await accepting.decisions()).length > 1 ? true : undefined,
    );
    expect(await accepting.decisions()).toEqual(['daemon accept', 'external hold']);
    expect(delivery.status).toBe('pending');
  });
});

it('an accept that reads do not show for 8 s is nobody else’s act, and is confirmed', async () => {
  const { accepting } = await accepted({ readLag: '8s' });
  await accepting.hand(isDelivery('updated', 'accepted'));
  await accepting.confirmed();
  await accepting.allRead();
  expect(await accepting.decisions()).toEqual(['daemon accept']);
});

it('an event that shows the delivery with other lines has the order read in full', async () => {
  const { accepting, order, delivery } = await accepted();
  await accepting.hand(isDelivery('updated', 'accepted'));
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
