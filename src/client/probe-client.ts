/**
 * Sends requests without judging the answers, to find out how an account behaves: any answer is
 * returned with its status. One request at a time, with a gap; a 429 is waited for and slows down
 * all later requests. Throws RetryLaterError when the service is unavailable.
 */
import type { Clock } from '../lib/clock.ts';
import { RefusedError, RetryLaterError } from '../lib/errors.ts';
import { tryParseJson } from '../lib/json.ts';
import { errorOfFailure, retryAfterMs } from './http/answer.ts';
import { looseTextOf, wholeBody } from './http/encoding.ts';
import {
  type AnswerHeaders,
  type Deadlines,
  ExchangeFailure,
  exchange,
  headerText,
} from './http/exchange.ts';
import { createPools, type Pools, proxyFor } from './http/pools.ts';
import { askedOf, encoded } from './http/request.ts';
import type { Route } from './http/tunnel.ts';

export interface PlainRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Absolute URL; its own query is merged with `query`. */
  readonly url: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly json?: unknown;
}

export interface PlainAnswer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly text: string;
  /** Parsed body; undefined: it is not JSON, or truncated JSON. */
  readonly json: unknown;
  /** Whether the body was longer than the part that was kept. */
  readonly isCut: boolean;
  /**
   * Milliseconds by which the service's clock is ahead of ours, by the `Date` header; undefined: no
   * such header.
   */
  readonly clockOffsetMs: number | undefined;
}

/** Request rate that the service accepted before it answered 429. */
interface Pace {
  readonly requestsPerSecond: number;
}

export interface ProbeClient extends AsyncDisposable {
  ask(request: PlainRequest): Promise<PlainAnswer>;
  /** Sends a request at once, whatever the answer is; several may run concurrently. */
  askOnce(request: PlainRequest): Promise<PlainAnswer>;
  /** Number of requests sent so far. */
  sent(): number;
  /** Request rate learned from a 429; undefined: none came so far. */
  pace(): Pace | undefined;
}

export interface ProbeClientOptions extends Route {
  readonly deadlines: Deadlines;
  /** Milliseconds between two requests. */
  readonly gapMs: number;
  /** Maximum concurrency of {@link ProbeClient.askOnce}. */
  readonly connections?: number | undefined;
  /** Maximum bytes of a body that are read; the rest is dropped. */
  readonly bodyBytesMax: number;
}

const TOO_FAST = 429;
const ATTEMPTS_MAX = 6;
/** Milliseconds to wait after a 429 without `Retry-After`. */
const PAUSE_MS = 1_000;
/** Longest wait in milliseconds that a probe accepts after a 429. */
const PAUSE_MS_MAX = 65_000;
/**
 * Milliseconds to wait after the first and second 5xx or broken connection; a third means that the
 * service is unavailable.
 */
const AWAY_WAITS_MS: readonly number[] = [1_000, 4_000];
const SECOND_MS = 1_000;
const SLOWER = 0.8;

interface Sent {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly body: Buffer;
}

/**
 * Request rate accepted before the 429, by the stated limit or else by the last burst, which used
 * saved-up quota plus quota gained meanwhile.
 */
function paceOf(headers: AnswerHeaders, times: readonly number[], pauseMs: number): number {
  const limit = Number(headerText(headers, 'x-ratelimit-limit') ?? Number.NaN);
  if (limit > 0) return limit / Math.max(1, Math.round(pauseMs / SECOND_MS));
  const last = times.at(-1) ?? 0;
  const burst = times.filter((at) => at > last - SECOND_MS);
  const lastedMs = last - (burst[0] ?? last);
  return Math.max(1, (SLOWER * (burst.length - 1)) / (1 + lastedMs / SECOND_MS));
}

/** Sends one request and reads the whole answer. */
function createSend(options: ProbeClientOptions, clock: Clock, pools: Pools) {
  return async (request: PlainRequest): Promise<Sent> => {
    const { origin: at, pathname, searchParams } = new URL(request.url);
    const own = [...new Set(searchParams.keys())].map((name) => [name, searchParams.getAll(name)]);
    const query = { ...Object.fromEntries(own), ...request.query };
    const asked = { ...request, url: at + pathname, query, priority: 'read' } as const;
    const { origin, ...rest } = encoded(asked);
    try {
      const answer = await exchange(pools.of(origin, true), rest, {
        deadlines: options.deadlines,
        bodyBytesMax: Number.POSITIVE_INFINITY,
        clock,
        signal: undefined,
        onBytes: () => undefined,
      });
      const { status, headers } = answer;
      const limit = { bytesMax: options.bodyBytesMax, note: () => undefined, mayCut: true };
      return { status, headers, body: await wholeBody(answer, limit) };
    } catch (error) {
      if (!(error instanceof ExchangeFailure)) throw error;
      const via = proxyFor(origin, options)?.url;
      throw errorOfFailure({ ...askedOf(asked), safe: true, via }, error);
    }
  };
}

function answerOf({ status, headers, body }: Sent, bytesMax: number, nowMs: number): PlainAnswer {
  const isCut = body.length > bytesMax;
  const text = looseTextOf(body, headerText(headers, 'content-type'));
  const dateMs = Date.parse(headerText(headers, 'date') ?? '');
  return {
    status,
    headers,
    text,
    isCut,
    json: isCut ? undefined : tryParseJson(text),
    clockOffsetMs: Number.isNaN(dateMs) ? undefined : dateMs - nowMs,
  };
}

/** Spaces the requests of a probe: starts with a guess and follows the service's 429s. */
function createPacer({ gapMs: gapFirstMs }: ProbeClientOptions, clock: Clock) {
  const times: number[] = [];
  let gapMs = gapFirstMs;
  let pace: Pace | undefined;
  return {
    sent: () => times.length,
    pace: () => pace,
    note: () => void times.push(clock.monotonic()),
    async turn() {
      const last = times.at(-1);
      if (last !== undefined) await clock.sleep(Math.max(0, last + gapMs - clock.monotonic()));
    },
    async slowDown({ headers }: Sent, nameOf: string) {
      const pauseMs = Math.max(retryAfterMs(headers, clock.now()) ?? PAUSE_MS, SECOND_MS / 2);
      if (pauseMs > PAUSE_MS_MAX) {
        throw new RetryLaterError('probe.held', `${nameOf}: HTTP 429, for ${pauseMs / 1000} s`, {
          hint: 'the service asks for patience: try again then',
        });
      }
      // The first estimate may stem from a burst; a further refusal lowers it.
      const perSecond = pace ? pace.requestsPerSecond * SLOWER : paceOf(headers, times, pauseMs);
      pace = { requestsPerSecond: perSecond };
      gapMs = Math.max(gapMs, (SECOND_MS / perSecond) * 1.05);
      await clock.sleep(pauseMs);
    },
  };
}

export function createProbeClient(options: ProbeClientOptions, clock: Clock): ProbeClient {
  const { connections = 1, deadlines, bodyBytesMax } = options;
  const { connectMs } = deadlines;
  const pools = createPools({ ...options, connectionsMax: connections, connectMs });
  const send = createSend(options, clock, pools);
  const pacer = createPacer(options, clock);
  const sendOnce = (request: PlainRequest): Promise<Sent> => {
    pacer.note();
    return send(request);
  };
  /** Waits before a retry while retries are left; false: give up. */
  const waitFor = async (away: number): Promise<boolean> => {
    const waitMs = AWAY_WAITS_MS[away];
    if (waitMs !== undefined) await clock.sleep(waitMs);
    return waitMs !== undefined;
  };
  const ask = async (request: PlainRequest): Promise<PlainAnswer> => {
    const nameOf = `${request.method} ${new URL(request.url).pathname}`;
    let away = 0;
    for (let attempt = 1; ; attempt += 1) {
      await pacer.turn();
      let sent: Sent;
      try {
        sent = await sendOnce(request);
      } catch (error) {
        // A connection that could not be opened will hardly open a second later, so only others are
        // retried.
        const isPassing = error instanceof RetryLaterError && error.code !== 'transport.not_sent';
        if (!isPassing || !(await waitFor(away))) throw error;
        away += 1;
        continue;
      }
      const { status } = sent;
      if (status === TOO_FAST && attempt < ATTEMPTS_MAX) {
        await pacer.slowDown(sent, nameOf);
        continue;
      }
      if (status === TOO_FAST) throw new RefusedError('probe.too_fast', `${nameOf}: HTTP 429`);
      if (status >= 500 && (await waitFor(away))) {
        away += 1;
        continue;
      }
      return answerOf(sent, bodyBytesMax, clock.now());
    }
  };
  return {
    ask,
    askOnce: async (request) => answerOf(await sendOnce(request), bodyBytesMax, clock.now()),
    sent: pacer.sent,
    pace: pacer.pace,
    [Symbol.asyncDispose]: () => pools.destroy(),
  };
}
