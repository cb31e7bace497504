/** Reads the review list by an address's filter, for pages, programs and the command line. */
import {
  listForReview,
  type ReviewFilter,
  type ReviewPage,
} from '../../decisions/review/listing.ts';
import type { Db } from '../../store/store.ts';
import type { Session } from '../access/sessions.ts';
import { reviewListQuery } from '../acts.ts';
import { filterOf } from '../filter.ts';
import type { ReadRules } from '../rules.ts';

export interface ReviewList {
  readonly filter: ReviewFilter;
  readonly sort: ReturnType<typeof reviewListQuery.parse>['sort'];
  readonly descending: boolean;
  readonly page: ReviewPage;
}

/**
 * Reads one page of the review list; throws ZodError where the query is not valid. Without
 * `reader`, as for the command line, nothing is masked.
 */
export async function readReviewList(
  db: Db,
  rulesShown: ReadRules,
  now: number,
  asked: unknown,
  reader: Pick<Session, 'seesAddresses'> = { seesAddresses: true },
): Promise<ReviewList> {
  const { sort, descending, after, limit, ...query } = reviewListQuery.parse(asked);
  const { owners } = await rulesShown();
  const filter = filterOf(query, now, owners, reader);
  const page = await listForReview(db, filter, { sort, descending, after, limit });
  return { filter, sort, descending, page };
}
