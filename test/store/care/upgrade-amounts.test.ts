/** A database whose amounts are hundredths, as the migration that makes them exact finds it. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { manualClock } from '../../../src/lib/clock.ts';
import { canonicalJson, sha256 } from '../../../src/lib/json.ts';
import { STOCK_VARIANT, seasonVariants } from '../../../src/mirror/catalog/variant.ts';
import { writeDeliveries } from '../../../src/mirror/delivery.ts';
import { writeRows } from '../../../src/mirror/entity.ts';
import { rowAsOf } from '../../../src/mirror/point-in-time.ts';
import { writeRefunds } from '../../../src/mirror/refund.ts';
import { writeOrders } from '../../../src/mirror/sales-order.ts';
import { deliveryLinesHash } from '../../../src/outbox/enqueue.ts';
import { migrate, readMigrations } from '../../../src/store/migrate.ts';
import { openStore, type SqliteStore } from '../../../src/store/store.ts';
import { temporaryFolder } from '../../support/store.ts';

const clock = manualClock();
const all = readMigrations();
const before = all.slice(
  0,
  all.findIndex(({ name }) => name === 'exact-amounts'),
);

const MARKS = `'h', 1000, 2000, null, 1, 'run:1'`;
const VARIANT = 'quantity, style_no, currency, price, wsp_price, price_original, b2c_sale_price';
const COMMON = 'content_hash, first_seen_at, changed_at, deleted_at, read_seq, source';

const ORDER_DIFF = [
  String.raw`{"freight_amount":[500,495],"comment":["price 7","{\"price\":7}"],`,
  String.raw`"lines":[[{"line_no":1,"price":7000,"extra":"{\"price\":1}"}],`,
  '[{"line_no":1,"price":8050,"extra":"{}"},{"line_no":2,"price":null,"extra":"{}"}]]}',
].join('');

/** As it was written: hundredths, and with the members that had no column. */
const OLD = `
insert into variant_extra values
  (1, '{"wspPrice":80.5,"careLabelWash":"30"}', 2),
  (2, '{"wspPrice":36.1,"details":{"weight":300}}', 1),
  (3, '{"wspPrice":36.1}', 1);
insert into stock_variant_row (barcode, ${VARIANT}, extra, extra_id, ${COMMON}) values
  ('a', 5, 'S-1', 'EUR', 19995, 8050, 0, null, '', 1, ${MARKS}),
  ('b', 5, 'S-1', 'EUR', 9007199254740991, 8050, -1, null, '', 1, ${MARKS}),
  ('own', 5, 'S-1', 'EUR', null, 12, null, null,
    '{"pricing":{"currency":"EUR","wspPriceWithDiscount":0.1},"wspPrice":0.12}', null, ${MARKS});
insert into season_variant_row (season_barcode, season_name, barcode, ${VARIANT}, extra, extra_id,
  ${COMMON}) values
  ('SS27/a', 'SS27', 'a', 5, 'S-1', 'EUR', null, 4150, null, null, '', 2, ${MARKS}),
  ('SS27/b', 'SS27', 'b', 5, 'S-1', 'EUR', null, null, null, null, '', 3, ${MARKS}),
  ('SS27/own', 'SS27', 'own', 5, 'S-1', 'EUR', null, 4150, null, null, '{"wspPrice":36.1}', null,
    ${MARKS});
insert into segment (stream, part, first_row, row_count, digest, keys) values
  ('stock', '', 0, 3, x'01', '["a","b","own"]'), ('brands', '', 0, 1, x'01', '["x"]');
insert into sales_order (order_id, status, completed, currency, shipping_address, freight_amount,
  extra, ${COMMON}) values (1, 'pending', 0, 'EUR', '{}', 495, '{}', ${MARKS});
insert into sales_order_line (order_id, line_no, barcode, quantity, price, season_name, extra)
  values
  (1, 1, 'a', 2, 8050, 'SS27', '{}'), (1, 2, 'b', 1, null, null, '{}');
insert into delivery (order_delivery_id, order_id, status, tracking_numbers, tracking_links, extra,
  ${COMMON}) values (11, 1, 'pending', '[]', '[]', '{}', ${MARKS});
insert into delivery_line (order_delivery_id, line_no, barcode, fulfilled_quantity, price, extra)
  values (11, 1, 'a', 3, 1999, '{}');
insert into refund (order_refund_id, order_id, status, extra, ${COMMON})
  values (21, 1, 'pending', '{}', ${MARKS});
insert into refund_line (order_refund_id, line_no, barcode, refunded_quantity, price, extra)
  values (21, 1, 'a', 1, 7, '{}');
insert into pending_refund (pending_refund_id, order_id, status, extra, ${COMMON})
  values (31, 1, 'pending', '{}', ${MARKS});
insert into pending_refund_line (pending_refund_id, line_no, barcode, quantity, price, extra)
  values (31, 1, 'a', 1, 7, '{}');
insert into erp_customer (account_no, credit_limit, balance, extra, ${COMMON})
  values ('C-1', 100000, -1250, '{}', ${MARKS});
insert into reject_entry (order_delivery_id, order_id, rule_id, rule_hash, delivery_hash,
  decision_id, queued_at, due_at, state, amount, currency)
  values (11, 1, 'r', 'h', 'h', 1, 0, 0, 'waiting', 5997, 'EUR');
insert into change (at, entity, key, op, diff, cause) values
  (1000, 'stock_variant', 'a', 'insert', '{}', 'run:1'),
  (2000, 'stock_variant', 'a', 'update',
    '{"quantity":[8,5],"price":[null,19995],"wsp_price":[7995,8050],"style_no":["S-0","S-1"]}',
    'run:2'),
  (2000, 'sales_order', '1', 'update', '${ORDER_DIFF}', 'run:2'),
  (2000, 'erp_customer', 'C-1', 'update', '{"balance":[0,-1250]}', 'exchange'),
  (2000, 'style', '7', 'update', '{"style_name":["price","prices"]}', 'run:2');
`;

async function upgraded() {
  const path = join(temporaryFolder(), 'mirror.db');
  const database = new Database(path);
  database.pragma('application_id = 0x534c5647');
  migrate(database, clock, before);
  database.exec(OLD);
  database.close();
  const { store } = await openStore({ path, busyTimeoutMs: 100 }, clock);
  onTestFinished(() => store.close());
  return store;
}

function asked(store: SqliteStore, sql: string): readonly unknown[] {
  const database = new Database(store.path, { readonly: true });
  try {
    return database.prepare(sql).raw().all();
  } finally {
    database.close();
  }
}

it('has every amount in ten-thousandths, and unknown what they cannot hold', async () => {
  const store = await upgraded();
  const prices = 'price, wsp_price, price_original, b2c_sale_price';
  expect(asked(store, `select ${prices} from stock_variant order by barcode`)).toEqual([
    [199_9500, 80_5000, 0, null],
    [null, 80_5000, -100, null],
    [null, 1200, null, null],
  ]);
  expect(asked(store, 'select freight_amount from sales_order')).toEqual([[4_9500]]);
  for (const [table, price] of [
    ['sales_order_line where line_no = 1', 80_5000],
    ['sales_order_line where line_no = 2', null],
    ['delivery_line', 19_9900],
    ['refund_line', 700],
    ['pending_refund_line', 700],
  ]) {
    expect([table, ...asked(store, `select price from ${table}`)]).toEqual([table, [price]]);
  }
  const limits = 'select credit_limit, balance from erp_customer';
  expect(asked(store, limits)).toEqual([[1_000_0000, -12_5000]]);
  expect(asked(store, 'select amount from reject_entry')).toEqual([[59_9700]]);
});

it('shows in its views what it showed before', async () => {
  const store = await upgraded();
  expect(asked(store, 'select amount from v_delivery')).toEqual([[59.97]]);
  const stock = 'select barcode, price, wsp_price, price_original, net_price from v_stock limit 1';
  expect(asked(store, stock)).toEqual([['a', 199.95, 80.5, 0, null]]);
  expect(asked(store, 'select amount from v_preorder_book')).toEqual([[161]]);
  const ahead = "select wsp_price, discount_percent from v_season_variant where barcode = 'a'";
  expect(asked(store, ahead)).toEqual([[41.5, null]]);
});

it('has what changed in ten-thousandths as well, and so every row of the past', async () => {
  const store = await upgraded();
  const diffs = await store.db.selectFrom('change').select('diff').orderBy('seq').execute();
  expect(diffs.map(({ diff }) => diff)).toEqual([
    '{}',
    '{"quantity":[8,5],"price":[null,1999500],"wsp_price":[799500,805000],' +
      '"style_no":["S-0","S-1"]}',
    '{"freight_amount":[50000,49500],"comment":["price 7","{\\"price\\":7}"],"lines":[' +
      '[{"line_no":1,"price":700000,"extra":"{\\"price\\":1}"}],' +
      '[{"line_no":1,"price":805000,"extra":"{}"},{"line_no":2,"price":null,"extra":"{}"}]]}',
    '{"balance":[0,-125000]}',
    '{"style_name":["price","prices"]}',
  ]);
  const [row = {}] = await store.db.selectFrom('stock_variant').selectAll().execute();
  const changes = await store.db
    .selectFrom('change')
    .select(['at', 'op', 'diff'])
    .where('entity', '=', 'stock_variant')
    .execute();
  const then = rowAsOf({ ...row }, changes, 1_500);
  expect(then).toMatchObject({ quantity: 8, price: null, wsp_price: 79_9500, style_no: 'S-0' });
});

it('finds no other change in what it reads again than prices that are others', async () => {
  const store = await upgraded();
  const provenance = { source: 'run:9', readSeq: 9, at: 9_000 };
  const inside = { styleNo: 'S-1', currency: 'EUR' };
  const stock = [
    {
      ...{ barcode: 'a', quantity: 5, wspPrice: 80.5, priceOriginal: 0, careLabelWash: '30' },
      details: { ...inside, price: 199.95, wspPrice: 80.5 },
    },
    {
      ...{ barcode: 'own', quantity: 5, wspPrice: 0.12 },
      ...{ details: { ...inside, wspPrice: 0.12 } },
      pricing: { currency: 'EUR', wspPriceWithDiscount: 0.1 },
    },
  ];
  const ahead = [
    {
      ...{ barcode: 'a', quantity: 5, wspPrice: 36.1 },
      details: { ...inside, wspPrice: 41.5, weight: 300 },
    },
    { barcode: 'b', quantity: 5, wspPrice: 36.1, details: inside },
    { barcode: 'own', quantity: 5, wspPrice: 36.1, details: { ...inside, wspPrice: 41.5 } },
  ];
  const order = {
    ...{ orderId: 1, status: 'pending', completed: false, currency: 'EUR' },
    freight: { freightAmount: 4.95 },
    orderLineItems: [
      { barcode: 'a', quantity: 2, price: 80.5, season: 'SS27' },
      { barcode: 'b', quantity: 1, price: null },
    ],
  };
  const delivery = {
    ...{ orderDeliveryId: 11, orderId: 1, status: 'pending' },
    fulfilledLineItems: [{ barcode: 'a', fulfilledQuantity: 3, price: 19.99 }],
  };
  const refund = {
    ...{ orderRefundId: 21, orderId: 1, status: 'pending' },
    refundedLineItems: [{ barcode: 'a', refundedQuantity: 1, price: 0.07 }],
  };
  const season = seasonVariants('SS27');
  const last = asked(store, 'select max(seq) from change').flat()[0];
  await store.transaction(async (tx) => {
    await writeRows(tx, STOCK_VARIANT, stock.map(STOCK_VARIANT.toRow), provenance);
    await writeRows(tx, season, ahead.map(season.toRow), provenance);
    await writeOrders(tx, [order], provenance);
    await writeDeliveries(tx, [delivery], provenance);
    await writeRefunds(tx, [refund], provenance);
  });
  expect(asked(store, `select entity, key, diff from change where seq > ${last}`)).toEqual([
    ['stock_variant', 'own', '{"net_price":[null,1000],"net_currency":[null,"EUR"]}'],
    ['season_variant', 'SS27/a', '{"wsp_price":[415000,361000]}'],
    ['season_variant', 'SS27/b', '{"wsp_price":[null,361000]}'],
    ['season_variant', 'SS27/own', '{"wsp_price":[415000,361000]}'],
  ]);
  // Rows of a list are known by their hash again; decisions go by that of a delivery.
  const hashes = "select content_hash = 'h' from";
  expect(asked(store, `${hashes} stock_variant where barcode = 'a'`)).toEqual([[0]]);
  expect(asked(store, `${hashes} delivery union all ${hashes} sales_order`)).toEqual([[1], [1]]);
  // All of them are compared once; what else is proved stays so.
  expect(asked(store, 'select stream, digest is null from segment')).toEqual([
    ['brands', 0],
    ['stock', 1],
  ]);
});

it('keeps digests of lines, which say that nobody has changed them', async () => {
  const store = await upgraded();
  const lines = [{ barcode: 'a', fulfilled_quantity: 3, price: 1_999 }];
  expect(await deliveryLinesHash(store.db, 11)).toBe(sha256(canonicalJson(lines)));
});
