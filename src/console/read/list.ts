/** Reads the review list by an address's filter, for pages, programs and the command line. */
import { z } from 'zod';
import { filterOf, type ReviewFilter, reviewFilter } from '../../decisions/review/filter.ts';
import { listForReview, type ReviewPage, SORTS } from '../../decisions/review/listing.ts';
import type { Db } from '../../store/store.ts';
import { readGiven } from '../../surface/given.ts';
import { as, flag, oneOf, text } from '../../surface/members.ts';
import type { Session } from '../access/sessions.ts';
import type { ReadRules } from '../rules.ts';

/** Rows of a page; LIST_MAX: of a whole list for a spreadsheet. */
const PAGE_ROWS = 100;
export const LIST_MAX = 10_000;

export const reviewListQuery = z.strictObject({
  ...reviewFilter,
  sort: oneOf('Order', SORTS).default('waiting'),
  descending: flag('The greatest, longest or last first').optional(),
  // It may hold a customer's name, because the list can be sorted by it.
  after: text('Place after which the page begins', {}, 2_000).optional(),
  limit: as(z.int().min(1).max(LIST_MAX), 'Rows', 'whole').default(PAGE_ROWS),
});

export interface ReviewList {
  readonly filter: ReviewFilter;
  readonly sort: z.output<typeof reviewListQuery>['sort'];
  readonly descending: boolean;
  readonly page: ReviewPage;
}

/**
 * Reads one page of the review list; members that it does not know are left out. Without `reader`,
 * as for the command line, nothing is masked.
 * @throws UsageError `request.invalid`
 */
export async function readReviewList(
  db: Db,
  rulesShown: ReadRules,
  now: number,
  asked: Readonly<Record<string, unknown>>,
  reader: Pick<Session, 'seesAddresses'> = { seesAddresses: true },
): Promise<ReviewList> {
  const known = Object.entries(asked).filter(([name]) => name in reviewListQuery.shape);
  const wanted = readGiven(reviewListQuery, Object.fromEntries(known), now);
  const { sort, descending = false, after, limit, ...query } = wanted;
  const { owners } = await rulesShown();
  const filter = filterOf(query, now, owners, reader);
  const page = await listForReview(db, filter, { sort, descending, after, limit });
  return { filter, sort, descending, page };
}
