import { expect, it } from 'vitest';
import {
  pendingRefundSchema,
  refundSchema,
  salesOrderSchema,
} from '../../../src/client/v1/schemas.ts';
import { refundableProblems } from '../../../src/outbox/preflight/refundable.ts';

const ORDER = salesOrderSchema.parse({
  ...{ orderId: 7, reference: 'SO-1', status: 'pending' },
  orderLineItems: [
    { barcode: 'b-1', quantity: 3, price: 1 },
    { barcode: 'b-1', quantity: 2, price: 1 },
  ],
});

function refund(status: string, refundedQuantity: number, pendingRefundId?: number) {
  const refundedLineItems = [{ barcode: 'b-1', refundedQuantity }];
  const head = { orderRefundId: 1, orderId: 7, status, pendingRefundId };
  return refundSchema.parse({ ...head, refundedLineItems });
}

function pending(status: string, quantity: number, pendingRefundId = 5) {
  const refundLineItems = [{ barcode: 'b-1', quantity }];
  return pendingRefundSchema.parse({ pendingRefundId, orderId: 7, status, refundLineItems });
}

/** Returns what is said about lines that ask for so many. */
function told(
  quantities: readonly number[],
  lists: Partial<Parameters<typeof refundableProblems>[2]>,
): string[] {
  const lines = quantities.map((quantity) => ({ barcode: 'b-1', quantity }));
  const all = { pending: [], refunds: [], ...lists };
  return refundableProblems({ orderId: 7, lines }, ORDER, all).map(
    ({ path, message }) => `${path} ${message}`,
  );
}

function only(left: number, line = 0): string[] {
  return [`lines[${line}].quantity only ${left} are left to refund of what was ordered`];
}

it('counts what is refunded, and not what was rejected or canceled', () => {
  expect(told([5], {})).toEqual([]);
  expect(told([6], {})).toEqual(only(5));
  for (const status of ['pending', 'accepted']) {
    expect(told([4], { refunds: [refund(status, 2)] })).toEqual(only(3));
  }
  for (const status of ['rejected', 'canceled']) {
    expect(told([5], { refunds: [refund(status, 2)] })).toEqual([]);
  }
  expect(told([1], { refunds: [refund('accepted', 9)] })).toEqual(only(0));
});

it('counts what is asked for, once, and not what was canceled', () => {
  expect(told([4], { pending: [pending('pending', 2)] })).toEqual(only(3));
  expect(told([5], { pending: [pending('canceled', 2)] })).toEqual([]);
  const both = { pending: [pending('pending', 2)], refunds: [refund('pending', 2, 5)] };
  expect(told([3], both)).toEqual([]);
  expect(told([4], both)).toEqual(only(3));
});

it('counts what several lines of one document ask for together', () => {
  expect(told([3, 2], {})).toEqual([]);
  expect(told([3, 3], {})).toEqual(only(2, 1));
});

/** What is said about an order of 10 pieces with these members, and accepted deliveries. */
function toldOf(more: object, accepted: number, quantity: number, refunded = 0) {
  const { fulfilledQuantity, ...head } = { fulfilledQuantity: undefined, ...more };
  const line = { barcode: 'b-1', quantity: 10, price: 1, fulfilledQuantity };
  const order = salesOrderSchema.parse({ ...ORDER, ...head, orderLineItems: [line] });
  const pieces = new Map(accepted > 0 ? [['b-1', accepted]] : []);
  const lists = { pending: [], refunds: refunded > 0 ? [refund('accepted', refunded)] : [] };
  const lines = [{ barcode: 'b-1', quantity }];
  const [problem] = refundableProblems({ orderId: 7, lines }, order, lists, pieces);
  return problem?.message.replace(/;.*/, '');
}

it.each([
  ['what the order tells as fulfilled', { fulfilledQuantity: 3 }, 0, 3],
  ['its accepted deliveries, where these are more', { fulfilledQuantity: 0 }, 4, 4],
  ['its accepted deliveries, where the order tells nothing', {}, 4, 4],
  ['nothing of an order whose goods never left', { fulfilledQuantity: 0 }, 0, 0],
  ['nothing of a canceled order', { status: 'canceled' }, 0, 0],
  ['what left before it was canceled', { status: 'canceled', fulfilledQuantity: 2 }, 0, 2],
])('refunds at most %s', (_, order, accepted, most) => {
  const gone = most === 0 ? 'none of it has left' : `${most} of 10 have left`;
  const of = (left: number) => `only ${left} are left to refund of what was delivered (${gone})`;
  if (most > 0) expect(toldOf(order, accepted, most)).toBeUndefined();
  expect(toldOf(order, accepted, most + 1)).toBe(of(most));
  if (most > 0) expect(toldOf(order, accepted, most, 1)).toBe(of(most - 1));
});

it('refunds what was ordered, where nobody tells what has left', () => {
  expect(toldOf({}, 0, 10)).toBeUndefined();
  expect(toldOf({}, 0, 11)).toBe('only 10 are left to refund of what was ordered');
});

it('asks for no part of a coin that the currency of the order does not have', () => {
  const line = { barcode: 'b-1', quantity: 1 };
  const lines = [
    { ...line, price: '100.50' },
    { ...line, price: '100.00' },
  ];
  const said = (currency: string | null) =>
    refundableProblems({ orderId: 7, lines }, { ...ORDER, currency }, { pending: [], refunds: [] });
  expect(said('JPY')).toEqual([
    {
      path: 'lines[0].price',
      message: 'must be a whole amount: JPY has no decimals',
      severity: 'error',
    },
  ]);
  for (const other of ['KWD', 'EUR', null, '7']) expect(said(other)).toEqual([]);
});

it('two articles of an order that differ in zeros alone are refunded each by itself', () => {
  const items = { '0409': 3, '409': 5 };
  const orderLineItems = Object.entries(items).map(([barcode, quantity]) => {
    return { barcode, quantity, price: 1 };
  });
  const said = (pieces: Record<string, number>, of: object = { orderLineItems }) => {
    const lines = Object.entries(pieces).map(([barcode, quantity]) => ({ barcode, quantity }));
    const order = salesOrderSchema.parse({ ...ORDER, ...of });
    const accepted = new Map([['0409', 3]]);
    return refundableProblems({ orderId: 7, lines }, order, { pending: [], refunds: [] }, accepted);
  };
  expect(said({ '0409': 3 })).toEqual([]);
  expect(said({ '0409': 4 })).toHaveLength(1);
  expect(said({ '409': 1 })).toHaveLength(1);
  const [only] = orderLineItems;
  expect(said({ '409': 3 }, { orderLineItems: [only] })).toEqual([]);
});
