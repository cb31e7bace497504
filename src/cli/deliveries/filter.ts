/** The filter of the review list as options of commands; the console's page has the same filter. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { readReviewList } from '../../console/read/list.ts';
import { createRulesShown } from '../../console/rules.ts';
import { BULK_MAX, markOf } from '../../decisions/review/bulk.ts';
import {
  type ReviewPage,
  type ReviewRow,
  type ReviewSelection,
  type Shown,
  selectForReview,
} from '../../decisions/review/listing.ts';
import { systemClock } from '../../lib/clock.ts';
import { formatDecimal } from '../../lib/money.ts';
import type { Db } from '../../store/store.ts';
import { duration } from '../arguments.ts';
import type { Query, RemoteConsole } from '../remote/console.ts';
import { isoMoment } from '../remote/shapes.ts';

const HOUR_MS = 3_600_000;

export interface FilterOptions {
  readonly rule?: string;
  readonly owner?: string;
  readonly country?: string;
  readonly customer?: string;
  readonly season?: string;
  readonly currency?: string;
  readonly min?: number;
  readonly max?: number;
  /** Milliseconds that a delivery must have waited to be listed. */
  readonly older?: number;
  readonly overdue?: boolean;
  readonly search?: string;
}

function amount(text: string): number {
  const value = Number(text);
  if (/^\d{1,12}(?:\.\d{1,4})?$/.test(text)) return value;
  throw new InvalidArgumentError('It must be an amount such as 1500 or 99.95.');
}

const TEXT_CHARS_MAX = 200;

/**
 * Commander's parser of a text that is not empty: an empty one would filter nothing, and an act
 * would take all.
 */
function someText(text: string): string {
  if (text.trim() !== '' && text.length <= TEXT_CHARS_MAX) return text.trim();
  throw new InvalidArgumentError(`It must have 1 to ${TEXT_CHARS_MAX} characters.`);
}

function textOption(flags: string, what: string): Option {
  return new Option(flags, what).argParser(someText);
}

function filterOptions(): Option[] {
  return [
    textOption('--rule <rule>', 'only those that this rule decides'),
    textOption('--owner <owner>', 'only those that a rule of this owner decides'),
    textOption('--country <code>', 'only of customers in this country'),
    textOption('--customer <accountNo>', 'only of this customer'),
    textOption('--season <name>', 'only of this season'),
    textOption('--currency <code>', 'only in this currency'),
    new Option('--min <value>', 'only worth as much, or more').argParser(amount),
    new Option('--max <value>', 'only worth as much, or less').argParser(amount),
    new Option('--older <duration>', 'only those that have waited as long').argParser(duration),
    new Option('--overdue', 'only those whose hold has lasted its time'),
    textOption('--search <text>', 'only with this in a number, the reference or the customer'),
  ];
}

export function addFilterOptions(command: Command): Command {
  for (const option of filterOptions()) command.addOption(option);
  return command;
}

/** Whether the command line has one of the filter options. */
export function hasFilter(options: FilterOptions): boolean {
  const names = new Set(filterOptions().map((option) => option.attributeName()));
  return Object.keys(options).some((name) => names.has(name));
}

/** Builds the filter's query as the console's address has it. */
export function filterQuery(options: FilterOptions, shown: Shown): Query {
  const { rule, owner, country, customer, season, currency, min, max, older } = options;
  const { overdue, search } = options;
  const asked = {
    ...{ shown, rule, owner, country, customer, season, currency, min, max, q: search },
    older: older === undefined ? undefined : older / HOUR_MS,
    overdue: overdue === true ? '1' : undefined,
  };
  return Object.fromEntries(
    Object.entries(asked).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)]],
    ),
  );
}

const remoteRow: z.ZodType<ReviewRow> = z.object({
  orderDeliveryId: z.int(),
  deliveryNo: z.string().nullable(),
  orderId: z.int(),
  orderNo: z.string().nullable(),
  reference: z.string().nullable(),
  status: z.string(),
  accountNo: z.string().nullable(),
  customer: z.string().nullable(),
  country: z.string().nullable(),
  season: z.string().nullable(),
  currency: z.string().nullable(),
  pieces: z.number().nullable(),
  value: z.number().nullable(),
  packedAt: isoMoment,
  outcome: z.string().nullable(),
  reason: z.string().nullable(),
  rules: z.array(z.string()),
  decidedBy: z.string().nullable(),
  decidedAt: isoMoment.nullable(),
  push: z.string().nullable(),
  refusal: z.string().nullable(),
  deadline: isoMoment.nullable(),
  overdue: z.boolean(),
  note: z.string().nullable(),
  decisionId: z.int().nullable(),
  contentHash: z.string(),
});
const remotePage = z.object({ rows: z.array(remoteRow), next: z.string().nullable() });

/** Deliveries that fit a filter as a count and sums, without each one. */
export type Matching = Omit<ReviewSelection, 'deliveries'>;

const remoteMatching: z.ZodType<Matching> = z.object({
  count: z.int(),
  digest: z.string(),
  asOf: z.int(),
  sums: z.array(z.object({ currency: z.string().nullable(), value: z.number().nullable() })),
  customers: z.int(),
});

export interface FoundDeliveries {
  readonly page: ReviewPage;
  /**
   * All matching deliveries, for an act on them; undefined: the list is not that of held
   * deliveries.
   */
  readonly matching: Matching | undefined;
}

/** The review list on whose deliveries a person may act all at once. */
const ACTED_ON: string = 'held' satisfies Shown;

export async function findHere(db: Db, query: Query): Promise<FoundDeliveries> {
  const now = systemClock().now();
  const { filter, page } = await readReviewList(db, createRulesShown(db), now, query);
  const matching = filter.shown === ACTED_ON ? await selectForReview(db, filter) : undefined;
  return { page, matching };
}

export async function findOverUrl(remote: RemoteConsole, query: Query): Promise<FoundDeliveries> {
  const page = await remote.get('/review.json', remotePage, query);
  const isActedOn = query.shown === ACTED_ON;
  const { after: _after, limit: _limit, ...filter } = query;
  const matching = isActedOn
    ? await remote.get('/review/selection.json', remoteMatching, filter)
    : undefined;
  return { page, matching };
}

/** Describes the deliveries that an act on all would take, with the mark that it requires. */
export function describeMatching(found: Matching): string {
  const { count, customers, sums } = found;
  const values = sums.map(({ currency, value }) =>
    value === null ? 'a value that is not known' : `${formatDecimal(value, currency)} ${currency}`,
  );
  const deliveries = count === 1 ? 'delivery' : 'deliveries';
  const of = customers === 1 ? 'customer' : 'customers';
  const what = `${count} ${deliveries} of ${customers} ${of}`;
  const mark = count > BULK_MAX ? `too many to decide at once` : `mark ${markOf(found)}`;
  return [what, values.join(' + '), mark].filter((text) => text !== '').join(', ');
}
