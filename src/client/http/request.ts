/** A request as the API clients state it, and as undici takes it. */
import type { Dispatcher } from 'undici';
import type { Asked } from './answer.ts';
import { ACCEPTED_CODINGS } from './body/encoding.ts';
import type { Deadlines } from './exchange.ts';
import type { Priority } from './limiter.ts';
import type { Tally } from './tally.ts';

type QueryValue = string | number | boolean;

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Absolute, without query. */
  readonly url: string;
  /** Undefined members are left out; booleans travel as `true` / `false`, a list one by one. */
  readonly query?: Readonly<Record<string, QueryValue | readonly string[] | undefined>> | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly json?: unknown;
  readonly priority: Priority;
  readonly signal?: AbortSignal | undefined;
  /** Repeating it changes nothing at the service. Default: true for GET only. */
  readonly safe?: boolean | undefined;
  /** A limit of its own holds it: when that is met, nothing is learned about the pace. */
  readonly hasOwnLimit?: boolean | undefined;
  /** False: it is answered with V1's envelope, never with V2's list of errors. */
  readonly listsErrors?: boolean | undefined;
  /** Told what the request costs besides itself. */
  readonly tally?: Tally | undefined;
  /** Told the status of each answer, also of one that cannot be understood. */
  readonly onStatus?: ((status: number) => void) | undefined;
  /** Called when its turn has come; what it throws ends the request before a byte has left. */
  readonly beforeSend?: (() => void) | undefined;
  /**
   * Headers that are asked for when its turn has come, such as a token that may be another one by
   * then. What it throws ends the request before a byte has left.
   */
  readonly headersAtStart?: (() => Readonly<Record<string, string>>) | undefined;
  /** In place of the transport's own, member by member. */
  readonly deadlines?: Partial<Deadlines> | undefined;
}

function queryText(query: HttpRequest['query']): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const one of [value ?? []].flat()) parameters.append(name, String(one));
  }
  return parameters.size > 0 ? `?${parameters}` : '';
}

export function isSafe(request: HttpRequest): boolean {
  return request.safe ?? request.method === 'GET';
}

/** The part of a request that failures talk about. */
export function askedOf(request: HttpRequest): Asked {
  const { method, url, listsErrors } = request;
  return { method, url, safe: isSafe(request), listsErrors };
}

interface Encoded extends Dispatcher.DispatchOptions {
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The request in undici's terms, and the origin whose pool takes it. */
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
      // What a cache has kept may be of yesterday.
      'cache-control': 'no-cache',
      'user-agent': 'selvedge',
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...request.headers,
    },
  };
}
