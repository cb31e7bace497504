/** Routes of V1 for refunds, and for pending refunds, which the service confirms. */
import { z } from 'zod';
import { exactMinor } from '../world/catalog/prices.ts';
import type { Order, PendingRefund, Refund } from '../world/trade/orders.ts';
import { pendingRefundShape, refundShape } from '../world/trade/shapes.ts';
import type { World } from '../world/world.ts';
import { invalid, notFound, V1Error } from './answer.ts';
import {
  findOrder,
  findShownOrder,
  listBelowOrder,
  type OrderDeps,
  orderParams,
  statusBody,
} from './orders.ts';
import { readPendingRefund, readRefund } from './read-lag.ts';
import { defineRoute, type Route, wholeNumber } from './route.ts';

const LINES_MAX = 5_000;
const REFUND_TYPES = [
  'claim/credit',
  'claim/replace',
  'claim/price_reduction',
  'return/credit',
  'price_reduction/credit',
] as const;

const refundParams = orderParams.extend({ orderRefundId: wholeNumber });
const pendingParams = orderParams.extend({ pendingRefundId: wholeNumber });
const pendingLine = z.object({
  barcode: z.string().min(1),
  quantity: z.number().int().min(1).max(1_000_000),
  price: z.number().min(0).optional(),
  refundType: z.enum(REFUND_TYPES).optional(),
  restock: z.boolean().optional(),
});
const pendingRefundBody = z.object({
  reference: z.string().min(1).max(1_000),
  comment: z.string().max(1_000).optional(),
  refundLineItems: z.array(pendingLine).min(1).max(LINES_MAX),
});

type PendingBody = z.output<typeof pendingRefundBody>;

function pendingLines(world: World, order: Order, body: PendingBody): PendingRefund['lines'] {
  const problems: string[] = [];
  const asked = new Map<string, number>();
  const lines = body.refundLineItems.map(({ price, refundType, restock, ...line }, index) => {
    const ordered = order.lines.filter(({ barcode }) => barcode === line.barcode);
    const units = ordered.reduce((total, { quantity }) => total + quantity, 0);
    const at = `refundLineItems.${index}`;
    const sum = (asked.get(line.barcode) ?? 0) + line.quantity;
    asked.set(line.barcode, sum);
    if (units === 0) problems.push(`${at}.barcode: ${line.barcode} is not in this order`);
    else if (sum > units) problems.push(`${at}.quantity: only ${units} were ordered`);
    return {
      ...line,
      pieces: ordered[0]?.pieces ?? 1,
      ...(price === undefined
        ? {}
        : { price: world.prices.rounded(exactMinor(price), order.currency) }),
      ...(refundType === undefined ? {} : { refundType }),
      ...(restock === undefined ? {} : { restock }),
    };
  });
  if (problems.length > 0) throw invalid(problems);
  return lines;
}

function refundRoutes(deps: OrderDeps): Route[] {
  const { book, trade } = deps.world;
  const path = '/orders/:orderId/refunds';
  const find = (order: Order, id: number): Refund => {
    const found = book.refunds
      .ofOrder(order.orderId)
      .find((one) => (one.shownId ?? one.orderRefundId) === id);
    if (!found) throw notFound(`Refund ${id}`);
    return found;
  };
  return [
    listBelowOrder(deps, 'refunds', 'Refunds of an order', (order) => ({
      refunds: book.refunds
        .ofOrder(order.orderId)
        .map((one) => readRefund(deps, order, one))
        .filter((shape) => shape !== undefined),
    })),
    defineRoute({
      method: 'GET',
      path: `${path}/:orderRefundId`,
      access: 'full',
      summary: 'One refund',
      params: refundParams,
      handle({ key, params }) {
        const order = findShownOrder(deps, key, params.orderId);
        const shape = readRefund(deps, order, find(order, params.orderRefundId));
        if (!shape) throw notFound(`Refund ${params.orderRefundId}`);
        return { data: shape };
      },
    }),
    defineRoute({
      method: 'POST',
      path: `${path}/:orderRefundId`,
      access: 'full',
      summary: 'Accept, reject or take back a refund',
      params: refundParams,
      body: statusBody,
      handle({ key, params, body }) {
        const order = findOrder(deps, key, params.orderId);
        const refund = find(order, params.orderRefundId);
        const before = refund.status;
        if (trade.moveRefund(refund, body.status) === 'conflict') {
          throw new V1Error(409, `Refund ${refund.orderRefundId} is ${before}`);
        }
        return { data: refundShape(order, refund) };
      },
    }),
  ];
}

function pendingRefundRoutes(deps: OrderDeps): Route[] {
  const { book, trade } = deps.world;
  const path = '/orders/:orderId/pending-refunds';
  return [
    defineRoute({
      method: 'POST',
      path,
      access: 'full',
      summary: 'Ask for a refund, which the service confirms later',
      params: orderParams,
      body: pendingRefundBody,
      handle({ key, params, body }) {
        const order = findOrder(deps, key, params.orderId);
        const { reference, comment } = body;
        const pending = trade.askRefund(order, {
          reference,
          lines: pendingLines(deps.world, order, body),
          ...(comment === undefined ? {} : { comment }),
        });
        return { data: pendingRefundShape(pending) };
      },
    }),
    listBelowOrder(deps, 'pending-refunds', 'Pending refunds of an order', (order) => ({
      pendingRefunds: book.pendingRefunds
        .ofOrder(order.orderId)
        .map((one) => readPendingRefund(deps, one))
        .filter((shape) => shape !== undefined),
    })),
    defineRoute({
      method: 'GET',
      path: `${path}/:pendingRefundId`,
      access: 'full',
      summary: 'One pending refund',
      params: pendingParams,
      handle({ key, params }) {
        const order = findShownOrder(deps, key, params.orderId);
        const pending = book.pendingRefunds.get(params.pendingRefundId);
        const isHere = pending?.orderId === order.orderId;
        const shape = isHere ? readPendingRefund(deps, pending) : undefined;
        if (!shape) throw notFound(`Pending refund ${params.pendingRefundId}`);
        return { data: shape };
      },
    }),
  ];
}

export function allRefundRoutes(deps: OrderDeps): Route[] {
  return [...refundRoutes(deps), ...pendingRefundRoutes(deps)];
}
