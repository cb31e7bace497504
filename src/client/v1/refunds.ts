/** V1's refunds, and the pending refunds that ask for one. */
import type { JsonObject } from '../../lib/json.ts';
import { decimalOf } from '../../lib/money.ts';
import type { CallOptions, Read } from '../calls.ts';
import { get, type Listing, list, post, type V1Wire } from './calls.ts';
import { ask } from './envelope.ts';
import {
  type PendingRefund,
  pendingRefundSchema,
  refundSchema,
  type SalesOrderRefund,
  type SettableStatus,
} from './schemas.ts';

export interface RefundMethods {
  refunds(orderId: number, call?: CallOptions): Promise<Listing<SalesOrderRefund>>;
  refund(
    orderId: number,
    orderRefundId: number,
    call?: CallOptions,
  ): Promise<Read<SalesOrderRefund>>;
  setRefundStatus(
    orderId: number,
    orderRefundId: number,
    status: SettableStatus,
    call?: CallOptions,
  ): Promise<Read<SalesOrderRefund>>;
  pendingRefunds(orderId: number, call?: CallOptions): Promise<Listing<PendingRefund>>;
  pendingRefund(
    orderId: number,
    pendingRefundId: number,
    call?: CallOptions,
  ): Promise<Read<PendingRefund>>;
  /** `body` is the wire's own ({@link pendingRefundBody}); it is sent as it is. */
  createPendingRefund(
    orderId: number,
    body: unknown,
    call?: CallOptions,
  ): Promise<Read<PendingRefund>>;
}

export interface NewPendingRefund {
  readonly reference: string;
  readonly comment?: string | undefined;
  readonly lines: readonly {
    readonly barcode: string;
    readonly quantity: number;
    /** In units (lib/money.ts); undefined: what was paid. */
    readonly priceUnits?: number | undefined;
    readonly refundType?: string | undefined;
    readonly restock?: boolean | undefined;
  }[];
}

/** The body of a new pending refund in the wire's words; members without a value are left out. */
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
  const { sender, options } = wire;
  const { pendingRefunds: pendingPath } = options.paths ?? { pendingRefunds: 'pending-refunds' };
  const refunds = (orderId: number): string => `/orders/${orderId}/refunds`;
  const pending = (orderId: number): string => `/orders/${orderId}/${pendingPath}`;
  return {
    refunds: (orderId, call) =>
      list(sender, get(wire, refunds(orderId), call), 'refunds', refundSchema),
    refund: (orderId, id, call) =>
      ask(sender, get(wire, `${refunds(orderId)}/${id}`, call), refundSchema),
    setRefundStatus: (orderId, id, status, call) =>
      ask(sender, post(wire, `${refunds(orderId)}/${id}`, { status }, call), refundSchema),
    pendingRefunds: (orderId, call) =>
      list(sender, get(wire, pending(orderId), call), 'pendingRefunds', pendingRefundSchema),
    pendingRefund: (orderId, id, call) =>
      ask(sender, get(wire, `${pending(orderId)}/${id}`, call), pendingRefundSchema),
    createPendingRefund: (orderId, body, call) =>
      ask(sender, post(wire, pending(orderId), body, call), pendingRefundSchema),
  };
}
