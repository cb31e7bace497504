/** Whether an account is that of the data folder: what tells it, and what it is until then. */
import { expect, it, onTestFinished } from 'vitest';
import type { SalesOrder } from '../../src/client/v1/schemas.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { RefusedError, RetryLaterError, SelvedgeError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { writeStockVariants } from '../../src/mirror/catalog/out-of-band.ts';
import { writeOrders } from '../../src/mirror/sales-order.ts';
import { type AccountDeps, openAccountGuard } from '../../src/outbox/account-guard.ts';
import { type Account, readAccount, readAccountHold, writeAccount } from '../../src/store/state.ts';
import { temporaryStore } from '../support/store.ts';

const BEFORE: Account = { address: 'https://old.example.com/api/v1', clientId: 'erp' };
const MOVED: Account = { ...BEFORE, address: 'https://new.example.com/api/v1' };
const RETRY_MS = 30_000;

function order(orderId: number, more: { reference?: string; barcode?: string } = {}): SalesOrder {
  const { reference = `Web ${orderId}`, barcode = 'b-1' } = more;
  const orderLineItems = [{ barcode, quantity: 1, price: 10 }];
  return { orderId, reference, status: 'pending', orderLineItems };
}

function orders(from: number, to: number): SalesOrder[] {
  return Array.from({ length: to - from + 1 }, (_, at) => order(from + at));
}

interface Scene {
  readonly account?: Account;
  /** Orders that the mirror has, and those of the account. */
  readonly here?: readonly SalesOrder[];
  readonly there?: readonly SalesOrder[];
  /** The same of the articles of the stock. */
  readonly stock?: readonly string[];
  readonly articles?: readonly string[];
  /** Orders and articles whose own addresses are always answered with a fault. */
  readonly failing?: readonly (number | string)[];
}

async function accountOf({ account = MOVED, here = [], there = [], ...scene }: Scene) {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const provenance = { source: 'run:1', readSeq: 1, at: clock.now() };
  const stock = (scene.stock ?? []).map((barcode) => ({ barcode, quantity: 1 }));
  await writeAccount(store.db, BEFORE, clock);
  await store.transaction(async (tx) => {
    await writeOrders(tx, here, provenance);
    await writeStockVariants(tx, stock, provenance);
  });
  const service = { isAway: false };
  const answer = <T>(id: number | string, value: T | undefined) => {
    if (service.isAway || scene.failing?.includes(id))
      throw new RetryLaterError('service.fault', 'HTTP 503');
    if (value === undefined) throw new RefusedError('service.not_found', 'HTTP 404');
    return Promise.resolve({ value, startedAt: 0 });
  };
  const v1 = {
    order: async (id: number) =>
      answer(
        id,
        there.find(({ orderId }) => orderId === id),
      ),
    stockVariant: async (barcode: string) =>
      answer(barcode, scene.articles?.includes(barcode) ? { barcode, quantity: 1 } : undefined),
  };
  const deps: AccountDeps = { store, clock, log: silentLogger(), account };
  /** A start of the daemon: `told` is how the question ends. */
  const start = async () => {
    const guard = await openAccountGuard(deps, () => v1);
    const { promise, resolve } = Promise.withResolvers<string>();
    guard.onKnown(() => resolve('known'));
    const stopping = new AbortController();
    const ended = guard.run(stopping.signal).catch((error: unknown) => {
      resolve(error instanceof SelvedgeError ? error.code : String(error));
    });
    const stop = async (): Promise<void> => {
      stopping.abort();
      await ended;
    };
    onTestFinished(stop);
    return { guard, told: promise, stop };
  };
  return { ...{ clock, service, start }, db: store.db };
}

const MANY = orders(1, 30);
const without = (id: number) => MANY.filter(({ orderId }) => orderId !== id);
const instead = (other: SalesOrder) => [...without(other.orderId), other];

it.each<[string, Scene, string]>([
  ['shows the newest orders as they are here', { here: MANY, there: MANY }, 'known'],
  [
    'shows a reference in other letters',
    { here: MANY, there: instead(order(30, { reference: ' WEB 30' })) },
    'known',
  ],
  [
    'shows one of them with another reference',
    { here: MANY, there: instead(order(14, { reference: 'Shop 14' })) },
    'account.another',
  ],
  [
    'shows one of them with other articles',
    { here: MANY, there: instead(order(14, { barcode: 'b-2' })) },
    'account.another',
  ],
  ['does not have one of them', { here: MANY, there: without(14) }, 'account.another'],
  [
    'is a copy that has only what was there long ago',
    { here: MANY, there: orders(1, 20) },
    'account.another',
  ],
  ['has lost an order of long ago', { here: MANY, there: without(2) }, 'known'],
  [
    'has most of the articles where there is no order',
    { stock: ['a', 'b', 'c'], articles: ['a', 'b'] },
    'known',
  ],
  [
    'has few of the articles where there is no order',
    { stock: ['a', 'b', 'c'], articles: ['a'] },
    'account.another',
  ],
  [
    'always fails for some of the newest orders',
    { here: MANY, there: MANY, failing: [30, 28, 27] },
    'known',
  ],
  [
    'always fails for one of the newest orders, and shows another one otherwise',
    { here: MANY, there: without(14), failing: [30] },
    'account.another',
  ],
  [
    'always fails for an article where there is no order',
    { stock: ['a', 'b', 'c'], articles: ['b', 'c'], failing: ['a'] },
    'known',
  ],
  [
    'has another client id at the same address, and other orders',
    { account: { ...BEFORE, clientId: 'shop' }, here: MANY },
    'account.another',
  ],
])('an account that %s', async (_, scene, told) => {
  const { start, db } = await accountOf(scene);
  const started = await start();
  expect(started.guard.hold()).toContain('is not yet known to be');
  expect(await started.told).toBe(told);
  expect(started.guard.hold() === undefined).toBe(told === 'known');
  expect(await readAccount(db)).toEqual(told === 'known' ? MOVED : BEFORE);
});

it('an account that cannot be asked is unknown, over a restart too, until it answers', async () => {
  const { start, service, clock, db } = await accountOf({ here: MANY, there: MANY });
  service.isAway = true;
  const first = await start();
  await expect.poll(() => readAccountHold(db)).toContain('cannot be compared');
  await clock.advance(10 * RETRY_MS);
  expect(first.guard.hold()).toContain('HTTP 503');
  await first.stop();
  const second = await start();
  expect(second.guard.hold()).toContain('is not yet known to be');
  expect(await readAccount(db)).toEqual(BEFORE);
  await expect.poll(() => second.guard.hold()).toContain('cannot be compared');
  service.isAway = false;
  await clock.advance(RETRY_MS);
  expect(await second.told).toBe('known');
  expect([second.guard.hold(), await readAccountHold(db)]).toEqual([undefined, undefined]);
});
