import { expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import type { OutboxItem } from '../../src/outbox/item.ts';
import { createDeliveryStatusKind } from '../../src/outbox/kinds/delivery-status.ts';

const signal = new AbortController().signal;

function kindAt(now: number, found: { status: string; contentHash: string }) {
  return createDeliveryStatusKind(
    {
      readDelivery: async () => ({ orderDeliveryId: 7, ...found }),
      setDeliveryStatus: async () => ({ orderDeliveryId: 7, status: 'rejected' }),
    },
    manualClock(now),
  );
}

/** A reject that is good for one content of the delivery and for a while. */
const item: OutboxItem = {
  ...{ outboxId: 1, kind: 'delivery_status', lane: 'delivery/7', reference: 'r', cause: 'c' },
  ...{ expectedFrom: 'pending', state: 'queued', attempts: 0, answered: false },
  ...{ result: null, inDoubtSince: null, createdAt: 0 },
  body: { orderId: 1, orderDeliveryId: 7, status: 'rejected', contentHash: 'h1', sendBefore: 100 },
};

it('sends a reject only while the delivery is to the letter what it was decided on', async () => {
  const same = { status: 'pending', contentHash: 'h1' };
  expect(await kindAt(99, same).look(item, signal)).toMatchObject({ found: 'no' });
  const changed = { status: 'pending', contentHash: 'h2' };
  expect(await kindAt(99, changed).look(item, signal)).toMatchObject({
    ...{ found: 'overtaken', reason: 'the delivery has changed since it was decided' },
  });
});

it('sends a reject only as long as it was meant for', async () => {
  const same = { status: 'pending', contentHash: 'h1' };
  expect(await kindAt(100, same).look(item, signal)).toMatchObject({
    ...{ found: 'overtaken', reason: 'it was decided too long ago' },
  });
  // That it has been done is the truth at any time.
  const done = { status: 'rejected', contentHash: 'h9' };
  expect(await kindAt(500, done).look(item, signal)).toMatchObject({ found: 'yes' });
});
