/** How an order is found by its reference, at the service and in the mirror. */
import { describe, expect, it } from 'vitest';
import type { SalesOrder } from '../../src/client/v1/schemas.ts';
import { writeOrders } from '../../src/mirror/sales-order.ts';
import { createOrderFinder } from '../../src/outbox/evidence/find-order.ts';
import { mirroredOrders, orderIdOf } from '../../src/outbox/evidence/mirrored.ts';
import { temporaryStore } from '../support/store.ts';
import { createBench, searchFor } from './support.ts';

const signal = new AbortController().signal;

function order(orderId: number): SalesOrder {
  return { orderId, reference: `R-${orderId}`, status: 'pending', orderLineItems: [] };
}

/** A list of these pages; what is no number cannot be read. */
function finderOf(...pages: readonly (readonly unknown[])[]) {
  let asked = 0;
  const finder = createOrderFinder({
    async orders() {
      const raws = pages[asked] ?? [];
      asked += 1;
      const rows = raws.flatMap((raw) => (typeof raw === 'number' ? [order(raw)] : []));
      const rejects = raws.flatMap((raw) =>
        typeof raw === 'number' ? [] : [{ raw, path: '', reason: 'odd' }],
      );
      const all = raws.map((raw) => (typeof raw === 'number' ? order(raw) : raw));
      return { rows, rejects, raws: all, count: undefined, startedAt: 0 };
    },
  });
  return { ...finder, asked: () => asked };
}

describe('a walk to the end of all orders', () => {
  const walk = (...pages: readonly (readonly unknown[])[]) =>
    finderOf(...pages).find(searchFor('x'), 0, signal);

  it('is complete once a page is empty', async () => {
    expect(await walk([9, 8], [8], [])).toMatchObject({ complete: true, pages: 3 });
  });

  it('proves nothing where a page has no order number, comes again or ends too early', async () => {
    expect(await walk([{ reference: 'Y' }])).toMatchObject({ complete: false });
    expect(await walk([9, 8], [9, 8], [])).toMatchObject({ complete: false, pages: 2 });
    expect(await walk([9, 8], [])).toMatchObject({ complete: false, pages: 2 });
  });
});

describe('a walk down to an order that was there before', () => {
  it('is complete when it has seen an order at or below that one', async () => {
    const found = await finderOf([9, 8, 7], [7, 6, 5], [5]).find(searchFor('r-8'), 6, signal);
    expect(found).toMatchObject({ complete: true, walkedTo: 6, pages: 2 });
    expect(found.orders.map(({ orderId }) => orderId)).toEqual([8]);
  });

  it('proves nothing when the list is empty or ends above it', async () => {
    expect(await finderOf([]).find(searchFor('x'), 6, signal)).toMatchObject({ complete: false });
    expect(await finderOf([9, 8]).find(searchFor('x'), 6, signal)).toMatchObject({
      complete: false,
    });
  });

  it('proves nothing when the list is so old that it does not show that one yet', async () => {
    expect(await finderOf([5, 4, 3]).find(searchFor('x'), 6, signal)).toMatchObject({
      complete: false,
    });
    expect(await finderOf([6, 5, 4]).find(searchFor('x'), 6, signal)).toMatchObject({
      complete: true,
    });
  });

  it('proves nothing about a reference that a row which cannot be read may have', async () => {
    const find = (reference: string, odd: unknown) =>
      finderOf([9, 6, 5, odd]).find(searchFor(reference), 6, signal);
    expect(await find('x', { reference: 'X' })).toMatchObject({ complete: false });
    expect(await find('y', { reference: 'X' })).toMatchObject({ complete: true });
    expect(await find('y', '<')).toMatchObject({ complete: false });
  });

  it('serves all who ask in the same moment', async () => {
    const { find, asked } = finderOf([9, 8, 7], [7, 6, 5]);
    await Promise.all([find(searchFor('r-9'), 8, signal), find(searchFor('r-7'), 6, signal)]);
    expect(asked()).toBe(2);
  });
});

it('finds in the mirror what is there, whatever its letters', async () => {
  const store = await temporaryStore();
  const orders = ['A-1', 'a-1', 'ÄÖ-1', 'B-1'].map((reference, at) => {
    return { orderId: at + 1, reference, status: 'pending', orderLineItems: [] };
  });
  const provenance = { source: 'run:1', readSeq: 1, at: 0 };
  await store.transaction((tx) => writeOrders(tx, orders, provenance));
  expect(await mirroredOrders(store.db, 'a-1')).toEqual([1, 2]);
  expect(await mirroredOrders(store.db, 'äö-1')).toEqual([3]);
  await store.db
    .updateTable('sales_order')
    .set({ deleted_at: 1 })
    .where('order_id', '=', 1)
    .execute();
  expect(await mirroredOrders(store.db, 'A-1')).toEqual([2]);
});

it('knows an order by what the service answered, before it was read back', async () => {
  const { store, add } = await createBench();
  const id = await add(1);
  const answered = { kind: 'order', reference: 'A-1', reference_key: 'a-1' };
  const result = JSON.stringify({ orderId: 7 });
  await store.db
    .updateTable('outbox')
    .set({ ...answered, result })
    .where('outbox_id', '=', id)
    .execute();
  expect(await orderIdOf(store.db, 'A-1')).toBe(7);
  expect(await orderIdOf(store.db, 'A-2')).toBeUndefined();
});
