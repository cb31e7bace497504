/**
 * Tells whether the limit of requests to the service is the bottleneck. Only the daemon sees its
 * requests, so it notes their pace in the database while requests wait for the limit.
 */
import { z } from 'zod';
import { tryParseJson } from '../lib/json.ts';
import { formatDuration } from '../lib/units.ts';
import { absent, type ServiceAnswer } from '../store/answering.ts';
import { readState } from '../store/state.ts';
import type { Db } from '../store/store.ts';

export const PACE_KEY = 'service_pace';

const PACE = z.object({
  /** Epoch ms of the note. */
  at: z.number(),
  /** Requests per second allowed at that time; `perSecondMax`: as configured. */
  perSecond: z.number(),
  perSecondMax: z.number(),
  /** Share of the time (0 to 1) in which a request waited for nothing but the limit. */
  busy: z.number(),
  /** Requests that waited for their turn. */
  waiting: z.number(),
});

export type ServicePace = z.output<typeof PACE>;

/** Reads the noted pace; null: no daemon has noted one. */
export async function readPace(db: Db): Promise<ServicePace | null> {
  return PACE.safeParse(tryParseJson((await readState(db, PACE_KEY)) ?? '')).data ?? null;
}

/** Milliseconds for which a noted pace is current: time for three notes of a daemon. */
const FRESH_MS = 60_000;
/** Smallest `busy` of a bottleneck: less is usual during any pull. */
const BUSY_MIN = 0.5;
/** Shortest backlog in ms that is reported; a shorter one is over before anybody could act. */
const WAIT_MS_MIN = 10_000;

/** Requests that a waiting order costs, with its deliveries; PER_PUSH: a push, with its lookups. */
const PER_ORDER = 2;
const PER_PUSH = 4;

/** Work that waits for requests, as the status counts it. */
interface Backlog {
  readonly pace: ServicePace | null;
  /** Whether each API answers; a limit of requests delays nothing that is not answered. */
  readonly service?: readonly ServiceAnswer[];
  /** Orders that wait to be read again. */
  readonly refreshWaiting: number;
  /** Number of pushes by state. */
  readonly outbox: Readonly<Record<string, number>>;
}

/** Sentence for the status that names the bottleneck; undefined: the limit is none. */
export function bottleneckOf(
  { pace, service = [], refreshWaiting, outbox }: Backlog,
  now: number,
): string | undefined {
  if (absent(service) !== undefined) return undefined;
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
