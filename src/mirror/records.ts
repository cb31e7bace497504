/**
 * Structural types of the service's records. Results of the client fit them, unknown members
 * included, so that the mirror knows only the names of members. Null: the client could not read it.
 */

interface Open {
  readonly [member: string]: unknown;
}

interface OrderLineRecord extends Open {
  readonly barcode: string | null;
  readonly quantity: number | null;
  readonly price?: number | null | undefined;
}

export interface OrderRecord extends Open {
  readonly orderId: number;
  readonly status: string | null;
  readonly orderLineItems: readonly OrderLineRecord[] | null;
}

interface DeliveryLineRecord extends Open {
  readonly barcode: string | null;
  readonly fulfilledQuantity: number | null;
  readonly price?: number | null | undefined;
}

export interface DeliveryRecord extends Open {
  readonly orderDeliveryId: number;
  readonly orderId: number | null;
  readonly status: string | null;
  readonly fulfilledLineItems: readonly DeliveryLineRecord[] | null;
}

export interface RefundRecord extends Open {
  readonly orderRefundId: number;
  readonly orderId: number | null;
  readonly status: string | null;
  readonly refundedLineItems: readonly Open[] | null;
}

export interface PendingRefundRecord extends Open {
  readonly pendingRefundId: number;
  readonly orderId: number | null;
  readonly status: string | null;
  readonly refundLineItems: readonly Open[] | null;
}
