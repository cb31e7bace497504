/**
 * Describes the book of open orders: how old the looks of the sweeps are, what these cost, and
 * whether the account's limit of requests can carry the book.
 */
import type { Config } from '../config/schema.ts';
import { formatDuration } from '../lib/units.ts';
import { oldestLookAt, readBook } from '../mirror/order-book.ts';
import type { Db } from '../store/store.ts';
import type { ServicePace } from './pace.ts';

export interface BookStatus {
  /** Open orders that may change soon, which each sweep looks at, and the others. */
  readonly active: number;
  readonly calm: number;
  /** Age of the oldest look at an active order, ms; null: there is none, or one had no look. */
  readonly activeAgeMs: number | null;
  /** Age of the oldest look at any open order as a whole, ms; null: none is open. */
  readonly calmAgeMs: number | null;
  /** Requests of sweeps per second in the last hours, of a day at most; null: not measured yet. */
  readonly requestsPerSecond: number | null;
  /** Requests of one sweep of the active orders, and of one round through the whole book. */
  readonly activeRequests: number;
  readonly roundRequests: number;
}

/** The book as the last sweep left it; null: none has ended yet. */
export async function readBookStatus(db: Db, now: number): Promise<BookStatus | null> {
  const book = await readBook(db);
  if (!book) return null;
  const ageOf = (at: number | null): number | null => (at === null ? null : Math.max(0, now - at));
  const { active, calm, activeRequests, roundRequests, spent } = book;
  const ms = spent.reduce((sum, one) => sum + one.ms, 0);
  const requests = spent.reduce((sum, one) => sum + one.requests, 0);
  return {
    active,
    calm,
    activeRequests,
    roundRequests,
    activeAgeMs: ageOf(book.activeLookedAt),
    calmAgeMs: ageOf(await oldestLookAt(db)),
    requestsPerSecond: ms > 0 ? (requests * 1_000) / ms : null,
  };
}

function percent(share: number): string {
  return `${share < 0.1 ? (share * 100).toFixed(1) : Math.round(share * 100)} %`;
}

/** Age in whole minutes, beyond the first one. */
function age(ms: number): string {
  const unit = ms < 60_000 ? 1_000 : 60_000;
  return formatDuration(Math.floor(ms / unit) * unit);
}

/** Line of the status; without a limit, the share of the requests is left out. */
export function describeBook(book: BookStatus, perSecond: number | undefined): string {
  const { active, calm, activeAgeMs, calmAgeMs, requestsPerSecond: spent } = book;
  const look = activeAgeMs === null ? 'one never read' : `the oldest look ${age(activeAgeMs)} ago`;
  const soon = active === 0 ? 'none active' : `${active} active, ${look}`;
  const rest = calmAgeMs === null ? '' : `; ${calm} calm, the oldest look ${age(calmAgeMs)} ago`;
  const share =
    spent === null || perSecond === undefined
      ? ''
      : `; sweeps take ${percent(spent / perSecond)} of ${perSecond}/s`;
  return `${soon}${rest}${share}`;
}

/** Ms for which a noted pace tells what the account takes. */
const PACE_MS_MAX = 86_400_000;

/** Requests per second that the account takes: as it has shown within a day, or as configured. */
export function limitOf(
  { service }: Pick<Config, 'service'>,
  pace: ServicePace | null,
  now: number,
): number {
  const { requestsPerSecond } = service.limits;
  const isRecent = pace !== null && now - pace.at <= PACE_MS_MAX;
  const perSecond = isRecent ? Math.min(requestsPerSecond, pace.perSecond) : requestsPerSecond;
  return Number(perSecond.toPrecision(2));
}

/** Requests per second without which the looks get older than their freshness allows. */
export function bookDemand(book: BookStatus, { streams }: Pick<Config, 'streams'>): number {
  const { freshness, calmFreshness } = streams.orders;
  const perMs = book.activeRequests / freshness + book.roundRequests / calmFreshness;
  return Number((perMs * 1_000).toPrecision(2));
}

/** Says that looks at open orders are older than allowed; undefined: they are not. */
export function overdueLooks(
  book: BookStatus | null,
  { streams }: Pick<Config, 'streams'>,
): string | undefined {
  const { calmFreshness } = streams.orders;
  const oldest = book?.calmAgeMs ?? 0;
  if (streams.off.includes('orders') || oldest <= calmFreshness) return undefined;
  const limit = `streams.orders.calmFreshness: ${formatDuration(calmFreshness)}`;
  return `the oldest look at an open order was ${age(oldest)} ago (${limit})`;
}
