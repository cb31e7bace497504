/** A request as the API clients state it, and as undici takes it. */
import type { Dispatcher } from 'undici';
import type { Asked } from './answer.ts';
import { ACCEPTED_CODINGS } from './encoding.ts';
import type { Deadlines } from './exchange.ts';
import type { Priority } from './limiter.ts';
import type { Usage } from './usage.ts';

type QueryValue = string | number | boolean;

/** Purpose of a request that changes something, as its permit names it. */
export interface SentFor {
  /** Number of the push; null: a call of another kind, such as one of a person. */
  readonly outboxId: number | null;
  readonly attempt: number;
  readonly kind: string;
  readonly reference: string;
  readonly bodyHash: string;
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Absolute URL, without query. */
  readonly url: string;
  /**
   * Query parameters: undefined members are omitted, booleans become `true` or `false`, a list
   * repeats the name.
   */
  readonly query?: Readonly<Record<string, QueryValue | readonly string[] | undefined>> | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly json?: unknown;
  readonly priority: Priority;
  readonly signal?: AbortSignal | undefined;
  /** Whether repeating the request changes nothing at the service. Default: true for GET only. */
  readonly safe?: boolean | undefined;
  /**
   * Whether the service limits this request apart from others, so that its 429 does not change the
   * rate.
   */
  readonly hasOwnLimit?: boolean | undefined;
  /** Whether a GET is not repeated when it fails, because that is what it is to show. */
  readonly isTriedOnce?: boolean | undefined;
  /** False when an error comes in V1's envelope, never as V2's list of errors. */
  readonly listsErrors?: boolean | undefined;
  /** Usage counters to which the request adds. */
  readonly usage?: Usage | undefined;
  /** Called with the HTTP status of each answer, also of an unreadable one. */
  readonly onStatus?: ((status: number) => void) | undefined;
  /** Called when the request gets its slot; throwing ends the request before a byte was sent. */
  readonly beforeSend?: (() => void) | undefined;
  /** Says what the request is for; asked where a permit is needed. Left out: a call by itself. */
  readonly sentFor?: (() => SentFor) | undefined;
  /**
   * Headers computed when the request gets its slot, such as a token that may have changed.
   * Throwing ends the request before a byte was sent.
   */
  readonly headersAtStart?: (() => Readonly<Record<string, string>>) | undefined;
  /** Deadlines of this request that differ from the transport's. */
  readonly deadlines?: Partial<Deadlines> | undefined;
}

function queryText(query: HttpRequest['query']): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const one of [value ?? []].flat()) parameters.append(name, String(one));
  }
  return parameters.size > 0 ? `?${parameters}` : '';
}

/** Purpose of the request; one of no push is named by its address. */
export function sentForOf({ method, url, sentFor }: HttpRequest): SentFor {
  const call = { outboxId: null, attempt: 0, kind: 'call', bodyHash: '' };
  return sentFor?.() ?? { ...call, reference: `${method} ${url}` };
}

export function isSafe(request: HttpRequest): boolean {
  return request.safe ?? request.method === 'GET';
}

/** Part of a request that errors mention. */
export function askedOf(request: HttpRequest): Asked {
  const { method, url, listsErrors } = request;
  return { method, url, safe: isSafe(request), listsErrors };
}

interface Encoded extends Dispatcher.DispatchOptions {
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Encodes the request for undici, with the origin by which its pool is found. */
export function encoded(request: HttpRequest): Encoded {
  const url = new URL(request.url);
  const json = request.json === undefined ? undefined : JSON.stringify(request.json);
  return {
    origin: url.origin,
    path: `${url.pathname}${queryText(request.query)}`,
    method: request.method,
    body: json ?? null,
    headers: {
      accept: 'application/json, application/vnd.api+json',
      'accept-encoding': ACCEPTED_CODINGS,
      // Asks caches for a fresh answer, because a cached one may be outdated.
      'cache-control': 'no-cache',
      'user-agent': 'selvedge',
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...request.headers,
    },
  };
}
