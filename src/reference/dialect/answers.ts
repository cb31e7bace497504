/**
 * Rewrites answers of the routes into the dialect of an account: values, envelope, errors and
 * headers. An answer that must be rewritten is read as a whole, long lists too; while no knob of
 * that kind is set, no answer is touched here.
 */
import { STATUS_CODES } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, tryParseJson } from '../../lib/json.ts';
import { type Dialect, dialectSchema } from '../control/dialect-knobs.ts';
import type { Knobs } from '../control/knobs.ts';
import { LEVEL_LAST } from './levels.ts';
import { DUPLICATES, translateResource, translateValue } from './values.ts';
import type { Account } from './variants.ts';

type Members = Record<string, unknown>;

export interface Draft {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** Status, content type and body of a rewritten answer; an empty body has no content type. */
export type Spoken = Pick<Draft, 'status' | 'contentType' | 'body'>;

const TWICE_IN_TEXT = new RegExp(`${DUPLICATES}":`, 'g');
const LIST_BELOW_ORDER = /^\/api\/v1\/orders\/\d+\/(?:deliveries|refunds|pending-refunds)$/;
const HTML = 'text/html; charset=utf-8';

/** Knobs for which no answer is rewritten: they change headers, bytes, requests or the world. */
const ELSEWHERE: ReadonlySet<string> = new Set(
  (
    'retryAfter contentEncoding charset cacheAge cacheStubborn bearer brandRequired ' +
    'unknownParameters freightSpelling references orderLines preOrderNames deliveryNumbers ' +
    'deliveryAliases deliveryTakenAs orderAliases ' +
    'refundNumbers pendingRefundReference deliveriesInAnswer readLag foreignEvents ' +
    'priceDecimals stockRows seasonRows soldOut freightEmptyName hiddenShare'
  ).split(' '),
);

function differing(dialect: Dialect): string[] {
  const usual: Record<string, unknown> = dialectSchema.parse({});
  return Object.entries(dialect).flatMap(([name, value]) =>
    isDeepStrictEqual(value, usual[name]) ? [] : [name],
  );
}

/** Tells whether bodies must be rewritten; the result is kept until the knobs change. */
export function createRewriting(knobs: () => Knobs): () => boolean {
  let judged: Knobs | undefined;
  let rewrites = false;
  return () => {
    const now = knobs();
    if (now === judged) return rewrites;
    judged = now;
    rewrites =
      now.v1.level !== LEVEL_LAST || differing(now.dialect).some((name) => !ELSEWHERE.has(name));
    return rewrites;
  };
}

/**
 * Tells whether the answer of this path is in the account's dialect. Descriptions are not: they are
 * about the account, and no data of it.
 */
export function isOfAccount(path: string): boolean {
  return /^\/api\/v[12]\/(?!openapi\.json$|docs$)/.test(path);
}

function page(status: number): string {
  const title = `${status} ${STATUS_CODES[status] ?? 'Error'}`;
  const head = `<head><title>${title}</title></head>`;
  return `<!doctype html>\n<html>${head}<body>${title}</body></html>\n`;
}

/** Turns lines `path: what is wrong` into an object of messages by path. */
function asObject(lines: readonly unknown[]): Record<string, string[]> {
  const out: Record<string, string[]> = {};
  for (const line of lines.map(String)) {
    const [field = '', ...words] = line.split(': ');
    out[field] = [...(out[field] ?? []), words.join(': ')];
  }
  return out;
}

function errorEnvelope(body: Members, dialect: Dialect): Members {
  const { status, message, data, invalid_data } = body;
  const isBare = dialect.envelope === 'none';
  const isArray = dialect.errorData === 'array' || dialect.emptyObject === 'array';
  const out: Members = {
    ...(isBare ? {} : { status: dialect.envelope === 'text' ? String(status) : status }),
    message,
    ...(isBare || data === undefined ? {} : { data: isArray ? [] : data }),
  };
  if (!Array.isArray(invalid_data)) return out;
  return {
    ...out,
    invalid_data: dialect.invalidDataAsObject ? asObject(invalid_data) : invalid_data,
  };
}

function spokenError(draft: Draft, body: Members, dialect: Dialect): Spoken {
  const { status, path } = draft;
  switch (dialect.errorBody) {
    case 'empty':
      return { status, contentType: '', body: '' };
    case 'html':
      return { status, contentType: HTML, body: page(status) };
    case 'plain':
      return {
        status,
        contentType: 'text/plain; charset=utf-8',
        body: String(body.message ?? STATUS_CODES[status]),
      };
    default: {
      if (path.startsWith('/api/v2/')) return draft;
      return { ...draft, body: JSON.stringify(errorEnvelope(body, dialect)) };
    }
  }
}

/** Tells whether the answer is a list below an order, and that list is empty. */
function isEmptyList({ method, path }: Draft, data: unknown): boolean {
  if (method !== 'GET' || !LIST_BELOW_ORDER.test(path) || !isJsonObject(data)) return false;
  return Object.values(data).every((list) => Array.isArray(list) && list.length === 0);
}

function textOf(value: unknown): string {
  return JSON.stringify(value).replaceAll(TWICE_IN_TEXT, '":');
}

function spokenV1(draft: Draft, body: Members, account: Account): Spoken {
  const { envelope, emptyList } = account.dialect;
  if (isEmptyList(draft, body.data)) {
    if (emptyList === 'noContent') return { status: 204, contentType: '', body: '' };
    if (emptyList === 'notFound') {
      const missing = { status: 404, message: 'Nothing found', data: {} };
      return spokenError({ ...draft, status: 404 }, missing, account.dialect);
    }
  }
  const data = translateValue(body.data, 'data', account);
  if (envelope === 'none') return { ...draft, body: textOf(data) };
  const status = envelope === 'text' ? String(body.status) : body.status;
  return { ...draft, body: textOf({ ...body, status, data }) };
}

/** Rewrites an answer into the account's dialect; one that is no JSON object stays as it is. */
export function speak(draft: Draft, account: Account): Spoken {
  const body = tryParseJson(draft.body);
  if (!isJsonObject(body) || !isOfAccount(draft.path)) return draft;
  if (draft.status >= 400) return spokenError(draft, body, account.dialect);
  if (draft.path.startsWith('/api/v1/')) return spokenV1(draft, body, account);
  return { ...draft, body: JSON.stringify(translateResource(body, '', account.dialect)) };
}
