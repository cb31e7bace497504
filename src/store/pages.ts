/** Pages of long lists, found by the number of a row and never by counting rows. */
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import { RefusedError } from '../lib/errors.ts';

/** Place in a list of numbered rows; both numbers are texts of addresses. */
export interface IdPage {
  /** Number after which the page begins: below it if the newest rows come first. */
  readonly after?: string | undefined;
  /** Number before which the page ends; takes precedence. */
  readonly back?: string | undefined;
  readonly limit: number;
  readonly isOldestFirst?: boolean;
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

/**
 * Rows of a page, the newest first unless the page says otherwise; `column` is the number of a row,
 * or SQL for it.
 */
export async function newestFirst<DB, TB extends keyof DB, O>(
  query: SelectQueryBuilder<DB, TB, O>,
  column: string | RawBuilder<number>,
  { after, back, limit, isOldestFirst = false }: IdPage,
): Promise<O[]> {
  const id = typeof column === 'string' ? sql.ref<number>(column) : column;
  const isBack = back !== undefined;
  const isRising = isBack !== isOldestFirst;
  const place = back ?? after;
  const sign = sql.raw(isRising ? '>' : '<');
  const from =
    place === undefined ? query : query.where(sql<boolean>`${id} ${sign} ${placeNumber(place)}`);
  const rows = await from
    .orderBy(id, isRising ? 'asc' : 'desc')
    .limit(limit)
    .execute();
  return isBack ? rows.toReversed() : rows;
}
