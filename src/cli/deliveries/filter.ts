/** The filter of the review list as options of commands; the console's page has the same filter. */
import type { Command } from 'commander';
import { z } from 'zod';
import { readReviewList } from '../../console/read/list.ts';
import { createRulesShown } from '../../console/rules.ts';
import type { Matching } from '../../decisions/review/bulk.ts';
import { reviewQuery, type Shown } from '../../decisions/review/filter.ts';
import {
  type ReviewPage,
  type ReviewRow,
  selectForReview,
} from '../../decisions/review/listing.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Db } from '../../store/store.ts';
import type { Query, RemoteConsole } from '../remote/console.ts';
import { isoMoment } from '../remote/shapes.ts';
import { filterOptions } from '../surface-many.ts';
import { statedBy } from '../surface-options.ts';

export function addFilterOptions(command: Command): Command {
  for (const option of filterOptions(reviewQuery)) command.addOption(option);
  return command;
}

/** Builds the filter's query as the console's address has it. */
export function filterQuery(command: Command, shown: Shown): Query {
  const asked = { ...statedBy({ input: reviewQuery }, command), shown };
  return Object.fromEntries(Object.entries(asked).map(([name, value]) => [name, String(value)]));
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
