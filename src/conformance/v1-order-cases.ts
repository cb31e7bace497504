/** Cases for sections 3 and 4 of the wire contract: reading orders and what belongs to them. */

import type { Api, Row } from './api.ts';
import { type Case, define } from './case.ts';
import { demand, given } from './findings.ts';

/** Maximum of orders that are searched for one with deliveries or refunds. */
const ORDERS_MAX = 25;
const PAGE_ORDERS = 50;

async function orders(api: Api, query = ''): Promise<Row[]> {
  return (await api.read(`/orders${query}`, 'GET /orders')).orders;
}

/** Finds the first delivery, or refund, in the newest orders. */
async function firstOf(api: Api, kind: 'deliveries' | 'refunds'): Promise<Row> {
  for (const { orderId } of (await orders(api)).slice(0, ORDERS_MAX)) {
    const path = `/orders/${orderId}/${kind}`;
    const found = (await api.read(path, `GET /orders/:orderId/${kind}`))[kind][0];
    if (found) return found;
  }
  return given(undefined, `no ${kind} in its newest ${ORDERS_MAX} orders`);
}

const listCases: readonly Case[] = [
  define('v1-orders', 'P', 'GET /orders lists orders in their whole shape', async (api) => {
    given((await orders(api))[0], 'no order');
  }),
  define('v1-orders-newest', 'C', 'the newest order comes first', async (api) => {
    const ids = (await orders(api)).map(({ orderId }) => orderId);
    given(ids[1], 'fewer than two orders');
    const falls = ids.every((id, index) => index === 0 || id < ids[index - 1]);
    const remedy = { knobs: { 'deviations.ordersOldestFirst': true } };
    demand(falls, `ids ${ids.slice(0, 4).join(', ')}`, remedy);
  }),
  define('v1-orders-cursor', 'P', 'beforeOrderId gives ids below it', async (api) => {
    const ids = (await orders(api)).map(({ orderId }) => orderId);
    const cursor = given(ids[Math.floor(ids.length / 2)], 'no order');
    const below = await orders(api, `?beforeOrderId=${cursor}`);
    for (const { orderId } of below) demand(orderId < cursor, `${orderId} before ${cursor}`);
    const expected = ids.filter((id) => id < cursor).length;
    demand(below.length >= expected, `${below.length} rows, ${expected} were listed before`);
    demand((await orders(api, '?beforeOrderId=1')).length === 0, 'orders below 1');
  }),
  define('v1-orders-page', 'C', `a page has ${PAGE_ORDERS} orders`, async (api) => {
    const first = await orders(api);
    const next = await orders(api, `?beforeOrderId=${given(first.at(-1), 'no order').orderId}`);
    given(next[0], 'only one page of orders');
    const knobs = { 'paging.orders': first.length };
    demand(first.length === PAGE_ORDERS, `it has ${first.length}`, { knobs });
  }),
  define('v1-order', 'P', 'GET /orders/{orderId} gives the order of the list', async (api) => {
    const listed = given((await orders(api))[0], 'no order');
    const one = await api.read(`/orders/${listed.orderId}`, 'GET /orders/:orderId');
    demand(one.reference === listed.reference, `${one.reference} is not ${listed.reference}`);
  }),
];

const partCases: readonly Case[] = [
  define('v1-deliveries', 'P', 'deliveries in their whole shape', async (api) => {
    const { orderId, orderDeliveryId } = await firstOf(api, 'deliveries');
    const path = `/orders/${orderId}/deliveries/${orderDeliveryId}`;
    const one = await api.read(path, 'GET /orders/:orderId/deliveries/:orderDeliveryId');
    demand(one.orderDeliveryId === orderDeliveryId, `id ${one.orderDeliveryId}`);
  }),
  define('v1-refunds', 'P', 'refunds in their whole shape', async (api) => {
    const { orderId, orderRefundId } = await firstOf(api, 'refunds');
    const path = `/orders/${orderId}/refunds/${orderRefundId}`;
    const one = await api.read(path, 'GET /orders/:orderId/refunds/:orderRefundId');
    demand(one.orderRefundId === orderRefundId, `id ${one.orderRefundId}`);
  }),
  define('v1-pending-refunds', 'C', 'pending refunds have a list', async (api) => {
    const { orderId } = given((await orders(api))[0], 'no order');
    const path = `/orders/${orderId}/pending-refunds`;
    await api.read(path, 'GET /orders/:orderId/pending-refunds');
  }),
];

export const v1OrderCases: readonly Case[] = [...listCases, ...partCases];
