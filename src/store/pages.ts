/** Pages of long lists, found by the number of a row and never by counting rows. */
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import { RefusedError } from '../lib/errors.ts';

/** Place in a list of numbered rows, the newest first; both numbers are texts of addresses. */
export interface IdPage {
  /** Number below which the page begins. */
  readonly after?: string | undefined;
  /** Number above which the page ends; takes precedence. */
  readonly back?: string | undefined;
  readonly limit: number;
}

/**
 * The number that a place names.
 * @throws RefusedError `list.no_place`
 */
export function placeNumber(place: string): number {
  if (/^\d{1,15}$/.test(place)) return Number(place);
  throw new RefusedError('list.no_place', 'there is no such place in the list', {
    hint: 'begin again without it',
  });
}

/** Rows of a page, the newest first; `column` is the number of a row, or SQL for it. */
export async function newestFirst<DB, TB extends keyof DB, O>(
  query: SelectQueryBuilder<DB, TB, O>,
  column: string | RawBuilder<number>,
  { after, back, limit }: IdPage,
): Promise<O[]> {
  const id = typeof column === 'string' ? sql.ref<number>(column) : column;
  if (back !== undefined) {
    const later = query.where(sql<boolean>`${id} > ${placeNumber(back)}`);
    const rows = await later.orderBy(id, 'asc').limit(limit).execute();
    return rows.toReversed();
  }
  const from =
    after === undefined ? query : query.where(sql<boolean>`${id} < ${placeNumber(after)}`);
  return from.orderBy(id, 'desc').limit(limit).execute();
}
