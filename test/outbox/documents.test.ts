import { expect, it } from 'vitest';
import { orderBody } from '../../src/client/v1/order-body.ts';
import { pendingRefundBody } from '../../src/client/v1/refunds.ts';
import { writeRefunds } from '../../src/mirror/refund.ts';
import { writeOrders } from '../../src/mirror/sales-order.ts';
import { documentState } from '../../src/outbox/document-state.ts';
import {
  type DocumentKind,
  isDocumentKind,
  newOrderOf,
  newPendingRefundOf,
  parseDocument,
  readBody,
} from '../../src/outbox/documents.ts';
import { type Enqueued, enqueueDocument } from '../../src/outbox/enqueue.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { temporaryStore } from '../support/store.ts';

const ORDER = { lines: [{ barcode: '570001', quantity: 2, price: '19.9' }] };

function parsed(kind: DocumentKind, payload: unknown) {
  const result = parseDocument(kind, payload);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result;
}

function problems(kind: DocumentKind, payload: unknown): string[] {
  const result = parseDocument(kind, payload);
  return result.ok ? [] : result.problems.map(({ path, message }) => `${path} ${message}`);
}

function put(
  store: SqliteStore,
  reference: string,
  payload: unknown,
  kind: DocumentKind = 'order',
) {
  const { document } = parsed(kind, payload);
  return store.transaction((tx) =>
    enqueueDocument(tx, { kind, reference, document, cause: 'test' }, 1),
  );
}

function idOf(enqueued: Enqueued): number {
  if ('conflict' in enqueued) throw new Error('taken');
  return enqueued.outboxId;
}

it('gives equal documents the same form, however their amounts and texts are written', () => {
  const one = parsed('order', { ...ORDER, comment: ' soon ', reference: ' A-1 ' });
  const other = parsed('order', {
    comment: 'soon',
    lines: [{ price: 19.9, quantity: 2, barcode: ' 570001' }],
  });
  expect(one.document).toEqual(other.document);
  expect(one.reference).toBe('A-1');
  expect(parsed('order', one.document).document).toEqual(one.document);
});

const AMOUNT = 'must be an amount with at most four decimals, such as "19.95" or 19.95';

it('names every mistake with its path and what was found', () => {
  expect(
    problems('order', {
      lines: [
        { barcode: '', quantity: 1.5, price: 1.00005 },
        { barcode: 'b', quantity: 0, price: '1,50', delivreyName: 'x' },
      ],
      shippingAddress: { firstName: 'A' },
    }),
  ).toEqual(
    expect.arrayContaining([
      'lines[0].barcode must not be empty',
      'lines[0].quantity must be a whole number from 1 to 1000000; found 1.5',
      'lines[1].quantity must be a whole number from 1 to 1000000; found 0',
      `lines[0].price ${AMOUNT}; found 1.00005`,
      `lines[1].price ${AMOUNT}; found "1,50"`,
      'lines[1].delivreyName is not known here; did you mean deliveryName?',
      'shippingAddress.lastName is missing',
    ]),
  );
  const oddTypes = { comment: 'x'.repeat(1_001), shippingAddress: 'here', lines: [{ barcode: 7 }] };
  expect(problems('order', oddTypes)).toEqual(
    expect.arrayContaining([
      'comment must have at most 1000 characters',
      'shippingAddress must be a JSON object; found "here"',
      'lines[0].barcode must be a text; found 7',
    ]),
  );
  expect(problems('refund_status', { orderId: 1, orderRefundId: 1, status: 'done' })).toEqual([
    'status must be one of pending, accepted, rejected; found "done"',
  ]);
  expect(problems('order', {})).toEqual(['lines is missing']);
  expect(problems('order', [])).toEqual([' must be a JSON object']);
  const lines = [{ barcode: 'b', quantity: 1 }];
  expect(problems('pending_refund', { lines })).toEqual([
    'orderId needs either orderId or orderReference',
  ]);
  expect(problems('style', { styleNo: '1' })).toHaveLength(2);
  expect(isDocumentKind('order') && !isDocumentKind('toString')).toBe(true);
});

it.each([
  ['order', { lines: [{ barcode: 'b', qty: 1, price: 1 }] }, 'lines[0].qty', 'quantity'],
  ['order', { lines: [{ SKU: 'b', quantity: 1, unit_price: 1 }] }, 'lines[0].SKU', 'barcode'],
  ['order', { lines: [{ amount: 1 }] }, 'lines[0].amount', 'quantity or price'],
  ['order', { lines: [{ Größe: 'M' }] }, 'lines[0].Größe', 'barcode (it tells style, color and'],
  ['order', { lines: [{ colour: 'red' }] }, 'lines[0].colour', 'barcode (it tells style, color'],
  ['order', { lines: [{ rabat: 5 }] }, 'lines[0].rabat', 'price (it is the price after all'],
  ['order', { lines: [{ currency: 'DKK' }] }, 'lines[0].currency', 'currency at the top of the'],
  ['order', { positionen: [] }, 'positionen', 'lines'],
  ['order', { customer: 'C-1' }, 'customer', 'shippingAddress'],
  ['order', { customer_no: 'C-1' }, 'customer_no', 'accountNo in shippingAddress'],
  ['order', { barcod: '1' }, 'barcod', 'barcode in lines'],
  ['order', { adress: {} }, 'adress', 'shippingAddress'],
  ['order', { orderNo: 1 }, 'orderNo', 'reference'],
  ['order', { shippingAddress: { name: 'A' } }, 'shippingAddress.name', 'firstName or lastName'],
  ['pending_refund', { orderNo: 1 }, 'orderNo', 'orderReference'],
  ['pending_refund', { lines: [{ reason: 'x' }] }, 'lines[0].reason', 'refundType'],
  ['refund_status', { refundId: 7 }, 'refundId', 'orderRefundId'],
  ['style', { brand: 'x' }, 'brand', 'brandId'],
] as const)('names in %s what the unknown member of %j means', (kind, document, path, meant) => {
  const said = problems(kind, document).filter((one) => one.startsWith(`${path} is not known`));
  expect(said).toEqual([expect.stringContaining(`is not known here; did you mean ${meant}`)]);
});

it('has no hint on a member that means nothing', () => {
  expect(problems('order', { ...ORDER, frobnicate: 1 })).toEqual(['frobnicate is not known here']);
  expect(problems('order', { ...ORDER, ['x'.repeat(1_000_000)]: 1 })[0]).toMatch(/known here$/);
});

it('is refused where its currency has no coins for its prices', () => {
  const freight = { amount: '9.50' };
  const lines = [
    { barcode: 'b', quantity: 1, price: '1000.5' },
    { barcode: 'c', quantity: 1, price: '1000.00' },
  ];
  expect(problems('order', { lines, freight, currency: 'JPY' })).toEqual([
    'lines[0].price must be a whole amount: JPY has no decimals',
    'freight.amount must be a whole amount: JPY has no decimals',
  ]);
  const dinars = [{ barcode: 'b', quantity: 1, price: '12.345' }];
  expect(problems('order', { lines: dinars, freight, currency: 'KWD' })).toEqual([]);
});

it.each([
  ['12.345', '12.345', 12.345],
  [4.4449, '4.4449', 4.4449],
  ['0.0001', '0.0001', 0.0001],
  ['19.9', '19.90', 19.9],
  ['19.9900', '19.99', 19.99],
  [7, '7.00', 7],
  ['999999999.9999', '999999999.9999', 999999999.9999],
])('has the price %s as %s, and sends exactly %s', (written, kept, sent) => {
  const lines = [{ barcode: 'b', quantity: 1, price: written }];
  const { document } = parsed('order', { lines });
  expect(document).toMatchObject({ lines: [{ price: kept }] });
  const body = orderBody(newOrderOf('A-1', readBody.order(document)), 'freight');
  expect(JSON.parse(JSON.stringify(body))).toMatchObject({ orderLineItems: [{ price: sent }] });
});

it('becomes the body of the wire with the amounts that were submitted', () => {
  const more = { comment: 'by noon', freight: { amount: '7', type: 'dhl' } };
  const { document } = parsed('order', { ...ORDER, ...more });
  expect(orderBody(newOrderOf('A-1', readBody.order(document)), 'freight')).toEqual({
    reference: 'A-1',
    orderLineItems: [{ barcode: '570001', quantity: 2, price: 19.9 }],
    comment: 'by noon',
    freight: { freightAmount: 7, freightType: 'dhl' },
  });
  const refund = parsed('pending_refund', {
    orderId: 7,
    lines: [
      { barcode: 'b', quantity: 1, price: 0.29, restock: true },
      // Nothing is paid back, and nothing goes back on stock: not the same as not to say it.
      { barcode: 'c', quantity: 1, price: 0, restock: false },
      { barcode: 'd', quantity: 1 },
    ],
  });
  const body = newPendingRefundOf('R-1', readBody.pendingRefund(refund.document));
  expect(pendingRefundBody(body)).toEqual({
    reference: 'R-1',
    refundLineItems: [
      { barcode: 'b', quantity: 1, price: 0.29, restock: true },
      { barcode: 'c', quantity: 1, price: 0, restock: false },
      { barcode: 'd', quantity: 1 },
    ],
  });
});

it('is taken once for its reference, whatever its letters', async () => {
  const store = await temporaryStore();
  const first = await put(store, 'A-1', ORDER);
  expect(first).toMatchObject({ repeated: false });
  const again = await put(store, ' a-1', { ...ORDER, reference: 'A-1' });
  expect(again).toEqual({ ...first, repeated: true });
  const other = { lines: [{ barcode: '570001', quantity: 3, price: '19.90' }] };
  expect(await put(store, 'A-1', other)).toMatchObject({
    conflict: { outboxId: idOf(first), document: { lines: [{ quantity: 2 }] } },
  });
  expect(await store.db.selectFrom('outbox').selectAll().execute()).toHaveLength(1);
});

it('keeps the documents of one order under one ordering key', async () => {
  const store = await temporaryStore();
  const lines = [{ barcode: '570001', quantity: 1 }];
  await put(store, 'R-1', { orderReference: 'a-1', lines }, 'pending_refund');
  await put(store, 'A-1', ORDER);
  // Its id is known once it is sent, and stands with what belongs to it.
  await store.db.updateTable('outbox').set({ order_id: 5 }).execute();
  await put(store, 'R-2', { orderId: 5, lines }, 'pending_refund');
  const rows = await store.db.selectFrom('outbox').select('ordering_key').execute();
  expect(rows.map((row) => row.ordering_key)).toEqual(['order/a-1', 'order/a-1', 'order/a-1']);
});

it('keeps refunds of an order under one key when its reference is learned meanwhile', async () => {
  const store = await temporaryStore();
  const lines = [{ barcode: '570001', quantity: 1 }];
  await put(store, 'R-1', { orderId: 5, lines }, 'pending_refund');
  const order = { orderId: 5, reference: 'A-1', status: 'pending', orderLineItems: [] };
  const provenance = { source: 'run:1', readSeq: 1, at: 0 };
  await store.transaction((tx) => writeOrders(tx, [order], provenance));
  await put(store, 'R-2', { orderId: 5, lines }, 'pending_refund');
  await put(store, 'R-3', { orderReference: 'a-1', lines }, 'pending_refund');
  const keys = async () => {
    const rows = await store.db.selectFrom('outbox').select('ordering_key').execute();
    return rows.map((row) => row.ordering_key);
  };
  expect(await keys()).toEqual(['order/#5', 'order/#5', 'order/#5']);
  await store.db.updateTable('outbox').set({ state: 'canceled', ended_at: 1 }).execute();
  await put(store, 'R-4', { orderId: 5, lines }, 'pending_refund');
  expect((await keys()).at(-1)).toBe('order/a-1');
});

it('changes a refund from the status that was given, else from the one that it has', async () => {
  const store = await temporaryStore();
  const refund = { orderRefundId: 9, orderId: 5, status: 'accepted', refundedLineItems: [] };
  const provenance = { source: 'run:1', readSeq: 1, at: 0 };
  await store.transaction((tx) => writeRefunds(tx, [refund], provenance));
  const body = { orderId: 5, orderRefundId: 9, status: 'rejected' };
  await put(store, 'S-1', body, 'refund_status');
  await put(store, 'S-2', { ...body, expectedStatus: 'pending' }, 'refund_status');
  await put(store, 'S-3', { ...body, orderRefundId: 10 }, 'refund_status');
  const rows = await store.db
    .selectFrom('outbox')
    .select(['ordering_key', 'expected_from'])
    .execute();
  expect(rows.map((row) => `${row.ordering_key} ${row.expected_from}`)).toEqual([
    'refund/9 accepted',
    'refund/9 pending',
    'refund/10 pending',
  ]);
});

it('keeps a style under its own ordering key, and new ones of one number under one', async () => {
  const store = await temporaryStore();
  await put(store, 'N-1', { styleNo: 'ST-1', styleName: 'Parka', brandId: '1' }, 'style');
  await put(store, 'N-2', { styleId: '7', styleNo: 'ST-1' }, 'style');
  await put(store, 'N-1', ORDER);
  const rows = await store.db.selectFrom('outbox').select('ordering_key').execute();
  expect(rows.map((row) => row.ordering_key)).toEqual(['style/no/ST-1', 'style/7', 'order/n-1']);
});

it('says what became of it and what to do next', async () => {
  const store = await temporaryStore();
  const outboxId = idOf(await put(store, 'A-1', ORDER));
  expect(await documentState(store.db, outboxId)).toMatchObject({
    state: 'queued',
    reference: 'A-1',
    ended: false,
    orderId: null,
    nextAction: 'nothing: it is sent as soon as its turn has come',
  });
  expect(await documentState(store.db, 99)).toBeUndefined();
});

it('says at once that an endless text is no e-mail address', () => {
  const email = (text: string) => {
    const shippingAddress = { email: text };
    const found = problems('order', { ...ORDER, shippingAddress });
    return found.filter((one) => one.startsWith('shippingAddress.email'));
  };
  const wrong = 'shippingAddress.email must be an e-mail address';
  // A pattern that tries every "@" against every other would not come to an end.
  expect(email(`${'@'.repeat(1_000_000)} x`)).toContain(wrong);
  for (const text of ['@a', 'a@', 'a b@c', '@', ''])
    expect([text, email(text)]).toEqual([text, [wrong]]);
  for (const text of ['a@b', '@@b', 'a@@', 'a@b@c'])
    expect([text, email(text)]).toEqual([text, []]);
});

it('refuses what nobody can mean, and takes what is at the limit', () => {
  const [line] = ORDER.lines;
  const priced = (price: unknown) => problems('order', { lines: [{ ...line, price }] });
  for (const price of ['-1', -1, '19.95555', '19.95 EUR', '', null]) {
    expect([price, priced(price).length]).toEqual([price, 1]);
  }
  for (const price of [0, '0', 999_999_999.9999]) expect(priced(price)).toEqual([]);
  const many = (length: number) => problems('order', { lines: Array.from({ length }, () => line) });
  expect([many(5_000), many(5_001)]).toEqual([[], ['lines must have at most 5000 lines']]);
  expect(problems('order', { lines: [{ ...line, quantity: 1_000_000 }] })).toEqual([]);
  expect(problems('order', { ...ORDER, currency: 'kr' })).toHaveLength(1);
  expect(problems('order', { ...ORDER, seasonName: 'AW\u000027' })).toHaveLength(1);
  expect(problems('order', { ...ORDER, reference: 'x'.repeat(201) })).toHaveLength(1);
  const both = { orderId: 7, orderReference: 'A-1', lines: [{ barcode: 'b', quantity: 1 }] };
  expect(problems('pending_refund', both)).toEqual([
    'orderId needs either orderId or orderReference',
  ]);
  const status = { orderId: 7, orderRefundId: 8, status: 'pending' };
  expect(problems('refund_status', status)).toEqual([]);
});

it('loses nothing of a document on its way to the wire', () => {
  const address = {
    ...{ firstName: 'Ada', lastName: 'Holm', address: 'Torvet 1', city: 'Viborg', zip: '8800' },
    ...{ countryCode: 'DK', phone: '1', email: 'a@b', address2: 'left', company: 'Holm' },
    ...{ provinceCode: 'M', accountNo: 'C-1' },
  };
  const freight = { type: 'dhl', parcelShopId: 'P-1', warehouseCode: 'W-1' };
  const lines = [{ barcode: 'b', quantity: 2, price: '1.50', deliveryName: 'Drop 1' }];
  const more = { comment: 'soon', seasonName: 'AW27', shippingAddress: address };
  const { document } = parsed('order', { lines, ...more, freight: { amount: 7, ...freight } });
  expect(newOrderOf('A-1', readBody.order(document))).toEqual({
    ...{ reference: 'A-1', ...more },
    lines: [{ barcode: 'b', quantity: 2, priceUnits: 1_5000, deliveryName: 'Drop 1' }],
    freight: {
      ...{ freightAmountUnits: 7_0000, freightType: 'dhl' },
      ...{ parcelShopId: 'P-1', warehouseCode: 'W-1' },
    },
  });
  expect(
    problems('order', { ...ORDER, shippingAddress: { ...address, countryCode: 'dk' } }),
  ).toEqual(['shippingAddress.countryCode must be two capital letters; found "dk"']);
  // Personal data are not repeated, nor what is too long to be recognized by.
  expect(problems('order', { ...ORDER, shippingAddress: { ...address, email: 'ada' } })).toEqual([
    'shippingAddress.email must be an e-mail address',
  ]);
  expect(problems('order', { ...ORDER, currency: 'K'.repeat(99) })).toEqual([
    'currency must be three capital letters',
  ]);
  const refund = { orderId: 7, comment: 'torn', lines: [{ barcode: 'b', quantity: 1 }] };
  const asked = parsed('pending_refund', refund).document;
  // A price that was not named is that of the order, and not 0.
  expect(newPendingRefundOf('R-1', readBody.pendingRefund(asked))).toEqual({
    ...{ reference: 'R-1', comment: 'torn' },
    lines: [{ barcode: 'b', quantity: 1, priceUnits: undefined }],
  });
});

it('takes an address as its country writes it, and sends the parts it does not have empty', () => {
  const person = { firstName: 'Ann', lastName: 'Shop', phone: '1', email: 'a@b' };
  const order = (more: object) => ({
    ...ORDER,
    shippingAddress: { ...person, address: '1 Queen’s Road', ...more },
  });
  const sent = (more: object) => {
    const { document } = parsed('order', order(more));
    const { shippingAddress } = orderBody(newOrderOf('A-1', readBody.order(document)), 'freight');
    return shippingAddress;
  };
  const wire = { ...person, address: '1 Queen’s Road' };
  const hongKong = { ...wire, city: '', zip: '', countryCode: 'HK' };
  expect(sent({ countryCode: 'HK' })).toEqual(hongKong);
  expect(sent({ countryCode: 'HK', zip: ' ', city: '' })).toEqual(hongKong);
  expect(sent({ countryCode: 'IE', city: 'Ballina' })).toMatchObject({ city: 'Ballina', zip: '' });
  expect(sent({ countryCode: 'IE', city: 'Dublin', zip: 'D01 F5P2' })).toMatchObject({
    zip: 'D01 F5P2',
  });
  const zip = 'shippingAddress.zip must not be empty';
  expect(problems('order', order({ countryCode: 'DE', city: 'Ulm' }))).toEqual([zip]);
  expect(problems('order', order({ countryCode: 'SG' }))).toEqual([zip]);
  expect(problems('order', order({ countryCode: 'AE', zip: '' }))).toEqual([
    'shippingAddress.city must not be empty',
  ]);
});
