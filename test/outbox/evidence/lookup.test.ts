/** Lookups of orders whose references tell much, little or nothing. */
import { describe, expect, it } from 'vitest';
import type { SalesOrder } from '../../../src/client/v1/schemas.ts';
import { manualClock } from '../../../src/lib/clock.ts';
import { RefusedError } from '../../../src/lib/errors.ts';
import { writeOrders } from '../../../src/mirror/sales-order.ts';
import { enqueueDocument } from '../../../src/outbox/enqueue.ts';
import { createOrderFinder } from '../../../src/outbox/evidence/find-order.ts';
import type { OutboxItem } from '../../../src/outbox/item.ts';
import { createOrderKind } from '../../../src/outbox/kinds/order.ts';
import { writeRestored } from '../../../src/store/state.ts';
import type { OutboxState } from '../../../src/store/tables.ts';
import { temporaryStore } from '../../support/store.ts';

const DAY_MS = 86_400_000;
const SENT_AT = Date.UTC(2026, 2, 2, 12);
const FLOOR = 100;
const LONG = 'Filiale Nord 2026/000417';

const LINES = [{ barcode: 'b', quantity: 2, price: '12.50' }];
const ADDRESS = {
  ...{ firstName: 'Ann', lastName: 'Lee', phone: '1', email: 'a@b.example' },
  ...{ address: 'Hauptstr. 5', city: 'Köln', zip: '50667', countryCode: 'DE' },
};

interface Shown {
  readonly barcode?: string;
  readonly pieces?: number;
  readonly price?: number;
  readonly madeAt?: number;
  readonly address?: object;
  readonly freight?: number;
}

/** An order of the service, like the document that is looked for unless it says otherwise. */
function order(orderId: number, reference: string | null, more: Shown = {}): SalesOrder {
  const { barcode = 'b', pieces = 2, price = 12.5, madeAt = SENT_AT, address, freight } = more;
  return {
    ...{ orderId, reference, status: 'pending', createdAt: new Date(madeAt).toISOString() },
    orderLineItems: [{ barcode, quantity: pieces, price }],
    ...(address === undefined ? {} : { shippingAddress: { ...address } }),
    ...(freight === undefined ? {} : { freight: { freightAmount: freight } }),
  };
}

interface Other {
  readonly reference: string;
  readonly state: OutboxState;
  readonly attempts?: number;
  readonly orderId?: number;
  readonly barcode?: string;
  /** The service answered it, and shows its reference so. */
  readonly taught?: (sent: string) => string;
  /** The service was put back, and has its order no more. */
  readonly isLost?: boolean;
}

interface Scene {
  /** The reference of the document that is looked for. */
  readonly reference?: string;
  /** Orders that the service lists above the floor. */
  readonly listed?: readonly SalesOrder[];
  /** Orders that the mirror alone has. */
  readonly mirrored?: readonly SalesOrder[];
  /** Spelling of the references of two answered orders. */
  readonly taught?: (sent: string) => string;
  /** Other documents of ours. */
  readonly others?: readonly Other[];
  /** A row of the list that cannot be read. */
  readonly unreadable?: object;
  /** Whether anybody knows which orders were there before. */
  readonly floor?: number | null;
  readonly restored?: number;
}

const ANSWERED = ['Filiale Nord 2026/000001', '#2-Süd / web', 'Lager  9, 2026/000003 (alt)'];

async function kindOf(scene: Scene) {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const { db } = store;
  const { listed = [], mirrored = [], taught, others = [], unreadable, floor = FLOOR } = scene;
  const reference = scene.reference ?? LONG;
  const document = { lines: LINES, shippingAddress: ADDRESS, freight: { amount: '5.00' } };
  const intent = { kind: 'order', reference, document, cause: 'test' } as const;
  const enqueued = await store.transaction((tx) => enqueueDocument(tx, intent, SENT_AT));
  const outboxId = 'outboxId' in enqueued ? enqueued.outboxId : 0;
  const attempt = { attempt: 1, ended_at: SENT_AT, class: 'ambiguous', http_status: null };
  await db
    .insertInto('outbox_attempt')
    .values({
      ...{ ...attempt, outbox_id: outboxId, started_at: SENT_AT, count_before: null },
      ...{ error_code: null, answer: null, max_order_id_before: floor },
    })
    .execute();
  const answered = ANSWERED.flatMap((name, index): Other[] =>
    taught
      ? [{ reference: name, state: 'confirmed', orderId: index + 1, barcode: 'z', taught }]
      : [],
  );
  for (const other of [...others, ...answered]) {
    const { reference: name, state, attempts = 1, orderId = null, barcode = 'b' } = other;
    const body = JSON.stringify({ lines: [{ ...LINES[0], barcode }] });
    const { outbox_id: id } = await db
      .insertInto('outbox')
      .values({
        ...{
          kind: 'order',
          ordering_key: name,
          reference: name,
          reference_key: name.toLowerCase(),
        },
        ...{ body, body_hash: '', state, attempts, expected_from: null, due_at: 0 },
        ...{ in_doubt_since: null, created_at: SENT_AT, ended_at: null, cause: 'test' },
        ...{ result: null, last_error: null, blocked_reason: null, order_id: orderId },
        shown_reference: other.taught?.(name) ?? null,
      })
      .returning('outbox_id')
      .executeTakeFirstOrThrow();
    const done = { ...attempt, outbox_id: id, started_at: SENT_AT, class: 'done' };
    const values = { ...done, count_before: null, error_code: null, answer: null };
    if (other.isLost) {
      const lost = { outbox_id: id, order_id: orderId ?? 0, since: 0, reference: name };
      await db
        .insertInto('outbox_lost')
        .values({ ...lost, read_seq: 0, noted_at: null })
        .execute();
    }
    if (other.taught) {
      await db
        .insertInto('outbox_attempt')
        .values({ ...values, max_order_id_before: null })
        .execute();
    }
  }
  const mirror = async (orders: readonly SalesOrder[]): Promise<void> => {
    const provenance = { source: 'run:1', readSeq: 1, at: SENT_AT };
    await store.transaction((tx) => writeOrders(tx, orders, provenance));
  };
  await mirror(mirrored);
  if (scene.restored !== undefined) {
    const since = { at: SENT_AT + 1, createdAt: '', maxDocumentId: null };
    await writeRestored(db, { ...since, maxOrderId: scene.restored }, clock);
  }
  const longAgo = { madeAt: SENT_AT - 40 * DAY_MS };
  const before = [order(FLOOR, 'before', longAgo), order(FLOOR - 1, 'long before', longAgo)];
  const all = [...listed, ...before].sort((a, b) => b.orderId - a.orderId);
  const v1 = {
    async orders(beforeOrderId = Number.MAX_SAFE_INTEGER) {
      const rows = all.filter(({ orderId }) => orderId < beforeOrderId).slice(0, 50);
      const odd = unreadable && beforeOrderId === Number.MAX_SAFE_INTEGER ? [unreadable] : [];
      const rejects = odd.map((raw) => ({ raw, path: '', reason: 'odd' }));
      return { rows, raws: [...rows, ...odd], rejects, count: undefined, startedAt: 0 };
    },
    createOrder: () => Promise.reject(new Error('not sent here')),
  };
  const kind = createOrderKind({
    ...{
      store,
      clock,
      v1,
      freightSpelling: 'freight',
      level: '1.4.14',
      finder: createOrderFinder(v1),
    },
    preOrderNames: { unlessWaiting: async () => {}, of: async () => 'SeasonName' },
    check: async () => [],
    newest: { withReference: async () => [] },
    processStartedAt: () => 0,
    onOrdered: () => undefined,
    async readOrder(orderId) {
      const found = [...all, ...mirrored].find((one) => one.orderId === orderId);
      if (!found) throw new RefusedError('service.not_found', '404');
      await mirror([found]);
      return { order: found, deliveries: [] };
    },
  });
  const item: OutboxItem = {
    ...{ outboxId, kind: 'order', orderingKey: 'order', reference, cause: 'test', body: document },
    ...{ expectedFrom: null, state: 'in_doubt', attempts: 1, inDoubtSince: SENT_AT },
    ...{ createdAt: SENT_AT, result: null },
  };
  return { kind, item };
}

async function look(scene: Scene) {
  const { kind, item } = await kindOf(scene);
  return kind.lookUp(item, new AbortController().signal);
}

const PROOF = { outcome: 'not_found', complete: true };
const OURS = { outcome: 'matched', result: { orderId: 101 } };
const cut = (sent: string) => sent.slice(0, 20);
const noHash = (sent: string) => sent.replaceAll('#', '');
const none = () => '';
const asSent = (sent: string) => sent;
const maybe = (...orderIds: number[]) => ({ outcome: 'possible', detail: { orderIds } });

describe('an order with our pieces', () => {
  it.each<[string, Scene, object]>([
    ['is ours by our reference', { listed: [order(101, LONG)] }, OURS],
    [
      'is ours by our reference in other letters and spaces',
      { listed: [order(101, ` filiale  NORD 2026/000417`)] },
      OURS,
    ],
    [
      'is ours by our reference in the other form of Unicode',
      { reference: 'Büro #7', listed: [order(101, 'Büro #7'.normalize('NFD'))] },
      OURS,
    ],
    [
      'is ours by what answered orders have taught of references',
      { reference: '#417-Ost', taught: noHash, listed: [order(101, '417-Ost')] },
      OURS,
    ],
    [
      'is ours by a cut reference, if it is the only one',
      { taught: cut, listed: [order(101, cut(LONG))] },
      OURS,
    ],
    [
      'is for a person by a cut reference with another freight',
      { taught: cut, listed: [order(101, cut(LONG), { freight: 9 })] },
      { outcome: 'ambiguous', detail: { differences: ['freight: sent 5.00, shown 9.00'] } },
    ],
    [
      'is ours by our reference with another freight',
      { listed: [order(101, LONG, { freight: 9 })] },
      { ...OURS, differences: ['freight: sent 5.00, shown 9.00'], holds: false },
    ],
    [
      'may be ours under a reference of which nothing is known',
      { listed: [order(101, cut(LONG))] },
      maybe(101),
    ],
    [
      'may be ours although references are known to come back as they were sent',
      { taught: asSent, listed: [order(101, 'Portal 7')] },
      maybe(101),
    ],
    ['may be ours without a reference', { listed: [order(101, null)] }, maybe(101)],
    [
      'may be ours without one where none is ever shown',
      { taught: none, listed: [order(101, '')] },
      maybe(101),
    ],
    [
      'may be ours at other prices',
      { taught: none, listed: [order(101, '', { price: 11 })] },
      maybe(101),
    ],
    [
      'may be ours by a cut reference beside another one',
      { taught: cut, listed: [order(101, cut(LONG)), order(102, '')] },
      maybe(101, 102),
    ],
    [
      'may be ours though the list does not show it yet',
      { mirrored: [order(101, '')] },
      maybe(101),
    ],
    ['is ours though the list does not show it yet', { mirrored: [order(101, LONG)] }, OURS],
    [
      'may be ours, or that of its twin whose outcome is unknown as well',
      {
        ...{ taught: cut, listed: [order(101, cut(LONG))] },
        others: [{ reference: `${LONG}/2`, state: 'in_doubt' }],
      },
      maybe(101),
    ],
    [
      'may be ours, or that of a twin whose reference begins like ours',
      {
        listed: [order(101, LONG)],
        others: [{ reference: `${LONG}, Teil 2`, state: 'dead' }],
      },
      maybe(101),
    ],
    [
      'is ours where another document of that cut reference has other pieces',
      {
        ...{ taught: cut, listed: [order(101, cut(LONG))] },
        others: [{ reference: `${LONG}/2`, state: 'in_doubt', barcode: 'c' }],
      },
      { outcome: 'matched' },
    ],
    [
      'is not ours if another document has become it',
      {
        ...{ taught: cut, listed: [order(101, cut(LONG))] },
        others: [{ reference: `${LONG}/2`, state: 'confirmed', orderId: 101 }],
      },
      PROOF,
    ],
    [
      'is ours though it has the number of an order that was lost when the service was put back',
      {
        listed: [order(101, LONG)],
        others: [{ reference: 'A-9', state: 'confirmed', orderId: 101, isLost: true }],
      },
      OURS,
    ],
    [
      'is not ours if it bears the reference of our other document, as that is shown',
      {
        ...{ reference: '#417-Ost', taught: noHash, listed: [order(101, '418-Ost')] },
        others: [{ reference: '#418-Ost', state: 'in_doubt' }],
      },
      PROOF,
    ],
    [
      'may be ours under the reference of another document while no spelling is known',
      {
        ...{ reference: '#418-Ost', listed: [order(101, '418-Ost')] },
        others: [{ reference: '418-Ost', state: 'confirmed', orderId: 90 }],
      },
      maybe(101),
    ],
    [
      'may be ours under the reference of another one, if ours is longer than any answered',
      {
        ...{ reference: `${LONG}, zweite Lieferung`, taught: asSent, listed: [order(101, LONG)] },
        others: [{ reference: LONG, state: 'confirmed', orderId: 90 }],
      },
      maybe(101),
    ],
    [
      'may be that of a twin whose reference is longer than any answered',
      {
        ...{ taught: asSent, listed: [order(101, LONG)] },
        others: [{ reference: `${LONG}, zweite Lieferung`, state: 'in_doubt' }],
      },
      maybe(101),
    ],
    [
      'is not ours if it was made days later',
      { listed: [order(101, '', { madeAt: SENT_AT + 3 * DAY_MS })] },
      PROOF,
    ],
    [
      'may be ours by a clock that is a day off',
      { listed: [order(101, '', { madeAt: SENT_AT + DAY_MS })] },
      maybe(101),
    ],
    [
      'is for a person if it was there before, with our reference',
      { mirrored: [order(90, LONG)] },
      { outcome: 'ambiguous', detail: { orderId: 90 } },
    ],
    ['is not ours if it was there before', { mirrored: [order(90, '')] }, PROOF],
    [
      'is for a person under our reference with another address',
      { listed: [order(101, LONG, { address: { ...ADDRESS, zip: '10115', city: 'Berlin' } })] },
      {
        outcome: 'ambiguous',
        detail: { differences: [expect.stringContaining('zip'), expect.anything()] },
      },
    ],
  ])('%s', async (_, scene, lookup) => {
    expect(await look(scene)).toMatchObject(lookup);
  });
});

describe('an order with other pieces', () => {
  it.each<[string, Scene, object]>([
    [
      'is for a person under our reference',
      { listed: [order(101, LONG, { pieces: 3 })] },
      { outcome: 'ambiguous' },
    ],
    [
      'may be ours under a reference of which nothing is known',
      { listed: [order(101, 'WEB 1', { pieces: 1 })] },
      maybe(101),
    ],
    [
      'may be ours without a reference',
      { taught: cut, listed: [order(101, '', { pieces: 1 })] },
      maybe(101),
    ],
    [
      'is not ours under another reference where it is known how ours is shown',
      { taught: cut, listed: [order(101, 'WEB 1', { pieces: 1 })] },
      PROOF,
    ],
    [
      'is that of another document of the same cut reference',
      {
        ...{ taught: cut, listed: [order(101, cut(LONG), { barcode: 'c' })] },
        others: [{ reference: `${LONG}/2`, state: 'in_doubt', barcode: 'c' }],
      },
      PROOF,
    ],
  ])('%s', async (_, scene, lookup) => {
    expect(await look(scene)).toMatchObject(lookup);
  });
});

describe('a row that cannot be read', () => {
  it.each<[string, Scene, boolean]>([
    ['may be ours while no spelling is known', { unreadable: { reference: 'X' } }, false],
    ['is not ours by its reference', { taught: cut, unreadable: { reference: 'X' } }, true],
    ['may be ours by its reference', { taught: cut, unreadable: { reference: cut(LONG) } }, false],
    ['is not ours if it was there before', { unreadable: { orderId: FLOOR - 5 } }, true],
  ])('%s', async (_, scene, complete) => {
    expect(await look(scene)).toMatchObject({ outcome: 'not_found', complete });
  });
});

it('leaves out what is too old where nobody knows which orders were there before', async () => {
  const old = order(50, '', { madeAt: SENT_AT - 30 * DAY_MS });
  expect(await look({ floor: null, mirrored: [old] })).toMatchObject({ outcome: 'not_found' });
  expect(await look({ floor: null, mirrored: [order(50, '')] })).toMatchObject(maybe(50));
});

describe('before it is sent', () => {
  async function clear(scene: Scene) {
    const { kind, item } = await kindOf(scene);
    const queued = { ...item, state: 'queued', inDoubtSince: null } as const;
    return kind.clear(queued, new AbortController().signal);
  }

  it.each<[string, Scene, object]>([
    [
      'it is found in the mirror as it is known to be shown',
      { reference: '#417-Ost', taught: noHash, mirrored: [order(90, '417-Ost')] },
      { send: false, lookup: { outcome: 'matched', result: { orderId: 90 } } },
    ],
    [
      'an order of old with a cut reference is not taken for it',
      { taught: cut, mirrored: [order(90, cut(LONG))] },
      { send: true },
    ],
    [
      'an order with the same pieces is not taken for it',
      { mirrored: [order(90, '')] },
      { send: true },
    ],
    [
      'one that may be it, made since a backup that was put back, is for a person',
      { restored: FLOOR, listed: [order(101, '')] },
      { send: false, lookup: { outcome: 'ambiguous', detail: { orderIds: [101] } } },
    ],
  ])('%s', async (_, scene, clearance) => {
    expect(await clear(scene)).toMatchObject(clearance);
  });
});
