/**
 * Body of a new order. Depends only on the order and the account's spelling, so that every attempt
 * sends the same.
 */
import type { JsonObject } from '../../lib/json.ts';
import { decimalOf } from '../../lib/money.ts';

interface NewOrderLine {
  readonly barcode: string;
  readonly quantity: number;
  /** Price of a piece in units (lib/money.ts) of the order's currency. */
  readonly priceUnits: number;
  /** Name of the season's delivery window; only lines of pre-orders have one. */
  readonly deliveryName?: string | undefined;
}

interface NewOrderAddress {
  readonly firstName: string;
  readonly lastName: string;
  readonly address: string;
  /** City; undefined for a country that is one city. */
  readonly city?: string | undefined;
  /** Postal code; undefined for a country without them. */
  readonly zip?: string | undefined;
  readonly countryCode: string;
  readonly phone: string;
  readonly email: string;
  readonly address2?: string | undefined;
  readonly company?: string | undefined;
  readonly provinceCode?: string | undefined;
  readonly accountNo?: string | undefined;
}

interface NewOrderFreight {
  /** Amount of the freight in units (lib/money.ts). */
  readonly freightAmountUnits: number;
  readonly freightType?: string | undefined;
  readonly parcelShopId?: string | undefined;
  readonly warehouseCode?: string | undefined;
}

export interface NewOrder {
  /** Reference of the order, unique forever: lookups find the order by it. */
  readonly reference: string;
  readonly lines: readonly NewOrderLine[];
  readonly comment?: string | undefined;
  readonly shippingAddress?: NewOrderAddress | undefined;
  readonly freight?: NewOrderFreight | undefined;
  /** Name of a season, which makes the order a pre-order; then every line has a delivery name. */
  readonly seasonName?: string | undefined;
}

/**
 * Spelling of the freight member, which the service's documents write in two ways; configurable.
 */
export type FreightSpelling = 'freight' | 'Freight';

/**
 * Names of the season in a new order that an account may read; that of the delivery is written
 * alike.
 */
export const PRE_ORDER_NAMES = ['SeasonName', 'seasonName'] as const;
export type PreOrderNames = (typeof PRE_ORDER_NAMES)[number];

/** Omits the members that have no value. */
function filled(members: Readonly<Record<string, JsonObject[string]>>): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** The address as the service requires it: parts that the country does not have are empty. */
function addressBody({ city = '', zip = '', ...address }: NewOrderAddress): JsonObject {
  return filled({ ...address, city, zip });
}

export function orderBody(
  order: NewOrder,
  freightName: FreightSpelling,
  seasonName: PreOrderNames = 'SeasonName',
): JsonObject {
  const deliveryMember = seasonName === 'SeasonName' ? 'DeliveryName' : 'deliveryName';
  const lines = order.lines.map(({ barcode, quantity, priceUnits, deliveryName }) =>
    filled({
      barcode,
      quantity,
      price: decimalOf(priceUnits),
      [deliveryMember]: deliveryName,
    }),
  );
  const { freightAmountUnits, ...freightRest } = order.freight ?? { freightAmountUnits: 0 };
  return filled({
    reference: order.reference,
    orderLineItems: lines,
    comment: order.comment,
    shippingAddress: order.shippingAddress && addressBody(order.shippingAddress),
    [freightName]:
      order.freight && filled({ freightAmount: decimalOf(freightAmountUnits), ...freightRest }),
    [seasonName]: order.seasonName,
  });
}
