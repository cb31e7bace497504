/**
 * The one table of facts. CEL types, lint, documentation, the JSON Schema of rule tests and the
 * TypeScript type of the plain data are all read from here, so a fact exists everywhere or nowhere.
 *
 * A record is a group of fields (`delivery`, one of its `line`s, `credit` …). A field is optional
 * when the mirror or the ERP may not know it: reading an absent field makes a condition unknown,
 * which is neither true nor false. A derived field may be left out of the plain data; it is then
 * computed from the others in `build.ts`, in one place for live decisions, tests and replays.
 *
 * A new fact is a field here or in `fields.ts`; its value comes from other facts in `build.ts`, or
 * from the mirror in `decisions/facts.ts` and a file of `decisions/facts/`: `lines.ts`, and
 * `customer.ts` for the ERP's figures and what is counted over other orders, refunds and deliveries
 * (behind `isRead`, so that only facts in use are counted). A member that the mirror has no column
 * for gets one first, as the head of `mirror/sales-order.ts` says; in `client/v1/schemas.ts` the
 * member is wrapped in `decides`, else an unreadable one counts as absent. It may also need:
 * - an entry in `EXTRA_FACTS` of `decisions/facts/lines.ts`, if a variant's `extra` tells it;
 * - an entry in `PRIVATE_FACT` of `console/mask.ts`, if it tells of a person;
 * - an entry in `decisions/fact-streams.ts`, if it comes from a pulled list (stock, seasons,
 *   styles, colors), and in `decisions/reject/freshness.ts`, if it counts pieces in stock;
 * - an entry in `NO_SUMS` of `decisions/facts.ts`, if it is a sum of lines;
 * - its own `isRead` beside that of the facts it is derived from, where these are behind one, and
 *   then a source in `decisions/simulation/past/facts.ts`, else backtests do not know it;
 * - an entry in `rules/analysis/absence.ts`, if there is none of it for many good deliveries;
 * - a name that `BY_TIME` of `rules/cel/operands.ts` knows, if it changes by the clock alone;
 * - an entry in `decisions/simulation/never-occurred.ts`, if it is a text in a column;
 * - a value in `typical.ts`, if most deliveries have one;
 * - an entry in `settingsRead` of `rules/compile.ts`, if a setting of the rules changes it.
 *
 * A new root record is also a member of `Facts` in `plain.ts`, a class in `build.ts` and a type in
 * `cel/environment.ts`. After either, `npm run references` writes the pages and schemas again.
 */
import { credit, customer, line } from './fields.ts';

type FactType =
  | 'string'
  | 'bool'
  | 'int'
  | 'money'
  | 'percent'
  | 'decimal'
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
  /** Kind of code that a `string` is; literals of another form can never match. */
  readonly code?: 'country' | 'currency';
  /** Name of the record that a `record` or `records` field contains. */
  readonly of?: string;
  readonly unit?: string;
  /** Smallest value that the field can have. */
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
  weekday: {
    type: 'enum',
    values: WEEKDAYS,
    optional: true,
    about: 'Day of the week on which it was packed, which waiting does not change.',
    source: 'delivery.created_at, and the time zone in settings.yaml',
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
  amount_base: {
    type: 'money',
    optional: true,
    derived: true,
    unit: 'order.base_currency',
    about: 'The same in the base currency; absent without a rate. Needs no currency condition.',
    source: 'delivery.amount * order.base_rate',
  },
  weight: {
    type: 'int',
    optional: true,
    derived: true,
    unit: 'grams',
    min: 0,
    about: 'Weight of the delivery; absent when the weight of one of its lines is not known.',
    source: 'sum of line.quantity * line.weight',
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
  canceled: {
    type: 'bool',
    optional: true,
    derived: true,
    about: 'The order is canceled.',
    source: 'order.status',
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
  zip: { type: 'string', optional: true, about: 'Postal code.', source: 'shippingAddress.zip' },
  city: { type: 'string', optional: true, about: 'City.', source: 'shippingAddress.city' },
  address_complete: {
    type: 'bool',
    optional: true,
    about:
      'The address has a street, a country, and a city and a postal code where the country has ' +
      'such (Hong Kong, Ireland and the Emirates need no code).',
    source: 'address or address2, city, zip and countryCode of shippingAddress',
  },
  currency: {
    type: 'string',
    code: 'currency',
    optional: true,
    about: 'Currency of every amount of the order (ISO code such as DKK).',
    source:
      'currency, or the one that the variants of its lines have, or service.dialect.v1.currency',
  },
  amount: {
    type: 'money',
    optional: true,
    unit: 'order.currency',
    about: 'Value of the whole order without freight; absent when a line has no price.',
    source: 'sum over the order lines',
  },
  amount_base: {
    type: 'money',
    optional: true,
    derived: true,
    unit: 'order.base_currency',
    about: 'The same in the base currency; absent without a rate. Needs no currency condition.',
    source: 'order.amount * order.base_rate',
  },
  base_rate: {
    type: 'decimal',
    optional: true,
    about: 'Value of 1 of the order’s currency in the base currency; 1 of the base currency is 1.',
    source: 'rates in settings.yaml',
  },
  base_currency: {
    type: 'string',
    code: 'currency',
    optional: true,
    about: 'Currency of the amounts in the base currency.',
    source: 'base_currency in settings.yaml',
  },
  quantity: {
    type: 'int',
    optional: true,
    unit: 'pieces',
    about: 'Pieces ordered; an assortment counts as one.',
    source: 'quantity of the order lines',
  },
  delivered_quantity: {
    type: 'int',
    optional: true,
    unit: 'pieces',
    about:
      'Pieces in all pending and accepted deliveries of the order, this one included; absent ' +
      'when one of them does not tell.',
    source: 'delivery mirror',
  },
  remaining_quantity: {
    type: 'int',
    optional: true,
    derived: true,
    unit: 'pieces',
    about: 'Pieces that are still to be packed; below 0 when more was packed than ordered.',
    source: 'order.quantity - order.delivered_quantity',
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
  similar_within: {
    type: 'duration',
    optional: true,
    min: 0,
    about:
      'Time between this order and the newest of the account’s orders before it with the same ' +
      'barcodes and pieces, in the last 30 days; absent when there is none.',
    source: 'order mirror, without canceled orders',
  },
  repeated_within: {
    type: 'duration',
    optional: true,
    min: 0,
    about: 'The same, of those only that have the reference of this order too.',
    source: 'order mirror, without canceled orders',
  },
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

const stock = {
  age: {
    type: 'duration',
    optional: true,
    min: 0,
    about: 'Time since the stock was last read as a whole.',
    source: 'clock.now less the last complete pull of the stock',
  },
} as const;

const today = {
  accepted: {
    type: 'int',
    optional: true,
    unit: 'deliveries',
    min: 0,
    about: 'Other deliveries that the rules accepted in the last 24 hours.',
    source: 'decisions, without those whose push came to nothing',
  },
  amount: {
    type: 'money',
    optional: true,
    unit: 'order.currency',
    about: 'Value of these, of those in the currency of the order; absent when it is not known.',
    source: 'decisions and delivery mirror',
  },
  amount_base: {
    type: 'money',
    optional: true,
    unit: 'order.base_currency',
    about: 'Value of all of them in the base currency; absent when a price or a rate is missing.',
    source: 'decisions, delivery mirror, and rates in settings.yaml',
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

export const RECORDS = {
  delivery,
  line,
  order,
  customer,
  credit,
  season,
  stock,
  today,
  clock,
} as const;

export type RecordName = keyof typeof RECORDS;

/** Records that a condition's path may start with; `optional`: the whole record may be absent. */
export const ROOTS = {
  delivery: { optional: false },
  order: { optional: false },
  customer: { optional: true },
  season: { optional: true },
  stock: { optional: true },
  today: { optional: true },
  clock: { optional: false },
} as const;

export type RootName = keyof typeof ROOTS;

export const ROOT_NAMES: readonly RootName[] = [
  'delivery',
  'order',
  'customer',
  'season',
  'stock',
  'today',
  'clock',
];

/** Fields of a record by name, for code that walks over all of them. */
export function fieldsOf(record: RecordName): Readonly<Record<string, FieldSpec>> {
  return RECORDS[record];
}

export function isRecordName(name: string | undefined): name is RecordName {
  return name !== undefined && Object.hasOwn(RECORDS, name);
}

/** Owner of an amount's currency: the order, the ERP's credit figures, or the settings. */
export type CurrencyOwner = 'order' | 'credit' | 'base';

export function currencyOwner(record: RecordName, field: string): CurrencyOwner {
  if (fieldsOf(record)[field]?.unit === 'order.base_currency') return 'base';
  return record === 'credit' ? 'credit' : 'order';
}
