/** A mirror in which so many deliveries are held by rules: for benchmarks of the console. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createDecider } from '../../src/decisions/decider.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { writeOrders } from '../../src/mirror/sales-order.ts';
import { loadRules } from '../../src/rules/load.ts';
import type { Store } from '../../src/store/store.ts';
import { writeDeliveries } from './moved.ts';

const BATCH = 500;
const LINES = 6;
const COUNTRIES = ['DK', 'SE', 'NO', 'DE', 'GB', 'FR'];

/** Everything waits for a person. */
export const HOLD_ALL_RULES = `rules:
  - { id: hold-all, title: Held, action: hold, mode: live, when: [delivery.quantity > 0] }
  - { id: hold-large, title: Large, action: hold, mode: live, when: [delivery.quantity > 30] }
`;

export async function fillHeldDeliveries(store: Store, clock: Clock, count: number): Promise<void> {
  const files = [{ path: 'rules.yaml', text: HOLD_ALL_RULES }];
  const loaded = loadRules(files);
  if ('problems' in loaded) throw new Error(loaded.problems[0]?.message);
  const { ruleSet } = loaded;
  let seq = 0;
  const provenance = () => ({ source: 'run:1', readSeq: ++seq, at: clock.now() });
  for (let first = 1; first <= count; first += BATCH) {
    const ids = Array.from({ length: BATCH }, (_, index) => first + index);
    const lines = (id: number) =>
      Array.from({ length: LINES }, (_, line) => ({
        barcode: `b${(id * 17 + line) % 50_000}`,
        price: 99.5,
      }));
    await store.transaction(async (tx) => {
      const orders = ids.map((id) => ({
        orderId: id,
        orderNo: `SO-${id}`,
        reference: `PO-${id}`,
        status: 'pending',
        completed: false,
        currency: id % 3 === 0 ? 'EUR' : 'DKK',
        shippingAddress: {
          company: `Shop ${id % 700}`,
          countryCode: COUNTRIES[id % COUNTRIES.length],
          accountNo: `C-${id % 700}`,
        },
        orderLineItems: lines(id).map((line) => ({ ...line, quantity: 1 + (id % 9) })),
      }));
      const deliveries = ids.map((id) => ({
        orderDeliveryId: id,
        orderId: id,
        deliveryNo: `DN-${id}`,
        status: 'pending',
        createdAt: new Date(clock.now() - id * 1_000).toISOString(),
        fulfilledLineItems: lines(id).map((line) => ({ ...line, fulfilledQuantity: 1 + (id % 9) })),
      }));
      await writeOrders(tx, orders, provenance());
      await writeDeliveries(tx, deliveries, provenance());
    });
  }
  let decided = 0;
  const decider = createDecider({
    store,
    clock,
    log: silentLogger(),
    rules: () => ({ ruleSet, files }),
    mode: () => 'live',
    settleMs: 0,
    freshness: {},
    reconsiderMs: 900_000,
    onPush: () => undefined,
    onDecided: () => {
      decided += 1;
    },
  });
  const stop = new AbortController();
  const running = decider.run(stop.signal);
  while (decided < count) await nextTurn();
  stop.abort();
  await running;
}
