/** Sends any API request for a person: path in, status and JSON out. */
import { RefusedError } from '../lib/errors.ts';
import type { Sender } from './transport.ts';

export interface RawCall {
  readonly api: 'v1' | 'v2';
  readonly method: 'GET' | 'POST' | 'PATCH';
  /** Path with query below the API's address: `/orders?beforeOrderId=7`. */
  readonly path: string;
  readonly json?: unknown;
}

export interface RawAnswer {
  readonly status: number;
  readonly json: unknown;
  readonly contentType: string | null;
}

export interface RawTarget {
  readonly baseUrl: string;
  readonly sender: Sender;
  /** Media type of written bodies; undefined: `application/json`. */
  readonly mediaType?: string;
}

/** Address of a person's call; a path that leaves the API is refused. */
function addressOf(baseUrl: string, path: string): URL {
  const url = URL.parse(`${baseUrl}${path}`);
  const base = new URL(baseUrl);
  const isInside =
    path.startsWith('/') &&
    url?.origin === base.origin &&
    // The base address may have no path, which stands for "/".
    url.pathname.startsWith(base.pathname.replace(/\/?$/, '/'));
  if (url && isInside) return url;
  throw new RefusedError('api.bad_path', `${path} is no path below ${baseUrl}`, {
    hint: 'write it as /orders/123, without the address',
  });
}

export async function callRaw(
  target: RawTarget,
  call: RawCall,
  signal?: AbortSignal,
): Promise<RawAnswer> {
  const url = addressOf(target.baseUrl, call.path);
  const { mediaType } = target;
  const names = new Set(url.searchParams.keys());
  const answer = await target.sender.request({
    method: call.method,
    url: `${url.origin}${url.pathname}`,
    query: Object.fromEntries([...names].map((name) => [name, url.searchParams.getAll(name)])),
    json: call.json,
    headers: call.json === undefined || !mediaType ? {} : { 'content-type': mediaType },
    priority: 'person',
    signal,
  });
  const type = answer.headers['content-type'];
  return {
    status: answer.status,
    json: answer.json,
    contentType: typeof type === 'string' ? type : null,
  };
}
