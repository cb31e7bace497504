import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { call, receiver, start, v1, v2, verify } from './testkit.mjs';

test('an order from creation to accepted and shipped', async (t) => {
  const service = await start(t);
  const api = await v1(service);
  const stock = await api.get('/variants/stock?limit=2');
  assert.deepEqual(Object.keys(stock.body.data[0]), ['barcode', 'quantity']);
  const { barcode, quantity } = stock.body.data[0];
  const made = await api.post('/orders', {
    reference: 'PO-1',
    comment: ' ',
    orderLineItems: [{ barcode, quantity: 2, price: 100 }],
    Freight: { freightType: 'GLS Business' },
  });
  assert.equal(made.status, 200);
  const { orderId, salesOrder, references } = made.body.data;
  assert.deepEqual(references, []);
  assert.equal(salesOrder.completed, 0);
  assert.equal(salesOrder.comment, null);
  assert.equal(salesOrder.orderLineItems[0].price, '100.00');
  assert.equal(salesOrder.freight.freightAmount, '75.00');
  assert.match(made.text, /N\\u00f8rregade/);
  assert.equal((await api.get(`/variants/stock/${barcode}`)).body.data.quantity, quantity - 2);

  const { orderDeliveryId } = service.packOrder(orderId);
  const path = `/orders/${orderId}/deliveries/${orderDeliveryId}`;
  assert.equal((await api.get(path)).body.data.status, 'pending');
  for (const status of ['accepted', 'pending', 'accepted']) {
    assert.equal((await api.post(path, { status })).body.data.status, status);
  }
  const jump = await api.post(path, { status: 'rejected' });
  assert.equal(jump.status, 422);
  assert.equal(jump.body.invalid_data.length, 1);
  assert.deepEqual((await api.get(path)).body.data.trackAndTrace, []);
  service.shipDelivery(orderDeliveryId);
  const shipped = (await api.get(`/orders/${orderId}/deliveries`)).body.data[0];
  assert.equal(shipped.status, 'accepted');
  assert.equal(shipped.trackAndTrace.trackingNumbers.length, 1);
  const done = (await api.get(`/orders/${orderId}`)).body.data;
  assert.equal(done.status, 'fulfilled');
  assert.equal(done.completed, 1);
});

test('a rejected delivery is final and the same order is packed again', async (t) => {
  const service = await start(t);
  const api = await v1(service);
  const [{ barcode }] = (await api.get('/variants/stock?limit=1')).body.data;
  const body = { orderLineItems: [{ barcode, quantity: 1 }] };
  const { orderId } = (await api.post('/orders', body)).body.data;
  const first = service.packOrder(orderId).orderDeliveryId;
  const path = `/orders/${orderId}/deliveries/`;
  assert.equal((await api.post(path + first, { status: 'rejected' })).status, 200);
  assert.equal((await api.post(path + first, { status: 'pending' })).status, 422);
  const second = service.packOrder(orderId).orderDeliveryId;
  const list = (await api.get(path)).body.data;
  assert.deepEqual(
    list.map((d) => [d.orderDeliveryId, d.status]),
    [
      [first, 'rejected'],
      [second, 'pending'],
    ],
  );
});

test('a pre-order is packed drop by drop', async (t) => {
  const service = await start(t);
  const api = await v1(service);
  const season = (await api.get('/seasons')).body.data[1];
  const [one, two] = season.deliveries.map((d) => d.deliveryName);
  assert.equal((await api.get('/variants/season')).status, 422);
  const query = `seasonName=${season.seasonName}&limit=2&detailedPricing=true`;
  const [a, b] = (await api.get(`/variants/season?${query}`)).body.data;
  assert.equal(typeof a.pricing.wspPriceWithDiscount, 'number');
  const line = (v, DeliveryName) => ({ barcode: v.barcode, quantity: 3, DeliveryName });
  const bad = await api.post('/orders', {
    SeasonName: season.seasonName,
    orderLineItems: [line(a, one), line(b, undefined)],
  });
  assert.equal(bad.status, 422);
  assert.match(bad.body.invalid_data[0], /orderLineItems\.1\.DeliveryName/);
  const made = await api.post('/orders', {
    SeasonName: season.seasonName,
    orderLineItems: [line(a, two), line(b, one)],
  });
  const { orderId, salesOrder } = made.body.data;
  assert.equal(salesOrder.orderLineItems[0].season, season.seasonName);
  assert.equal(salesOrder.orderLineItems[0].price, a.pricing.wspPriceWithDiscount.toFixed(2));
  const first = service.packOrder(orderId);
  assert.deepEqual(
    first.fulfilledLineItems.map((l) => l.delivery),
    [one],
  );
  await api.post(`/orders/${orderId}/deliveries/${first.orderDeliveryId}`, { status: 'accepted' });
  service.shipDelivery(first.orderDeliveryId);
  const after = (await api.get(`/orders/${orderId}`)).body.data;
  assert.equal(after.status, 'partially_fulfilled');
  assert.deepEqual(
    service.packOrder(orderId).fulfilledLineItems.map((l) => l.delivery),
    [two],
  );
});

test('a pending refund becomes a refund', async (t) => {
  const service = await start(t);
  const api = await v1(service);
  const order = (await api.get('/orders')).body.data.find((o) => o.completed === 1);
  const [{ barcode, quantity }] = order.orderLineItems;
  const path = `/orders/${order.orderId}`;
  const lines = (n) => ({ refundedLineItems: [{ barcode, refundedQuantity: n }] });
  assert.equal((await api.post(`${path}/pending-refunds`, lines(quantity + 1))).status, 422);
  const made = await api.post(`${path}/pending-refunds`, lines(1));
  const { pendingRefundId } = made.body.data;
  assert.equal(made.body.data.refundedLineItems[0].restock, 1);
  const { orderRefundId } = service.confirmRefund(pendingRefundId);
  const refund = (await api.get(`${path}/refunds/${orderRefundId}`)).body.data;
  assert.equal(refund.pendingRefundId, pendingRefundId);
  assert.equal(refund.status, 'pending');
  const waiting = (await api.get(`${path}/pending-refunds/${pendingRefundId}`)).body.data;
  assert.equal(waiting.status, 'confirmed');
  const set = await api.post(`${path}/refunds/${orderRefundId}`, { status: 'accepted' });
  assert.equal(set.body.data.status, 'accepted');
  const own = service.createRefund(order.orderId, [{ barcode, quantity: 1 }]);
  assert.equal('pendingRefundId' in own, false);
  assert.equal((await api.get(`${path}/refunds`)).body.data.length, 2);
});

test('variants: details, pricing by key, running orders, the deprecated list', async (t) => {
  const service = await start(t);
  const api = await v1(service);
  const plain = await v1(service, 'v1Plain');
  const [full] = (await api.get('/variants/stock?detailed=true&limit=1')).body.data;
  assert.equal(typeof full.details.wspPrice, 'string');
  const query = `/variants/stock/${full.barcode}?detailedPricing=true`;
  const { pricing } = (await api.get(query)).body.data;
  assert.equal(pricing.wspPriceOriginal, Number(full.details.wspPrice));
  assert.equal('pricing' in (await plain.get(query)).body.data, false);
  const running = (await api.get('/orders')).body.data[0].orderLineItems[0].barcode;
  assert.equal((await api.get(`/variants/stock/${running}`)).status, 404);
  const shown = await api.get(`/variants/stock/${running}?includeVariantsOnOrder=true`);
  assert.equal(shown.body.data.quantity, 0);
  assert.equal((await api.get('/variants')).status, 422);
  const brand = (await api.get('/brands')).body.data[1].brandName;
  const old = await api.get(`/variants?brandName=${encodeURIComponent(brand)}`);
  assert.equal(old.headers.get('deprecation'), 'true');
  assert.ok(old.body.data.every((v) => v.details.brandName === brand));
  assert.equal((await api.get('/freight')).body.data[0].warehouseCode, 'MAIN');
});

test('orders: cursor, foreign orders, framework answers', async (t) => {
  const service = await start(t, { ordersPage: 2 });
  const api = await v1(service);
  const ids = [];
  for (let before = ''; ; ) {
    const page = (await api.get(`/orders${before}`)).body.data.map((o) => o.orderId);
    if (page.length === 0) break;
    ids.push(...page);
    before = `?beforeOrderId=${page.at(-1)}`;
  }
  assert.deepEqual(
    ids,
    [...ids].sort((a, b) => b - a),
  );
  assert.equal(ids.length, 5);
  const foreign = service.state.orders.find((o) => o.customerId === 2).orderId;
  assert.equal((await api.get(`/orders/${foreign}`)).status, 404);
  assert.equal((await call(service.v1, 'GET', '/orders')).status, 401);
  const bearer = { token: `Bearer ${api.token}`, header: 'authorization' };
  assert.equal((await call(service.v1, 'GET', '/orders', bearer)).status, 200);
  assert.deepEqual(Object.keys((await api.get('/nowhere')).body), ['message']);
  assert.equal((await api.post('/brands', {})).status, 405);
});

test('V2: paging, include, fields, filters', async (t) => {
  const service = await start(t);
  const api = await v2(service);
  const first = await api.get('/pdm/styles?page[limit]=25');
  assert.equal(first.headers.get('content-type'), 'application/vnd.api+json');
  assert.equal(first.body.links.prev, null);
  const ids = first.body.data.map((s) => s.id);
  let { next } = first.body.links;
  while (next) {
    const page = await call(next, 'GET', '', { token: api.token });
    ids.push(...page.body.data.map((s) => s.id));
    next = page.body.links.next;
  }
  assert.equal(new Set(ids).size, 60);
  const token = first.body.meta.pageToken;
  const with_ = (rest) => api.get(`/pdm/styles?page[token]=${token}&${rest}`);
  assert.equal((await with_('page[limit]=25&page[offset]=50')).body.data.length, 10);
  assert.equal((await with_('page[limit]=30&page[offset]=50')).status, 400);
  assert.equal((await api.get('/pdm/styles?page[limit]=251')).status, 400);
  const query =
    'include=styleColors.color,brand&fields_style=styleNo,styleColors' + '&fields_styleColor=color';
  const { data, included } = (await api.get(`/pdm/styles/${ids[0]}?${query}`)).body;
  assert.deepEqual(Object.keys(data.attributes), ['styleNo']);
  const ref = data.relationships.styleColors.data[0];
  const styleColor = included.styleColor[ref.id];
  assert.deepEqual(styleColor.attributes, []);
  assert.ok(included.color[styleColor.relationships.color.data.id]);
  const off = (await api.get('/pdm/colors?filter[active]=false')).body.data;
  assert.deepEqual(
    off.map((c) => c.attributes.active),
    [false, false],
  );
  const sub = await api.get(`/pdm/styles/${ids[0]}/style-colors`);
  assert.equal(sub.body.data.length, 2);
  assert.equal((await api.get('/pdm/brands/11')).body.data.attributes.brandName, 'Nordlys');
  assert.equal((await api.get('/pdm/types?filter[x]=1')).status, 400);
});

test('V2: a style is created and changed; an expired token is told', async (t) => {
  const service = await start(t);
  const api = await v2(service);
  const attributes = { styleNo: 'X-1', styleName: 'Ny' };
  const relationships = { brand: { data: { type: 'brand', id: '12' } } };
  const body = { data: { type: 'style', attributes, relationships } };
  const made = await api.send('POST', '/pdm/styles', body);
  assert.equal(made.status, 201);
  const { id } = made.body.data;
  assert.deepEqual(made.body.data.relationships.styleColors.data, []);
  assert.equal((await api.send('POST', '/pdm/styles', body)).status, 422);
  const patch = { data: { type: 'style', id, attributes: { styleName: 'Nyere' } } };
  const changed = await api.send('PATCH', `/pdm/styles/${id}`, patch);
  assert.equal(changed.body.data.attributes.styleName, 'Nyere');
  const filtered = await api.get('/pdm/styles?filter[brandId]=12&page[limit]=250');
  assert.ok(filtered.body.data.some((s) => s.id === id));
  service.expireTokens();
  const late = await api.get('/pdm/styles');
  assert.equal(late.status, 401);
  assert.equal(late.body.errors[0].code, 'token_expired');
});

test('the rate limit answers 429 with Retry-After', async (t) => {
  let at = 1_800_000_000_000;
  const service = await start(t, { rate: 3, now: () => at });
  const api = await v1(service);
  const codes = [];
  for (let i = 0; i < 4; i += 1) codes.push((await api.get('/seasons')).status);
  assert.deepEqual(codes, [200, 200, 200, 429]);
  const refused = await api.get('/seasons');
  assert.equal(refused.headers.get('retry-after'), '1');
  assert.deepEqual(refused.body, { message: 'Too Many Attempts.' });
  at += 1000;
  assert.equal((await api.get('/seasons')).status, 200);
});

test('webhooks are signed, retried under the same id and can be resent', async (t) => {
  const secret = `whsec_${Buffer.from('a secret of 24 bytes, ok').toString('base64')}`;
  const hook = await receiver(t, [500]);
  const service = await start(t, { retryScale: 0.002 });
  service.setEndpoint(hook.url, secret, ['sales_order.delivery_created']);
  const api = await v1(service);
  const [{ barcode }] = (await api.get('/variants/stock?limit=1')).body.data;
  const body = { reference: 'Ø/1', orderLineItems: [{ barcode, quantity: 1 }] };
  const { orderId, salesOrder } = (await api.post('/orders', body)).body.data;
  const { orderDeliveryId } = service.packOrder(orderId);
  await hook.arrived(2);
  assert.equal(hook.seen[0].headers['svix-id'], hook.seen[1].headers['svix-id']);
  for (const request of hook.seen) assert.equal(verify(secret, request), true);
  const event = hook.seen[1].body;
  assert.equal(event.type, 'sales_order.delivery_created');
  assert.equal(event.data.salesOrderDelivery.orderDeliveryId, orderDeliveryId);
  assert.deepEqual(event.references, {
    salesOrder: { orderId, orderNo: salesOrder.orderNo, reference: 'Ø/1' },
  });
  await service.flush();
  const message = service.history().find((m) => m.attempts.length > 0);
  assert.deepEqual(
    message.attempts.map((a) => a.status),
    [500, 204],
  );
  service.rotateSecret();
  await service.resend(message.id);
  assert.equal(hook.seen[2].headers['svix-signature'].split(' ').length, 2);
  assert.equal(verify(secret, hook.seen[2]), true);
});

test('the event comes before the record when --lag says so', async (t) => {
  let at = 1_800_000_000_000;
  const service = await start(t, { lag: 5000, now: () => at });
  const api = await v1(service);
  const { orderId } = (await api.get('/orders')).body.data[0];
  const { orderDeliveryId } = service.packOrder(orderId);
  assert.equal(service.history().at(-1).type, 'sales_order.delivery_created');
  const path = `/orders/${orderId}/deliveries/${orderDeliveryId}`;
  assert.equal((await api.get(path)).status, 404);
  at += 5000;
  assert.equal((await api.get(path)).status, 200);
});

test('the portal link works once', async (t) => {
  const service = await start(t);
  const one = (await (await v1(service)).post('/webhook-portal')).body.data.url;
  const two = (await (await v2(service)).send('POST', '/webhook-portal')).body.data.url;
  assert.notEqual(one, two);
  assert.equal((await fetch(one)).status, 200);
  assert.equal((await fetch(one)).status, 410);
});

test('without PHP habits', async (t) => {
  const service = await start(t, { php: false, syncDelivery: true });
  const api = await v1(service);
  const old = (await api.get('/orders')).body.data.at(-1);
  assert.deepEqual(old.shippingAddress, {});
  assert.equal(old.completed, true);
  const [{ barcode }] = (await api.get('/variants/stock?limit=1')).body.data;
  const made = await api.post('/orders', { orderLineItems: [{ barcode, quantity: 1 }] });
  assert.equal(made.body.data.references.salesOrderDeliveries.length, 1);
  assert.equal(typeof made.body.data.salesOrder.orderLineItems[0].price, 'number');
});

test('the program tells its addresses, is controlled over HTTP and stops', async () => {
  const file = fileURLToPath(new URL('./service.mjs', import.meta.url));
  const child = spawn(process.execPath, [file, '--port', '0', '--v2-port', '0', '--seed', '3']);
  const [line] = await once(child.stdout, 'data');
  const told = JSON.parse(String(line));
  assert.notEqual(new URL(told.v1).port, new URL(told.v2).port);
  const api = await v1(told);
  const { orderId } = (await api.get('/orders')).body.data[0];
  const packed = await call(told.relay, 'POST', '/control/packOrder', { body: [orderId] });
  assert.equal(packed.body.result.status, 'pending');
  child.kill('SIGTERM');
  const [code] = await once(child, 'exit');
  assert.equal(code, 0);
});
