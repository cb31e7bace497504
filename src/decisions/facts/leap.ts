/**
 * Finds numbers that stand in two indexes by leaping from the next of the one to the next of the
 * other: as many steps as the shorter of the two has entries, however long the other one is. A join
 * would read all of the one that SQLite begins with.
 */
import { type RawBuilder, sql } from 'kysely';

/** SQL: the least number of an index that is not below `from`, or of its part. */
type Next = (from: RawBuilder<unknown>) => RawBuilder<unknown>;

interface Leap {
  /** SQL: a query of the parts of the first index, in a column `part`. */
  readonly parts: RawBuilder<unknown>;
  /** Next number of the part that the column `part` names. */
  readonly own: Next;
  readonly other: Next;
}

const FIRST = sql`${sql.lit(Number.MIN_SAFE_INTEGER)}`;

/** SQL: a recursive table `leap`, whose rows with `own = other` are the parts and their numbers. */
export function leaping({ parts, own, other }: Leap): RawBuilder<unknown> {
  return sql`leap(part, own, other)
    as (select part, ${own(FIRST)}, ${other(FIRST)} from (${parts})
    union all
    select part,
      case when own <= other then ${own(sql`leap.other + (leap.own = leap.other)`)} else own end,
      case when own > other then ${other(sql`leap.own`)} else other end
    from leap where own is not null and other is not null)`;
}
