/** The outbox as the configuration describes it: the kinds of documents and what sends them. */
import type { Config } from '../config/schema.ts';
import type { Random } from '../lib/chance.ts';
import type { Clock } from '../lib/clock.ts';
import { RefusedError, RetryLaterError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { createDispatcher, type Dispatcher } from '../outbox/dispatcher.ts';
import type { OutboxItem } from '../outbox/item.ts';
import { createDeliveryStatusKind } from '../outbox/kinds/delivery-status.ts';
import type { SpaceWatch } from '../store/space.ts';
import type { Store } from '../store/store.ts';
import type { ReadOrder } from '../sync/read-order.ts';
import type { Service } from './service.ts';

export interface OutboxDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly service: Service;
  readonly readOrder: ReadOrder;
  readonly space: SpaceWatch;
  readonly onEnded: (item: OutboxItem, state: string) => void;
}

/** Codes by which the service says that it has no such order. */
const GONE = new Set(['service.not_found', 'service.gone']);

const DISPATCHER_LIMITS = { concurrency: 4, idleMsMax: 30_000 };

async function contentHashOf(
  { db }: Store,
  { orderDeliveryId }: { readonly orderDeliveryId: number },
): Promise<string | undefined> {
  const row = await db
    .selectFrom('delivery')
    .select('content_hash')
    .where('order_delivery_id', '=', orderDeliveryId)
    .executeTakeFirst();
  return row?.content_hash;
}

export function createOutbox(config: Config['outbox'], deps: OutboxDeps): Dispatcher {
  const { v1 } = deps.service;
  const deliveryStatus = createDeliveryStatusKind(
    {
      async readDelivery(orderId, orderDeliveryId, signal) {
        const request = { cause: 'outbox', priority: 'push', signal } as const;
        try {
          const { deliveries } = await deps.readOrder(orderId, request);
          const found = deliveries.find((one) => one.orderDeliveryId === orderDeliveryId);
          if (found) return { ...found, contentHash: await contentHashOf(deps.store, found) };
          // Deliveries are never removed: the list was cut short, or its row could not be read.
          const text = `order ${orderId} is shown without its delivery ${orderDeliveryId}`;
          throw new RetryLaterError('outbox.delivery_missing', text);
        } catch (error) {
          if (error instanceof RefusedError && GONE.has(error.code)) return undefined;
          throw error;
        }
      },
      async setDeliveryStatus(orderId, orderDeliveryId, status, signal) {
        const call = { priority: 'push', signal } as const;
        return (await v1.setDeliveryStatus(orderId, orderDeliveryId, status, call)).value;
      },
    },
    deps.clock,
  );
  return createDispatcher({
    store: deps.store,
    clock: deps.clock,
    random: deps.random,
    log: deps.log.child({ room: 'outbox' }),
    kinds: [deliveryStatus],
    limits: {
      ...DISPATCHER_LIMITS,
      attemptsMax: config.attemptsMax,
      retryMsMin: config.delayMin,
      retryMsMax: config.delayMax,
    },
    stopped: () => config.stop || !deps.space.allows('send'),
    onEnded: deps.onEnded,
  });
}
