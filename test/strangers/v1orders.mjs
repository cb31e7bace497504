import { HttpError } from './http.mjs';
import { createOrder, setDeliveryStatus } from './life.mjs';
import { intOf, numberOf, says } from './php.mjs';
import { deliveryReferences, renderDelivery, renderOrder } from './render.mjs';
import { inSeason, variantBy } from './world.mjs';

const MOST = 250;

export const orderRoutes = [
  ['GET', '/orders', list],
  ['POST', '/orders', create],
  ['GET', '/orders/:orderId', one],
  ['GET', '/orders/:orderId/deliveries', deliveries],
  ['GET', '/orders/:orderId/deliveries/:orderDeliveryId', delivery],
  ['POST', '/orders/:orderId/deliveries/:orderDeliveryId', changeDelivery],
];

// Another customer's order is not forbidden, it does not exist.
export function mustOrder({ app, customer, params }) {
  const order = app.state.orders.find(
    (o) => o.orderId === intOf(params.orderId) && o.customerId === customer.id,
  );
  if (!order) throw new HttpError(404, 'Order not found');
  return order;
}

function list({ app, customer, query }) {
  const before = query.get('beforeOrderId');
  const limit = query.get('limit');
  const invalid = [
    ['beforeOrderId', before],
    ['limit', limit],
  ]
    .filter(([, text]) => text && !(intOf(text) > 0))
    .map(([name]) => says.integer(name));
  if (invalid.length > 0) throw new HttpError(422, 'Invalid data', { invalid });
  const length = Math.min(limit ? intOf(limit) : app.opts.ordersPage, MOST);
  const rows = app.state.orders
    .filter((o) => o.customerId === customer.id && (!before || o.orderId < intOf(before)))
    .sort((a, b) => b.orderId - a.orderId);
  return { data: rows.slice(0, length).map((o) => renderOrder(app, o)) };
}

function one(ctx) {
  return { data: renderOrder(ctx.app, mustOrder(ctx)) };
}

// --- creation

function create(ctx) {
  const { app, customer, body } = ctx;
  const invalid = [];
  const seasonName = body.SeasonName ?? null;
  const input = {
    reference: textOf(body, 'reference', 50, invalid),
    comment: textOf(body, 'comment', 1000, invalid),
    seasonName,
    freight: freightOf(app, body.Freight ?? body.freight, invalid),
    shippingAddress: addressOf(body.shippingAddress, customer, invalid),
  };
  const season = app.state.seasons.find((s) => s.seasonName === seasonName);
  if (seasonName !== null && !season) invalid.push(says.selected('SeasonName'));
  input.lines = linesOf(
    app,
    body.orderLineItems,
    { preorder: seasonName !== null, season },
    invalid,
  );
  if (invalid.length > 0) throw new HttpError(422, 'Invalid data', { invalid });
  const order = createOrder(app, customer, input);
  return {
    message: 'Order created',
    data: {
      orderId: order.orderId,
      salesOrder: renderOrder(app, order),
      references: deliveryReferences(app, order.orderId),
    },
  };
}

function textOf(body, name, length, invalid) {
  const value = body[name] ?? null;
  if (value === null) return null;
  if (typeof value !== 'string') invalid.push(says.string(name));
  else if (value.length > length) invalid.push(says.maxText(name, length));
  return value;
}

function freightOf(app, given, invalid) {
  if (given === undefined || given === null) {
    if (app.opts.freightRequired) invalid.push(says.required('Freight'));
    return null;
  }
  const known = app.state.freights.find(
    (f) =>
      f.freightType === given.freightType &&
      (!given.warehouseCode || f.warehouseCode === given.warehouseCode),
  );
  if (!given.freightType) invalid.push(says.required('Freight.freightType'));
  else if (!known) invalid.push(says.selected('Freight.freightType'));
  const own = given.freightAmount ?? null;
  const amount = own === null ? known?.freightAmount : numberOf(own);
  if (own !== null && Number.isNaN(amount)) invalid.push(says.numeric('Freight.freightAmount'));
  return {
    freightAmount: amount,
    freightType: given.freightType,
    warehouseCode: known?.warehouseCode,
  };
}

// Without an address the order goes to the customer's own one, and that is what it then shows.
function addressOf(given, customer, invalid) {
  if (given === undefined || given === null) return null;
  if (typeof given !== 'object' || (Array.isArray(given) && given.length > 0)) {
    invalid.push(says.array('shippingAddress'));
    return null;
  }
  if (Object.keys(given).length === 0) return null;
  for (const name of ['address', 'city', 'zip', 'countryCode']) {
    if (!given[name]) invalid.push(says.required(`shippingAddress.${name}`));
  }
  if (given.countryCode && !/^[A-Z]{2}$/.test(given.countryCode)) {
    invalid.push(says.selected('shippingAddress.countryCode'));
  }
  const names = Object.keys(customer.address);
  const address = Object.fromEntries(names.map((name) => [name, given[name] ?? null]));
  address.accountNo = customer.address.accountNo; // the account is the key's, not the caller's
  return address;
}

function linesOf(app, given, pre, invalid) {
  if (!Array.isArray(given) || given.length === 0) {
    const wrong = given !== undefined && given !== null && !Array.isArray(given);
    invalid.push((wrong ? says.array : says.required)('orderLineItems'));
    return [];
  }
  const asked = {};
  return given.map((line, i) =>
    lineOf(app, line ?? {}, { at: `orderLineItems.${i}`, ...pre }, asked, invalid),
  );
}

function lineOf(app, line, { at, preorder, season }, asked, invalid) {
  const variant = variantBy(app.state, line.barcode ?? '');
  if (!line.barcode) invalid.push(says.required(`${at}.barcode`));
  else if (!variant) invalid.push(says.selected(`${at}.barcode`));
  const quantity = intOf(line.quantity);
  const counted = checkQuantity(line, quantity, at, invalid);
  const price = (line.price ?? null) === null ? null : numberOf(line.price);
  if (price !== null && !(price >= 0)) invalid.push(says.numeric(`${at}.price`));
  const deliveryName = line.DeliveryName ?? null;
  if (preorder) {
    checkDrop(app, { at, season, variant, deliveryName }, invalid);
  } else if (variant && counted && !app.opts.oversell) {
    asked[variant.barcode] = (asked[variant.barcode] ?? 0) + quantity;
    if (asked[variant.barcode] > variant.stock) {
      invalid.push(`Not enough stock for barcode ${variant.barcode}.`);
    }
  }
  // DeliveryName without SeasonName is dropped in silence: no rule looks at it.
  return { barcode: variant?.barcode, quantity, price, deliveryName };
}

function checkQuantity(line, quantity, at, invalid) {
  const name = `${at}.quantity`;
  if ((line.quantity ?? null) === null) invalid.push(says.required(name));
  else if (Number.isNaN(quantity)) invalid.push(says.integer(name));
  else if (quantity < 1) invalid.push(says.min(name, 1));
  else return true;
  return false;
}

function checkDrop(app, { at, season, variant, deliveryName }, invalid) {
  if (deliveryName === null) {
    invalid.push(`The ${at}.DeliveryName field is required when SeasonName is present.`);
    return;
  }
  if (!season) return;
  if (!season.deliveries.some((d) => d.deliveryName === deliveryName)) {
    invalid.push(says.selected(`${at}.DeliveryName`));
  }
  if (variant && !inSeason(app.state, variant, season.seasonName)) {
    invalid.push(`Barcode ${variant.barcode} is not part of season ${season.seasonName}.`);
  }
}

// --- deliveries

const visible = (app) => (row) => row.visibleFrom <= app.now();

function deliveries(ctx) {
  const order = mustOrder(ctx);
  const rows = ctx.app.state.deliveries.filter((d) => d.orderId === order.orderId);
  return { data: rows.filter(visible(ctx.app)).map((d) => renderDelivery(ctx.app, d)) };
}

function mustDelivery(ctx) {
  const order = mustOrder(ctx);
  const id = intOf(ctx.params.orderDeliveryId);
  const row = ctx.app.state.deliveries.find(
    (d) => d.orderId === order.orderId && d.orderDeliveryId === id,
  );
  if (!row || !visible(ctx.app)(row)) throw new HttpError(404, 'Delivery not found');
  return row;
}

function delivery(ctx) {
  return { data: renderDelivery(ctx.app, mustDelivery(ctx)) };
}

function changeDelivery(ctx) {
  const { app, body } = ctx;
  const row = mustDelivery(ctx);
  const invalid = [];
  const status = body.status ?? null;
  const reference = textOf(body, 'reference', 50, invalid);
  if (status === null && reference === null) invalid.push(says.required('status'));
  if (status !== null && !['pending', 'accepted', 'rejected'].includes(status)) {
    invalid.push(says.selected('status'));
  }
  if (invalid.length > 0) throw new HttpError(422, 'Invalid data', { invalid });
  setDeliveryStatus(app, row, status ?? row.status);
  if (reference !== null) row.reference = reference;
  return { message: 'Delivery updated', data: renderDelivery(app, row) };
}
