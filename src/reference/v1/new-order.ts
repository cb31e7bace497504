/** Reads the body of a new order: its schema, and checks against the world. */
import { z } from 'zod';
import type { CurrentKnobs } from '../control/knobs.ts';
import type { Key } from '../keys.ts';
import type { ShippingAddress } from '../world/accounts.ts';
import { exactMinor } from '../world/catalog/prices.ts';
import { type Currency, FREIGHT_TYPES } from '../world/catalog/words.ts';
import type { Freight, NewOrder } from '../world/trade/orders.ts';
import type { World } from '../world/world.ts';
import { invalid } from './answer.ts';

const LINES_MAX = 5_000;
const text = z.string().max(1_000);
const needed = text.min(1);

const addressSchema = z.object({
  address: needed,
  address2: text.optional(),
  city: needed,
  company: text.optional(),
  zip: needed,
  countryCode: z.string().regex(/^[A-Z]{2}$/, 'must be two capital letters'),
  firstName: needed,
  lastName: needed,
  phone: needed,
  email: z.string().regex(/^\S+@\S+$/, 'must be an e-mail address'),
  provinceCode: text.optional(),
  accountNo: text.optional(),
});

const freightSchema = z
  .object({
    freightAmount: z.number().min(0),
    freightType: text.optional(),
    parcelShopId: text.optional(),
    warehouseCode: text.optional(),
  })
  .meta({ id: 'FreightOfOrder' });

const lineSchema = z.object({
  barcode: needed,
  quantity: z.number().int().min(1).max(1_000_000),
  price: z.number().min(0),
  DeliveryName: needed.optional(),
});

export const newOrderSchema = z.object({
  reference: needed,
  orderLineItems: z.array(lineSchema).min(1).max(LINES_MAX),
  comment: text.optional(),
  shippingAddress: addressSchema.optional(),
  Freight: freightSchema.optional(),
  freight: freightSchema.optional(),
  SeasonName: needed.optional(),
});

type Body = z.output<typeof newOrderSchema>;

/**
 * Problems of a pre-order: it needs a season, and on every line a delivery of that season; neither
 * without the other.
 */
function preOrderProblems(world: World, body: Body): string[] {
  const { SeasonName, orderLineItems } = body;
  if (SeasonName === undefined) {
    const named = [...orderLineItems.entries()].filter(([, line]) => line.DeliveryName);
    return named.map(([index]) => `orderLineItems.${index}.DeliveryName: needs SeasonName`);
  }
  const season = world.catalog.seasons.find(({ name }) => name === SeasonName);
  if (!season) return [`SeasonName: there is no season ${SeasonName}`];
  return orderLineItems.flatMap(({ DeliveryName }, index) => {
    const at = `orderLineItems.${index}.DeliveryName`;
    if (DeliveryName === undefined) return [`${at}: is required with SeasonName`];
    return season.deliveries.some(({ name }) => name === DeliveryName)
      ? []
      : [`${at}: ${SeasonName} has no delivery ${DeliveryName}`];
  });
}

function lineProblems(world: World, body: Body): string[] {
  const lines: string[] = [];
  for (const [index, { barcode }] of body.orderLineItems.entries()) {
    if (world.catalog.variantOf(barcode) !== undefined) continue;
    lines.push(`orderLineItems.${index}.barcode: there is no variant ${barcode}`);
  }
  return lines;
}

function freightProblems(knobs: CurrentKnobs, body: Body): string[] {
  const freight = body.Freight ?? body.freight;
  if (!freight) return knobs().orders.freightRequired ? ['freight: is required'] : [];
  const { freightType } = freight;
  return freightType === undefined || FREIGHT_TYPES.includes(freightType)
    ? []
    : [`freight.freightType: there is no freight ${freightType}`];
}

function shippingAddress(body: Body, fallback: ShippingAddress): ShippingAddress {
  const given = body.shippingAddress;
  if (!given) return fallback;
  const { firstName, lastName, ...rest } = given;
  return {
    ...rest,
    name: `${firstName} ${lastName}`,
    address2: rest.address2 ?? '',
    company: rest.company ?? '',
    provinceCode: rest.provinceCode ?? '',
    accountNo: rest.accountNo ?? fallback.accountNo,
  };
}

function freightOf({ prices }: World, body: Body, currency: Currency): Freight {
  const freight = body.Freight ?? body.freight;
  const { freightType, parcelShopId, warehouseCode } = freight ?? {};
  return {
    amount: prices.rounded(exactMinor(freight?.freightAmount ?? 0), currency),
    ...(freightType === undefined ? {} : { type: freightType }),
    ...(parcelShopId === undefined ? {} : { parcelShopId }),
    ...(warehouseCode === undefined ? {} : { warehouseCode }),
  };
}

function missing(body: Body): NonNullable<NewOrder['hides']> {
  return { address: !body.shippingAddress, freight: !(body.Freight ?? body.freight) };
}

/** Index of the account that is named in the address, else of the key's own, else of the first. */
function accountIndex(world: World, key: Key, body: Body): number {
  const named = body.shippingAddress?.accountNo;
  if (key.account !== undefined || named === undefined) return key.account ?? 0;
  for (let index = 0; index < world.accounts.count; index += 1) {
    if (world.accounts.at(index).accountNo === named) return index;
  }
  return 0;
}

/** Reads the body into an order; throws a 422 with all problems at once. */
export function readNewOrder(
  { world, knobs }: { readonly world: World; readonly knobs: CurrentKnobs },
  key: Key,
  body: Body,
): NewOrder {
  const lines = [
    ...lineProblems(world, body),
    ...preOrderProblems(world, body),
    ...freightProblems(knobs, body),
  ];
  if (lines.length > 0) throw invalid(lines);
  const index = accountIndex(world, key, body);
  const account = world.accounts.at(index);
  const { SeasonName } = body;
  return {
    reference: body.reference,
    comment: body.comment ?? '',
    lines: body.orderLineItems.map(({ barcode, quantity, price, DeliveryName }) => ({
      barcode,
      quantity,
      variant: world.catalog.variantOf(barcode) ?? 0,
      price: world.prices.rounded(exactMinor(price), account.currency),
      ...(SeasonName === undefined ? {} : { season: SeasonName }),
      ...(DeliveryName === undefined ? {} : { delivery: DeliveryName }),
    })),
    address: shippingAddress(body, account.address),
    freight: freightOf(world, body, account.currency),
    ...(knobs().dialect.emptyObject === 'array' ? { hides: missing(body) } : {}),
    currency: account.currency,
    account: index,
    key: key.name,
    ...(SeasonName === undefined ? {} : { season: SeasonName }),
  };
}
