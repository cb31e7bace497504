/** Routes of V1 for orders and their deliveries. */
import { z } from 'zod';
import type { Clock } from '../../lib/clock.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { CurrentKnobs } from '../control/knobs.ts';
import {
  aliasedDelivery,
  aliasedOrder,
  spelledReference,
  takesStatusOf,
  unaliased,
} from '../dialect/orders.ts';
import type { Key } from '../keys.ts';
import { hashAt } from '../world/catalog/hash.ts';
import type { Delivery, NewOrder, Order } from '../world/trade/orders.ts';
import { deliveryShape, orderShape } from '../world/trade/shapes.ts';
import type { World } from '../world/world.ts';
import { type Answer, notFound, V1Error } from './answer.ts';
import { newOrderSchema, readNewOrder } from './new-order.ts';
import { isShown, readDelivery, readOrder } from './read-lag.ts';
import { defineRoute, type Route, wholeNumber } from './route.ts';

export interface OrderDeps {
  readonly world: World;
  readonly knobs: CurrentKnobs;
  readonly clock: Pick<Clock, 'now'>;
}

const SALT_LATE = 95;

export const orderParams = z.object({ orderId: wholeNumber });
const deliveryParams = orderParams.extend({ orderDeliveryId: wholeNumber });
export const statusBody = z.object({ status: z.enum(['pending', 'accepted', 'rejected']) });

/** Tells whether a key sees the order: a b2b key sees those of its account, any other key all. */
function isVisible(order: Order, key: Key): boolean {
  return key.account === undefined || key.account === order.account;
}

export function findOrder({ world }: OrderDeps, key: Key, orderId: number): Order {
  const order = world.book.orders.get(orderId);
  if (!order || !isVisible(order, key)) throw notFound(`Order ${orderId}`);
  return order;
}

/** Finds the order for a read, which may be behind. */
export function findShownOrder(deps: OrderDeps, key: Key, orderId: number): Order {
  const order = findOrder(deps, key, orderId);
  if (!isShown(deps, order)) throw notFound(`Order ${orderId}`);
  return order;
}

/** The route of a list below an order: what of it the service shows. */
export function listBelowOrder(
  deps: OrderDeps,
  name: string,
  summary: string,
  shown: (order: Order) => JsonObject,
): Route {
  return defineRoute({
    method: 'GET',
    path: `/orders/:orderId/${name}`,
    access: 'full',
    summary,
    params: orderParams,
    handle: ({ key, params }) => ({ data: shown(findShownOrder(deps, key, params.orderId)) }),
  });
}

function findDelivery(deps: OrderDeps, order: Order, id: number): Delivery {
  const own = unaliased(id, deps.knobs().dialect);
  const found = deps.world.book.deliveries
    .ofOrder(order.orderId)
    .find((one) => (one.shownId ?? one.orderDeliveryId) === own);
  if (!found) throw notFound(`Delivery ${id}`);
  return found;
}

/** Orders with ids below the cursor, newest first; the newest may be missing for a while. */
function listOrders({ world, knobs, clock }: OrderDeps, key: Key, before: number): Order[] {
  const { all } = world.book.orders;
  const max = knobs().paging.orders;
  const until = clock.now() - knobs().orders.listingLag;
  const page: Order[] = [];
  for (let at = all.length - 1; at >= 0 && page.length < max; at -= 1) {
    const order = all[at];
    if (!order || order.orderId >= before || order.createdAt > until) continue;
    if (isVisible(order, key)) page.push(order);
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
      handle: ({ key, params }) => ({
        data: aliasedOrder(
          readOrder(deps, findShownOrder(deps, key, params.orderId)),
          deps.knobs().dialect,
        ),
      }),
    }),
  ];
}

function createdAnswer({ book }: World, order: Order): Answer {
  return {
    data: {
      orderId: order.orderId,
      orderStatus: order.status,
      salesOrder: orderShape(order),
      deliveries: book.deliveries
        .ofOrder(order.orderId)
        .map(({ orderDeliveryId, shownId, deliveryNo, status }) => ({
          orderDeliveryId: shownId ?? orderDeliveryId,
          deliveryNo,
          status,
        })),
    },
  };
}

/** Tells whether this request is one of the share whose order takes effect only after a 504. */
function commitsLate({ world, knobs }: OrderDeps): boolean {
  const { lateCommitShare } = knobs().orders;
  const draw = hashAt(world.catalog.size.seed, world.book.posts, SALT_LATE) / 2 ** 32;
  return draw < lateCommitShare;
}

function createOrder(deps: OrderDeps, key: Key, input: NewOrder, idempotencyKey?: string): Answer {
  const { world, knobs, clock } = deps;
  const { book, trade, agenda } = world;
  const { orders: rules, dialect } = knobs();
  book.posts += 1;
  const name = idempotencyKey === undefined ? undefined : `${key.name} ${idempotencyKey}`;
  const honoured = rules.idempotencyKey === 'honour' ? name : undefined;
  const made = honoured === undefined ? undefined : book.orders.get(book.made.get(honoured) ?? 0);
  if (made) return createdAnswer(world, made);
  if (rules.duplicateReference === 'conflict') {
    const wanted = spelledReference(input.reference, dialect.references);
    const taken = book.orders.all.some(({ reference }) => reference === wanted);
    if (taken) throw new V1Error(409, `There is already an order with that reference`);
  }
  const order = honoured === undefined ? input : { ...input, made: honoured };
  if (commitsLate(deps)) {
    agenda.add(clock.now() + rules.lateCommitAfter, { kind: 'commit', order });
    throw new V1Error(504, 'The service did not answer in time');
  }
  const placed = trade.place(order);
  if (dialect.deliveriesInAnswer) trade.packSome(placed);
  return createdAnswer(world, placed);
}

function createOrderRoute(deps: OrderDeps): Route {
  return defineRoute({
    method: 'POST',
    path: '/orders',
    access: 'full',
    summary: 'Create an order',
    body: newOrderSchema,
    handle({ key, body, headers }) {
      const given = headers['idempotency-key'];
      const idempotencyKey = typeof given === 'string' ? given : undefined;
      return createOrder(deps, key, readNewOrder(deps, key, body), idempotencyKey);
    },
  });
}

function deliveryRoutes(deps: OrderDeps): Route[] {
  const { book, trade } = deps.world;
  const path = '/orders/:orderId/deliveries';
  return [
    listBelowOrder(deps, 'deliveries', 'Deliveries of an order', (order) => ({
      deliveries: book.deliveries
        .ofOrder(order.orderId)
        .map((one) => readDelivery(deps, order, one))
        .filter((shape) => shape !== undefined)
        .map((shape) => aliasedDelivery(shape, deps.knobs().dialect, 'lists')),
    })),
    defineRoute({
      method: 'GET',
      path: `${path}/:orderDeliveryId`,
      access: 'full',
      summary: 'One delivery',
      params: deliveryParams,
      handle({ key, params }) {
        const order = findShownOrder(deps, key, params.orderId);
        const { orderDeliveryId } = params;
        const shape = readDelivery(deps, order, findDelivery(deps, order, orderDeliveryId));
        if (!shape) throw notFound(`Delivery ${orderDeliveryId}`);
        return { data: aliasedDelivery(shape, deps.knobs().dialect, 'answers') };
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
        const { orderDeliveryId: id } = params;
        if (!takesStatusOf(id, deps.knobs().dialect)) throw notFound(`Delivery ${id}`);
        const delivery = findDelivery(deps, order, id);
        const before = delivery.status;
        if (trade.moveDelivery(delivery, body.status) === 'conflict') {
          const why = delivery.shippedAt === undefined ? before : 'shipped';
          throw new V1Error(409, `Delivery ${delivery.orderDeliveryId} is ${why}`);
        }
        const shape = deliveryShape(order, delivery);
        return { data: aliasedDelivery(shape, deps.knobs().dialect, 'answers') };
      },
    }),
  ];
}

export function orderRoutes(deps: OrderDeps): Route[] {
  return [...orderReadRoutes(deps), createOrderRoute(deps), ...deliveryRoutes(deps)];
}
