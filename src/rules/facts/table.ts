/**
 * The one table of facts. CEL types, lint, documentation, the JSON Schema of rule tests and the
 * TypeScript type of the plain data are all read from here, so a fact exists everywhere or nowhere.
 *
 * A record is a group of fields (`delivery`, one of its `line`s, `credit` …). A field is optional
 * when the mirror or the ERP may not know it: reading an absent field makes a condition unknown,
 * which is neither true nor false. A derived field may be left out of the plain data; it is then
 * computed from the others in `derive.ts`, in one place for live decisions, tests and replays.
 *
 * A new fact is a field here; its value comes from the mirror in `decisions/facts.ts` and
 * `decisions/facts/`, or from other facts in `derive.ts`.
 */

const customer = {
  account_no: {
    type: 'string',
    optional: true,
    about: 'Account number in the ERP.',
    source: 'erp_customer',
  },
  blocked: {
    type: 'bool',
    optional: true,
    about: 'The ERP has blocked the customer.',
    source: 'erp_customer.blocked',
  },
  credit: {
    type: 'record',
    of: 'credit',
    optional: true,
    about: 'What the ERP says of the customer’s credit; absent when it says nothing.',
    source: 'erp_customer',
  },
  extra: {
    type: 'extra',
    optional: true,
    about: 'More fields of the ERP, declared under customer_fields in settings.yaml.',
    source: 'erp_customer.extra',
  },
} as const;

const credit = {
  limit: {
    type: 'money',
    optional: true,
    unit: 'customer.credit.currency',
    about: 'Credit limit.',
    source: 'erp_customer.credit_limit',
  },
  balance: {
    type: 'money',
    optional: true,
    unit: 'customer.credit.currency',
    about: 'What the customer owes, without deliveries that are not accepted yet.',
    source: 'erp_customer.balance',
  },
  reserved: {
    type: 'money',
    optional: true,
    unit: 'customer.credit.currency',
    about: 'What was accepted since the figures were taken; absent when it cannot be summed up.',
    source: 'other deliveries of the account, accepted since as_of',
  },
  headroom: {
    type: 'money',
    optional: true,
    derived: true,
    unit: 'customer.credit.currency',
    about: 'Credit left, after what was accepted here since the ERP’s figures were taken.',
    source: 'limit - balance - reserved',
  },
  overdue_days: {
    type: 'int',
    optional: true,
    unit: 'days',
    min: 0,
    about: 'Age of the oldest unpaid invoice beyond its due date; 0 when none is.',
    source: 'erp_customer.overdue_days',
  },
  currency: {
    type: 'string',
    code: 'currency',
    optional: true,
    about: 'Currency of the credit figures (ISO code such as DKK).',
    source: 'erp_customer.currency',
  },
  as_of: {
    type: 'timestamp',
    optional: true,
    about: 'When the ERP took the figures.',
    source: 'erp_customer.as_of',
  },
  age: {
    type: 'duration',
    optional: true,
    derived: true,
    min: 0,
    about: 'How old the figures are.',
    source: 'clock.now - customer.credit.as_of',
  },
} as const;

const line = {
  barcode: { type: 'string', optional: true, about: 'Barcode of the variant.', source: 'barcode' },
  quantity: {
    type: 'int',
    optional: true,
    unit: 'pieces',
    about: 'Pieces packed of the barcode; an assortment counts as one.',
    source: 'fulfilledQuantity',
  },
  size_quantity: {
    type: 'int',
    optional: true,
    unit: 'pieces',
    about: 'Single pieces packed; of an assortment, those that are in it.',
    source: 'fulfilledSizeQuantity',
  },
  price: {
    type: 'money',
    optional: true,
    unit: 'delivery.currency',
    about: 'Price of one piece on the delivery.',
    source: 'price',
  },
  order_price: {
    type: 'money',
    optional: true,
    unit: 'delivery.currency',
    about:
      'Price of one piece on the order line with the same barcode, and the same delivery window ' +
      'where the line names one; absent when several such lines differ.',
    source: 'price of the order line',
  },
  price_diff_pct: {
    type: 'percent',
    optional: true,
    derived: true,
    unit: '%',
    min: 0,
    about: 'How far the price is from the order’s, up or down; 2.5 means 2.5 %. Never negative.',
    source: 'line.price against line.order_price',
  },
  list_price: {
    type: 'money',
    optional: true,
    unit: 'delivery.currency',
    about: 'Wholesale price that the service lists now; absent when it is in another currency.',
    source: 'wspPrice of the stock, or of the season for a pre-order',
  },
  list_price_diff_pct: {
    type: 'percent',
    optional: true,
    derived: true,
    unit: '%',
    min: 0,
    about: 'How far the price is from the listed one, up or down. Never negative.',
    source: 'line.price against line.list_price',
  },
  net_price: {
    type: 'money',
    optional: true,
    unit: 'delivery.currency',
    about:
      'Wholesale price that the service asks of your own API key, after its discount; absent ' +
      'without detailedPricing, or in another currency.',
    source: 'pricing.wspPriceWithDiscount, as list_price',
  },
  discount: {
    type: 'percent',
    optional: true,
    unit: '%',
    about: 'Discount of your own API key; 12.5 means 12.5 %. Absent without detailedPricing.',
    source: 'pricing.discountPercentage, as list_price',
  },
  ordered: {
    type: 'int',
    optional: true,
    unit: 'pieces',
    about: 'Pieces ordered of this barcode.',
    source: 'quantity of the order line',
  },
  stock_free: {
    type: 'int',
    optional: true,
    unit: 'pieces',
    about: 'Pieces in stock that no older pending and no accepted, unshipped delivery needs.',
    source:
      'stock mirror less other deliveries; where it lists no such variant: streams.stock.unlisted',
  },
  missing: {
    type: 'int',
    optional: true,
    derived: true,
    unit: 'pieces',
    min: 0,
    about: 'Pieces of this line that the free stock does not cover; 0 when it is covered.',
    source: 'line.quantity - line.stock_free',
  },
  style_no: { type: 'string', optional: true, about: 'Style number.', source: 'details.styleNo' },
  brand: { type: 'string', optional: true, about: 'Brand.', source: 'details.brandName' },
  season: { type: 'string', optional: true, about: 'Season of the line.', source: 'season' },
  delivery_name: {
    type: 'string',
    optional: true,
    about: 'Delivery window of the line of a pre-order.',
    source: 'delivery of the line',
  },
  style_active: {
    type: 'bool',
    optional: true,
    about: 'The style is still sold.',
    source: 'active of the style',
  },
  noos: {
    type: 'bool',
    optional: true,
    about: 'Never out of stock: the color of the style is always re-ordered.',
    source: 'noosType of the style color',
  },
  color_active: {
    type: 'bool',
    optional: true,
    about: 'The color is still sold in this style.',
    source: 'details.colorActive, or active of the style color',
  },
} as const;

type FactType =
  | 'string'
  | 'bool'
  | 'int'
  | 'money'
  | 'percent'
  | 'duration'
  | 'timestamp'
  | 'enum'
  | 'strings'
  | 'extra'
  | 'record'
  | 'records';

export interface FieldSpec {
  readonly type: FactType;
  readonly optional?: true;
  readonly derived?: true;
  /** Possible values of an `enum`. */
  readonly values?: readonly string[];
  /** Form of a `string` that is a code; literals of another form can never match. */
  readonly code?: 'country' | 'currency';
  /** Name of the record of a `record` or `records` field. */
  readonly of?: string;
  readonly unit?: string;
  /** Smallest value that it can have. */
  readonly min?: number;
  readonly about: string;
  readonly source: string;
}

export const WEEKDAYS = [
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
  'sunday',
] as const;

const delivery = {
  id: { type: 'int', about: 'Id of the delivery in the service.', source: 'orderDeliveryId' },
  number: { type: 'string', about: 'Number that people see.', source: 'deliveryNo' },
  status: {
    type: 'enum',
    values: ['pending', 'accepted', 'rejected', 'canceled'],
    about: 'Where the delivery stands in the service.',
    source: 'status',
  },
  created_at: {
    type: 'timestamp',
    about: 'When it was packed; where the service does not say, when it was first seen here.',
    source: 'createdAt, or first seen',
  },
  age: {
    type: 'duration',
    derived: true,
    min: 0,
    about: 'Time since it was packed.',
    source: 'clock.now - delivery.created_at',
  },
  quantity: {
    type: 'int',
    optional: true,
    derived: true,
    unit: 'pieces',
    about: 'Pieces in the delivery, over all lines; an assortment counts as one.',
    source: 'sum of line.quantity',
  },
  size_quantity: {
    type: 'int',
    optional: true,
    derived: true,
    unit: 'pieces',
    about: 'Single pieces, those in assortments too; absent when a line does not tell them.',
    source: 'sum of line.size_quantity',
  },
  amount: {
    type: 'money',
    optional: true,
    derived: true,
    unit: 'delivery.currency',
    about: 'Value of the delivery without freight; absent when one of its lines has no price.',
    source: 'sum of line.quantity * line.price',
  },
  currency: {
    type: 'string',
    code: 'currency',
    optional: true,
    derived: true,
    about: 'Currency of every amount of the delivery (ISO code such as DKK).',
    source: 'currency of the order',
  },
  lines: {
    type: 'records',
    of: 'line',
    about: 'The packed lines; use .all(line, …), .exists(line, …) or .size().',
    source: 'fulfilledLineItems',
  },
  unread: {
    type: 'strings',
    optional: true,
    about: 'What of the delivery and its order decides and cannot be read; then it is held.',
    source: 'whatever of it came in a form that has no meaning',
  },
} as const;

const order = {
  id: { type: 'int', about: 'Id of the order in the service.', source: 'orderId' },
  number: { type: 'string', about: 'Number that people see.', source: 'orderNo' },
  reference: { type: 'string', about: 'The buyer’s or the ERP’s reference.', source: 'reference' },
  status: {
    type: 'enum',
    optional: true,
    values: ['pending', 'fulfilled', 'partially_fulfilled', 'canceled'],
    about: 'Where the order stands in the service.',
    source: 'status',
  },
  created_at: {
    type: 'timestamp',
    about: 'When it was placed; where the service does not say, when it was first seen here.',
    source: 'createdAt, or first seen',
  },
  age: {
    type: 'duration',
    derived: true,
    min: 0,
    about: 'Time since the order was placed.',
    source: 'clock.now - order.created_at',
  },
  country: {
    type: 'string',
    code: 'country',
    optional: true,
    about: 'Country the goods go to (two letters; always write "NO" in quotes).',
    source: 'shippingAddress.countryCode',
  },
  currency: {
    type: 'string',
    code: 'currency',
    optional: true,
    about: 'Currency of every amount of the order (ISO code such as DKK).',
    source: 'currency, or the one that the variants of its lines have, or service.v1.currency',
  },
  amount: {
    type: 'money',
    optional: true,
    unit: 'order.currency',
    about: 'Value of the whole order without freight; absent when a line has no price.',
    source: 'sum over the order lines',
  },
  quantity: {
    type: 'int',
    optional: true,
    unit: 'pieces',
    about: 'Pieces ordered; an assortment counts as one.',
    source: 'quantity of the order lines',
  },
  size_quantity: {
    type: 'int',
    optional: true,
    unit: 'pieces',
    about:
      'Single pieces ordered, those in assortments too; absent when a line does not tell them.',
    source: 'sizeQuantity of the order lines',
  },
  freight_amount: {
    type: 'money',
    optional: true,
    unit: 'order.currency',
    about: 'Freight charged on the order.',
    source: 'freight.freightAmount',
  },
  freight_type: {
    type: 'string',
    optional: true,
    about: 'Name of the freight option.',
    source: 'freight.freightType',
  },
  preorder: {
    type: 'bool',
    optional: true,
    about: 'A pre-order: it names a season, and its lines name deliveries.',
    source: 'SeasonName and lines',
  },
  season: {
    type: 'string',
    optional: true,
    about: 'Season of a pre-order.',
    source: 'SeasonName, or the one season of the lines',
  },
  delivery_names: {
    type: 'strings',
    about: 'Delivery windows that the lines of a pre-order name.',
    source: 'delivery of the order lines',
  },
  comment: { type: 'string', optional: true, about: 'The buyer’s comment.', source: 'comment' },
  other_pending: {
    type: 'int',
    unit: 'deliveries',
    min: 0,
    about: 'Other pending deliveries of the same order.',
    source: 'delivery mirror',
  },
  rejected_before: {
    type: 'int',
    unit: 'deliveries',
    min: 0,
    about: 'Deliveries of the same order that were rejected.',
    source: 'delivery mirror',
  },
  accepted_before: {
    type: 'int',
    unit: 'deliveries',
    min: 0,
    about: 'Other deliveries of the same order that are accepted.',
    source: 'delivery mirror',
  },
  account_no: {
    type: 'string',
    optional: true,
    about: 'Account number of the buyer.',
    source: 'shippingAddress.accountNo',
  },
  company: {
    type: 'string',
    optional: true,
    about: 'Company the goods go to.',
    source: 'shippingAddress.company',
  },
} as const;

const season = {
  name: { type: 'string', optional: true, about: 'Name of the season.', source: 'seasonName' },
  listed: {
    type: 'bool',
    optional: true,
    about: 'The service still lists the season of the pre-order.',
    source: 'season mirror',
  },
  delivery_names: {
    type: 'strings',
    optional: true,
    about: 'Delivery windows of the season.',
    source: 'deliveryNames',
  },
} as const;

const clock = {
  now: { type: 'timestamp', about: 'The moment of the decision.', source: 'clock' },
  business_hours: {
    type: 'bool',
    about: 'Somebody is at work now (calendar in settings.yaml).',
    source: 'clock and calendar',
  },
  weekday: {
    type: 'enum',
    values: WEEKDAYS,
    about: 'Day of the week where the business is.',
    source: 'clock and calendar',
  },
} as const;

export const RECORDS = { delivery, line, order, customer, credit, season, clock } as const;

export type RecordName = keyof typeof RECORDS;

/** Names a condition may start with, and whether the whole record may be absent. */
export const ROOTS = {
  delivery: { optional: false },
  order: { optional: false },
  customer: { optional: true },
  season: { optional: true },
  clock: { optional: false },
} as const;

export type RootName = keyof typeof ROOTS;

export const ROOT_NAMES: readonly RootName[] = ['delivery', 'order', 'customer', 'season', 'clock'];

/** Fields of a record as an open table, for code that walks it by name. */
export function fieldsOf(record: RecordName): Readonly<Record<string, FieldSpec>> {
  return RECORDS[record];
}

export function isRecordName(name: string | undefined): name is RecordName {
  return name !== undefined && Object.hasOwn(RECORDS, name);
}
