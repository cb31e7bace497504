/**
 * What the service says, in the mirror's words. These types are structural: what the client
 * returns for a document fits them, unknown members included, so that the mirror needs to know
 * nothing of the wire but the names of members.
 */

interface Open {
  readonly [member: string]: unknown;
}

export interface BrandRecord extends Open {
  readonly brandName: string;
}

export interface VariantRecord extends Open {
  readonly barcode: string;
  readonly quantity: number;
}

export interface OrderLineRecord extends Open {
  readonly barcode: string;
  readonly quantity: number;
  readonly price?: number | null | undefined;
}

export interface OrderRecord extends Open {
  readonly orderId: number;
  readonly status: string;
  readonly orderLineItems: readonly OrderLineRecord[];
}

export interface DeliveryLineRecord extends Open {
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
