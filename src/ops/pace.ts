/**
 * Says whether the limit of requests is the bottleneck. Only the daemon sees its requests, so it
 * notes their pace in the database while somebody waits for it.
 */
import { z } from 'zod';
import { tryParseJson } from '../lib/json.ts';
import { formatDuration } from '../lib/units.ts';
import { readState } from '../store/state.ts';
import type { Db } from '../store/store.ts';

export const PACE_KEY = 'service_pace';

const PACE = z.object({
  /** Epoch milliseconds. */
  at: z.number(),
  /** Requests in a second, now and as configured. */
  perSecond: z.number(),
  perSecondMax: z.number(),
  /** Share of the time in which a request has waited for the limit alone, 0 to 1. */
  busy: z.number(),
  /** Requests that wait for their turn. */
  waiting: z.number(),
});

export type ServicePace = z.output<typeof PACE>;

/** Reads the noted pace; null: the request limit delays no work. */
export async function readPace(db: Db): Promise<ServicePace | null> {
  return PACE.safeParse(tryParseJson((await readState(db, PACE_KEY)) ?? '')).data ?? null;
}

/** A daemon that lives tells of it three times in this time. */
const FRESH_MS = 60_000;
/** Less is the pulse of any pull. */
const BUSY_MIN = 0.5;
/** A backlog that is over sooner matters to nobody. */
const WAIT_MS_MIN = 10_000;

/** Requests for what waits in the database: an order with its deliveries, a push with its looks. */
const PER_ORDER = 2;
const PER_PUSH = 4;

/** The work that waits for requests, from the status. */
interface Backlog {
  readonly pace: ServicePace | null;
  /** Orders that wait to be read. */
  readonly refreshWaiting: number;
  /** Pushes by state. */
  readonly outbox: Readonly<Record<string, number>>;
}

/** The line for people; undefined: the limit is no bottleneck. */
export function bottleneckOf(
  { pace, refreshWaiting, outbox }: Backlog,
  now: number,
): string | undefined {
  if (pace === null || now - pace.at > FRESH_MS || pace.busy < BUSY_MIN) return undefined;
  const pushes = (outbox.queued ?? 0) + (outbox.sending ?? 0) + (outbox.sent ?? 0);
  const waiting = pace.waiting + refreshWaiting * PER_ORDER + pushes * PER_PUSH;
  const waitMs = (waiting / pace.perSecond) * 1_000;
  if (waitMs < WAIT_MS_MIN) return undefined;
  const { perSecond, perSecondMax } = pace;
  const rate = Number(perSecond.toPrecision(2));
  const setting = `service.limits.requestsPerSecond: ${perSecondMax}`;
  const why = perSecond < perSecondMax ? `the service takes no more; ${setting}` : setting;
  const about = formatDuration(Math.round(waitMs / 1_000) * 1_000);
  const backlog = `${waiting} requests waiting, about ${about}`;
  return `the limit of ${rate}/s is the bottleneck: ${backlog} (${why})`;
}
