/**
 * Cases for sections 3 and 4 of the wire contract: creating orders, deciding deliveries and
 * refunds.
 */

import type { Answer, Api, Row } from './api.ts';
import { type Case, define } from './case.ts';
import { demand, given } from './findings.ts';

interface Line {
  readonly barcode: string;
  readonly quantity: number;
  readonly price: number;
  readonly DeliveryName?: string;
}

/** Makes an order reference that no earlier run has used. */
function reference(api: Api): string {
  return `conformance-${api.now()}-${api.serial()}`;
}

async function lines(api: Api, more: Partial<Line> = {}): Promise<Line[]> {
  const path = '/variants/stock?page=1&limit=1';
  const { variants } = await api.read(path, 'GET /variants/stock');
  const { barcode } = given(variants[0], 'no variant in stock');
  return [{ barcode, quantity: 2, price: 10, ...more }];
}

function post(api: Api, path: string, body: unknown): Promise<Answer> {
  return api.v1(path, { method: 'POST', body });
}

async function create(api: Api, more: object = {}): Promise<Row> {
  const body = { reference: reference(api), orderLineItems: await lines(api), ...more };
  return api.data(await post(api, '/orders', body), 'POST /orders');
}

/** Waits for a packed delivery of the order that `wanted` accepts. */
async function packed(
  api: Api,
  orderId: number,
  wanted: (delivery: Row) => boolean = () => true,
): Promise<Row> {
  const path = `/orders/${orderId}/deliveries`;
  const found = await api.until(async () => {
    const { deliveries } = await api.read(path, 'GET /orders/:orderId/deliveries');
    return deliveries.find(wanted);
  });
  return given(found, 'packed no delivery within two minutes');
}

async function decide(api: Api, delivery: Row, status: string): Promise<number> {
  const path = `/orders/${delivery.orderId}/deliveries/${delivery.orderDeliveryId}`;
  return (await post(api, path, { status })).status;
}

async function refuses(api: Api, body: object, what: string): Promise<void> {
  const answer = await post(api, '/orders', body);
  demand(answer.status === 422, `${what}: status ${answer.status}`);
}

const address = {
  address: 'Main Street 1',
  city: 'Aarhus',
  zip: '8000',
  countryCode: 'DK',
  firstName: 'Con',
  lastName: 'Formance',
  phone: '+45 20000000',
  email: 'conformance@buyers.example',
};

const createCases: readonly Case[] = [
  define(
    'v1-create',
    'P',
    'POST /orders creates an order and answers its whole shape',
    async (api) => {
      const { orderId, salesOrder } = await create(api, { comment: 'conformance' });
      demand(salesOrder.orderId === orderId, `salesOrder ${salesOrder.orderId}`);
      const one = await api.read(`/orders/${orderId}`, 'GET /orders/:orderId');
      demand(one.reference === salesOrder.reference, `reference ${one.reference}`);
    },
    'writes',
  ),
  define(
    'v1-create-address',
    'P',
    'the shipping address may be given or left out',
    async (api) => {
      const { salesOrder } = await create(api, { shippingAddress: address });
      demand(salesOrder.shippingAddress.city === 'Aarhus', 'the address is not in the answer');
    },
    'writes',
  ),
  define(
    'v1-create-freight',
    'P',
    'freight may be left out, and is spelled freight',
    async (api) => {
      const remedy = { config: { 'service.dialect.v1.freightSpelling': 'Freight' } };
      const { salesOrder } = await create(api, { freight: { freightAmount: 5 } });
      const { freightAmount } = salesOrder.freight;
      demand(freightAmount === 5, `freightAmount ${freightAmount}`, remedy);
    },
    'writes',
  ),
  define(
    'v1-create-needed',
    'P',
    'reference and orderLineItems are required',
    async (api) => {
      await refuses(api, { orderLineItems: await lines(api) }, 'no reference');
      await refuses(api, { reference: reference(api) }, 'no orderLineItems');
      await refuses(api, { reference: reference(api), orderLineItems: [] }, 'no line');
    },
    'writes',
  ),
  define(
    'v1-create-barcode',
    'P',
    'a barcode that does not exist is answered 422',
    async (api) => {
      const orderLineItems = await lines(api, { barcode: '0000000000000' });
      await refuses(api, { reference: reference(api), orderLineItems }, 'unknown barcode');
    },
    'writes',
  ),
  define(
    'v1-pre-order',
    'S',
    'a pre-order has SeasonName and a DeliveryName on every line',
    async (api) => {
      const { seasons } = await api.read('/seasons', 'GET /seasons');
      const season = given(seasons.at(-1), 'no season');
      const { seasonName: SeasonName } = season;
      const DeliveryName = given(season.deliveryNames[0], 'no delivery in its newest season');
      const named = await lines(api, { DeliveryName });
      const { salesOrder } = await create(api, { SeasonName, orderLineItems: named });
      demand(salesOrder.orderLineItems[0].delivery === DeliveryName, 'the delivery is lost');
      const plain = { reference: reference(api), orderLineItems: await lines(api) };
      await refuses(api, { ...plain, SeasonName }, 'a season without deliveries');
      await refuses(api, { ...plain, orderLineItems: named }, 'a delivery without season');
      await refuses(api, { ...plain, orderLineItems: named, SeasonName: 'nothing' }, 'no season');
      const wrong = await lines(api, { DeliveryName: 'nothing' });
      await refuses(api, { ...plain, orderLineItems: wrong, SeasonName }, 'no delivery');
    },
    'writes',
  ),
  define(
    'v1-duplicate',
    'C',
    'a second order with the same reference is created',
    async (api) => {
      const body = { reference: reference(api), orderLineItems: await lines(api) };
      const first = await post(api, '/orders', body);
      const second = await post(api, '/orders', body);
      const knobs = { 'orders.duplicateReference': 'conflict' };
      demand(second.status === first.status, `status ${second.status}`, { knobs });
      demand(second.body?.data?.orderId !== first.body?.data?.orderId, 'it is the same order');
    },
    'writes',
  ),
];

const deliveryCases: readonly Case[] = [
  define(
    'v1-accept',
    'P',
    'a pending delivery is accepted, and goes back to pending any number of times',
    async (api) => {
      const delivery = await packed(api, (await create(api)).orderId);
      for (const status of ['accepted', 'pending', 'accepted', 'pending']) {
        demand((await decide(api, delivery, status)) === 200, `to ${status} is refused`);
      }
    },
    'writes',
  ),
  define(
    'v1-same-status',
    'C',
    'setting the status it already has changes nothing and is answered 200',
    async (api) => {
      const delivery = await packed(api, (await create(api)).orderId);
      const status = await decide(api, delivery, 'pending');
      demand(status === 200, `status ${status}`);
    },
    'writes',
  ),
  define(
    'v1-reject',
    'P',
    'a rejected delivery is final, and the order is packed again',
    async (api) => {
      const delivery = await packed(api, (await create(api)).orderId);
      demand((await decide(api, delivery, 'rejected')) === 200, 'to rejected is refused');
      for (const to of ['pending', 'accepted', 'rejected']) {
        const status = await decide(api, delivery, to);
        demand(status === 409, `from rejected to ${to}: status ${status}`);
      }
      const { orderId, orderDeliveryId } = delivery;
      const next = await packed(api, orderId, (one) => one.orderDeliveryId !== orderDeliveryId);
      demand(next.status === 'pending', `the new delivery is ${next.status}`);
    },
    'writes',
  ),
  define(
    'v1-reject-accepted',
    'C',
    'an accepted delivery is not rejected directly: 409',
    async (api) => {
      const delivery = await packed(api, (await create(api)).orderId);
      await decide(api, delivery, 'accepted');
      const status = await decide(api, delivery, 'rejected');
      const knobs = { 'orders.rejectFromAccepted': 'allow' };
      demand(status === 409, `status ${status}`, { knobs });
    },
    'writes',
  ),
  define(
    'v1-decision-wrong',
    'P',
    'a status that is none is answered 422',
    async (api) => {
      const delivery = await packed(api, (await create(api)).orderId);
      const status = await decide(api, delivery, 'canceled');
      demand(status === 422, `status ${status}`);
    },
    'writes',
  ),
  define(
    'v1-shipped',
    'C',
    'an accepted delivery ships, carries its tracking and can no longer be moved',
    async (api) => {
      const delivery = await packed(api, (await create(api)).orderId);
      await decide(api, delivery, 'accepted');
      const { orderId } = delivery;
      const order = await api.until(async () => {
        const one = await api.read(`/orders/${orderId}`, 'GET /orders/:orderId');
        return one.orderLineItems[0].fulfilledQuantity > 0 ? one : undefined;
      });
      given(order, 'shipped nothing within two minutes');
      const shipped = await packed(api, orderId);
      demand(shipped.trackAndTrace.trackingNumbers.length > 0, 'no tracking number');
      const status = await decide(api, shipped, 'pending');
      demand(status === 409, `status ${status}`);
    },
    'writes',
  ),
];

/** Creates an order with a pending refund and waits for the refund that the service makes of it. */
async function confirmed(api: Api): Promise<{ asked: Row; refund: Row }> {
  const { orderId, salesOrder } = await create(api);
  const path = `/orders/${orderId}/pending-refunds`;
  const { barcode } = salesOrder.orderLineItems[0];
  const body = { reference: reference(api), refundLineItems: [{ barcode, quantity: 1 }] };
  const name = 'POST /orders/:orderId/pending-refunds';
  const asked = api.data(await post(api, path, body), name);
  const refund = await api.until(async () => {
    const { refunds } = await api.read(
      `/orders/${orderId}/refunds`,
      'GET /orders/:orderId/refunds',
    );
    return refunds.find((one: Row) => one.pendingRefundId === asked.pendingRefundId);
  });
  return { asked, refund: given(refund, 'confirmed no refund within two minutes') };
}

const refundCases: readonly Case[] = [
  define(
    'v1-pending-refund',
    'S',
    'a pending refund becomes a refund that carries its pendingRefundId',
    async (api) => {
      const { asked } = await confirmed(api);
      const path = `/orders/${asked.orderId}/pending-refunds/${asked.pendingRefundId}`;
      const one = await api.read(path, 'GET /orders/:orderId/pending-refunds/:pendingRefundId');
      demand(one.status === 'confirmed', `the pending refund is ${one.status}`);
    },
    'writes',
  ),
  define(
    'v1-refund-decided',
    'P',
    'a refund is accepted, taken back and rejected like a delivery',
    async (api) => {
      const { refund } = await confirmed(api);
      const path = `/orders/${refund.orderId}/refunds/${refund.orderRefundId}`;
      for (const [status, wanted] of [
        ['accepted', 200],
        ['pending', 200],
        ['rejected', 200],
        ['accepted', 409],
      ] as const) {
        const answer = await post(api, path, { status });
        demand(answer.status === wanted, `to ${status}: status ${answer.status}`);
      }
    },
    'writes',
  ),
  define(
    'v1-portal',
    'S',
    'POST /webhook-portal answers a new link each time',
    async (api) => {
      const link = async (): Promise<Row> =>
        api.data(await post(api, '/webhook-portal', undefined), 'POST /webhook-portal');
      const first = await link();
      demand((await link()).url !== first.url, 'the same link twice');
    },
    'writes',
  ),
];

export const v1WriteCases: readonly Case[] = [...createCases, ...deliveryCases, ...refundCases];
