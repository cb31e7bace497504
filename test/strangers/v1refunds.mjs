import { HttpError } from './http.mjs';
import { createPendingRefund, refundable, setRefundStatus } from './life.mjs';
import { intOf, says } from './php.mjs';
import { renderPendingRefund, renderRefund } from './render.mjs';
import { mustOrder } from './v1orders.mjs';

const TYPES = ['return', 'claim', 'discount'];

export const refundRoutes = [
  ['GET', '/orders/:orderId/refunds', refunds],
  ['GET', '/orders/:orderId/refunds/:orderRefundId', refund],
  ['POST', '/orders/:orderId/refunds/:orderRefundId', changeRefund],
  ['GET', '/orders/:orderId/pending-refunds', pendingRefunds],
  ['POST', '/orders/:orderId/pending-refunds', announce],
  ['GET', '/orders/:orderId/pending-refunds/:pendingRefundId', pendingRefund],
];

const visible = (app) => (row) => row.visibleFrom <= app.now();

function refunds(ctx) {
  const order = mustOrder(ctx);
  const rows = ctx.app.state.refunds.filter((r) => r.orderId === order.orderId);
  return { data: rows.filter(visible(ctx.app)).map((r) => renderRefund(ctx.app, r)) };
}

function mustRefund(ctx) {
  const order = mustOrder(ctx);
  const id = intOf(ctx.params.orderRefundId);
  const row = ctx.app.state.refunds.find(
    (r) => r.orderId === order.orderId && r.orderRefundId === id,
  );
  if (!row || !visible(ctx.app)(row)) throw new HttpError(404, 'Refund not found');
  return row;
}

function refund(ctx) {
  return { data: renderRefund(ctx.app, mustRefund(ctx)) };
}

function changeRefund(ctx) {
  const row = mustRefund(ctx);
  const status = ctx.body.status ?? null;
  const invalid = [];
  if (status === null) invalid.push(says.required('status'));
  else if (!['pending', 'accepted', 'rejected'].includes(status)) {
    invalid.push(says.selected('status'));
  }
  if (invalid.length > 0) throw new HttpError(422, 'Invalid data', { invalid });
  setRefundStatus(ctx.app, row, status);
  return { message: 'Refund updated', data: renderRefund(ctx.app, row) };
}

function pendingRefunds(ctx) {
  const order = mustOrder(ctx);
  const rows = ctx.app.state.pendingRefunds.filter((r) => r.orderId === order.orderId);
  return { data: rows.map((r) => renderPendingRefund(ctx.app, r)) };
}

function pendingRefund(ctx) {
  const order = mustOrder(ctx);
  const id = intOf(ctx.params.pendingRefundId);
  const row = ctx.app.state.pendingRefunds.find(
    (r) => r.orderId === order.orderId && r.pendingRefundId === id,
  );
  if (!row) throw new HttpError(404, 'Pending refund not found');
  return { data: renderPendingRefund(ctx.app, row) };
}

function announce(ctx) {
  const { app, body } = ctx;
  const order = mustOrder(ctx);
  const given = body.refundedLineItems;
  const invalid = [];
  if (!Array.isArray(given) || given.length === 0) {
    invalid.push(says.required('refundedLineItems'));
    throw new HttpError(422, 'Invalid data', { invalid });
  }
  const asked = {};
  const lines = given.map((line, i) => {
    return lineOf(app, order, line ?? {}, `refundedLineItems.${i}`, asked, invalid);
  });
  if (invalid.length > 0) throw new HttpError(422, 'Invalid data', { invalid });
  const comment = typeof body.comment === 'string' ? body.comment : null;
  const row = createPendingRefund(app, order, lines, comment);
  return { message: 'Pending refund created', data: renderPendingRefund(app, row) };
}

function lineOf(app, order, line, at, asked, invalid) {
  const code = String(line.barcode ?? '');
  const sold = order.lines.find((l) => l.barcode === code);
  if (!code) invalid.push(says.required(`${at}.barcode`));
  else if (!sold) invalid.push(says.selected(`${at}.barcode`));
  const quantity = intOf(line.refundedQuantity);
  const name = `${at}.refundedQuantity`;
  if ((line.refundedQuantity ?? null) === null) invalid.push(says.required(name));
  else if (Number.isNaN(quantity)) invalid.push(says.integer(name));
  else if (quantity < 1) invalid.push(says.min(name, 1));
  else if (sold) {
    // Only what was shipped can come back, and only once.
    asked[code] = (asked[code] ?? 0) + quantity;
    const most = refundable(app, order, code);
    if (asked[code] > most) {
      invalid.push(`The ${name} field must not be greater than ${Math.max(0, most)}.`);
    }
  }
  const refundType = line.refundType ?? 'return';
  if (!TYPES.includes(refundType)) invalid.push(says.selected(`${at}.refundType`));
  const restock = ![0, '0', false, 'false'].includes(line.restock ?? true);
  return { barcode: code, quantity, pieces: sold?.pieces, price: sold?.price, restock, refundType };
}
