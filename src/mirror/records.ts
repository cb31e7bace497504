/**
 * What the service says, in the mirror's words. These types are structural: what the client
 * returns for a document fits them, unknown members included, so that the mirror needs to know
 * nothing of the wire but the names of members.
 */

interface Open {
  readonly [member: string]: unknown;
}

interface OrderLineRecord extends Open {
  readonly barcode: string;
  readonly quantity: number;
  readonly price?: number | null | undefined;
}

export interface OrderRecord extends Open {
  readonly orderId: number;
  readonly status: string;
  readonly orderLineItems: readonly OrderLineRecord[];
}

interface DeliveryLineRecord extends Open {
  readonly barcode: string;
  readonly fulfilledQuantity: number;
  readonly price?: number | null | undefined;
}

export interface DeliveryRecord extends Open {
  readonly orderDeliveryId: number;
  readonly orderId: number;
  readonly status: string;
  readonly fulfilledLineItems: readonly DeliveryLineRecord[];
}

export interface RefundRecord extends Open {
  readonly orderRefundId: number;
  readonly orderId: number;
  readonly status: string;
  readonly refundedLineItems: readonly Open[];
}

export interface PendingRefundRecord extends Open {
  readonly pendingRefundId: number;
  readonly orderId: number;
  readonly status: string;
  readonly refundLineItems: readonly Open[];
}
