/**
 * V1's shapes as zod schemas: modelled members are typed, unknown ones kept. Names are the wire's
 * own. Only what the mirror needs is required; the rest may be absent or null, because older levels
 * omit it. An absent price stays undefined or null, never 0; missing lines are unknown, never
 * empty. Refused rows are read by meaning (tolerant/); `decides` marks what is then unknown.
 * Source: docs/wire.md, "V1 shapes".
 */
import { z } from 'zod';
import { STATUSES, type StatusOf } from '../../config/statuses.ts';
import { amountUnits } from '../../lib/money.ts';
import { keepAsItCame, tellUnread } from '../../lib/reading/as-it-came.ts';
import { timeIn, timeOfText } from '../../lib/reading/wire-time.ts';
import { keyText } from '../key-text.ts';
import { alwaysDecides, decides } from '../tolerant/decides.ts';

const text = z.string().nullish();
/** Schema of an amount; rejects more decimals than are exact (lib/money.ts). */
const amount = z
  .number()
  .refine((value) => amountUnits(value) !== null)
  .nullish();
const whole = z.int().nullish();
const flag = z.boolean().nullish();
/** Schema of a member that may have any form and never is a reason to reject a row. */
const loose = z.unknown().optional();
/**
 * Schema of a text that some accounts write as a number: 1001 is the account "1001". Numbers too
 * long for JSON are refused, because they lose digits and would name another one.
 */
const labelText = z.union(
  [z.string(), z.int().transform(String)],
  'neither a text nor a whole number',
);
const label = labelText.nullish();

const DIGITS = /^\d{1,15}$/;

/** Row count of a list; some services write numbers as text. */
export const countSchema = z
  .union([z.int(), z.string().regex(DIGITS).transform(Number)], 'neither a number nor its digits')
  .nullish();

/** Schema of a list of such rows; absent or null reads as empty. */
function listOf<T extends z.ZodType>(row: T) {
  return z
    .array(row)
    .nullish()
    .transform((rows) => rows ?? []);
}

const variantDetailsSchema = z.looseObject({
  styleNo: text,
  brandName: text,
  styleName: text,
  styleNameWebshop: text,
  colorName: text,
  size: text,
  price: amount,
  wspPrice: decides(amount),
  currency: decides(text),
  designer: text,
  styleDescription: text,
  wash: text,
  category: text,
  quality: text,
  type: text,
  gender: text,
  b2bHidden: flag,
  colorActive: flag,
  tags: z.union([z.string(), z.array(z.string())]).nullish(),
  customsTariffNumber: text,
  countryOfOrigin: text,
  /** Weight of the article in grams. */
  weight: z.number().nullish(),
  images: z.array(z.unknown()).nullish(),
});

const variantPricingSchema = z.looseObject({
  currency: decides(text),
  wspPriceOriginal: decides(amount),
  discountPercentage: decides(amount),
  wspPriceWithDiscount: decides(amount),
});

export const variantSchema = z.looseObject({
  barcode: keyText,
  quantity: alwaysDecides(z.int()),
  /**
   * Kind of variant: `size` or `assortment`. This member and those up to `details` come only with
   * `detailed`.
   */
  variantType: text,
  seasonName: text,
  colorCode: text,
  b2cSalePrice: amount,
  priceOriginal: amount,
  wspPrice: decides(amount),
  careLabelWash: text,
  careLabelIron: text,
  careLabelDry: text,
  careLabelDryClean: text,
  careLabelBleach: text,
  details: variantDetailsSchema.nullish(),
  /** Prices and discount, sent only with `detailedPricing` and for a key that has it. */
  pricing: variantPricingSchema.nullish(),
});
export type Variant = z.infer<typeof variantSchema>;

/** Schema of an address. Rules use some members, which must not count as absent when unreadable. */
const addressSchema = z.looseObject({
  address: loose,
  address2: loose,
  city: loose,
  company: decides(label),
  countryCode: decides(text),
  name: loose,
  phone: loose,
  email: loose,
  provinceCode: loose,
  zip: loose,
  accountNo: decides(label),
});

const freightSchema = z.looseObject({
  freightAmount: decides(amount),
  freightType: decides(label),
  parcelShopId: loose,
  warehouseCode: loose,
});

const lineBarcode = alwaysDecides(z.string().min(1));
const lineQuantity = alwaysDecides(z.int());

const orderLineSchema = z.looseObject({
  barcode: lineBarcode,
  quantity: lineQuantity,
  fulfilledQuantity: whole,
  sizeQuantity: whole,
  fulfilledSizeQuantity: whole,
  price: decides(amount),
  season: decides(label),
  delivery: decides(label),
});

export const salesOrderSchema = z.looseObject({
  // The id must be positive, because a cursor walk would take 0 for the end of all orders.
  orderId: z.int().positive(),
  reference: text,
  orderNo: label,
  /** Status of the order: pending, fulfilled, partially_fulfilled or canceled. */
  status: alwaysDecides(z.string()),
  completed: flag,
  comment: label,
  orderLineItems: alwaysDecides(z.array(orderLineSchema)),
  shippingAddress: decides(addressSchema.nullish()),
  freight: decides(freightSchema.nullish()),
  createdAt: loose,
  currency: decides(text),
  // An order that names a season in any form is a pre-order.
  SeasonName: decides(label),
});
export type SalesOrder = z.infer<typeof salesOrderSchema>;

const fulfilledLineSchema = z.looseObject({
  barcode: lineBarcode,
  fulfilledQuantity: lineQuantity,
  fulfilledSizeQuantity: whole,
  price: decides(amount),
  season: decides(label),
  delivery: decides(label),
});

/** Reads tracking numbers of any form, because each one proves that the delivery has shipped. */
function numbersIn(value: unknown): string[] {
  const items: readonly unknown[] = value instanceof Object ? Object.values(value) : [value];
  const present = items.filter((item) => item !== undefined && item !== null && item !== '');
  return present.map((item) => (typeof item === 'string' ? item : JSON.stringify(item)));
}

const trackAndTraceSchema = z.looseObject({
  trackingNumbers: z.unknown().optional().transform(numbersIn),
  trackingLinks: listOf(z.unknown()),
});

/**
 * Schema of a record's order id; nullable, because its list and its address name the order as well.
 */
const ofOrder = alwaysDecides(z.int());

export const deliverySchema = z.looseObject({
  orderDeliveryId: z.int(),
  deliveryNo: label,
  orderId: ofOrder,
  reference: text,
  orderNo: label,
  /** Status of the delivery: pending, accepted, rejected or canceled. */
  status: alwaysDecides(z.string()),
  fulfilledLineItems: alwaysDecides(z.array(fulfilledLineSchema)),
  trackAndTrace: trackAndTraceSchema.nullish(),
  createdAt: loose,
});
export type SalesOrderDelivery = z.infer<typeof deliverySchema>;

const refundedLineSchema = z.looseObject({
  barcode: lineBarcode,
  refundedQuantity: lineQuantity,
  refundedSizeQuantity: whole,
  price: decides(amount),
  restock: flag,
  /**
   * Kind of the refund: claim/credit, claim/replace, claim/price_reduction, return/credit,
   * price_reduction/credit.
   */
  refundType: text,
});

export const refundSchema = z.looseObject({
  orderRefundId: z.int(),
  refundNo: label,
  orderId: ofOrder,
  reference: text,
  orderNo: label,
  /** Status of the refund: pending, accepted, rejected or canceled. */
  status: alwaysDecides(z.string()),
  refundedLineItems: alwaysDecides(z.array(refundedLineSchema)),
  /** Id of the pending refund that the refund came from, if it came from one. */
  pendingRefundId: decides(whole),
  createdAt: loose,
});
export type SalesOrderRefund = z.infer<typeof refundSchema>;

const pendingRefundLineSchema = z.looseObject({
  barcode: lineBarcode,
  quantity: lineQuantity,
  price: decides(amount),
  refundType: text,
  restock: flag,
});

/** Kinds of refund that the interface document names. */
export const REFUND_TYPES = [
  'claim/credit',
  'claim/replace',
  'claim/price_reduction',
  'return/credit',
  'price_reduction/credit',
] as const;

export const pendingRefundSchema = z.looseObject({
  pendingRefundId: z.int(),
  orderId: ofOrder,
  reference: text,
  /** Status of the pending refund: pending, confirmed or canceled. */
  status: alwaysDecides(z.string()),
  comment: loose,
  createdAt: loose,
  refundLineItems: alwaysDecides(z.array(pendingRefundLineSchema)),
});
export type PendingRefund = z.infer<typeof pendingRefundSchema>;

/**
 * Schema of the id of a created resource; a created row must not be lost, so digits as text count.
 */
const madeId = z.union(
  [z.int().positive(), z.string().regex(DIGITS).transform(Number)],
  'neither a number nor its digits',
);

/**
 * Schema of the answer to a created pending refund. Only its id is read, because oddities elsewhere
 * must not put the creation in doubt.
 */
export const createdPendingRefundSchema = z.looseObject({ pendingRefundId: madeId });
export type CreatedPendingRefund = z.infer<typeof createdPendingRefundSchema>;

const createdDeliverySchema = z.looseObject({
  orderDeliveryId: z.int(),
  deliveryNo: label,
  status: text,
});

/**
 * Schema of the answer to a created order; `salesOrder` and `deliveries` came with later levels.
 */
export const createdOrderSchema = z.looseObject({
  orderId: madeId,
  orderStatus: text.catch(undefined),
  // Oddities in these optional members must not put a created order in doubt.
  salesOrder: salesOrderSchema.nullish().catch(undefined),
  deliveries: listOf(createdDeliverySchema).catch([]),
});
export type CreatedOrder = z.infer<typeof createdOrderSchema>;

/** Statuses that a write may set on a delivery or a refund. */
export type SettableStatus = 'pending' | 'accepted' | 'rejected';

// Maps an account's deviations to the contract, by its settings: status words, time zone, member
// names. Applied after reading; the received values stay with the row.

// Maps an account's status words to the contract: case, spaces, dashes and `cancelled` make no
// difference, other words are configured (`service.dialect.v1.statuses`). Unknown ones stay as they
// are.

/** A status word of the account, and the contract's word for it. */
interface StatusWord {
  readonly of: StatusOf;
  readonly says: string;
  readonly means: string;
}

function lettersOf(word: string): string {
  const letters = word
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, '');
  return letters === 'cancelled' ? 'canceled' : letters;
}

/** Returns the contract's word for an account's word. */
export function statusReader(
  kind: StatusOf,
  words: readonly StatusWord[],
): (status: string) => string {
  const own = words.filter(({ of }) => of === kind);
  const known = new Map([
    ...STATUSES[kind].map((status) => [lettersOf(status), status] as const),
    ...own.map(({ says, means }) => [lettersOf(says), means] as const),
  ]);
  return (status) => known.get(lettersOf(status)) ?? status;
}

/** A member of variants that the account calls by another name. */
export interface MemberName {
  readonly of: 'variant' | 'details';
  readonly ours: string;
  readonly theirs: string;
}

export interface Dialect {
  readonly statuses: readonly StatusWord[];
  readonly members: readonly MemberName[];
  /** IANA time zone of times that name none. */
  readonly timeZone: string;
}

export const CONTRACT: Dialect = { statuses: [], members: [], timeZone: 'UTC' };

interface Row {
  readonly status: string | null;
  readonly createdAt?: unknown;
}

interface SetStatus {
  readonly status: string;
}

interface OfOrder extends Row {
  readonly orderId: number | null;
}

/** Translates rows from the account's dialect into the contract's terms. */
export interface Interpreter {
  order(row: SalesOrder): SalesOrder;
  created(answer: CreatedOrder): CreatedOrder;
  /** Translates a delivery; `orderId` is the order that was requested. */
  delivery(row: SalesOrderDelivery, orderId: number): SalesOrderDelivery;
  refund(row: SalesOrderRefund, orderId: number): SalesOrderRefund;
  pendingRefund(row: PendingRefund, orderId: number): PendingRefund;
  /** Translates the status that the service says it has set. */
  setDelivery(set: SetStatus): SetStatus;
  setRefund(set: SetStatus): SetStatus;
}

function withMember<T extends object>(row: T, name: keyof T & string, value: unknown): T {
  if (value === row[name]) return row;
  const other = { ...row, [name]: value };
  keepAsItCame(other, name, row[name]);
  return other;
}

/**
 * Corrects the order id of a row: rows of an order's list belong to that order, whatever they name.
 */
function withOrder<T extends OfOrder>(row: T, orderId: number): T {
  if (row.orderId === orderId) return row;
  const other = { ...row, orderId };
  if (row.orderId === null) return other;
  keepAsItCame(other, 'orderId', row.orderId);
  tellUnread(other, ['orderId']);
  return other;
}

export function createInterpreter({ statuses, timeZone }: Dialect): Interpreter {
  const timeOf = timeIn(timeZone);
  const rowReader = (of: StatusOf) => {
    const statusOf = statusReader(of, statuses);
    return <T extends Row>(row: T): T => {
      const { status, createdAt } = row;
      const at = timeOf(createdAt);
      const isUtc =
        at === undefined || (typeof createdAt === 'string' && timeOfText(createdAt) === at);
      const timed = isUtc ? row : { ...row, createdAt: new Date(at).toISOString() };
      return status === null ? timed : withMember(timed, 'status', statusOf(status));
    };
  };
  const [order, delivery] = [rowReader('order'), rowReader('delivery')];
  const [refund, pendingRefund] = [rowReader('refund'), rowReader('pendingRefund')];
  const ofDelivery = statusReader('delivery', statuses);
  const ofRefund = statusReader('refund', statuses);
  return {
    order,
    created: ({ deliveries, ...answer }) => ({
      ...answer,
      deliveries: deliveries.map((one) =>
        typeof one.status === 'string' ? { ...one, status: ofDelivery(one.status) } : one,
      ),
    }),
    delivery: (row, orderId) => withOrder(delivery(row), orderId),
    refund: (row, orderId) => withOrder(refund(row), orderId),
    pendingRefund: (row, orderId) => withOrder(pendingRefund(row), orderId),
    setDelivery: ({ status }) => ({ status: ofDelivery(status) }),
    setRefund: ({ status }) => ({ status: ofRefund(status) }),
  };
}
