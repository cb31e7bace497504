/**
 * Windows of the review list. What is open is short and read whole. What is long decided grows for
 * years, so that a page looks through the newest of it alone, and the next page goes on from there:
 * nothing is out of reach, and no page costs more as the years pass.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../../store/store.ts';
import type { ReviewFilter, Shown } from './filter.ts';

/** Most deliveries that one window has: as many as the longest list that is given out. */
export const WINDOW_ROWS = 10_000;

/** Place of the first window: above all ids. */
export const FIRST_WINDOW = Number.MAX_SAFE_INTEGER;

export interface Windowed {
  /** SQL condition that a delivery `d` is in the window. */
  readonly where: RawBuilder<boolean>;
  /** Id below which the next window begins; null: there is none. */
  readonly next: number | null;
}

/** SQL: ids of what each list of the past shows, by an index in their order. */
const IDS: Partial<Readonly<Record<Shown, RawBuilder<unknown>>>> = {
  accepted: sql`delivery where status = 'accepted' and`,
  rejected: sql`delivery where status = 'rejected' and`,
  canceled: sql`delivery where status = 'canceled' and`,
  refused: sql`outbox where state in ('refused', 'dead') and order_delivery_id is not null and`,
  all: sql`delivery where`,
};

/** The deliveries of the customer's newest orders: what one customer has ordered is one window. */
function ofCustomer(accountNo: string): Windowed {
  const where = sql<boolean>`d.order_id in (select order_id from sales_order
    where account_no = ${accountNo} order by order_id desc limit ${WINDOW_ROWS})`;
  return { where, next: null };
}

/** Whether an order is of a customer with this number; else it is a part of a name. */
async function isAccount(db: Db | Tx, named: string): Promise<boolean> {
  const { rows } = await sql`select 1 from sales_order where account_no = ${named}
    limit 1`.execute(db);
  return rows.length > 0;
}

export async function windowOf(
  db: Db | Tx,
  { shown, customer, ids: only }: Pick<ReviewFilter, 'shown' | 'customer' | 'ids'>,
  below: number = FIRST_WINDOW,
): Promise<Windowed> {
  if (only) return { where: sql`d.order_delivery_id in (${sql.join(only)})`, next: null };
  const ids = IDS[shown];
  if (ids === undefined) return { where: sql`true`, next: null };
  if (customer !== undefined && (await isAccount(db, customer))) return ofCustomer(customer);
  const { rows } = await sql<{ readonly id: number }>`
    select order_delivery_id id from ${ids} order_delivery_id < ${below}
    order by order_delivery_id desc limit 1 offset ${WINDOW_ROWS - 1}`.execute(db);
  const lowest = rows[0]?.id ?? Number.MIN_SAFE_INTEGER;
  const next = rows[0]?.id ?? null;
  const range = sql`order_delivery_id >= ${lowest} and order_delivery_id < ${below}`;
  if (shown !== 'refused') {
    const where = sql<boolean>`d.order_delivery_id >= ${lowest} and d.order_delivery_id < ${below}`;
    return { where, next };
  }
  return {
    where: sql`d.order_delivery_id in (select order_delivery_id from ${ids} ${range})`,
    next,
  };
}

/** Id below which the window begins whose end is above this id. */
export async function windowBefore(
  db: Db | Tx,
  { shown }: Pick<ReviewFilter, 'shown'>,
  above: number,
): Promise<number> {
  const ids = IDS[shown];
  if (ids === undefined) return FIRST_WINDOW;
  const { rows } = await sql<{ readonly id: number }>`
    select order_delivery_id id from ${ids} order_delivery_id >= ${above}
    order by order_delivery_id limit 1 offset ${WINDOW_ROWS}`.execute(db);
  return rows[0]?.id ?? FIRST_WINDOW;
}
