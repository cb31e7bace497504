/**
 * Maps a failed exchange or an error answer to an error class for the caller. Rule for writes: only
 * what *provably* did not happen may be repeated; any other outcome is unknown (in doubt). A read
 * or a log-in is never in doubt, it is simply repeated later.
 */
import {
  ConflictError,
  errorCode,
  InDoubtError,
  LoginAgainError,
  RefusedError,
  RetryLaterError,
  SelvedgeError,
  toError,
} from '../../lib/errors.ts';
import { OPEN_ARRAY, OPEN_OBJECT } from '../../lib/json-rows/structure.ts';
import { ValueScanner } from '../../lib/json-rows/value-scanner.ts';
import { quoted } from '../../lib/reading/quoted.ts';
import type { Heard } from '../answering.ts';
import { type AnswerHeaders, ExchangeFailure, headerText } from './exchange.ts';
import { isPage, plainText, type Said, saidIn } from './said.ts';

/** Node's error codes for a TLS certificate that no known authority has signed. */
export const UNTRUSTED_CODES = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
] as const;

/** The part of a request that error messages mention. */
export interface Asked {
  readonly method: string;
  readonly url: string;
  /** Whether the request may be repeated, because it changes nothing at the service. */
  readonly safe: boolean;
  /**
   * Whether the service answers such a request with V2's list of errors. If false, an answer of
   * that form is a gateway's.
   */
  readonly listsErrors?: boolean | undefined;
  /** Address of the proxy between us and the service; undefined: no proxy. */
  readonly via?: string | undefined;
  /** Removes secrets from a text; error answers may repeat the request's token. */
  readonly scrub?: ((text: string) => string) | undefined;
}

export interface BadAnswer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly text: string;
}

/** Maximum characters of an intermediary's answer that an error message quotes. */
const EXCERPT_CHARS_MAX = 200;

/**
 * Maximum characters of the service's own message, which is stored with each attempt and logged.
 */
const MESSAGE_CHARS_MAX = 1_000;

/**
 * Characters beyond a quoted text in which secrets are searched too, so that a secret that the cut
 * would truncate is found.
 */
const SECRET_CHARS_MAX = 4_096;

/** Maximum milliseconds of a wait, whatever longer `Retry-After` the service asks for. */
const RETRY_AFTER_MS_MAX = 3_600_000;

/** Reads `Retry-After` as milliseconds: it gives seconds or an HTTP date (RFC 9110, 10.2.3). */
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

/**
 * TLS alerts by which the service requires another client certificate, before it reads a request.
 */
const OUR_CERTIFICATE =
  /^ERR_SSL_.*_ALERT_(?:HANDSHAKE_FAILURE|CERTIFICATE|BAD_CERT|UNSUPPORTED_CERT|UNKNOWN_CA|ACCESS)/;

const OUR_CERTIFICATE_HINT =
  'the service wants to see a certificate of us, or another one: service.clientCertificate';

function refusesCertificate(cause: unknown): boolean {
  return OUR_CERTIFICATE.test(errorCode(cause));
}

/** Hint for the operator when no connection came about. */
function connectHint(failure: ExchangeFailure, via?: string): string | undefined {
  const cause = failure.cause;
  if (failure.kind === 'connect_timeout') {
    const text = `the proxy ${via} (service.proxy) keeps silent, or what is behind it`;
    return via === undefined ? NO_WAY : text;
  }
  return refusesCertificate(cause) ? OUR_CERTIFICATE_HINT : CONNECT_HINTS[errorCode(cause)];
}

/** Builds the error for an interrupted exchange, or returns the caller's abort reason. */
export function errorOfFailure(asked: Asked, failure: ExchangeFailure): Error {
  const detail = { cause: failure, hint: connectHint(failure, asked.via) };
  const text = `${nameOf(asked)}: ${failure.message}`;
  if (asked.safe && failure.kind === 'aborted') return toError(failure.cause);
  if (!failure.sent || refusesCertificate(failure.cause)) {
    return new RetryLaterError('transport.not_sent', text, detail);
  }
  if (!asked.safe) return new InDoubtError('transport.in_doubt', text, detail);
  if (failure.kind === 'too_large') return new RefusedError('transport.too_large', text, detail);
  return new RetryLaterError(`transport.${failure.kind}`, text, detail);
}

/** Shortens a text of the other side for a message, and removes secrets. */
function excerptOf({ scrub }: Asked, words: string, charsMax: number): string {
  const clean = scrub?.(words.slice(0, charsMax + SECRET_CHARS_MAX)) ?? words;
  return clean.slice(0, charsMax);
}

/** Error for a 2xx answer that cannot be parsed. */
export function errorOfBrokenAnswer(asked: Asked, cause: unknown): SelvedgeError {
  const words = excerptOf(asked, toError(cause).message, MESSAGE_CHARS_MAX);
  // The parser's complaint repeats a part of the answer.
  const why = cause instanceof SyntaxError ? quoted(words) : words;
  const text = `${nameOf(asked)}: the answer cannot be understood: ${why}`;
  if (!asked.safe) return new InDoubtError('transport.in_doubt', text, { cause });
  return new RetryLaterError('transport.broken_answer', text, { cause });
}

const PAGE_HINT =
  'is the service under maintenance, or does a portal or a firewall stand in the way? ' +
  'It is asked again later';

/** Error for a 2xx answer with a page or text instead of JSON: an intermediary's, for a while. */
export function errorOfPage(asked: Asked, text: string): SelvedgeError {
  const excerpt = excerptOf(asked, text.trim(), EXCERPT_CHARS_MAX).replaceAll(/\s+/g, ' ');
  const came = excerpt === '' ? 'nothing came in place of the answer' : undefined;
  const what = came ?? `a page came, not the answer of the service: ${quoted(excerpt)}`;
  const message = `${nameOf(asked)}: ${what}`;
  if (asked.safe) return new RetryLaterError('transport.page', message, { hint: PAGE_HINT });
  const unknown = `${message}; it does not say whether the write had an effect`;
  return new InDoubtError('transport.in_doubt', unknown);
}

/** Whether a text cannot be JSON, because it is an HTML page or begins otherwise. */
export function isNoJson(text: string): boolean {
  return isPage(text) || !/^\s*(?:[{["\d-]|true|false|null)/.test(text);
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

/** Longer texts are pages, or were cut by us. */
const CUT_OFF_CHARS_MAX = 65_536;

/** Whether a text begins as JSON and ends before that does. */
function isCutOff(text: string): boolean {
  const bytes = Buffer.from(text.slice(0, CUT_OFF_CHARS_MAX).trimStart());
  const [first] = bytes;
  if (text.length > CUT_OFF_CHARS_MAX || (first !== OPEN_OBJECT && first !== OPEN_ARRAY))
    return false;
  const value = new ValueScanner();
  value.begin(first);
  try {
    return value.scan(bytes, 1) < 0;
  } catch {
    return false;
  }
}

const NOT_FOUND = new Set(['service.not_found', 'service.gone']);

/**
 * Error code for a 404 with an intermediary's page: it may be temporary and proves nothing about
 * the resource.
 */
export const NO_SUCH_PAGE = 'service.no_such_page';

/**
 * Error code for a 404 with JSON outside the contract's form, or without a body: from the service,
 * or from a gateway that does not know the path.
 */
export const NOT_FOUND_BARE = 'service.not_found_bare';

/** Whether an error means that the service itself says that the resource does not exist. */
export function isNotFound(error: unknown): error is RefusedError {
  return error instanceof RefusedError && NOT_FOUND.has(error.code);
}

/**
 * Whether an error means "not found", also by JSON that may be a gateway's. Enough when the sender
 * is otherwise known.
 */
export function isPerhapsNotFound(error: unknown): boolean {
  return isNotFound(error) || (error instanceof RefusedError && error.code === NOT_FOUND_BARE);
}

/** Retryable statuses below 500: Request Timeout and Too Early. */
const PASSING: ReadonlySet<number> = new Set([408, 425]);

const TOO_FAST = 429;
const UNAVAILABLE = 503;

/**
 * Statuses that prove a refusal when the answer is JSON of another form: gateways give them without
 * calling the service, or the service gives them itself. Excluded: 404 and 410 (temporary at a
 * gateway), 409 (depends on state), 503 (caches also send it after the service took the request).
 */
const PROVED_BARE: ReadonlySet<number> = new Set([400, 401, 403, 405, 413, 415, 422]);
/** Statuses that prove a refusal even when the answer is plain text. */
const PROVED_BY_WORDS: ReadonlySet<number> = new Set([400, 422]);

/**
 * Whether an error answer proves that the service did not carry out the write, or has decided it.
 */
function isProof(status: number, said: Said | undefined): boolean {
  // A 429 is a proof too, because rate limits apply before a request is forwarded.
  if (status === TOO_FAST || said?.kind === 'own') return true;
  const proved = said?.kind === 'bare' ? PROVED_BARE : PROVED_BY_WORDS;
  return said !== undefined && proved.has(status);
}

/** Statuses of something on the way: our proxy, a balancer that has waited. */
const OF_THE_WAY: ReadonlySet<number> = new Set([407, 408]);
/** Statuses by which a gateway says that it does not reach the service. */
const NOT_REACHED: ReadonlySet<number> = new Set([502, 503, 504]);

/**
 * Whether an error answer is a word of the service, which is there then. Redirects, HTML pages, the
 * words of a gateway that knows no such path, and errors from 500 on without JSON are not.
 */
function isWordOfService(status: number, said: Said | undefined, text: string): boolean {
  if (status === TOO_FAST || said?.kind === 'own') return true;
  if (status < 400 || OF_THE_WAY.has(status)) return false;
  if (said?.kind === 'bare') return !NOT_REACHED.has(status);
  if (status >= 500) return false;
  return text.trim() === '' || (said !== undefined && !NOT_FOUND.has(REFUSALS[status] ?? ''));
}

/** Says whether an error answer shows that the service is there. */
export function heardIn(asked: Asked, answer: BadAnswer, nowMs: number): Heard {
  const { status, headers, text } = answer;
  const said = saidIn(asked, answer);
  if (!isWordOfService(status, said, text)) {
    return { kind: 'nothing', why: `HTTP ${status}, not of the service` };
  }
  if (status !== TOO_FAST && status !== UNAVAILABLE) return { kind: 'answer' };
  return { kind: 'wait', ms: retryAfterMs(headers, nowMs) };
}

const FAILED: Readonly<Record<ExchangeFailure['kind'], string>> = {
  connect_timeout: 'no connection in time',
  first_byte_timeout: 'no answer in time',
  idle_timeout: 'the answer came to a halt',
  total_timeout: 'the answer took too long',
  broken_connection: 'the connection failed',
  too_large: 'the answer is too large',
  aborted: 'called off',
};

/** Says of a failed exchange that nobody answered; undefined: it does not show that. */
export function heardOfFailure({ kind, cause }: ExchangeFailure): Heard | undefined {
  if (kind === 'aborted') return undefined;
  if (kind === 'too_large') return { kind: 'answer' };
  const code = errorCode(cause);
  const known = /^[A-Z][A-Z\d_]+$/.test(code) ? ` (${code})` : '';
  return { kind: 'nothing', why: `${FAILED[kind]}${known}` };
}

/** Says whether a 2xx answer that could not be read is one of the service. */
export function heardInBody(body: string | undefined, error: unknown): Heard | undefined {
  if (error instanceof ExchangeFailure) return heardOfFailure(error);
  if (error instanceof SelvedgeError || body === undefined || !isNoJson(body)) {
    return { kind: 'answer' };
  }
  return { kind: 'nothing', why: 'a page came, not the answer of the service' };
}

/** Maximum of the service's lines quoted in an error message; the error object has all. */
const LINES_TOLD = 5;

/** Text of an error answer in quotation marks, for the message of an error. */
function messageOf(asked: Asked, said: Said | undefined, text: string): string {
  if (!said || said.kind === 'text') {
    const excerpt = excerptOf(asked, plainText(text), EXCERPT_CHARS_MAX).replaceAll(/\s+/g, ' ');
    return excerpt.trim() === '' ? 'without a word' : quoted(excerpt);
  }
  const lines = said.lines.filter((line) => line !== said.message).slice(0, LINES_TOLD);
  const more = said.lines.length - lines.length > 1 ? ' …' : '';
  const all = lines.length === 0 ? said.message : `${said.message}: ${lines.join('; ')}${more}`;
  return quoted(excerptOf(asked, all, MESSAGE_CHARS_MAX));
}

function refusalOf(
  asked: Asked,
  answer: BadAnswer,
  code: string,
  said: Said | undefined,
  text: string,
): RefusedError {
  const lines = said?.lines.map((line) => asked.scrub?.(line) ?? line) ?? [];
  if (said?.kind === 'own' || !NOT_FOUND.has(code)) return new RefusedError(code, text, { lines });
  const isBare = said?.kind === 'bare' || answer.text.trim() === '';
  return new RefusedError(isBare ? NOT_FOUND_BARE : NO_SUCH_PAGE, text, { lines });
}

/** Error for an answer with a status other than 2xx. */
export function errorOfAnswer(asked: Asked, answer: BadAnswer, nowMs: number): SelvedgeError {
  const { status } = answer;
  const said = saidIn(asked, answer);
  const text = `${nameOf(asked)}: HTTP ${status}: ${messageOf(asked, said, answer.text)}`;
  // An answer that is not the service's own says nothing about the write.
  if (!asked.safe && !isProof(status, said)) {
    return new InDoubtError('transport.in_doubt', text, { status });
  }
  if (status === 401) return new LoginAgainError('service.unauthorized', text);
  if (status === 409) return new ConflictError('service.conflict', text);
  const refusal = REFUSALS[status];
  // What is cut off may be the word of the service: it is asked again, as behind a page.
  if (refusal !== undefined && NOT_FOUND.has(refusal) && isCutOff(answer.text)) {
    return new RetryLaterError(NO_SUCH_PAGE, text);
  }
  if (refusal) return refusalOf(asked, answer, refusal, said, text);
  const wait = { retryAfterMs: retryAfterMs(answer.headers, nowMs) };
  if (status === TOO_FAST) return new RetryLaterError('service.too_fast', text, wait);
  if (status === UNAVAILABLE) return new RetryLaterError('service.unavailable', text, wait);
  if (!asked.safe) return new InDoubtError('transport.in_doubt', text, { status });
  if (status >= 500 || PASSING.has(status)) return new RetryLaterError('service.fault', text, wait);
  const hint = status < 400 ? 'redirects are not followed: check the base URL' : undefined;
  return new RefusedError('service.unexpected_status', text, { hint });
}
