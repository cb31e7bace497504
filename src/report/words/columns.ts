/**
 * Words for columns of reports: heading, unit and kind by SQL name. Pages, prints, workbooks and
 * mails show them; CSV and JSON keep the SQL names, which programs read. They hold in every report;
 * one that means something else, or less, says so in its head (`columns`, `formats`).
 */

import { WORDS } from '../../config/words.ts';
import type { ParameterValues } from '../parameters.ts';
import type { Cell } from '../query.ts';
import type { Report } from '../report-file.ts';
import type { ColumnKind, Parameter } from '../report-head.ts';

interface ColumnWords {
  readonly heading: string;
  readonly kind?: ColumnKind;
  /** Unit of the numbers, shown behind the heading. */
  readonly unit?: string;
  /** Whether a column with zeros alone tells nothing, and is left out for people. */
  readonly isException?: true;
  /** Words for the column's values. */
  readonly values?: keyof typeof VALUES;
}

function kinded(kind: ColumnKind) {
  return (heading: string, unit?: string): ColumnWords => ({
    heading,
    kind,
    ...(unit !== undefined && { unit }),
  });
}

const [amount, count, percent] = [kinded('amount'), kinded('count'), kinded('percent')];
const [text, number, date, heat] = [
  kinded('text'),
  kinded('number'),
  kinded('date'),
  kinded('heat'),
];

function coded(heading: string, values: keyof typeof VALUES): ColumnWords {
  return { heading, kind: 'text', values };
}

export const COLUMNS: Readonly<Record<string, ColumnWords>> = {
  // Orders, deliveries, customers.
  account: text('Brand account'),
  account_no: text('Account no.'),
  company: text('Customer'),
  country_code: text('Country'),
  order_id: text('Order id'),
  order_no: text('Order no.'),
  delivery_no: text('Delivery no.'),
  reference: text('Reference'),
  status: coded('Status', 'status'),
  ordered_at: date('Ordered'),
  packed_at: date('Packed'),
  created_at: date('Created'),
  accepted_at: date('Accepted'),
  shipped_at: date('Shipped'),
  tracking_numbers: text('Tracking numbers'),
  tariff_no: text('Tariff no.'),
  origin: text('Origin'),
  weight_kg: number('Weight', 'kg'),
  oldest: date('Oldest'),
  last_ordered_at: date('Last order'),
  orders: count('Orders'),
  open_orders: count('Open orders'),
  deliveries: count('Deliveries'),
  held: count('Held'),
  refunds: count('Refunds'),
  pending_refund_id: text('Pending refund'),
  name: text('Name'),
  // Money.
  amount: amount('Value'),
  open_amount: amount('Open value'),
  price: amount('Price'),
  list_price: amount('List price'),
  wholesale_value: amount('Value at wholesale prices'),
  currency: text('Currency'),
  unpriced: { ...count('Without a price'), isException: true },
  credit_limit: amount('Credit limit'),
  balance: amount('Balance'),
  credit_left: heat('Credit left'),
  credit_currency: text('Credit in'),
  overdue_days: count('Overdue', 'days'),
  blocked: coded('Blocked', 'yes'),
  // Goods.
  style_no: text('Style no.'),
  style_name: text('Style'),
  brand_name: text('Brand'),
  color_code: text('Colour code'),
  color_name: text('Colour'),
  size: text('Size'),
  size_rank: number('Place of the size'),
  barcode: text('Barcode'),
  season_name: text('Season'),
  delivery_name: text('Delivery window'),
  from_day: date('Window begins'),
  variants: count('Variants'),
  figure: coded('Figure', 'figure'),
  // Pieces.
  pieces: count('Pieces'),
  total: count('Total'),
  quantity: count('Quantity'),
  in_stock: count('In stock'),
  packed: count('Packed'),
  to_pack: count('To pack'),
  ats: heat('Free'),
  ordered: count('Ordered'),
  shipped: count('Shipped'),
  open: count('Open'),
  missing: count('Missing'),
  restocked: count('Back in stock'),
  sold: count('Sold'),
  of_preorders: count('Delivered of pre-orders'),
  open_preorders: count('Open pre-orders'),
  covered: count('Covered'),
  complete: count('Complete'),
  // Shares.
  shipped_percent: percent('Shipped'),
  fill_percent: percent('Fill rate'),
  complete_percent: percent('Orders complete'),
  cover_percent: percent('Cover'),
  return_percent: percent('Return rate'),
  sell_through_percent: percent('Sell-through'),
  difference_percent: percent('Difference'),
  week_percent: percent('Share of the week'),
  cover_weeks: number('Cover', 'weeks'),
  // Time.
  day: date('Day'),
  week: date('Week from'),
  waits: text('Waiting'),
  not_sold_for: text('Not sold for'),
  age_hours: number('Waiting', 'h'),
  longest_hours: number('Longest wait', 'h'),
  decided_p50: number('Packed to decided: half within', 'min'),
  decided_p95: number('Packed to decided: 95 % within', 'min'),
  confirmed_p50: number('Decided to confirmed: half within', 'min'),
  confirmed_p95: number('Decided to confirmed: 95 % within', 'min'),
  shipped_p50: number('Confirmed to shipped: half within', 'h'),
  shipped_p95: number('Confirmed to shipped: 95 % within', 'h'),
  // Decisions.
  outcome: coded('Outcome', 'outcome'),
  rule: text('Rule'),
  rules_said: coded('The rules said', 'outcome'),
  became: coded('Became', 'status'),
  decided: coded('Last outcome', 'outcome'),
  decided_by: text('Decided by'),
  decisions: count('Decisions'),
  held_by: text('Held by'),
  reason: coded('Reason', 'reason'),
  // Operation.
  entity: coded('Kind of row', 'entity'),
  op: coded('Change', 'op'),
  changed: text('Changed'),
  changes: count('Changes'),
  rows: count('Rows'),
  last_at: date('Last'),
  latest_key: text('Latest row'),
  key: text('Key'),
  why: text('Why'),
  member: text('Member'),
  example: text('Example'),
  path: text('Path'),
  times: count('Times'),
  last_seen_at: date('Last seen'),
  at: date('Time'),
  kind: coded('Kind', 'incident'),
  detail: text('Details'),
  stream: coded('Stream', 'stream'),
  complete_at: date('Last complete'),
  age_seconds: count('Age', 's'),
  due_at: date('Due'),
  failures: count('Failures in a row'),
  last_error: text('Last error'),
  run_id: text('Run'),
  rows_seen: count('Rows read'),
  rows_changed: count('Rows changed'),
  rows_deleted: count('Rows gone'),
  rows_quarantined: count('Rows not read'),
  seconds: number('Took', 's'),
  started_at: date('Started'),
  state: coded('State', 'state'),
  attempts: count('Attempts'),
  handed_in_at: date('Submitted'),
  ended_at: date('Ended'),
};

/** Kind that a report or, of a shipped one, the dictionary declares; undefined: by the values. */
export function declaredKind(
  { formats, isOwn }: Pick<Report, 'formats' | 'isOwn'>,
  name: string,
): ColumnKind | undefined {
  return formats[name] ?? (isOwn ? undefined : COLUMNS[name]?.kind);
}

/** `over-limit`, `open_amount`: as words, the first letter large. */
export function inWords(name: string): string {
  const words = name.replaceAll(/[_-]+/g, ' ').trim();
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

/** Word for a parameter in forms and below titles. */
export function labelOf(name: string, { label }: Pick<Parameter, 'label'>): string {
  return label ?? inWords(name);
}

/** Heading of a column with its unit; `{by}` in it stands for the value of the parameter `by`. */
export function headingOf(
  { columns }: Pick<Report, 'columns'>,
  values: ParameterValues,
  name: string,
): string {
  const known = COLUMNS[name];
  const own = columns[name];
  const heading = own ?? known?.heading ?? inWords(name);
  const unit = own === undefined ? known?.unit : undefined;
  const filled = heading.replaceAll(/\{([a-z0-9_]+)\}/g, (_all, param: string) =>
    inWords(String(values[param] ?? '')),
  );
  return unit === undefined ? filled : `${filled} (${unit})`;
}

/** A cell in words: the name of a state becomes the word for it, a sentence stays. */
export function valueInWords(column: string, cell: Cell): Cell {
  const vocabulary = COLUMNS[column]?.values;
  if (vocabulary === undefined || cell === null || cell === '') return cell;
  const words: Readonly<Record<string, string>> = VALUES[vocabulary];
  const name = String(cell);
  if (words[name] !== undefined || !/^[\w/]+$/.test(name)) return words[name] ?? cell;
  return inWords(name.replaceAll('/', ', ').replaceAll(/([a-z])([A-Z])/g, '$1 $2'));
}

// Words for values of columns that are names of states, kinds and lists, as cells begin.

function begun(words: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(words).map(([name, word]) => [
      name,
      `${word.charAt(0).toUpperCase()}${word.slice(1)}`,
    ]),
  );
}

const VALUES = {
  outcome: { ...begun(WORDS.runOutcome), ...begun(WORDS.outcome) },
  status: begun(WORDS.status),
  state: begun(WORDS.pushState),
  figure: {
    'in stock': 'On hand',
    'pre-orders': 'Pre-orders',
    'cover %': 'Cover (%)',
  },
  op: begun(WORDS.change),
  entity: begun(WORDS.thing),
  stream: begun(WORDS.stream),
  incident: begun(WORDS.incident),
  reason: { '(none)': 'Not told' },
  yes: { 0: 'No', 1: 'Yes' },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;
