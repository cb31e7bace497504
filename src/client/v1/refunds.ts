/** Methods of V1 for refunds, and for the pending refunds that request one. */
import type { JsonObject } from '../../lib/json.ts';
import { decimalOf } from '../../lib/money.ts';
import type { CallOptions, Read } from '../calls.ts';
import {
  allIn,
  type BelowOptions,
  get,
  type Listing,
  listBelow,
  oneIn,
  post,
  type V1Wire,
} from './calls.ts';
import { ask, askStatus } from './envelope.ts';
import {
  type CreatedPendingRefund,
  createdPendingRefundSchema,
  type PendingRefund,
  pendingRefundSchema,
  refundSchema,
  type SalesOrderRefund,
  type SettableStatus,
} from './schemas.ts';

export interface RefundMethods {
  refunds(orderId: number, call?: BelowOptions): Promise<Listing<SalesOrderRefund>>;
  refund(
    orderId: number,
    orderRefundId: number,
    call?: CallOptions,
  ): Promise<Read<SalesOrderRefund>>;
  /** Sets a refund's status; returns the one in the answer, or the requested one if it has none. */
  setRefundStatus(
    orderId: number,
    orderRefundId: number,
    status: SettableStatus,
    call?: CallOptions,
  ): Promise<Read<{ readonly status: string }>>;
  pendingRefunds(orderId: number, call?: BelowOptions): Promise<Listing<PendingRefund>>;
  pendingRefund(
    orderId: number,
    pendingRefundId: number,
    call?: CallOptions,
  ): Promise<Read<PendingRefund>>;
  /** Creates a pending refund; `body` is sent unchanged ({@link pendingRefundBody}). */
  createPendingRefund(
    orderId: number,
    body: unknown,
    call?: CallOptions,
  ): Promise<Read<CreatedPendingRefund>>;
}

export interface NewPendingRefund {
  readonly reference: string;
  readonly comment?: string | undefined;
  readonly lines: readonly {
    readonly barcode: string;
    readonly quantity: number;
    /** Price of a piece in units (lib/money.ts); undefined: the price paid. */
    readonly priceUnits?: number | undefined;
    readonly refundType?: string | undefined;
    readonly restock?: boolean | undefined;
  }[];
}

/** Builds the body of a new pending refund; members without a value are omitted. */
export function pendingRefundBody(refund: NewPendingRefund): JsonObject {
  const lines = refund.lines.map(({ barcode, quantity, priceUnits, refundType, restock }) => ({
    barcode,
    quantity,
    ...(priceUnits === undefined ? {} : { price: decimalOf(priceUnits) }),
    ...(refundType === undefined ? {} : { refundType }),
    ...(restock === undefined ? {} : { restock }),
  }));
  const comment = refund.comment === undefined ? {} : { comment: refund.comment };
  return { reference: refund.reference, ...comment, refundLineItems: lines };
}

export function refundMethods(wire: V1Wire): RefundMethods {
  const { sender, options, interpreter } = wire;
  const { pendingRefunds: pendingPath } = options.paths ?? { pendingRefunds: 'pending-refunds' };
  const below = (orderId: number, path: string, id?: number): string =>
    `/orders/${orderId}/${path}${id === undefined ? '' : `/${id}`}`;
  const refundOf = (orderId: number) => (row: SalesOrderRefund) => interpreter.refund(row, orderId);
  const pendingOf = (orderId: number) => (row: PendingRefund) =>
    interpreter.pendingRefund(row, orderId);
  return {
    refunds(orderId, call) {
      const at = { orderId, path: 'refunds', member: 'refunds' };
      return allIn(listBelow(wire, at, refundSchema, call), refundOf(orderId));
    },
    refund(orderId, id, call) {
      const request = get(wire, below(orderId, 'refunds', id), call);
      return oneIn(ask(sender, request, refundSchema), refundOf(orderId));
    },
    setRefundStatus(orderId, id, status, call) {
      const request = post(wire, below(orderId, 'refunds', id), { status }, call);
      return oneIn(askStatus(sender, request, status), interpreter.setRefund);
    },
    pendingRefunds(orderId, call) {
      const at = { orderId, path: pendingPath, member: 'pendingRefunds' };
      return allIn(listBelow(wire, at, pendingRefundSchema, call), pendingOf(orderId));
    },
    pendingRefund(orderId, id, call) {
      const request = get(wire, below(orderId, pendingPath, id), call);
      return oneIn(ask(sender, request, pendingRefundSchema), pendingOf(orderId));
    },
    createPendingRefund: (orderId, body, call) => {
      const request = post(wire, below(orderId, pendingPath), body, call);
      return ask(sender, request, createdPendingRefundSchema);
    },
  };
}
