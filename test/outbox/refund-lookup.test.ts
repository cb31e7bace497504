/** Lookups of a pending refund in the lists of its order. */
import { expect, it } from 'vitest';
import type { Listing } from '../../src/client/v1/calls.ts';
import type { PendingRefund, SalesOrderRefund } from '../../src/client/v1/schemas.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { RefusedError } from '../../src/lib/errors.ts';
import { referenceKey } from '../../src/outbox/documents.ts';
import type { LookupResult, OutboxItem } from '../../src/outbox/item.ts';
import { createPendingRefundKind } from '../../src/outbox/kinds/pending-refund.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { levelsOf } from '../support/levels.ts';
import { temporaryStore } from '../support/store.ts';
import { triedBefore } from './support.ts';

const ITEM: OutboxItem = {
  ...{
    outboxId: 1,
    kind: 'pending_refund',
    orderingKey: 'order/a-1',
    reference: 'R-2',
    cause: 'test',
  },
  ...{ expectedFrom: null, state: 'in_doubt', attempts: 1, inDoubtSince: 0, createdAt: 0 },
  ...{ result: null, body: { orderId: 7, lines: [{ barcode: 'b', quantity: 1 }] } },
};

const GONE = new RefusedError('service.not_found', '404');

function pending(pendingRefundId: number, reference: string, quantity = 1): PendingRefund {
  const refundLineItems = [{ barcode: 'b', quantity }];
  return { pendingRefundId, orderId: 7, reference, status: 'pending', refundLineItems };
}

interface Scene {
  /** Refunds that the service lists; undefined: it does not show the order. */
  readonly listed?: readonly PendingRefund[] | undefined;
  readonly rejects?: number;
  /** Refund that it shows by itself. */
  readonly shown?: PendingRefund;
  /** Id that it answered with. */
  readonly answered?: number;
  /** How many like it were there before; undefined: nobody counted. */
  readonly countBefore?: number;
  readonly notOurs?: readonly number[];
  /** Another document of the order, and what the service answered it with. */
  readonly other?: { readonly reference: string; readonly answered?: number };
}

async function addOther({ db }: SqliteStore, { reference, answered }: NonNullable<Scene['other']>) {
  const result = answered === undefined ? null : JSON.stringify({ pendingRefundId: answered });
  await db
    .insertInto('outbox')
    .values({
      ...{
        outbox_id: 2,
        kind: 'pending_refund',
        ordering_key: ITEM.orderingKey,
        reference,
        result,
      },
      ...{ reference_key: referenceKey(reference), body: '{}', body_hash: '', cause: 'test' },
      ...{ expected_from: null, due_at: 0, created_at: 0, ended_at: 0, in_doubt_since: null },
      ...{ last_error: null, blocked_reason: null, order_id: 7, state: 'confirmed' },
    })
    .execute();
}

async function look(scene: Scene): Promise<LookupResult> {
  const store = await temporaryStore(manualClock());
  const { countBefore, notOurs = [], answered } = scene;
  await triedBefore(store, { count_before: countBefore, notOurs });
  if (scene.other) await addOther(store, scene.other);
  const never = () => Promise.reject(new Error('not asked for'));
  const rejects = Array.from({ length: scene.rejects ?? 0 }, () => ({
    ...{ raw: {}, path: '', reason: 'odd' },
  }));
  const kind = createPendingRefundKind({
    store,
    v1: {
      ...{ order: never, createPendingRefund: never },
      pendingRefund: async () => {
        if (!scene.shown) throw GONE;
        return { value: scene.shown, startedAt: 0 };
      },
      pendingRefunds: async () => {
        if (!scene.listed) throw GONE;
        return { rows: scene.listed, rejects, count: undefined, startedAt: 0 };
      },
      refunds: async (): Promise<Listing<SalesOrderRefund>> => {
        return { rows: [], rejects: [], count: 0, startedAt: 0 };
      },
    },
    readOrder: () => Promise.resolve({ order: ORDER, deliveries: [] }),
    levels: await levelsOf(store, manualClock()),
    refundsUpTo: 'delivered',
    priceFactor: 10,
  });
  const result = answered === undefined ? null : JSON.stringify({ pendingRefundId: answered });
  return kind.lookUp({ ...ITEM, result }, new AbortController().signal);
}

const ORDER = { orderId: 7, reference: 'A-1', status: 'pending', orderLineItems: [] };
const UNPROVED = { outcome: 'not_found', complete: false };
const NAMELESS = [pending(1, ''), pending(2, '')];

it.each<[string, Scene, object]>([
  [
    'the one more than before',
    { listed: NAMELESS, countBefore: 1 },
    { result: { pendingRefundId: 2 } },
  ],
  ['no two more than before', { listed: NAMELESS, countBefore: 0 }, { outcome: 'ambiguous' }],
  ['none of which nobody counted those before', { listed: NAMELESS }, UNPROVED],
  [
    'none that a person has disowned',
    { listed: [pending(2, 'R-2')], notOurs: [2] },
    { outcome: 'not_found' },
  ],
  [
    'none without its reference where others have theirs',
    { listed: [pending(1, 'R-1'), pending(2, '')], countBefore: 2 },
    { outcome: 'not_found' },
  ],
  [
    'one more without its reference to be nobody knows whose',
    {
      ...{ listed: [pending(1, 'R-1'), pending(2, '')], countBefore: 1 },
      other: { reference: 'R-1', answered: 1 },
    },
    { outcome: 'ambiguous', detail: { pendingRefundIds: [2] } },
  ],
  ['no absence in an order that is not shown', {}, UNPROVED],
  ['no absence beside a row that cannot be read', { listed: [], rejects: 1 }, UNPROVED],
  ['no absence of what was taken and is not shown', { answered: 2 }, UNPROVED],
  [
    'what was answered with, however it is shown',
    { answered: 2, shown: pending(2, 'R-2', 3) },
    { outcome: 'matched', differences: [expect.stringContaining('pieces: sent ')] },
  ],
  [
    'what was answered with, and tells that it has another reference',
    { answered: 2, shown: pending(2, 'R-1') },
    { outcome: 'matched', differences: ['reference: shown R-1'] },
  ],
  [
    'what was answered with as it was sent where no reference is kept',
    { answered: 2, shown: pending(2, ''), other: { reference: 'R-1', answered: 1 } },
    { outcome: 'matched', differences: [] },
  ],
  [
    'what was answered with, which has the reference of another document, for a person',
    { answered: 2, shown: pending(2, 'r-1'), other: { reference: 'R-1' } },
    {
      ...{ outcome: 'ambiguous', detail: { pendingRefundId: 2 } },
      reason: 'the service answered with pending refund 2, which is that of outbox 2 (R-1)',
    },
  ],
  [
    'what was answered with, which another document has become, for a person',
    { answered: 2, shown: pending(2, ''), other: { reference: 'R-1', answered: 2 } },
    { outcome: 'ambiguous', detail: { pendingRefundId: 2 } },
  ],
])('finds %s', async (_, scene, lookup) => {
  expect(await look(scene)).toMatchObject(lookup);
});
