/**
 * Schemas of V1's answers, written from the wire contract, sections 3 and 4. The routes do not use
 * them, so that tests can check every answer against them.
 */
import { z } from 'zod';

const id = z.int().min(1);
const units = z.int().min(0);
/** Rows of a list; programs that make answers up have one. */
const count = z
  .int()
  .min(0)
  .meta({ examples: [1] });
const money = z.number();

const variantDetails = z
  .strictObject({
    styleNo: z.string(),
    brandName: z.string(),
    styleName: z.string(),
    styleNameWebshop: z.string(),
    colorName: z.string(),
    size: z.string(),
    price: money,
    wspPrice: money,
    currency: z.string().length(3),
    designer: z.string(),
    styleDescription: z.string(),
    wash: z.string(),
    category: z.string(),
    quality: z.string(),
    type: z.string(),
    gender: z.string(),
    b2bHidden: z.boolean(),
    colorActive: z.boolean(),
    tags: z.array(z.string()),
    customsTariffNumber: z.string(),
    countryOfOrigin: z.string(),
    weight: units.meta({ description: 'Grams' }),
    images: z.array(z.string()),
  })
  .meta({ id: 'VariantDetails' });

const pricing = z
  .strictObject({
    currency: z.string().length(3),
    wspPriceOriginal: money,
    discountPercentage: z.number(),
    wspPriceWithDiscount: money,
  })
  .meta({ id: 'Pricing' });

/**
 * Schema of a variant. All but barcode and quantity come only with `detailed=true`; `pricing` has
 * its own rule.
 */
const variant = z
  .strictObject({
    barcode: z.string(),
    quantity: units,
    variantType: z.enum(['size', 'assortment']).optional(),
    seasonName: z.string().optional(),
    colorCode: z.string().optional(),
    b2cSalePrice: money.optional(),
    priceOriginal: money.optional(),
    wspPrice: money.optional(),
    careLabelWash: z.string().optional(),
    careLabelIron: z.string().optional(),
    careLabelDry: z.string().optional(),
    careLabelDryClean: z.string().optional(),
    careLabelBleach: z.string().optional(),
    details: variantDetails.optional(),
    pricing: pricing.optional(),
  })
  .meta({ id: 'Variant' });

const lineOrigin = { season: z.string().optional(), delivery: z.string().optional() };

const salesOrder = z
  .strictObject({
    orderId: id,
    reference: z.string(),
    orderNo: z.string(),
    status: z.enum(['pending', 'fulfilled', 'partially_fulfilled', 'canceled']),
    completed: z.boolean(),
    comment: z.string(),
    orderLineItems: z.array(
      z.strictObject({
        barcode: z.string(),
        quantity: units,
        fulfilledQuantity: units,
        sizeQuantity: units,
        fulfilledSizeQuantity: units,
        price: money,
        ...lineOrigin,
      }),
    ),
    shippingAddress: z.strictObject({
      address: z.string(),
      address2: z.string(),
      city: z.string(),
      company: z.string(),
      countryCode: z.string(),
      name: z.string(),
      phone: z.string(),
      email: z.string(),
      provinceCode: z.string(),
      zip: z.string(),
      accountNo: z.string(),
    }),
    freight: z.strictObject({
      freightAmount: money,
      freightType: z.string().optional(),
      parcelShopId: z.string().optional(),
      warehouseCode: z.string().optional(),
    }),
    createdAt: z.iso.datetime(),
    currency: z.string().length(3),
    SeasonName: z.string().optional(),
  })
  .meta({ id: 'SalesOrder' });

const decision = z.enum(['pending', 'accepted', 'rejected', 'canceled']);
const ofOrder = { orderId: id, reference: z.string(), orderNo: z.string() };

const salesOrderDelivery = z
  .strictObject({
    orderDeliveryId: id,
    deliveryNo: z.string(),
    ...ofOrder,
    status: decision,
    fulfilledLineItems: z.array(
      z.strictObject({
        barcode: z.string(),
        fulfilledQuantity: units,
        fulfilledSizeQuantity: units,
        price: money,
        ...lineOrigin,
      }),
    ),
    trackAndTrace: z.strictObject({
      trackingNumbers: z.array(z.string()),
      trackingLinks: z.array(z.string()),
    }),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'SalesOrderDelivery' });

const refundType = z.enum([
  'claim/credit',
  'claim/replace',
  'claim/price_reduction',
  'return/credit',
  'price_reduction/credit',
]);

const salesOrderRefund = z
  .strictObject({
    orderRefundId: id,
    refundNo: z.string(),
    ...ofOrder,
    status: decision,
    refundedLineItems: z.array(
      z.strictObject({
        barcode: z.string(),
        refundedQuantity: units,
        refundedSizeQuantity: units,
        price: money,
        restock: z.boolean(),
        refundType: refundType.optional(),
      }),
    ),
    pendingRefundId: id.optional(),
  })
  .meta({ id: 'SalesOrderRefund' });

const pendingRefund = z
  .strictObject({
    pendingRefundId: id,
    orderId: id,
    reference: z.string(),
    status: z.enum(['pending', 'confirmed', 'canceled']),
    comment: z.string().optional(),
    createdAt: z.iso.datetime(),
    refundLineItems: z.array(
      z.strictObject({
        barcode: z.string(),
        quantity: units,
        price: money.optional(),
        refundType: refundType.optional(),
        restock: z.boolean().optional(),
      }),
    ),
  })
  .meta({ id: 'PendingRefund' });

const createdOrder = z.strictObject({
  orderId: id,
  orderStatus: z.string(),
  salesOrder,
  deliveries: z.array(
    z.strictObject({ orderDeliveryId: id, deliveryNo: z.string(), status: decision }),
  ),
});

const variantList = z.strictObject({ count, variants: z.array(variant) });
const oneVariant = z.strictObject({ variant });
const listOf = <N extends string, T extends z.ZodType>(name: N, row: T) =>
  z.strictObject({ [name]: z.array(row) });
const countedListOf = <N extends string, T extends z.ZodType>(name: N, row: T) =>
  z.strictObject({ count, [name]: z.array(row) });
const season = z.strictObject({ seasonName: z.string(), deliveryNames: z.array(z.string()) });

/** Schemas of the answers' `data`, by method and path. */
export const V1_ANSWERS: Readonly<Record<string, z.ZodType>> = {
  'POST /auth/login': z.strictObject({ token: z.string() }),
  'GET /brands': countedListOf('brands', z.strictObject({ brandName: z.string() })),
  'GET /freight': countedListOf('freightOptions', z.strictObject({ freightType: z.string() })),
  'GET /seasons': countedListOf('seasons', season),
  'GET /orders': listOf('orders', salesOrder),
  'POST /orders': createdOrder,
  'GET /orders/:orderId': salesOrder,
  'GET /orders/:orderId/deliveries': listOf('deliveries', salesOrderDelivery),
  'GET /orders/:orderId/deliveries/:orderDeliveryId': salesOrderDelivery,
  'POST /orders/:orderId/deliveries/:orderDeliveryId': salesOrderDelivery,
  'GET /orders/:orderId/refunds': listOf('refunds', salesOrderRefund),
  'GET /orders/:orderId/refunds/:orderRefundId': salesOrderRefund,
  'POST /orders/:orderId/refunds/:orderRefundId': salesOrderRefund,
  'POST /orders/:orderId/pending-refunds': pendingRefund,
  'GET /orders/:orderId/pending-refunds': listOf('pendingRefunds', pendingRefund),
  'GET /orders/:orderId/pending-refunds/:pendingRefundId': pendingRefund,
  'GET /variants/stock': variantList,
  'GET /variants/stock/:barcode': oneVariant,
  'GET /variants/season': variantList,
  'GET /variants/season/:barcode': oneVariant,
  'GET /variants': variantList,
  'GET /variants/:barcode': oneVariant,
  'POST /webhook-portal': z.strictObject({ url: z.url(), expiresAt: z.iso.datetime() }),
};

/** Schemas of the events' `data`, by the beginning of their type. */
const EVENT_DATA: Readonly<Record<string, z.ZodType>> = {
  ping: z.looseObject({ ping: z.unknown() }),
  'sales_order.order_': z.strictObject({ salesOrder }),
  'sales_order.delivery_': z.strictObject({ salesOrderDelivery }),
  'sales_order.refund_': z.strictObject({ salesOrderRefund }),
};

const eventReferences = z
  .looseObject({
    systemKey: z.string().optional(),
    apiKeyId: id.optional(),
    jobId: z.string().optional(),
    idempotencyKey: z.string().optional(),
    reference: z.string().optional(),
  })
  .meta({ id: 'EventReferences' });

/** Schema of the body of an event of this type. */
export function v1Event(type: string): z.ZodType {
  const begin = Object.keys(EVENT_DATA).find((name) => type.startsWith(name)) ?? '';
  const data = EVENT_DATA[begin] ?? z.looseObject({});
  return z.strictObject({ type: z.literal(type), data, references: eventReferences.optional() });
}

/** Schema of the envelope around every answer. */
export function v1Envelope<T extends z.ZodType>(data: T) {
  return z.strictObject({ status: z.int().min(200).max(299), message: z.string(), data });
}

export const v1Error = z
  .strictObject({
    status: z.int().min(400).max(599),
    message: z.string(),
    data: z.strictObject({}),
  })
  .meta({ id: 'Error' });

export const v1Invalid = z
  .strictObject({ status: z.literal(422), message: z.string(), invalid_data: z.array(z.string()) })
  .meta({ id: 'InvalidData', description: 'One line per problem: `path: what is wrong`' });
