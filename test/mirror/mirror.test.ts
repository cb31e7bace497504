import { describe, expect, it } from 'vitest';
import { checkRows } from '../../src/client/rows.ts';
import { variantSchema } from '../../src/client/v1/schemas.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { BRAND } from '../../src/mirror/catalog/names.ts';
import { writeStockVariants } from '../../src/mirror/catalog/out-of-band.ts';
import { STOCK_VARIANT, seasonVariants } from '../../src/mirror/catalog/variant.ts';
import { insertAll, upsertRows } from '../../src/mirror/entity.ts';
import { compareChunks, type ListEntity, markDeleted, writePage } from '../../src/mirror/list.ts';
import { quarantineRows } from '../../src/mirror/quarantine.ts';
import {
  completeRefetch,
  type DueRefetch,
  dueRefetches,
  nextRefetchAt,
  postponeRefetch,
  type RefetchRequest,
  refetchBacklog,
  requestRefetches,
} from '../../src/mirror/refetch-queue.ts';
import { writeRefunds } from '../../src/mirror/refund.ts';
import { prepareRow } from '../../src/mirror/rows/prepared.ts';
import { DELIVERY, writeDeliveries, writeOrders } from '../../src/mirror/sales-order.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { temporaryStore } from '../support/store.ts';

const read = (readSeq: number) => ({ source: `run:${readSeq}`, readSeq, at: 1_000 * readSeq });

function changes(store: SqliteStore) {
  return store.db.selectFrom('change').select(['seq', 'entity', 'key', 'op', 'diff']).execute();
}

const refund = { orderRefundId: 7, orderId: 3, refundedLineItems: [] };

const delivery = {
  orderDeliveryId: 7,
  orderId: 3,
  status: 'pending',
  fulfilledLineItems: [{ barcode: 'a', fulfilledQuantity: 2, price: 10.05 }],
};

describe('the mirror', () => {
  it('writes a new row, nothing for the same answer, and a diff for a changed one', async () => {
    const store = await temporaryStore();
    const variant = { barcode: '1', quantity: 3, details: { price: 19.95 }, newMember: { a: 1 } };
    const write = (record: typeof variant, seq: number) =>
      store.transaction((tx) => writeStockVariants(tx, [record], read(seq)));
    expect(await write(variant, 1)).toMatchObject({ inserted: 1, changed: 0, unchanged: 0 });
    expect(await write(variant, 2)).toMatchObject({ inserted: 0, changed: 0, unchanged: 1 });
    expect(await write({ ...variant, quantity: 5 }, 3)).toMatchObject({ changed: 1 });
    expect(await changes(store)).toEqual([
      { seq: 1, entity: 'stock_variant', key: '1', op: 'insert', diff: '{}' },
      { seq: 2, entity: 'stock_variant', key: '1', op: 'update', diff: '{"quantity":[3,5]}' },
    ]);
    const row = await store.db.selectFrom('stock_variant').selectAll().executeTakeFirstOrThrow();
    expect(row).toMatchObject({ quantity: 5, price: 19_9500, extra: '{"newMember":{"a":1}}' });
    expect(row).toMatchObject({ first_seen_at: 1_000, changed_at: 3_000, source: 'run:3' });
  });

  it('writes what has a price that no column holds, and keeps that as it came', async () => {
    const store = await temporaryStore();
    const variant = { barcode: '1', quantity: 3, details: { price: 1e21, wspPrice: 5 } };
    await store.transaction(async (tx) => {
      await writeStockVariants(tx, [variant], read(1));
      const items = delivery.fulfilledLineItems.map((item) => ({ ...item, price: -1e21 }));
      await writeDeliveries(tx, [{ ...delivery, fulfilledLineItems: items }], read(1));
    });
    const columns = ['price', 'extra'] as const;
    const row = await store.db.selectFrom('stock_variant').select(columns).executeTakeFirst();
    expect(row).toEqual({ price: null, extra: '{"details":{"price":1e+21}}' });
    const line = await store.db.selectFrom('delivery_line').select(columns).executeTakeFirst();
    expect(line).toEqual({ price: null, extra: '{"price":-1e+21}' });
  });

  it('takes the wholesale price of each list: above details for a season', async () => {
    const store = await temporaryStore();
    const variant = (barcode: string, wspPrice: unknown, ofDetails: unknown) => ({
      ...{ barcode, quantity: 1, wspPrice, details: { wspPrice: ofDetails } },
    });
    // The pre-order price and that of the stock; one of them alone; one that cannot be read.
    const records = [
      variant('both', 36.1, 41.5),
      variant('above', 36.1, null),
      variant('inside', undefined, 41.5),
      variant('odd', 'ask', 41.5),
      variant('odd inside', 36.1, 'ask'),
    ];
    const rowsOf = (entity: ListEntity) =>
      records.map((record) => entity.toRow(structuredClone(record)));
    const season = seasonVariants('SS27');
    await store.transaction(async (tx) => {
      await upsertRows(tx, STOCK_VARIANT, rowsOf(STOCK_VARIANT), read(1));
      await upsertRows(tx, season, rowsOf(season), read(1));
    });
    const pricesOf = async (table: 'stock_variant' | 'season_variant') => {
      const rows = await store.db.selectFrom(table).select(['barcode', 'wsp_price']).execute();
      return Object.fromEntries(rows.map((row) => [row.barcode, row.wsp_price]));
    };
    const stock = {
      both: 41_5000,
      above: 36_1000,
      inside: 41_5000,
      odd: 41_5000,
      'odd inside': null,
    };
    const ahead = {
      both: 36_1000,
      above: 36_1000,
      inside: 41_5000,
      odd: null,
      'odd inside': 36_1000,
    };
    expect(await pricesOf('stock_variant')).toEqual(stock);
    expect(await pricesOf('season_variant')).toEqual(ahead);
    // The client keeps the odd price beside the record, and no price in its place.
    const { rows } = checkRows(variantSchema, [variant('read', 'ask', 41.5)]);
    expect(rows.map((row) => season.toRow(row).values.wsp_price)).toEqual([null]);
    // Nothing is lost: the price of the stock stays with what has no column.
    const extra = await store.db
      .selectFrom('season_variant')
      .select('extra')
      .where('barcode', '=', 'both')
      .executeTakeFirst();
    expect(extra).toEqual({ extra: '{"details":{"wspPrice":41.5}}' });
  });

  it('has the own prices of the key in columns, and keeps what is odd in them', async () => {
    const store = await temporaryStore();
    const pricing = { currency: 'DKK', wspPriceOriginal: 90, wspPriceWithDiscount: 78.755 };
    const records = [
      { barcode: 'own', quantity: 1, pricing: { ...pricing, discountPercentage: 12.5 } },
      {
        barcode: 'more',
        quantity: 1,
        pricing: { ...pricing, discountPercentage: 1 / 3, tier: 'A' },
      },
      { barcode: 'none', quantity: 1, pricing: null },
      { barcode: 'list', quantity: 1, pricing: [] },
    ];
    await store.transaction((tx) => writeStockVariants(tx, structuredClone(records), read(1)));
    const columns = [
      'net_price',
      'net_currency',
      'price_before_discount',
      'discount_percent',
    ] as const;
    const rows = await store.db
      .selectFrom('stock_variant')
      .select([...columns, 'extra'])
      .execute();
    const own = { net_price: 78_7550, net_currency: 'DKK', price_before_discount: 90_0000 };
    const nothing = Object.fromEntries(columns.map((column) => [column, null]));
    expect(rows).toEqual([
      { ...own, discount_percent: 12_5000, extra: '{}' },
      {
        ...{ ...own, discount_percent: null },
        extra: '{"pricing":{"discountPercentage":0.3333333333333333,"tier":"A"}}',
      },
      { ...nothing, extra: '{"pricing":null}' },
      { ...nothing, extra: '{"pricing":[]}' },
    ]);
  });

  it('sees no change where unknown members only come in another order', async () => {
    const store = await temporaryStore();
    const write = (record: object, seq: number) =>
      store.transaction((tx) => writeStockVariants(tx, [record], read(seq)));
    await write({ barcode: '1', quantity: 3, a: { b: 1, c: [1, 2] }, d: 2 }, 1);
    const turned = { d: 2, a: { c: [1, 2], b: 1 }, quantity: 3, barcode: '1' };
    expect(await write(turned, 2)).toMatchObject({ changed: 0, unchanged: 1 });
    expect(await changes(store)).toHaveLength(1);
    const other = { ...turned, a: { c: [2, 1], b: 1 } };
    expect(await write(other, 3)).toMatchObject({ changed: 1, unchanged: 0 });
    expect(JSON.parse((await changes(store))[1]?.diff ?? '')).toEqual({
      extra: ['{"a":{"b":1,"c":[1,2]},"d":2}', '{"d":2,"a":{"c":[2,1],"b":1}}'],
    });
  });

  it('looks again at what a list told that was asked for before a newer answer', async () => {
    const store = await temporaryStore();
    const place = { stream: 'brands', part: '' };
    const list = async (novelty: number, seq: number) => {
      const rows = [{ brandName: 'a', novelty }];
      const one = { firstRow: 0, rowCount: 1, digest: `0${novelty}` };
      const chunk = { ...one, read: () => ({ rows, rejects: [] }) };
      const page = await compareChunks(store.db, BRAND, place, [chunk]);
      return store.transaction((tx) => writePage(tx, BRAND, place, page, read(seq)));
    };
    await list(1, 1);
    const newer = [BRAND.toRow({ brandName: 'a', novelty: 2 })];
    await store.transaction((tx) => upsertRows(tx, BRAND, newer, read(3)));
    expect(await list(1, 2)).toMatchObject({ changed: 0 });
    expect(await list(3, 2)).toMatchObject({ changed: 0 });
    // The same bytes once more, and now nothing is newer.
    expect(await list(3, 4)).toMatchObject({ changed: 1 });
    expect(await list(3, 5)).toMatchObject({ changed: 0, unchanged: 1 });
  });

  it('inserts new rows without a look, and none of them when one is known', async () => {
    const store = await temporaryStore();
    const write = (barcodes: readonly string[], seq: number) => {
      const rows = barcodes.map((barcode) => STOCK_VARIANT.toRow({ barcode, quantity: seq }));
      const prepared = rows.map((row) => prepareRow(STOCK_VARIANT, row));
      return store.transaction((tx) => insertAll(tx, STOCK_VARIANT, { rows: prepared }, read(seq)));
    };
    expect(await write(['1', '2'], 1)).toMatchObject({ inserted: 2 });
    expect(await write(['3', '2'], 2)).toBeUndefined();
    expect(await write([], 3)).toMatchObject({ inserted: 0 });
    const rows = await store.db
      .selectFrom('stock_variant')
      .select(['barcode', 'quantity'])
      .execute();
    expect(rows).toEqual([
      { barcode: '1', quantity: 1 },
      { barcode: '2', quantity: 1 },
    ]);
    expect((await changes(store)).map(({ key, op }) => `${op} ${key}`)).toEqual([
      'insert 1',
      'insert 2',
    ]);
  });

  it('keeps an absent price null and a member of an odd type in extra', async () => {
    const store = await temporaryStore();
    const odd = { barcode: '1', quantity: 0, seasonName: 26, details: { price: null } };
    await store.transaction((tx) => writeStockVariants(tx, [odd], read(1)));
    const row = await store.db.selectFrom('stock_variant').selectAll().executeTakeFirstOrThrow();
    expect(row).toMatchObject({ price: null, wsp_price: null, season_name: null });
    expect(row.extra).toBe('{"seasonName":26}');
  });

  it('never lets an older read overwrite a newer one that saw no change', async () => {
    const store = await temporaryStore();
    const write = (status: string, seq: number) =>
      store.transaction((tx) => writeDeliveries(tx, [{ ...delivery, status }], read(seq)));
    await write('accepted', 5);
    await write('accepted', 9);
    expect(await write('pending', 7)).toMatchObject({ stale: 1, changed: 0 });
    const row = await store.db.selectFrom('delivery').select('status').executeTakeFirstOrThrow();
    expect(row.status).toBe('accepted');
  });

  it('replaces the lines of a changed document and shows both in the diff', async () => {
    const store = await temporaryStore();
    const order = {
      orderId: 3,
      status: 'pending',
      orderLineItems: [{ barcode: 'a', quantity: 2 }],
    };
    await store.transaction((tx) => writeOrders(tx, [order], read(1)));
    const more = { ...order, orderLineItems: [{ barcode: 'b', quantity: 4, price: 1.5 }] };
    await store.transaction((tx) => writeOrders(tx, [more], read(2)));
    const lines = await store.db.selectFrom('sales_order_line').selectAll().execute();
    expect(lines).toMatchObject([
      { order_id: 3, line_no: 1, barcode: 'b', quantity: 4, price: 1_5000 },
    ]);
    const diff = JSON.parse((await changes(store))[1]?.diff ?? '{}');
    expect(diff.lines[0]).toMatchObject([{ barcode: 'a' }]);
    expect(diff.lines[1]).toMatchObject([{ barcode: 'b', price: 1_5000 }]);
  });

  it.each([
    ['delivery', 'rejected', 'accepted'],
    ['delivery', 'canceled', 'pending'],
    ['refund', 'rejected', 'accepted'],
    ['refund', 'canceled', 'pending'],
  ] as const)(
    'records once that a %s that was %s is %s now, and changes nothing',
    async (...of) => {
      const [entity, final, later] = of;
      const store = await temporaryStore();
      const write = (status: string, seq: number) =>
        store.transaction((tx) =>
          entity === 'delivery'
            ? writeDeliveries(tx, [{ ...delivery, status }], read(seq))
            : writeRefunds(tx, [{ ...refund, status }], read(seq)),
        );
      await write(final, 1);
      await write(later, 2);
      await write(later, 3);
      const row = await store.db.selectFrom(entity).select('status').executeTakeFirstOrThrow();
      expect(row.status).toBe(final);
      expect((await changes(store)).map(({ op }) => op)).toEqual(['insert']);
      const incidents = await store.db.selectFrom('incident').selectAll().execute();
      expect(incidents).toMatchObject([
        { kind: 'contradiction', entity, key: '7', resolved_at: null },
      ]);
    },
  );

  it('ends the incident once an answer agrees with the final status again', async () => {
    const store = await temporaryStore();
    const write = (orderDeliveryId: number, status: string, seq: number) => {
      const rows = [{ ...delivery, orderDeliveryId, status }];
      return store.transaction((tx) => writeDeliveries(tx, rows, read(seq)));
    };
    const open = async () => {
      const incidents = store.db.selectFrom('incident').select('key');
      const rows = await incidents.where('resolved_at', 'is', null).execute();
      return rows.map(({ key }) => key);
    };
    for (const id of [7, 8]) {
      await write(id, 'rejected', 1);
      await write(id, 'accepted', 2);
    }
    expect(await open()).toEqual(['7', '8']);
    await write(7, 'rejected', 3);
    expect(await open()).toEqual(['8']);
    await store.transaction((tx) => markDeleted(tx, DELIVERY, [8], read(4)));
    expect(await open()).toEqual([]);
  });

  it('takes the last word when one answer holds a key twice', async () => {
    const store = await temporaryStore();
    const rows = [
      { barcode: '1', quantity: 1 },
      { barcode: '1', quantity: 2 },
    ];
    await store.transaction((tx) => writeStockVariants(tx, rows, read(1)));
    const stored = await store.db.selectFrom('stock_variant').select('quantity').execute();
    expect(stored).toEqual([{ quantity: 2 }]);
  });

  it('keeps a row it cannot understand once, with the reason and how often it came', async () => {
    const store = await temporaryStore();
    const bad = { raw: '{"barcode":1}', path: 'barcode', reason: 'expected string' };
    for (const seq of [1, 2]) {
      const row = { ...bad, reason: `reason ${seq}` };
      await store.transaction((tx) => quarantineRows(tx, 'stock_variant', [row], read(seq)));
    }
    const rows = await store.db.selectFrom('quarantine').selectAll().execute();
    expect(rows).toMatchObject([{ times: 2, first_seen_at: 1_000, last_seen_at: 2_000 }]);
    expect(rows).toMatchObject([{ source: 'run:2', reason: 'reason 2' }]);
  });
});

describe('the refresh queue', () => {
  it('makes one read of many hints, and another one when a hint comes meanwhile', async () => {
    const clock = manualClock();
    const store = await temporaryStore(clock);
    const hint = (cause: string) =>
      store.transaction((tx) => requestRefetches(tx, [{ orderId: 3, cause }], clock.now()));
    await hint('event:1');
    await hint('event:2');
    const [due] = await dueRefetches(store.db, clock.now(), 10);
    expect(due).toMatchObject({ orderId: 3, generation: 2, cause: 'event:2' });
    await hint('event:3');
    if (due) await store.transaction((tx) => completeRefetch(tx, due));
    expect(await dueRefetches(store.db, clock.now(), 10)).toMatchObject([{ generation: 3 }]);
  });

  it('puts a failed read off and brings it forward again on a new hint', async () => {
    const clock = manualClock();
    const store = await temporaryStore(clock);
    await store.transaction((tx) =>
      requestRefetches(tx, [{ orderId: 3, cause: 'event:1' }], clock.now()),
    );
    const [due] = await dueRefetches(store.db, clock.now(), 10);
    const later = clock.now() + 60_000;
    if (due) await store.transaction((tx) => postponeRefetch(tx, due, later, 'timeout'));
    expect(await dueRefetches(store.db, clock.now(), 10)).toEqual([]);
    expect(await nextRefetchAt(store.db)).toBe(later);
    await store.transaction((tx) =>
      requestRefetches(tx, [{ orderId: 3, cause: 'event:2' }], clock.now()),
    );
    expect(await dueRefetches(store.db, clock.now(), 10)).toMatchObject([{ attempts: 1 }]);
  });

  it('lets what an event asked for pass before a sweep, whichever came first', async () => {
    const clock = manualClock();
    const store = await temporaryStore(clock);
    const hint = (orderId: number, cause: string, at: number) =>
      store.transaction((tx) => requestRefetches(tx, [{ orderId, cause }], at));
    await hint(1, 'sweep:7', clock.now() - 10);
    await hint(2, 'sweep:7', clock.now() - 10);
    await hint(3, 'event:a', clock.now() - 5);
    await hint(2, 'event:b', clock.now());
    await hint(3, 'sweep:8', clock.now());
    const due = await dueRefetches(store.db, clock.now(), 10);
    expect(due.map(({ orderId, cause }) => [orderId, cause])).toEqual([
      [2, 'event:b'],
      [3, 'event:a'],
      [1, 'sweep:7'],
    ]);
  });

  const startQueue = async () => {
    const clock = manualClock();
    const store = await temporaryStore(clock);
    const now = clock.now();
    const ask = (...requests: readonly RefetchRequest[]) =>
      store.transaction((tx) => requestRefetches(tx, requests, clock.now()));
    const due = () => dueRefetches(store.db, clock.now(), 10);
    const fail = (one: DueRefetch | undefined, waitMs: number) =>
      store.transaction(async (tx) => {
        if (one) await postponeRefetch(tx, one, clock.now() + waitMs, 'timeout');
      });
    return { clock, store, now, ask, due, fail };
  };

  it('forgets of none of several hints that refunds are wanted, or how urgent it was', async () => {
    const { now, ask, due } = await startQueue();
    const event = { orderId: 3, cause: 'event:1' };
    await ask({ ...event, refunds: true, headStartMs: 500 }, { ...event, refunds: false });
    expect(await due()).toMatchObject([{ refunds: true, requestedAt: now - 500 }]);
    await ask({ ...event, refunds: false });
    expect(await due()).toMatchObject([{ refunds: true, requestedAt: now - 500 }]);
    await ask({ orderId: 4, cause: 'event:2', refunds: false });
    expect((await due()).map(({ refunds }) => refunds)).toEqual([true, false]);
  });

  it('does not put a hint off that came while a read before it failed', async () => {
    const { ask, due, fail } = await startQueue();
    await ask({ orderId: 3, cause: 'event:1' });
    const [first] = await due();
    await ask({ orderId: 3, cause: 'event:2' });
    await fail(first, 60_000);
    expect(await due()).toMatchObject([{ generation: 2, attempts: 0 }]);
  });

  it('gives what has failed behind what was never tried, and then the oldest', async () => {
    const { clock, ask, due, fail } = await startQueue();
    for (const orderId of [9, 7, 8]) {
      await ask({ orderId, cause: 'event:1' });
      await clock.advance(10);
    }
    const order = async () => (await due()).map(({ orderId }) => orderId);
    expect(await order()).toEqual([9, 7, 8]);
    const [nine] = await due();
    await fail(nine, 0);
    expect(await order()).toEqual([7, 8, 9]);
  });

  it('waits for a try of its own when a sweep asks for what has failed', async () => {
    const { store, now, ask, due, fail } = await startQueue();
    await ask({ orderId: 3, cause: 'event:1' });
    const [first] = await due();
    await fail(first, 0);
    expect(await refetchBacklog(store.db, now)).toMatchObject({ untried: 0, failed: 1 });
    await ask({ orderId: 3, cause: 'sweep:7' });
    expect(await refetchBacklog(store.db, now)).toMatchObject({ untried: 1, failed: 0 });
    expect(await refetchBacklog(store.db, now - 1)).toMatchObject({ untried: 0, failed: 0 });
  });
});
