import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { checkRows } from '../../src/client/rows.ts';
import { salesOrderSchema } from '../../src/client/v1/schemas.ts';
import { parseOddJson } from '../../src/lib/reading/odd-json.ts';
import { writeStockVariants } from '../../src/mirror/catalog/out-of-band.ts';
import { writeRefunds } from '../../src/mirror/refund.ts';
import { writeOrders } from '../../src/mirror/sales-order.ts';
import { driftOfStream } from '../../src/sync/drift.ts';
import { temporaryStore } from '../support/store.ts';

const PROVENANCE = { source: 'refresh:event:1', readSeq: 1, at: 1 };

it('a value that nobody listed is told, however many rows have one that is known', async () => {
  const store = await temporaryStore();
  await sql`insert into delivery (order_delivery_id, order_id, status, tracking_numbers,
      tracking_links, extra, content_hash, first_seen_at, changed_at, read_seq, source)
    with recursive n(at) as (select 1 union all select at + 1 from n where at < 20002)
    select at, 1, iif(at > 20000, 'on_hold', 'accepted'), '[]', '[]', '{}', '', 1, 1, 1, ''
    from n`.execute(store.db);
  const drift = await driftOfStream(store.db, 'orders');
  const ofDeliveries = {
    entity: 'delivery',
    unknownMembers: {},
    newValues: { 'status=on_hold': 2 },
    unreadable: {},
  };
  expect(drift).toContainEqual(ofDeliveries);
});

it('members that nobody knows are told of lines and of the address, too', async () => {
  const store = await temporaryStore();
  const odd = { known: 1, deep: { a: 1 } };
  await store.transaction(async (tx) => {
    const order = { orderId: 1, status: 'pending', shippingAddress: { city: 'c', door: 7 } };
    const line = { barcode: '1', quantity: 1, price: 5 };
    await writeOrders(tx, [{ ...order, orderLineItems: [line, { ...line, odd }] }], PROVENANCE);
    const refund = { orderRefundId: 1, orderId: 1, status: 'pending' };
    const refundedLineItems = [{ barcode: '1', refundedQuantity: 1, odd }];
    await writeRefunds(tx, [{ ...refund, refundedLineItems }], PROVENANCE);
  });
  const members = (await driftOfStream(store.db, 'orders')).map((one) => one.unknownMembers);
  const ofOrders = { 'orderLineItems.odd': 1, 'shippingAddress.door': 1 };
  expect(members).toEqual([ofOrders, {}, { 'refundedLineItems.odd': 1 }, {}]);
});

it('members that cannot be read are told with what came', async () => {
  const store = await temporaryStore();
  const line = { barcode: 'A', quantity: '2', price: '1,500', comment: 'to\0day' };
  const raw = {
    ...{ orderId: '7', status: 'Pending', completed: 1, comment: 'a\0b', freight: [] },
    ...{ orderLineItems: [line, { ...line, price: '7,500' }], shippingAddress: { zip: [8000] } },
  };
  const rows = checkRows(salesOrderSchema, [parseOddJson(JSON.stringify(raw))]).rows;
  await store.transaction((tx) => writeOrders(tx, rows, PROVENANCE));
  const [orders] = await driftOfStream(store.db, 'orders');
  expect(orders).toMatchObject({
    unknownMembers: { 'orderLineItems.comment': 2 },
    unreadable: {
      comment: { rows: 1, example: '‹"a␀b"›' },
      'orderLineItems.price': { rows: 2, example: '‹"7,500"›' },
    },
  });
  const [row] = await store.db.selectFrom('sales_order').selectAll().execute();
  expect(row).toMatchObject({ order_id: 7, completed: 1, comment: 'ab', freight_type: null });
});

it('a member that never comes is told beside what every row has in its place', async () => {
  const store = await temporaryStore();
  const namesOf = async (stream: string) =>
    (await driftOfStream(store.db, stream)).flatMap(({ otherNames = [] }) => otherNames);
  const all = { styleNo: 'S', styleName: 'n', brandName: 'b', price: 1, wspPrice: 1 };
  const { styleNo: _no, brandName: _brand, ...others } = all;
  const own = {
    ...others,
    style_number: 'S',
    label: 'b',
    currency: 'EUR',
    colorName: 'c',
    size: 'M',
  };
  const variants = ['1', '2'].map((barcode) => ({ barcode, quantity: 1, details: own }));
  await store.transaction((tx) => writeStockVariants(tx, variants, PROVENANCE));
  expect(await namesOf('stock')).toEqual([
    {
      ...{ ours: 'details.styleNo', theirs: ['details.style_number'] },
      setting: 'service.dialect.v1.members: [{ of: details, ours: styleNo, theirs: style_number }]',
    },
    {
      ...{ ours: 'details.brandName', theirs: ['details.style_number', 'details.label'] },
      setting: 'service.dialect.v1.members: [{ of: details, ours: brandName, theirs: … }]',
    },
  ]);
  // Members are known where one row has them.
  const third = { barcode: '3', quantity: 1, details: { ...own, ...all } };
  await store.transaction((tx) => writeStockVariants(tx, [third], PROVENANCE));
  expect(await namesOf('stock')).toEqual([]);
});
