/** Lookups of an order, and its pre-flight, in the service and in the mirror. */
import { describe, expect, it } from 'vitest';
import type { SalesOrder } from '../../src/client/v1/schemas.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { RefusedError } from '../../src/lib/errors.ts';
import { enqueueDocument } from '../../src/outbox/enqueue.ts';
import type { OutboxItem } from '../../src/outbox/item.ts';
import { createOrderKind } from '../../src/outbox/kinds/order.ts';
import { writeRestored } from '../../src/store/state.ts';
import { temporaryStore } from '../support/store.ts';
import { mirrorOrders, sendCall, triedBefore } from './support.ts';

const ITEM: OutboxItem = {
  ...{ outboxId: 1, kind: 'order', orderingKey: 'order/a-1', reference: 'A-1', cause: 'test' },
  ...{ expectedFrom: null, state: 'in_doubt', attempts: 1, inDoubtSince: 0, createdAt: 5 },
  ...{ result: null, body: { lines: [{ barcode: 'b', quantity: 2, price: '12.50' }] } },
};
const signal = new AbortController().signal;

function orderOf(orderId: number, reference = 'A-1', quantity = 2): SalesOrder {
  const orderLineItems = [{ barcode: 'b', quantity, price: 12.5 }];
  return { orderId, reference, status: 'pending', orderLineItems };
}

interface Scene {
  /** Orders that the service shows by id. */
  readonly shown?: readonly SalesOrder[];
  /** Orders that the walk over the list finds; whether these are all. */
  readonly walked?: readonly SalesOrder[];
  readonly complete?: boolean;
  /** Orders of the mirror, and their reference; left out: this one. */
  readonly mirrored?: readonly number[];
  readonly known?: string;
  /** Order seen since the document came, but before the last start, if there were two. */
  readonly seenLater?: number;
  /** The mirror knows that the service has none of these any more. */
  readonly gone?: boolean;
  /** The highest order before the attempt; undefined: it was not written down. */
  readonly floor?: number;
  readonly notOurs?: readonly number[];
  /** References of other orders of ours. */
  readonly others?: readonly string[];
  /** Rows of the newest orders that cannot be read. */
  readonly rejects?: number;
  /** The highest order that a restored backup knew. */
  readonly restored?: number;
  /** Orders on the newest page. */
  readonly newest?: readonly SalesOrder[];
  /** When the orders were read as a whole since. */
  readonly readAt?: number;
  /** When this process began; left out: before the document came. */
  readonly startedAt?: number;
}

async function houseOf(scene: Scene) {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const { db } = store;
  const { mirrored = [], floor, notOurs = [], shown = [], walked = [], restored, readAt } = scene;
  if (mirrored.length > 0) {
    const orders = mirrored.map((orderId) => ({ orderId, reference: scene.known ?? 'A-1' }));
    await mirrorOrders(store, orders);
    const { seenLater } = scene;
    if (seenLater) await mirrorOrders(store, [{ orderId: seenLater, reference: 'B-2' }], 7);
    if (scene.gone) await db.updateTable('sales_order').set({ deleted_at: 1 }).execute();
  }
  for (const reference of scene.others ?? []) {
    const document = { kind: 'order', reference, document: ITEM.body, cause: 'test' } as const;
    await store.transaction((tx) => enqueueDocument(tx, document, 0));
  }
  await triedBefore(store, { max_order_id_before: floor, notOurs });
  if (restored !== undefined) {
    const since = { at: 10, createdAt: '', maxOrderId: restored, maxDocumentId: null };
    await writeRestored(db, since, clock);
  }
  if (readAt !== undefined) {
    await db
      .insertInto('stream_state')
      .values({
        ...{ stream: 'orders', due_at: 0, last_run_id: null, complete_rows: 1 },
        ...{ last_error: null, requested: null, complete_at: readAt },
      })
      .execute();
  }
  const floors: number[] = [];
  const ordered: string[] = [];
  const keys: unknown[] = [];
  const rejects = Array.from({ length: scene.rejects ?? 0 }, () => ({
    ...{ raw: {}, path: '', reason: 'odd' },
  }));
  const kind = createOrderKind({
    ...{ store, clock, freightSpelling: 'freight', level: '1.4.14' },
    preOrderNames: { unlessWaiting: async () => {}, of: async () => 'SeasonName' },
    check: async () => [],
    newest: { withReference: async () => scene.newest ?? [] },
    processStartedAt: () => scene.startedAt ?? 0,
    onOrdered: (barcodes) => ordered.push(...barcodes),
    finder: {
      async find(_, from) {
        floors.push(from);
        return { orders: walked, complete: scene.complete ?? true, pages: 1, walkedTo: from };
      },
    },
    async readOrder(orderId) {
      const order = shown.find((one) => one.orderId === orderId);
      if (!order) throw new RefusedError('service.not_found', '404');
      return { order, deliveries: [] };
    },
    v1: {
      async orders() {
        return { rows: [orderOf(40, 'B-1')], raws: [], rejects, count: undefined, startedAt: 0 };
      },
      async createOrder(_, call) {
        keys.push(call?.idempotencyKey);
        return { value: { orderId: 41, deliveries: [] }, startedAt: 0 };
      },
    },
  });
  return { kind, floors, ordered, keys };
}

const UNPROVED = { outcome: 'not_found', complete: false };
const PROOF = { outcome: 'not_found', complete: true };
const OURS = orderOf(41);

describe('a look for an order', () => {
  it.each<[string, Scene, object]>([
    ['finds what the mirror alone has', { mirrored: [41], shown: [OURS] }, { outcome: 'matched' }],
    ['finds what the walk has passed', { walked: [OURS], shown: [OURS] }, { outcome: 'matched' }],
    [
      'leaves one with other lines to a person',
      { walked: [OURS], shown: [orderOf(41, 'A-1', 3)] },
      { outcome: 'ambiguous' },
    ],
    ['leaves out what a person has disowned', { walked: [OURS], notOurs: [41], floor: 1 }, PROOF],
    ['proves an absence by all since', { floor: 30 }, PROOF],
    ['proves nothing by some since', { floor: 30, complete: false }, UNPROVED],
    ['proves nothing where nobody knows since when', {}, UNPROVED],
    ['knows of a backup which were before', { restored: 30 }, PROOF],
    ['proves nothing by what is not shown', { walked: [OURS] }, UNPROVED],
  ])('%s', async (_, scene, lookup) => {
    const { kind, ordered } = await houseOf(scene);
    const found = await kind.lookUp(ITEM, signal);
    expect(found).toMatchObject(lookup);
    expect(ordered).toEqual(found.outcome === 'matched' ? ['b'] : []);
  });

  it('takes what the service answered with, and tells how it differs', async () => {
    const { kind } = await houseOf({ shown: [orderOf(2, 'X', 3)] });
    expect(await kind.lookUp({ ...ITEM, result: '{"orderId":2}' }, signal)).toMatchObject({
      ...{ outcome: 'matched', result: { orderId: 2 } },
      differences: ['reference: shown X', 'pieces: sent 2, shown 3 × b at 12.50'],
    });
  });
});

describe('an answer to an order', () => {
  it('that belongs to another document is for a person: one of them would be lost', async () => {
    const { kind } = await houseOf({ shown: [orderOf(2, 'b-1')], others: ['B-1'] });
    const answered = { ...ITEM, outboxId: 2, result: '{"orderId":2}' };
    expect(await kind.lookUp(answered, signal)).toMatchObject({
      ...{ outcome: 'ambiguous', detail: { orderId: 2 } },
      reason: 'the service answered with order 2, which has the reference of outbox 1 (B-1)',
    });
  });
});

describe('the pre-flight of an order', () => {
  it.each<[string, Scene, object, readonly number[]]>([
    ['writes down the newest of the list', {}, { baseline: { maxOrderIdBefore: 40 } }, []],
    [
      'writes down none that is gone, which no list begins at or above',
      { mirrored: [41], gone: true },
      { baseline: { maxOrderIdBefore: 40 } },
      [],
    ],
    [
      'leaves to a person what the mirror has and the service does not show',
      { mirrored: [41] },
      { send: false, lookup: { outcome: 'ambiguous' } },
      [],
    ],
    [
      'finds what was made since a backup',
      { restored: 30, readAt: 9, walked: [OURS], shown: [OURS] },
      { send: false, lookup: { outcome: 'matched' } },
      [30],
    ],
    ['needs no walk once all were read since', { restored: 30, readAt: 10 }, { send: true }, []],
    [
      'finds what was made since a snapshot that was put back',
      { mirrored: [30], known: 'B-1', startedAt: 6, walked: [OURS], shown: [OURS] },
      { send: false, lookup: { outcome: 'matched' } },
      [30],
    ],
    [
      'looks below what an earlier start has seen, for that may not have been all',
      { mirrored: [30], known: 'B-1', seenLater: 45, startedAt: 9, walked: [OURS], shown: [OURS] },
      { send: false, lookup: { outcome: 'matched' } },
      [30],
    ],
    [
      'looks no lower than all were read once',
      { mirrored: [30], known: 'B-1', seenLater: 45, startedAt: 9, readAt: 8 },
      { send: true },
      [45],
    ],
    [
      'keeps nothing back that is not seen, though not all is',
      { mirrored: [30], known: 'B-1', startedAt: 6, complete: false },
      { send: true },
      [30],
    ],
    [
      'needs no walk once all were read since the start',
      { mirrored: [30], known: 'B-1', startedAt: 6, readAt: 6 },
      { send: true },
      [],
    ],
    ['needs no walk for what came later', { mirrored: [30], known: 'B-1' }, { send: true }, []],
    ['walks no list of which nothing is known', { startedAt: 6 }, { send: true }, []],
  ])('%s', async (_, scene, clearance, walks) => {
    const { kind, floors } = await houseOf(scene);
    expect(await kind.clear({ ...ITEM, state: 'queued' }, signal)).toMatchObject(clearance);
    expect(floors).toEqual(walks);
  });

  it.each<[string, Scene, string]>([
    ['since a backup cannot all be seen', { restored: 30, complete: false }, 'outbox.restored'],
    ['that are the newest cannot be read', { rejects: 1 }, 'outbox.orders_unreadable'],
  ])('waits while orders %s', async (_, scene, code) => {
    const { kind } = await houseOf(scene);
    await expect(kind.clear(ITEM, signal)).rejects.toMatchObject({ code });
  });
});

it('goes out under one key, whatever attempt it is and however it is written', async () => {
  const { kind, keys } = await houseOf({});
  const call = sendCall(signal);
  for (const reference of ['A-1', 'a-1', 'A-2']) await kind.send({ ...ITEM, reference }, call);
  expect(keys[0]).toMatch(/^[0-9a-f]{64}$/);
  expect(keys[1]).toBe(keys[0]);
  expect(keys[2]).not.toBe(keys[0]);
});
