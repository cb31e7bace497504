/**
 * What a failed exchange or an unwelcome answer means for the caller. The rule for a request with
 * an effect: only what is *provably* not done may be repeated; everything else is in doubt. A
 * request without an effect (a GET, a log-in) is never in doubt, it is simply asked again later.
 */
import {
  ConflictError,
  InDoubtError,
  LoginAgainError,
  RefusedError,
  RetryLaterError,
  type SelvedgeError,
  toError,
} from '../../lib/errors.ts';
import { cutDeep, isJsonObject, tryParseJson } from '../../lib/json.ts';
import { type AnswerHeaders, type ExchangeFailure, headerText } from './exchange.ts';
import { UNTRUSTED_CODES } from './tunnel.ts';

/** The part of a request that failures talk about. */
export interface Asked {
  readonly method: string;
  readonly url: string;
  /** Repeating it changes nothing at the service. */
  readonly safe: boolean;
  /** False: a list of errors, as V2 has them, is not the service's own answer to it. */
  readonly listsErrors?: boolean | undefined;
  /** The address of the proxy that it goes through. */
  readonly via?: string | undefined;
  /** Takes secrets out of what is answered: it may repeat the token of the request. */
  readonly scrub?: ((text: string) => string) | undefined;
}

export interface BadAnswer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly body: Buffer;
}

/** More of a foreign answer than this never gets into a message. */
const EXCERPT_CHARS_MAX = 200;

/** Nor more of what the service itself says: it is kept with each attempt, and logged. */
const MESSAGE_CHARS_MAX = 1_000;

/** Secrets are looked for in so much more than is told: what is cut in two would not be found. */
const SECRET_CHARS_MAX = 4_096;

/** A service that asks for more patience than this is asked again after this. */
export const RETRY_AFTER_MS_MAX = 3_600_000;

/** UTF-8, without a byte order mark. */
export function textOf(body: Buffer): string {
  return body.toString().replace(/^\ufeff/, '');
}

/** `Retry-After` in milliseconds: seconds or an HTTP date (RFC 9110, 10.2.3). */
export function retryAfterMs(headers: AnswerHeaders, nowMs: number): number | undefined {
  const text = headerText(headers, 'retry-after')?.trim();
  if (!text) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), RETRY_AFTER_MS_MAX);
}

function nameOf(asked: Asked): string {
  return `${asked.method} ${new URL(asked.url).pathname}`;
}

const UNTRUSTED =
  'nobody vouches for the certificate: service.caFile names all its authorities, up to the root';

const NO_WAY =
  'no connection comes about: a firewall, or a network that is left through a proxy only ' +
  '(service.proxy)';

const CONNECT_HINTS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the host name is unknown: check the base URL and the name server',
  EAI_AGAIN: 'the name server does not answer',
  ECONNREFUSED: 'nothing listens there: check the base URL, or the service is down',
  UND_ERR_CONNECT_TIMEOUT: NO_WAY,
  ENETUNREACH: NO_WAY,
  EHOSTUNREACH: NO_WAY,
  ...Object.fromEntries(UNTRUSTED_CODES.map((code) => [code, UNTRUSTED])),
  CERT_HAS_EXPIRED: 'the certificate of the service has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate belongs to another host name',
  PROXY_UNTRUSTED:
    'nobody vouches for the certificate of the proxy: service.caFile must name its authorities too',
  PROXY_EXPIRED: 'the certificate of the proxy has expired',
  PROXY_OTHER_NAME:
    'the certificate of the proxy belongs to another host name: check service.proxy.url',
  PROXY_UNREACHABLE: 'check service.proxy.url; is the proxy up?',
  PROXY_CREDENTIALS: 'check service.proxy.user and service.proxy.password',
  PROXY_REFUSED: 'the people of the proxy open the way from this machine, or know why it is shut',
};

/** What to do where no connection came about. */
export function connectHint(failure: ExchangeFailure, via?: string): string | undefined {
  const cause = failure.cause;
  if (failure.kind === 'connect_timeout') {
    const text = `the proxy ${via} (service.proxy) keeps silent, or what is behind it`;
    return via === undefined ? NO_WAY : text;
  }
  if (!(cause instanceof Error) || !('code' in cause)) return undefined;
  return CONNECT_HINTS[String(cause.code)];
}

/** The error for an exchange that broke off, or the caller's own reason when it gave up. */
export function errorOfFailure(asked: Asked, failure: ExchangeFailure): Error {
  const detail = { cause: failure, hint: connectHint(failure, asked.via) };
  const text = `${nameOf(asked)}: ${failure.message}`;
  if (asked.safe && failure.kind === 'aborted') return toError(failure.cause);
  if (!failure.sent) return new RetryLaterError('transport.not_sent', text, detail);
  if (!asked.safe) return new InDoubtError('transport.in_doubt', text, detail);
  if (failure.kind === 'too_large') return new RefusedError('transport.too_large', text, detail);
  return new RetryLaterError(`transport.${failure.kind}`, text, detail);
}

/** What is told of foreign words: their beginning, without secrets. */
function told({ scrub }: Asked, words: string, charsMax: number): string {
  const clean = scrub?.(words.slice(0, charsMax + SECRET_CHARS_MAX)) ?? words;
  return clean.slice(0, charsMax);
}

/** A success by its status, but not an answer that can be understood. */
export function errorOfBrokenAnswer(asked: Asked, cause: unknown): SelvedgeError {
  const why = told(asked, toError(cause).message, MESSAGE_CHARS_MAX);
  const text = `${nameOf(asked)}: the answer cannot be understood: ${why}`;
  if (!asked.safe) return new InDoubtError('transport.in_doubt', text, { cause });
  return new RetryLaterError('transport.broken_answer', text, { cause });
}

interface ServiceAnswer {
  readonly message: string;
  readonly lines: readonly string[];
}

function lineOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(cutDeep(value));
}

/** JSON in the one spelling in which secrets are known: others write \u002b for +, or \/ for /. */
function pageText({ body }: BadAnswer): string {
  const json = tryParseJson(textOf(body));
  return json === undefined ? textOf(body) : lineOf(json);
}

/** Whether the errors name this status, or several that it sums up, as far as they name any. */
function nameStatus(errors: readonly { status?: unknown }[], status: number): boolean {
  const named = errors.map((error) => Number(error.status ?? Number.NaN)).filter(Number.isInteger);
  if (named.length === 0 || named.includes(status)) return true;
  return named.every((one) => one - (one % 100) === status);
}

/** A line for each error of V2's list. */
function linesOf(errors: readonly unknown[]): readonly string[] {
  return errors.filter(isJsonObject).map((error) => {
    const pointer = isJsonObject(error.source) ? lineOf(Object.values(error.source)[0]) : '';
    return [pointer, error.detail ?? error.title ?? error.code]
      .filter((part) => part !== '' && part !== undefined)
      .map(lineOf)
      .join(': ');
  });
}

/**
 * What the service itself says (V1 envelope or V2 error list); undefined: a proxy's page. Both
 * repeat their status: where that is another one, somebody on the way has changed it.
 */
function serviceAnswer(
  { listsErrors = true }: Asked,
  { status, body }: BadAnswer,
): ServiceAnswer | undefined {
  const json = tryParseJson(textOf(body));
  if (!isJsonObject(json)) return undefined;
  if (Array.isArray(json.errors) && listsErrors) {
    if (!nameStatus(json.errors.filter(isJsonObject), status)) return undefined;
    const lines = linesOf(json.errors);
    return { message: lines[0] ?? 'no reason given', lines };
  }
  if (json.status !== status || typeof json.message !== 'string') return undefined;
  const lines = Array.isArray(json.invalid_data) ? json.invalid_data.map(lineOf) : [];
  return { message: json.message, lines };
}

/** The failure that an answer tells of whose own status is a success, in either way. */
export function failureIn(json: unknown): string | undefined {
  if (!isJsonObject(json)) return undefined;
  const { errors, status, message } = json;
  if (Array.isArray(errors) && errors.length > 0) return linesOf(errors)[0] ?? 'no reason given';
  if (typeof status !== 'number' || status < 300 || status > 599) return undefined;
  return `${status}: ${lineOf(message ?? 'no reason given')}`;
}

const REFUSALS: Readonly<Record<number, string>> = {
  400: 'service.bad_request',
  403: 'service.forbidden',
  404: 'service.not_found',
  405: 'service.bad_method',
  410: 'service.gone',
  413: 'service.too_large',
  415: 'service.bad_media_type',
  422: 'service.invalid',
};

const NOT_FOUND = new Set(['service.not_found', 'service.gone']);

/** A page that is not the service's own says so of an address, maybe for a moment: of no thing. */
export const NO_SUCH_PAGE = 'service.no_such_page';

/** Whether the service says that it has no such thing. */
export function isNotFound(error: unknown): boolean {
  return error instanceof RefusedError && NOT_FOUND.has(error.code);
}

/** Request Timeout and Too Early: below 500, and nothing that a person must change. */
const PASSING: ReadonlySet<number> = new Set([408, 425]);

const NOT_PROCESSED: Readonly<Record<number, string>> = {
  429: 'service.too_fast',
  503: 'service.unavailable',
};

/** The error for an answer whose status is not 2xx. */
export function errorOfAnswer(asked: Asked, answer: BadAnswer, nowMs: number): SelvedgeError {
  const said = serviceAnswer(asked, answer);
  const words = said
    ? told(asked, said.message, MESSAGE_CHARS_MAX)
    : told(asked, pageText(answer), EXCERPT_CHARS_MAX).replaceAll(/\s+/g, ' ');
  const text = `${nameOf(asked)}: HTTP ${answer.status}: ${words}`;
  const { status } = answer;
  // A page that is not the service's own says nothing about an effect behind the proxy.
  if (!said && !asked.safe) return new InDoubtError('transport.in_doubt', text);
  if (status === 401) return new LoginAgainError('service.unauthorized', text);
  if (status === 409) return new ConflictError('service.conflict', text);
  const refusal = REFUSALS[status];
  if (refusal) {
    const lines = said?.lines.map((line) => asked.scrub?.(line) ?? line);
    const code = !said && NOT_FOUND.has(refusal) ? NO_SUCH_PAGE : refusal;
    return new RefusedError(code, text, { lines: lines ?? [] });
  }
  const waitMs = retryAfterMs(answer.headers, nowMs);
  const notProcessed = NOT_PROCESSED[status];
  if (notProcessed) return new RetryLaterError(notProcessed, text, { retryAfterMs: waitMs });
  if (!asked.safe) return new InDoubtError('transport.in_doubt', text);
  if (status >= 500 || PASSING.has(status))
    return new RetryLaterError('service.fault', text, { retryAfterMs: waitMs });
  const hint = status < 400 ? 'redirects are not followed: check the base URL' : undefined;
  return new RefusedError('service.unexpected_status', text, { hint });
}
