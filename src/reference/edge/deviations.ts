/** Makes answers differ from the wire contract, one knob at a time, after the routes made them. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isJsonObject, tryParseJson } from '../../lib/json.ts';
import type { Knobs } from '../control/knobs.ts';
import { TOKEN_HEADER } from '../keys.ts';

type Deviations = Knobs['deviations'];
type Members = Record<string, unknown>;

const SOME_PRICING = {
  currency: 'EUR',
  wspPriceOriginal: 100,
  discountPercentage: 0,
  wspPriceWithDiscount: 100,
};

/** Reads the token from another header, and from no other. */
export function readTokenFrom(header: string, request: FastifyRequest): void {
  const value = request.headers[header];
  if (value === undefined) delete request.headers[TOKEN_HEADER];
  else request.headers[TOKEN_HEADER] = value;
}

/** Accepts a token only in the form `Bearer <token>`. */
export function readBearer(request: FastifyRequest): void {
  const [, token] = /^Bearer +(\S+)$/i.exec(String(request.headers[TOKEN_HEADER] ?? '')) ?? [];
  if (token === undefined) delete request.headers[TOKEN_HEADER];
  else request.headers[TOKEN_HEADER] = token;
}

/** Tells whether any deviation is on, so that an answer may have to be rewritten. */
export function deviates(deviations: Deviations): boolean {
  return Object.values(deviations).some((value) => value !== false && value !== null);
}

function firstPageLinks(links: Members): Members {
  return links.prev === null ? { ...links, prev: links.first } : links;
}

/** Turns `included`, an object by type and id, into one list. */
function asArray(included: Members): unknown[] {
  return Object.values(included).flatMap((byId) => (isJsonObject(byId) ? Object.values(byId) : []));
}

function v2Body(path: string, d: Deviations, body: Members): Members {
  const isLogin = path === '/api/v2/auth/login';
  if (d.v2TokenFlat && isLogin && isJsonObject(body.data)) return body.data;
  const { included, meta, ...rest } = body;
  const out: Members = { ...rest };
  if (isJsonObject(rest.links) && d.prevOnFirstPage) out.links = firstPageLinks(rest.links);
  if (included !== undefined) {
    out.included = d.includedArray && isJsonObject(included) ? asArray(included) : included;
  }
  if (meta !== undefined && !d.pageTokenMissing) out.meta = meta;
  return out;
}

function v1Data(path: string, query: string, d: Deviations, data: Members): Members {
  const out: Members = { ...data };
  const { orders, variants } = data;
  if (d.ordersOldestFirst && Array.isArray(orders)) out.orders = orders.toReversed();
  if (d.countOfPage && Array.isArray(variants)) out.count = variants.length;
  const priced = d.pricingForEveryone && query.includes('detailedPricing=true');
  if (priced && path.includes('/variants') && Array.isArray(variants)) {
    out.variants = variants.map((row: Members) => ({ pricing: SOME_PRICING, ...row }));
  }
  return out;
}

function v1Body(path: string, query: string, d: Deviations, body: Members): Members {
  const { invalid_data, ...rest } = body;
  const out: Members = { ...rest };
  if (isJsonObject(rest.data)) out.data = v1Data(path, query, d, rest.data);
  if (invalid_data !== undefined && !d.invalidDataMissing) out.invalid_data = invalid_data;
  return out;
}

/** The answer of an account with these deviations; headers are changed in place. */
export function deviate(
  d: Deviations,
  entry: { readonly path: string; readonly query: string },
  reply: FastifyReply,
  payload: string | Buffer,
): string | Buffer {
  const { path, query } = entry;
  if (d.deprecationHidden) {
    reply.removeHeader('deprecation');
    reply.removeHeader('link');
  }
  const v2 = path.startsWith('/api/v2');
  if (v2 && d.plainMediaType) reply.header('content-type', 'application/json');
  const body = tryParseJson(payload.toString());
  if (!isJsonObject(body)) return payload;
  reply.removeHeader('content-length');
  return Buffer.from(JSON.stringify(v2 ? v2Body(path, d, body) : v1Body(path, query, d, body)));
}
