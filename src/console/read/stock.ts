/** Reads the pieces of a style through time, for its chart. */
import { sql } from 'kysely';
import { isoDay, localClockOf } from '../../lib/local-time.ts';
import type { Db } from '../../store/store.ts';

/** Pieces of a color and size at the end of a day. */
interface StockDay {
  readonly day: string;
  readonly color: string | null;
  readonly size: string | null;
  readonly pieces: number | null;
}

export interface StockHistory {
  readonly rows: readonly StockDay[];
  /** All days from that of the first row to today. */
  readonly days: readonly string[];
  /** Days on which the mirror changed, with complete rows; others are as the day before. */
  readonly told: ReadonlySet<string>;
}

const DAY_MS = 86_400_000;
const HISTORY_DAYS = 90;

/** Stock of a style at the end of each of 90 days, as far as the change feed reaches back. */
export async function readStockHistory(
  db: Db,
  style: string,
  now: number,
  timeZone: string,
): Promise<StockHistory> {
  const today = Date.parse(localClockOf(timeZone)(now).date);
  const since = isoDay(today - (HISTORY_DAYS - 1) * DAY_MS);
  const { rows } = await sql<StockDay>`
    select day, color_name color, size, sum(quantity) pieces
    from v_style_stock_day where style_no = ${style} and day >= ${since}
    group by day, color_name, size order by day`.execute(db);
  const { rows: told } = await sql<{ day: string }>`
    select day from feed_day where day >= ${since}`.execute(db);
  const days: string[] = [];
  const [first] = rows;
  if (first) {
    for (let at = Date.parse(first.day); at <= today; at += DAY_MS) days.push(isoDay(at));
  }
  return { rows, days, told: new Set(told.map(({ day }) => day)) };
}
