/**
 * The newest page of orders, looked at before an order leaves for the first time: another daemon on
 * the same account (an old host that still runs after a move) may have sent it a moment ago, and no
 * pull or event has told of it yet. One request serves all orders that are due within a second. It
 * is a look more, not a condition: where it fails or takes long, the order leaves without it.
 */
import type { V1Client } from '../../client/v1/client.ts';
import type { SalesOrder } from '../../client/v1/schemas.ts';
import type { Clock } from '../../lib/clock.ts';
import { isStoreUnusable } from '../../lib/errors.ts';
import { referenceKey } from '../documents.ts';

export interface NewestOrders {
  /** Those with one of these references, whatever its letters. */
  withReference(references: readonly string[], signal: AbortSignal): Promise<readonly SalesOrder[]>;
}

/** A page whose read began so long ago at the most counts as the newest. */
const FRESH_MS = 1_000;
const WAIT_MS_MAX = 5_000;

interface Page {
  readonly startedAt: number;
  readonly orders: Promise<readonly SalesOrder[]>;
}

export function createNewestOrders(deps: {
  readonly v1: Pick<V1Client, 'orders'>;
  readonly clock: Clock;
}): NewestOrders {
  const { v1, clock } = deps;
  let page: Page | undefined;
  const read = (): Page => {
    const orders = v1.orders(undefined, { priority: 'push' }).then(
      ({ rows }) => rows,
      (error: unknown) => {
        if (isStoreUnusable(error)) throw error;
        return [];
      },
    );
    return { startedAt: clock.monotonic(), orders };
  };
  return {
    async withReference(references, signal) {
      if (!page || clock.monotonic() - page.startedAt >= FRESH_MS) page = read();
      const enough = new AbortController();
      const timeUp = clock.sleep(WAIT_MS_MAX, AbortSignal.any([signal, enough.signal])).then(
        () => [],
        () => [],
      );
      const rows = await Promise.race([page.orders, timeUp]);
      enough.abort();
      const keys = new Set(references.map(referenceKey));
      return rows.filter(({ reference }) => reference && keys.has(referenceKey(reference)));
    },
  };
}
