/**
 * Figures of the book of open orders: how many may change soon, how old the looks at them are, and
 * what the sweeps cost. Each sweep leaves them for the status and the doctor.
 */
import { sql } from 'kysely';
import { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import { tryParseJson } from '../lib/json.ts';
import { readState, writeState } from '../store/state.ts';
import type { Db } from '../store/store.ts';

/** SQL condition of an open order; the partial indexes of the book have the same words. */
export const OPEN_ORDER = sql<boolean>`completed = 0 and status <> 'canceled'
  and deleted_at is null`;

const SPENT = z.object({
  /** Begin of the hour, epoch ms. */
  hour: z.number(),
  /** Requests of sweeps that ended in the hour, and the milliseconds that these covered. */
  requests: z.number(),
  ms: z.number(),
});

const BOOK = z.object({
  /** Begin of the last sweep of `orders` that reached its end, epoch ms. */
  startedAt: z.number(),
  /** Open orders that may change soon, and the others. */
  active: z.int(),
  calm: z.int(),
  /** Oldest look at an active order, epoch ms; null: there is none, or one was never looked at. */
  activeLookedAt: z.number().nullable(),
  /** Requests of one sweep of the active orders, and of one round through the whole book. */
  activeRequests: z.int(),
  roundRequests: z.int(),
  /** Number from which on the newest orders are mostly active; null: they are not. */
  denseFrom: z.int().nullable(),
  /** Requests of sweeps in the last hours in which any ended. */
  spent: z.array(SPENT).readonly(),
});

export type OrderBook = z.output<typeof BOOK>;

const HOUR_MS = 3_600_000;
/** Hours of which requests are kept. */
const HOURS = 24;

/** Requests and the time in which they were made. */
export interface Spent {
  readonly requests: number;
  readonly ms: number;
}

/** Adds what was spent until now to the hours before; those of more than a day ago are left out. */
export function spentWith(
  before: OrderBook['spent'],
  spent: Spent | undefined,
  now: number,
): OrderBook['spent'] {
  const hour = Math.floor(now / HOUR_MS) * HOUR_MS;
  const kept = before.filter((one) => one.hour > hour - HOURS * HOUR_MS && one.hour <= hour);
  if (!spent) return kept;
  const { requests, ms } = kept.find((one) => one.hour === hour) ?? { requests: 0, ms: 0 };
  const latest = { hour, requests: requests + spent.requests, ms: ms + spent.ms };
  return [...kept.filter((one) => one.hour !== hour), latest];
}

const BOOK_KEY = 'orders_book';

/** Figures of the last sweep; undefined: none has reached its end yet. */
export async function readBook(db: Db): Promise<OrderBook | undefined> {
  return BOOK.safeParse(tryParseJson((await readState(db, BOOK_KEY)) ?? '')).data;
}

export function writeBook(db: Db, book: OrderBook, clock: Clock): Promise<void> {
  return writeState(db, BOOK_KEY, JSON.stringify(book), clock);
}

/** Start of the oldest look at a whole open order, epoch ms; null: none is open. */
export async function oldestLookAt(db: Db): Promise<number | null> {
  const { rows } = await sql<{ readonly at: number | null }>`
    select min(coalesce(whole_read_at, first_seen_at)) at
    from sales_order indexed by sales_order_rotation where ${OPEN_ORDER}`.execute(db);
  return rows[0]?.at ?? null;
}

/**
 * Start of the last complete run of either stream of orders, which put all orders into the mirror;
 * 0: there was none.
 */
export async function ordersReadAt(db: Db): Promise<number> {
  const row = await db
    .selectFrom('stream_state')
    .select((eb) => eb.fn.max('complete_at').as('at'))
    .where('stream', 'in', ['orders', 'ordersFull'])
    .executeTakeFirst();
  return row?.at ?? 0;
}
