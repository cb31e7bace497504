/** The stranger's programming interface, as its README.md tells it. */

interface Line {
  readonly barcode: string;
  readonly quantity: number;
}

export interface StrangerDelivery {
  readonly orderDeliveryId: number;
  readonly status: string;
  readonly shipped: boolean;
  readonly orderId: number;
  readonly lines: readonly Line[];
}

export interface StrangerOrder {
  readonly orderId: number;
  readonly reference: string | null;
  readonly status: string;
  readonly lines: readonly (Line & { readonly season: string | null })[];
}

export interface StrangerState {
  readonly orders: readonly StrangerOrder[];
  readonly deliveries: readonly StrangerDelivery[];
  readonly pendingRefunds: readonly {
    readonly pendingRefundId: number;
    readonly orderId: number;
  }[];
  readonly seasons: readonly {
    readonly seasonName: string;
    readonly deliveries: readonly { readonly deliveryName: string }[];
  }[];
  readonly variants: readonly {
    readonly barcode: string;
    readonly stock: number;
    readonly wspPrice: number;
    readonly preorderWsp: number;
    readonly styleColorId: number;
    readonly variantType: string;
  }[];
}

export interface Stranger {
  readonly v1: string;
  readonly v2: string;
  readonly relay: string;
  readonly credentials: {
    readonly v1: { readonly clientID: string; readonly clientSecret: string };
    readonly v2: { readonly clientId: string; readonly clientSecret: string };
  };
  readonly state: StrangerState;
  packOrder(orderId: number): { readonly orderDeliveryId: number };
  shipDelivery(orderDeliveryId: number): unknown;
  confirmRefund(pendingRefundId: number): unknown;
  setEndpoint(url: string, secret: string): unknown;
  flush(): Promise<void>;
  close(): Promise<void>;
}

export function startStranger(options?: Readonly<Record<string, unknown>>): Promise<Stranger>;
