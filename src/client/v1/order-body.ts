/**
 * The body of a new order in the wire's words. It follows from the order and the account's spelling
 * alone, so that every attempt says the same.
 */
import type { JsonObject } from '../../lib/json.ts';
import { decimalOf } from '../../lib/money.ts';

interface NewOrderLine {
  readonly barcode: string;
  readonly quantity: number;
  /** In units (lib/money.ts) of the order's currency. */
  readonly priceUnits: number;
  /** Only with a season: the delivery of the season (pre-order). */
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
  /** Unique for ever; the order is found again by it. */
  readonly reference: string;
  readonly lines: readonly NewOrderLine[];
  readonly comment?: string | undefined;
  readonly shippingAddress?: NewOrderAddress | undefined;
  readonly freight?: NewOrderFreight | undefined;
  /** Makes it a pre-order; then every line has a delivery name. */
  readonly seasonName?: string | undefined;
}

/** The service's documents spell this member in two ways; configuration says which is sent. */
export type FreightSpelling = 'freight' | 'Freight';

/** Members without a value are left out. */
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
