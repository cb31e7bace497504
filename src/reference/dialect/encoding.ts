/**
 * Encodes the bytes and headers of an answer in a dialect: charset, content coding, age,
 * `Retry-After`.
 */
import { Readable } from 'node:stream';
import { createBrotliCompress, createGzip } from 'node:zlib';
import type { FastifyReply } from 'fastify';
import type { Dialect } from '../control/dialect-knobs.ts';

type Body = string | Buffer | Readable;

/** Characters of windows-1252 at 0x80 to 0x9F, where ISO 8859-1 has no printable ones. */
const WINDOWS_1252: ReadonlyMap<string, number> = new Map(
  [...'€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008DŽ\u008F\u0090‘’“”•–—˜™š›œ\u009DžŸ'].map((sign, at) => [
    sign,
    0x80 + at,
  ]),
);
const V1_LISTS = 'brands|freight|seasons|orders(?:/\\d+/[\\w-]+)?|variants(?:/stock|/season)?';
const V2_LISTS = 'pdm/[\\w-]+(?:/[^/]+/[\\w-]+)?';
const LIST_PATH = new RegExp(`^/api/(?:v1/(?:${V1_LISTS})|v2/(?:${V2_LISTS}))$`);

/**
 * Byte of a character in the charset; undefined: the charset lacks it. JSON then has an escape for
 * it, and other text a question mark.
 */
function byteOf(sign: string, charset: Dialect['charset']): number | undefined {
  const code = sign.charCodeAt(0);
  const own = charset === 'windows-1252' ? WINDOWS_1252.get(sign) : undefined;
  if (own !== undefined) return own;
  const isTaken = charset === 'windows-1252' && code >= 0x80 && code < 0xa0;
  return code < 0x100 && !isTaken ? code : undefined;
}

const MARK = '\ufeff';

function encoded(text: string, charset: Dialect['charset'], isJson: boolean): Buffer {
  // A script in UTF-8 puts its byte order mark before an answer in any charset.
  const mark = text.startsWith(MARK) ? MARK : '';
  let out = Buffer.from(mark).toString('latin1');
  for (let at = mark.length; at < text.length; at += 1) {
    const sign = text.charAt(at);
    const byte = byteOf(sign, charset);
    if (byte !== undefined) out += String.fromCharCode(byte);
    else out += isJson ? `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}` : '?';
  }
  return Buffer.from(out, 'latin1');
}

/** Reads the whole body; a long list is put together first. */
export async function wholeBody(payload: Body): Promise<Buffer> {
  if (!(payload instanceof Readable)) return Buffer.from(payload);
  const pieces: Buffer[] = [];
  for await (const piece of payload) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

async function withCharset(payload: Body, { charset }: Dialect, reply: FastifyReply) {
  if (charset === 'utf-8') return payload;
  const type = String(reply.getHeader('content-type') ?? '').split(';')[0] ?? '';
  if (type === '') return payload;
  reply.header('content-type', `${type}; charset=${charset}`).removeHeader('content-length');
  return encoded((await wholeBody(payload)).toString(), charset, type.endsWith('json'));
}

/**
 * Compresses the body whatever the request accepts, because such an account does not look at that.
 */
function withCoding(payload: Body, { contentEncoding }: Dialect, reply: FastifyReply): Body {
  if (contentEncoding === 'none' || reply.hasHeader('content-encoding')) return payload;
  if (reply.statusCode === 204) return payload;
  const named = { utf8: 'UTF-8', empty: '', identity: 'Identity' } as const;
  if (contentEncoding !== 'gzip' && contentEncoding !== 'br') {
    reply.header('content-encoding', named[contentEncoding]);
    return payload;
  }
  reply.header('content-encoding', contentEncoding).removeHeader('content-length');
  const packing = contentEncoding === 'gzip' ? createGzip() : createBrotliCompress();
  const pieces = payload instanceof Readable ? payload : Readable.from([Buffer.from(payload)]);
  return pieces.on('error', (error) => packing.destroy(error)).pipe(packing);
}

export async function encode(payload: Body, dialect: Dialect, reply: FastifyReply): Promise<Body> {
  return withCoding(await withCharset(payload, dialect, reply), dialect, reply);
}

interface Answered {
  readonly method: string;
  readonly path: string;
  readonly cacheControl: string;
  /** Time of the service's clock, epoch ms. */
  readonly now: number;
}

/**
 * Turns the seconds of `Retry-After` into a time, or removes the header; the time is consistent
 * with the header `Date`.
 */
function respellRetryAfter(reply: FastifyReply, how: Dialect['retryAfter'], now: number): void {
  if (how === 'none') reply.removeHeader('retry-after');
  const seconds = Number(reply.getHeader('retry-after'));
  if (how === 'date' && !Number.isNaN(seconds)) dateRetryAfter(reply, seconds, now);
}

function dateRetryAfter(reply: FastifyReply, seconds: number, now: number): void {
  reply.header('date', new Date(now).toUTCString());
  reply.header('retry-after', new Date(now + seconds * 1_000).toUTCString());
}

export function respellHeaders(reply: FastifyReply, dialect: Dialect, answered: Answered): void {
  respellRetryAfter(reply, dialect.retryAfter, answered.now);
  const { cacheAge, cacheStubborn } = dialect;
  if (cacheAge === null || answered.method !== 'GET' || reply.statusCode !== 200) return;
  const isFresh = /\bno-cache\b/i.test(answered.cacheControl) && !cacheStubborn;
  if (isFresh || !LIST_PATH.test(answered.path)) return;
  reply.header('age', String(Math.floor(cacheAge / 1_000)));
}
