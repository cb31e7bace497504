/**
 * The transport: every request to the service goes through here. Takes an absolute URL with method,
 * headers and JSON; returns status, headers and the decoded answer, or throws a class of
 * lib/errors.ts (http/answer.ts says which and why). GETs are retried on a fixed, capped schedule
 * that honours `Retry-After`; writes are sent once, and the outbox retries them. TLS is always
 * verified, redirects are never followed, bodies are bounded in (unpacked) bytes and time, and
 * arrive as UTF-8. Writes use their own connections, closed after a short idle time, because a
 * reset on an idle socket is the most common false doubt.
 */

import pRetry from 'p-retry';
import type { Clock } from '../lib/clock.ts';
import { type LoginAgainError, RetryLaterError, SelvedgeError } from '../lib/errors.ts';
import { createObservations, type Observations } from '../lib/observations.ts';
import type { Random } from '../lib/random.ts';
import type { Scrubber } from '../lib/secret.ts';
import type { Answering } from './answering.ts';
import {
  type Asked,
  errorOfAnswer,
  errorOfBrokenAnswer,
  errorOfFailure,
  errorOfPage,
  heardIn,
  heardInBody,
  heardOfFailure,
  isNoJson,
  retryAfterMs,
} from './http/answer.ts';
import {
  type BodyLimit,
  looseTextOf,
  type Note,
  streamedBody,
  Transcoder,
  textOf,
  utf8Of,
  wholeBody,
} from './http/encoding.ts';
import {
  type AnswerHeaders,
  type Deadlines,
  ExchangeFailure,
  exchange,
  headerText,
  type RawAnswer,
} from './http/exchange.ts';
import {
  createLimiter,
  type Limiter,
  type LimiterOptions,
  type PaceDeps,
  type Priority,
} from './http/limiter.ts';
import { createPools, type Pools, proxyFor } from './http/pools.ts';
import { askedOf, encoded, type HttpRequest, type SentFor, sentForOf } from './http/request.ts';
import { isPage } from './http/said.ts';
import { DIRECT, type Route } from './http/tunnel.ts';
import type { Decimals } from './tolerant/decimals.ts';

// The body of a 2xx answer is given to readers as decompressed UTF-8; its failures become errors.

/**
 * Converts a body to UTF-8. An answer to a write is read however damaged its text is, because the
 * write took effect.
 */
function toUtf8(body: Buffer, { headers }: RawAnswer, { safe }: Asked, note: Note): Buffer {
  try {
    return utf8Of(body, headerText(headers, 'content-type'), note);
  } catch (error) {
    if (safe) throw error;
    note('charset=another (in the answer to a write)');
    return Buffer.from(textOf(body));
  }
}

/** Builds the error for an answer that its reader cannot use. */
function errorOfBody(asked: Asked, body: Buffer | undefined, error: unknown): Error {
  if (error instanceof ExchangeFailure) return errorOfFailure(asked, error);
  if (error instanceof SelvedgeError) return error;
  const text = body && textOf(body);
  if (text !== undefined && isNoJson(text)) return errorOfPage(asked, text);
  return errorOfBrokenAnswer(asked, error);
}

/** Decodes the whole body of an answer; `decode` may throw the error that the answer stands for. */
async function decodedWhole<T>(
  { answer, asked, heard }: Opened,
  limit: BodyLimit,
  decode: (body: Buffer) => T,
): Promise<T> {
  let body: Buffer | undefined;
  try {
    body = toUtf8(await wholeBody(answer, limit), answer, asked, limit.note);
    const value = decode(body);
    heard?.({ kind: 'answer' });
    return value;
  } catch (error) {
    heard?.(heardInBody(body && textOf(body), error));
    throw errorOfBody(asked, body, error);
  }
}

/** Gives a body as a stream of UTF-8; the slot is released when it was read, or abandoned. */
async function* textStream(
  { answer, asked, heard, release }: Opened,
  limit: BodyLimit,
): AsyncGenerator<Buffer, void, undefined> {
  const transcoder = new Transcoder(headerText(answer.headers, 'content-type'), limit.note);
  let isFirst = true;
  try {
    for await (const chunk of streamedBody(answer, limit)) {
      const text = transcoder.push(chunk);
      if (text.length === 0) continue;
      if (isFirst && isPage(text.toString('latin1', 0, 64))) {
        heard?.(heardInBody(textOf(text), undefined));
        throw errorOfPage(asked, textOf(text));
      }
      if (isFirst) heard?.({ kind: 'answer' });
      isFirst = false;
      yield text;
    }
    const rest = transcoder.end();
    if (rest.length > 0) yield rest;
    if (isFirst) heard?.({ kind: 'answer' });
  } catch (error) {
    if (error instanceof ExchangeFailure) heard?.(heardOfFailure(error));
    throw errorOfBody(asked, undefined, error);
  } finally {
    release();
  }
}

export interface TransportOptions extends LimiterOptions, Route {
  readonly deadlines: Deadlines;
  /** Milliseconds to wait before the second, third … attempt of a GET; one entry per retry. */
  readonly retryWaitsMs: readonly number[];
  /**
   * Maximum milliseconds of a `Retry-After` that is waited for; a longer one goes to the caller.
   */
  readonly retryAfterMsMax: number;
  /** Maximum bytes of an answer that is held in memory. */
  readonly bodyBytesMax: number;
  /** Maximum bytes of a streamed answer. */
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
  ...DIRECT,
};

export interface Answer<T> {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly value: T;
  /**
   * Epoch ms as of which the answer is valid: before the request was written, minus the answer's
   * age in caches.
   */
  readonly startedAt: number;
}

export interface JsonAnswer extends Omit<Answer<unknown>, 'value'> {
  readonly json: unknown;
}

export interface StreamAnswer extends Omit<Answer<unknown>, 'value'> {
  /**
   * Stream of the body, to be read at once, to its end or a `break`; throws RetryLaterError when
   * interrupted.
   */
  readonly body: AsyncGenerator<Buffer, void, undefined>;
  /** Called when the body says that the token was refused; returns the error to throw. */
  refused(cause: LoginAgainError): Error;
}

interface TransportStats {
  readonly requests: number;
  readonly retries: number;
  /** Milliseconds that requests waited for slots and between attempts. */
  readonly waitMs: number;
  readonly bytesReceived: number;
  /**
   * Milliseconds by which the service's clock is ahead of ours, by the last `Date` header;
   * undefined: none seen.
   */
  readonly clockOffsetMs: number | undefined;
  /** Counts of dialects: forms outside the contract that were read anyway. */
  readonly dialects: Readonly<Record<string, number>>;
}

/** Time that one request took to the head of its answer, or to its failure. */
interface Answered {
  readonly priority: Priority;
  /** Class of the answer's status, `2xx` to `5xx`; `none`: no answer came. */
  readonly answer: string;
  readonly ms: number;
}

/** Interface of a transport for the API clients; a session implements it too. */
export interface Sender {
  request(request: HttpRequest): Promise<JsonAnswer>;
  /**
   * Sends like `request`, with a custom decoder. The decoder may throw the error that the answer
   * stands for; any other error makes the answer broken.
   */
  send<T>(request: HttpRequest, decode: (body: Buffer) => T): Promise<Answer<T>>;
  stream(request: HttpRequest): Promise<StreamAnswer>;
  /** Removes secrets from the service's messages before they enter an error. */
  readonly scrub: Scrubber['scrub'];
  /** Counts a form outside the contract in an answer to the request. */
  note(request: Pick<HttpRequest, 'usage'>, what: string): void;
  /** How the account behind this way writes decimals in texts; undefined: nobody knows. */
  readonly decimals?: Decimals | undefined;
}

export interface Transport extends Sender, AsyncDisposable {
  stats(): TransportStats;
  /** Makes new connections with these certificates. */
  readonly renew: Pools['renew'];
  /** Gives the requests answered since the last call, with their times. */
  readonly takeAnswered: Observations<Answered>['take'];
  readonly limiter: Pick<Limiter, 'waiting' | 'active' | 'pace'>;
}

export interface TransportDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** Removes the secrets in use from texts, because an answer may repeat them. */
  readonly scrubber: Scrubber;
  /** Called once for each dialect that an answer shows. */
  readonly onDialect?: ((what: string) => void) | undefined;
  /** Called when the request rate drops or rises. */
  readonly onPace?: PaceDeps['onPace'];
  /** Called with the URL when a request is sent; gives the function that hears how it ended. */
  readonly onAsked?: ((url: string) => ReturnType<Answering['asked']> | undefined) | undefined;
  /** Asked before each request that changes something. Left out: none needs a permit. */
  readonly permit?: Permits | undefined;
}

/** Gives a permit for a request, or throws a RetryLaterError. */
export type Permits = (sentFor: SentFor) => Promise<{ readonly whyOver: () => string | undefined }>;

/** Maximum bytes of an error answer, which may name each line of a long order. */
const ERROR_BYTES_MAX = 1_048_576;

/** Milliseconds of age in a cache above which an answer is noted. */
const AGE_TOLD_MS = 60_000;
/** Maximum milliseconds of age that an answer may claim, whatever its header says. */
const AGE_MS_MAX = 30 * 86_400_000;

/** Maximum of distinct dialects that are counted; more would only be noise. */
const DIALECTS_MAX = 100;

/**
 * Least share of a wait before a retry: the wait is random between it and the whole, so that
 * clients spread out.
 */
const WAIT_SHARE_MIN = 0.8;

export function decodeJson(body: Buffer, parse: (text: string) => unknown = JSON.parse): unknown {
  const text = textOf(body);
  return text === '' ? undefined : parse(text);
}

interface Counters {
  requests: number;
  retries: number;
  waitMs: number;
  bytesReceived: number;
  clockOffsetMs: number | undefined;
  readonly dialects: Map<string, number>;
}

interface Wire {
  readonly options: TransportOptions;
  readonly deps: TransportDeps;
  readonly pools: Pools;
  readonly limiter: Limiter;
  readonly counters: Counters;
  readonly answered: Observations<Answered>;
  readonly note: Sender['note'];
}

interface Opened {
  readonly answer: RawAnswer;
  readonly asked: Asked;
  readonly startedAt: number;
  /** Releases the request's slot in the limiter. */
  readonly release: () => void;
  /** Notes what the answer shows of the service; undefined: nothing. */
  readonly heard: ReturnType<Answering['asked']> | undefined;
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
    request.usage?.waited(waitedMs);
  }
}

/** Reads the time headers of an answer; returns the time (epoch ms) as of which it is valid. */
function readTimes(
  { deps: { clock }, counters, note }: Wire,
  request: HttpRequest,
  { headers }: RawAnswer,
  sentAt: number,
): number {
  // Milliseconds for which the answer was in caches (RFC 9111, 5.1).
  const text = headerText(headers, 'age')?.trim() ?? '';
  const age = /^\d+$/.test(text) ? Math.min(Number(text) * 1_000, AGE_MS_MAX) : 0;
  const dateMs = Date.parse(headerText(headers, 'date') ?? '');
  if (!Number.isNaN(dateMs)) counters.clockOffsetMs = dateMs + age - clock.now();
  if (age > 0) request.usage?.aged(age);
  if (age > AGE_TOLD_MS) note(request, 'age=over 1m (out of a cache)');
  return sentAt - age;
}

/** Builds the error for an answer that is no success. */
async function refused(
  { limiter, deps: { clock }, note }: Wire,
  request: HttpRequest,
  {
    answer,
    asked,
    begunAt,
    heard,
  }: Omit<Opened, 'release' | 'startedAt'> & {
    readonly begunAt: number;
  },
): Promise<SelvedgeError> {
  const { status, headers } = answer;
  const limit = { bytesMax: ERROR_BYTES_MAX, mayCut: true, note: (w: string) => note(request, w) };
  const body = await wholeBody(answer, limit).catch((error: unknown) => {
    // An error body that cannot be decoded is ignored, and so is one of a 429 that breaks off: the
    // status says enough.
    if (error instanceof ExchangeFailure && status !== 429) throw error;
    return Buffer.alloc(0);
  });
  const text = looseTextOf(body, headerText(headers, 'content-type'));
  if (status === 429 && request.hasOwnLimit !== true) {
    limiter.tooFast(begunAt);
    limiter.pause(retryAfterMs(headers, clock.now()) ?? 0);
  }
  heard?.(heardIn(asked, { status, headers, text }, clock.now()));
  return errorOfAnswer(asked, { status, headers, text }, clock.now());
}

/** Makes one attempt up to the head of a 2xx answer; throws the caller's error otherwise. */
async function open(wire: Wire, request: HttpRequest, bytesMax: number): Promise<Opened> {
  const { options, deps, counters } = wire;
  const { origin, headers, ...rest } = encoded(request);
  const { scrub } = deps.scrubber;
  const asked = { ...askedOf(request), via: proxyFor(origin, options)?.url, scrub };
  let release = (): void => undefined;
  let observe = (_answer: string): void => undefined;
  let heard: Opened['heard'];
  try {
    release = await placeFor(wire, request);
    const permit = asked.safe ? undefined : await deps.permit?.(sentForOf(request));
    const atStart = request.headersAtStart?.();
    request.beforeSend?.();
    counters.requests += 1;
    const sentAt = deps.clock.now();
    const begunAt = deps.clock.monotonic();
    const { priority } = request;
    heard = deps.onAsked?.(request.url);
    observe = (answer) =>
      wire.answered.note({ priority, answer, ms: deps.clock.monotonic() - begunAt });
    const sending = { ...rest, headers: { ...headers, ...atStart } };
    const answer = await exchange(wire.pools.of(origin, asked.safe), sending, {
      deadlines: { ...options.deadlines, ...request.deadlines },
      bodyBytesMax: bytesMax,
      clock: deps.clock,
      signal: request.signal,
      whyNot: permit?.whyOver,
      onBytes: (count) => {
        counters.bytesReceived += count;
        request.usage?.received(count);
      },
    });
    observe(`${Math.floor(answer.status / 100)}xx`);
    observe = () => undefined;
    request.onStatus?.(answer.status);
    const startedAt = readTimes(wire, request, answer, sentAt);
    if (answer.status !== 429) wire.limiter.taken();
    const opened = { answer, asked, startedAt, release, heard };
    if (answer.status >= 200 && answer.status < 300) return opened;
    throw await refused(wire, request, { answer, asked, begunAt, heard });
  } catch (error) {
    release();
    if (request.signal?.aborted !== true) observe('none');
    if (!(error instanceof ExchangeFailure)) throw error;
    heard?.(heardOfFailure(error));
    throw errorOfFailure(asked, error);
  }
}

async function sendOnce<T>(
  wire: Wire,
  request: HttpRequest,
  decode: (body: Buffer) => T,
): Promise<Answer<T>> {
  const { bodyBytesMax: bytesMax } = wire.options;
  const opened = await open(wire, request, bytesMax);
  const note = (what: string): void => wire.note(request, what);
  try {
    const { answer, startedAt } = opened;
    const { status, headers } = answer;
    const value = await decodedWhole(opened, { bytesMax, note }, decode);
    return { status, headers, startedAt, value };
  } finally {
    opened.release();
  }
}

function streamed(
  wire: Wire,
  request: HttpRequest,
  opened: Opened,
): AsyncGenerator<Buffer, void, undefined> {
  const note = (what: string): void => wire.note(request, what);
  return textStream(opened, { bytesMax: wire.options.streamBytesMax, note });
}

/** Repeats a GET on the fixed schedule; other methods are tried once. */
function repeated<T>(wire: Wire, request: HttpRequest, attempt: () => Promise<T>): Promise<T> {
  if (request.method !== 'GET' || request.isTriedOnce) return attempt();
  const { options, deps, counters } = wire;
  return pRetry(attempt, {
    retries: options.retryWaitsMs.length,
    // p-retry itself does not wait: `shouldRetry` below does, on our own clock.
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
      request.usage?.retried();
      request.usage?.waited(waitMs);
      await deps.clock.sleep(waitMs, request.signal);
      return true;
    },
  });
}

export function createTransport(options: TransportOptions, deps: TransportDeps): Transport {
  const limiter = createLimiter(options, deps.clock, deps.onPace);
  const pools = createPools({
    connectionsMax: options.concurrencyMax,
    connectMs: options.deadlines.connectMs,
    caText: options.caText,
    proxy: options.proxy,
    client: options.client,
  });
  const counters: Counters = {
    requests: 0,
    retries: 0,
    waitMs: 0,
    bytesReceived: 0,
    clockOffsetMs: undefined,
    dialects: new Map(),
  };
  const note: Sender['note'] = ({ usage }, what) => {
    const { dialects } = counters;
    const times = dialects.get(what) ?? 0;
    if (times === 0 && dialects.size >= DIALECTS_MAX) return;
    dialects.set(what, times + 1);
    usage?.noted(what);
    if (times === 0) deps.onDialect?.(what);
  };
  const answered = createObservations<Answered>();
  const wire: Wire = { options, deps, pools, limiter, counters, answered, note };
  const send: Sender['send'] = (request, decode) =>
    repeated(wire, request, () => sendOnce(wire, request, decode));
  return {
    send,
    note,
    limiter,
    takeAnswered: answered.take,
    renew: pools.renew,
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
      return { status, headers, startedAt, body: streamed(wire, request, opened), refused };
    },
    stats: () => ({ ...counters, dialects: Object.fromEntries(counters.dialects) }),
    [Symbol.asyncDispose]: () => pools.destroy(),
  };
}
