/** V1: orders and their deliveries. */
import { z } from 'zod';
import type { CurrentKnobs } from '../control/knobs.ts';
import type { Key } from '../keys.ts';
import type { Delivery, Order } from '../world/trade/orders.ts';
import { deliveryShape, orderShape } from '../world/trade/shapes.ts';
import type { World } from '../world/world.ts';
import { notFound, V1Error } from './answer.ts';
import { newOrderSchema, readNewOrder } from './new-order.ts';
import { defineRoute, type Route, wholeNumber } from './route.ts';

export interface OrderDeps {
  readonly world: World;
  readonly knobs: CurrentKnobs;
}

const orderParams = z.object({ orderId: wholeNumber });
const deliveryParams = orderParams.extend({ orderDeliveryId: wholeNumber });
export const statusBody = z.object({ status: z.enum(['pending', 'accepted', 'rejected']) });

/** A b2b key sees the orders of its account, a plain key those of all. */
function isVisible(order: Order, key: Key): boolean {
  return key.account === undefined || key.account === order.account;
}

export function findOrder({ world }: OrderDeps, key: Key, orderId: number): Order {
  const order = world.book.orders.get(orderId);
  if (!order || !isVisible(order, key)) throw notFound(`Order ${orderId}`);
  return order;
}

function findDelivery(deps: OrderDeps, order: Order, id: number): Delivery {
  const delivery = deps.world.book.deliveries.get(id);
  if (delivery?.orderId !== order.orderId) throw notFound(`Delivery ${id}`);
  return delivery;
}

/** Newest first, ids below the cursor. */
function listOrders({ world, knobs }: OrderDeps, key: Key, before: number): Order[] {
  const { all } = world.book.orders;
  const max = knobs().paging.orders;
  const page: Order[] = [];
  for (let at = all.length - 1; at >= 0 && page.length < max; at -= 1) {
    const order = all[at];
    if (order && order.orderId < before && isVisible(order, key)) page.push(order);
  }
  return page;
}

function orderReadRoutes(deps: OrderDeps): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/orders',
      access: 'full',
      summary: 'Orders, newest first',
      query: z.object({ beforeOrderId: wholeNumber.optional() }),
      handle({ key, query }) {
        const before = query.beforeOrderId ?? Number.POSITIVE_INFINITY;
        return { data: { orders: listOrders(deps, key, before).map(orderShape) } };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/orders/:orderId',
      access: 'full',
      summary: 'One order',
      params: orderParams,
      handle: ({ key, params }) => ({ data: orderShape(findOrder(deps, key, params.orderId)) }),
    }),
  ];
}

function createOrderRoute(deps: OrderDeps): Route {
  return defineRoute({
    method: 'POST',
    path: '/orders',
    access: 'full',
    summary: 'Create an order',
    body: newOrderSchema,
    handle({ key, body }) {
      const input = readNewOrder(deps, key, body);
      const { book, trade } = deps.world;
      const taken = book.orders.all.some(({ reference }) => reference === input.reference);
      if (taken && deps.knobs().orders.duplicateReference === 'conflict') {
        throw new V1Error(409, `There is already an order with reference ${input.reference}`);
      }
      const order = trade.place(input);
      const deliveries = book.deliveries.ofOrder(order.orderId);
      return {
        data: {
          orderId: order.orderId,
          orderStatus: order.status,
          salesOrder: orderShape(order),
          deliveries: deliveries.map(({ orderDeliveryId, deliveryNo, status }) => ({
            orderDeliveryId,
            deliveryNo,
            status,
          })),
        },
      };
    },
  });
}

function deliveryRoutes(deps: OrderDeps): Route[] {
  const { book, trade } = deps.world;
  const path = '/orders/:orderId/deliveries';
  return [
    defineRoute({
      method: 'GET',
      path,
      access: 'full',
      summary: 'Deliveries of an order',
      params: orderParams,
      handle({ key, params }) {
        const order = findOrder(deps, key, params.orderId);
        const deliveries = book.deliveries.ofOrder(order.orderId);
        return { data: { deliveries: deliveries.map((one) => deliveryShape(order, one)) } };
      },
    }),
    defineRoute({
      method: 'GET',
      path: `${path}/:orderDeliveryId`,
      access: 'full',
      summary: 'One delivery',
      params: deliveryParams,
      handle({ key, params }) {
        const order = findOrder(deps, key, params.orderId);
        return { data: deliveryShape(order, findDelivery(deps, order, params.orderDeliveryId)) };
      },
    }),
    defineRoute({
      method: 'POST',
      path: `${path}/:orderDeliveryId`,
      access: 'full',
      summary: 'Accept, reject or take back a delivery',
      params: deliveryParams,
      body: statusBody,
      handle({ key, params, body }) {
        const order = findOrder(deps, key, params.orderId);
        const delivery = findDelivery(deps, order, params.orderDeliveryId);
        const before = delivery.status;
        if (trade.moveDelivery(delivery, body.status, 'client') === 'conflict') {
          const why = delivery.shippedAt === undefined ? before : 'shipped';
          throw new V1Error(409, `Delivery ${delivery.orderDeliveryId} is ${why}`);
        }
        return { data: deliveryShape(order, delivery) };
      },
    }),
  ];
}

export function orderRoutes(deps: OrderDeps): Route[] {
  return [...orderReadRoutes(deps), createOrderRoute(deps), ...deliveryRoutes(deps)];
}
