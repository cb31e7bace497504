/**
 * Body of a new order. Depends only on the order and the account's spelling, so that every attempt
 * sends the same.
 */
import type { JsonObject } from '../../lib/json.ts';
import { decimalOf } from '../../lib/money.ts';

interface NewOrderLine {
  readonly barcode: string;
  readonly quantity: number;
  /** In units (lib/money.ts) of the order's currency. */
  readonly priceUnits: number;
  /** Delivery window of the season; pre-orders only. */
  readonly deliveryName?: string | undefined;
}

interface NewOrderAddress {
  readonly firstName: string;
  readonly lastName: string;
  readonly address: string;
  readonly city: string;
  readonly zip: string;
  readonly countryCode: string;
  readonly phone: string;
  readonly email: string;
  readonly address2?: string | undefined;
  readonly company?: string | undefined;
  readonly provinceCode?: string | undefined;
  readonly accountNo?: string | undefined;
}

interface NewOrderFreight {
  /** In units. */
  readonly freightAmountUnits: number;
  readonly freightType?: string | undefined;
  readonly parcelShopId?: string | undefined;
  readonly warehouseCode?: string | undefined;
}

export interface NewOrder {
  /** Unique forever; lookups find the order by it. */
  readonly reference: string;
  readonly lines: readonly NewOrderLine[];
  readonly comment?: string | undefined;
  readonly shippingAddress?: NewOrderAddress | undefined;
  readonly freight?: NewOrderFreight | undefined;
  /** Makes it a pre-order; then every line has a delivery name. */
  readonly seasonName?: string | undefined;
}

/** Spelling of this member, which the service's documents write in two ways; configurable. */
export type FreightSpelling = 'freight' | 'Freight';

/** Omits members without a value. */
function filled(members: Readonly<Record<string, JsonObject[string]>>): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

export function orderBody(order: NewOrder, freightName: FreightSpelling): JsonObject {
  const lines = order.lines.map(({ barcode, quantity, priceUnits, deliveryName }) =>
    filled({
      barcode,
      quantity,
      price: decimalOf(priceUnits),
      DeliveryName: deliveryName,
    }),
  );
  const { freightAmountUnits, ...freightRest } = order.freight ?? { freightAmountUnits: 0 };
  return filled({
    reference: order.reference,
    orderLineItems: lines,
    comment: order.comment,
    shippingAddress: order.shippingAddress && filled({ ...order.shippingAddress }),
    [freightName]:
      order.freight && filled({ freightAmount: decimalOf(freightAmountUnits), ...freightRest }),
    SeasonName: order.seasonName,
  });
}
