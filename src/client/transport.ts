/**
 * The one way out: every request of the daemon to the service goes through here.
 *
 * Reads an absolute URL with method, headers and JSON; gives status, headers and the decoded
 * answer, or throws one of the classes of lib/errors.ts (see http/answer.ts for which and why).
 * GETs are repeated on a written, capped schedule that honours `Retry-After`; anything with an
 * effect is sent once and its attempts belong to the outbox. TLS is always verified, redirects
 * are never followed, bodies are bounded in bytes and time, compression is not asked for.
 *
 * Requests with an effect have connections of their own which are thrown away when they have been
 * idle for a moment: a reset on a long idle socket is the commonest false doubt.
 */
import pRetry from 'p-retry';
import type { Random } from '../lib/chance.ts';
import type { Clock } from '../lib/clock.ts';
import { type LoginAgainError, RetryLaterError, SelvedgeError } from '../lib/errors.ts';
import type { Scrubber } from '../lib/secret.ts';
import {
  type Asked,
  errorOfAnswer,
  errorOfBrokenAnswer,
  errorOfFailure,
  retryAfterMs,
  textOf,
} from './http/answer.ts';
import {
  type AnswerHeaders,
  type Deadlines,
  ExchangeFailure,
  exchange,
  headerText,
  type RawAnswer,
} from './http/exchange.ts';
import { createLimiter, type Limiter, type LimiterOptions } from './http/limiter.ts';
import { createPools, type Pools, proxyFor } from './http/pools.ts';
import { askedOf, encoded, type HttpRequest } from './http/request.ts';
import { STRAIGHT, type Way } from './http/tunnel.ts';

export interface TransportOptions extends LimiterOptions, Way {
  readonly deadlines: Deadlines;
  /** Waits before the second, third … attempt of a GET; its length is the number of retries. */
  readonly retryWaitsMs: readonly number[];
  /** A `Retry-After` beyond this ends the attempts; the caller is told how long to wait. */
  readonly retryAfterMsMax: number;
  /** For answers that are held in memory. */
  readonly bodyBytesMax: number;
  /** For answers that are read as a stream. */
  readonly streamBytesMax: number;
}

export const TRANSPORT_DEFAULTS: TransportOptions = {
  requestsPerSecond: 20,
  concurrencyMax: 8,
  deadlines: { connectMs: 5_000, firstByteMs: 30_000, idleMs: 30_000, totalMs: 60_000 },
  retryWaitsMs: [500, 2_000, 8_000],
  retryAfterMsMax: 60_000,
  bodyBytesMax: 33_554_432,
  streamBytesMax: 17_179_869_184,
  ...STRAIGHT,
};

export interface Answer<T> {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly value: T;
  /** Epoch ms, taken before the request was written: the age of what the answer tells. */
  readonly startedAt: number;
}

export interface JsonAnswer extends Omit<Answer<unknown>, 'value'> {
  readonly json: unknown;
}

export interface StreamAnswer extends Omit<Answer<unknown>, 'value'> {
  /** Begin to read it at once, to its end or a `break`; RetryLaterError when it breaks off. */
  readonly body: AsyncGenerator<Buffer, void, undefined>;
  /** The body says that the token was refused; gives the error for it. */
  refused(cause: LoginAgainError): Error;
}

interface TransportStats {
  readonly requests: number;
  readonly retries: number;
  /** Waiting for a place and between attempts. */
  readonly waitMs: number;
  readonly bytesReceived: number;
  /** The service's clock minus ours, by the last `Date` header; undefined: none was seen. */
  readonly clockOffsetMs: number | undefined;
}

/** What the API clients need of a transport; a session is one as well. */
export interface Sender {
  request(request: HttpRequest): Promise<JsonAnswer>;
  /**
   * Like `request`, with a decoder of one's own. It may throw what the answer means; any other
   * error makes the answer broken.
   */
  send<T>(request: HttpRequest, decode: (body: Buffer) => T): Promise<Answer<T>>;
  stream(request: HttpRequest): Promise<StreamAnswer>;
  /** Takes secrets out of what the service says, before it is kept as the words of an error. */
  readonly scrub: Scrubber['scrub'];
}

export interface Transport extends Sender, AsyncDisposable {
  stats(): TransportStats;
  readonly limiter: Pick<Limiter, 'waiting' | 'active'>;
}

export interface TransportDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** Knows the secrets that travel: an answer may repeat them. */
  readonly scrubber: Scrubber;
}

/** An answer that is no success is read up to this: it may tell of each line of a long order. */
const ERROR_BYTES_MAX = 1_048_576;

/** Each wait is drawn from this share of itself up to the whole, so that clients spread out. */
const WAIT_SHARE_MIN = 0.8;

export function decodeJson(body: Buffer): unknown {
  const text = textOf(body);
  return text === '' ? undefined : JSON.parse(text);
}

interface Counters {
  requests: number;
  retries: number;
  waitMs: number;
  bytesReceived: number;
  clockOffsetMs: number | undefined;
}

interface Wire {
  readonly options: TransportOptions;
  readonly deps: TransportDeps;
  readonly pools: Pools;
  readonly limiter: Limiter;
  readonly counters: Counters;
}

interface Opened {
  readonly answer: RawAnswer;
  readonly asked: Asked;
  readonly startedAt: number;
  /** Gives the place in the limiter back. */
  readonly release: () => void;
}

async function placeFor(wire: Wire, request: HttpRequest): Promise<() => void> {
  const { clock } = wire.deps;
  const since = clock.monotonic();
  try {
    return await wire.limiter.acquire(request.priority, request.signal);
  } catch (reason) {
    throw new ExchangeFailure('aborted', false, reason);
  } finally {
    const waitedMs = clock.monotonic() - since;
    wire.counters.waitMs += waitedMs;
    request.tally?.waited(waitedMs);
  }
}

/** One attempt up to the head of a 2xx answer; throws the caller's error otherwise. */
async function open(wire: Wire, request: HttpRequest, bytesMax: number): Promise<Opened> {
  const { options, deps, counters } = wire;
  const { origin, ...rest } = encoded(request);
  const { scrub } = deps.scrubber;
  const asked = { ...askedOf(request), via: proxyFor(origin, options)?.url, scrub };
  let release = (): void => undefined;
  try {
    release = await placeFor(wire, request);
    request.beforeSend?.();
    counters.requests += 1;
    const startedAt = deps.clock.now();
    const answer = await exchange(wire.pools.of(origin, asked.safe), rest, {
      deadlines: { ...options.deadlines, ...request.deadlines },
      bodyBytesMax: bytesMax,
      clock: deps.clock,
      signal: request.signal,
      onBytes: (count) => {
        counters.bytesReceived += count;
        request.tally?.received(count);
      },
    });
    request.onStatus?.(answer.status);
    const dateMs = Date.parse(headerText(answer.headers, 'date') ?? '');
    if (!Number.isNaN(dateMs)) counters.clockOffsetMs = dateMs - deps.clock.now();
    if (answer.status >= 200 && answer.status < 300) {
      const encoding = headerText(answer.headers, 'content-encoding') ?? 'identity';
      if (encoding === 'identity') return { answer, asked, startedAt, release };
      answer.discard();
      throw errorOfBrokenAnswer(asked, new Error(`unexpected content-encoding ${encoding}`));
    }
    const { status, headers } = answer;
    const body = await answer.whole(ERROR_BYTES_MAX);
    const error = errorOfAnswer(asked, { status, headers, body }, deps.clock.now());
    if (status === 429) wire.limiter.pause(retryAfterMs(headers, deps.clock.now()) ?? 0);
    throw error;
  } catch (error) {
    release();
    throw error instanceof ExchangeFailure ? errorOfFailure(asked, error) : error;
  }
}

async function sendOnce<T>(
  wire: Wire,
  request: HttpRequest,
  decode: (body: Buffer) => T,
): Promise<Answer<T>> {
  const opened = await open(wire, request, wire.options.bodyBytesMax);
  try {
    const { answer, startedAt } = opened;
    const body = await answer.whole(wire.options.bodyBytesMax);
    const { status, headers } = answer;
    return { status, headers, startedAt, value: decode(body) };
  } catch (error) {
    if (error instanceof ExchangeFailure) throw errorOfFailure(opened.asked, error);
    if (error instanceof SelvedgeError) throw error;
    throw errorOfBrokenAnswer(opened.asked, error);
  } finally {
    opened.release();
  }
}

async function* streamed(opened: Opened): AsyncGenerator<Buffer, void, undefined> {
  try {
    yield* opened.answer.stream();
  } catch (error) {
    throw error instanceof ExchangeFailure ? errorOfFailure(opened.asked, error) : error;
  } finally {
    opened.release();
  }
}

/** Repeats a GET on the written schedule; anything else is tried once. */
function repeated<T>(wire: Wire, request: HttpRequest, attempt: () => Promise<T>): Promise<T> {
  if (request.method !== 'GET') return attempt();
  const { options, deps, counters } = wire;
  return pRetry(attempt, {
    retries: options.retryWaitsMs.length,
    // The waiting is done below on our own clock.
    minTimeout: 0,
    ...(request.signal ? { signal: request.signal } : {}),
    shouldRetry: async ({ error, retriesConsumed }) => {
      if (!(error instanceof RetryLaterError)) return false;
      const askedMs = error.retryAfterMs ?? 0;
      if (askedMs > options.retryAfterMsMax) return false;
      const share = WAIT_SHARE_MIN + (1 - WAIT_SHARE_MIN) * deps.random.next();
      const waitMs = Math.max((options.retryWaitsMs[retriesConsumed] ?? 0) * share, askedMs);
      counters.retries += 1;
      counters.waitMs += waitMs;
      request.tally?.retried();
      request.tally?.waited(waitMs);
      await deps.clock.sleep(waitMs, request.signal);
      return true;
    },
  });
}

export function createTransport(options: TransportOptions, deps: TransportDeps): Transport {
  const limiter = createLimiter(options, deps.clock);
  const pools = createPools({
    connectionsMax: options.concurrencyMax,
    connectMs: options.deadlines.connectMs,
    caText: options.caText,
    proxy: options.proxy,
  });
  const counters: Counters = {
    requests: 0,
    retries: 0,
    waitMs: 0,
    bytesReceived: 0,
    clockOffsetMs: undefined,
  };
  const wire: Wire = { options, deps, pools, limiter, counters };
  const send: Sender['send'] = (request, decode) =>
    repeated(wire, request, () => sendOnce(wire, request, decode));
  return {
    send,
    limiter,
    scrub: deps.scrubber.scrub,
    async request(request) {
      const { value, ...answer } = await send(request, decodeJson);
      return { ...answer, json: value };
    },
    async stream(request) {
      const opened = await repeated(wire, request, () =>
        open(wire, request, options.streamBytesMax),
      );
      const { status, headers } = opened.answer;
      const { startedAt } = opened;
      const refused = (cause: LoginAgainError): Error => cause;
      return { status, headers, startedAt, body: streamed(opened), refused };
    },
    stats: () => ({ ...counters }),
    [Symbol.asyncDispose]: () => pools.destroy(),
  };
}
