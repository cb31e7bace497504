/**
 * Applies faults to the body of an answer. All faults work on pieces of text, because a long list
 * is sent as a stream; a body in one piece is a stream of one.
 */
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { Clock } from '../../lib/clock.ts';
import { isJsonObject, tryParseJson } from '../../lib/json.ts';
import type { Random } from '../../lib/random.ts';
import type { Strike } from './faults.ts';

/**
 * Members of the envelope, which keep their types: a wrong type there would be another fault than
 * "in one row".
 */
const ENVELOPE = new Set(['status', 'message', 'count', 'offset', 'limit']);
const NUMBER_MEMBER = /"(\w+)":-?\d+(?:\.\d+)?(?=[,}])/g;
const TEXT_MEMBER = /"(\w+)":"(?:[^"\\]|\\.)*"/g;

function chooseMember(text: string, pattern: RegExp, random: Random): RegExpExecArray | undefined {
  const members = [...text.matchAll(pattern)].filter((match) => !ENVELOPE.has(match[1] ?? ''));
  return members.length === 0 ? undefined : random.pick(members);
}

function wrongType(text: string, random: Random): string {
  const match =
    chooseMember(text, NUMBER_MEMBER, random) ?? chooseMember(text, TEXT_MEMBER, random);
  if (!match) return text;
  const wrong = `"${match[1]}":{"wrong":"type"}`;
  return text.slice(0, match.index) + wrong + text.slice(match.index + match[0].length);
}

/** Applies `change` to the first list of objects in the document, wherever it is. */
function withFirstList(text: string, change: (rows: readonly unknown[]) => unknown): string {
  let done = false;
  const walk = (value: unknown): unknown => {
    if (done) return value;
    if (Array.isArray(value) && isJsonObject(value[0])) {
      done = true;
      return change(value);
    }
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, walk(inner)]));
  };
  const document = tryParseJson(text);
  // A piece of a longer stream is no JSON document, so it stays as it is.
  return document === undefined ? text : JSON.stringify(walk(document));
}

/** Applies a fault that rewrites the text of the body, or its first piece. */
function rewrite({ fault, random }: Strike, text: string): string {
  switch (fault.kind) {
    case 'malformed':
      return text.replace(/[[{]/, (sign) => `${sign},,`);
    case 'wrongTypes':
      return wrongType(text, random);
    case 'unknownMember':
      return text.replaceAll('{"', '{"unknownMember":{"nested":[1,null,"x"]},"');
    case 'emptyList':
      return withFirstList(text, () => []);
    case 'nullList':
      return withFirstList(text, () => null);
    case 'repeatedRow':
      return withFirstList(text, (rows) => [...rows, rows[0]]);
    case 'byteOrderMark':
      return `\uFEFF${text}`;
    default:
      return text;
  }
}

/**
 * Error that is thrown into a stream to make the server cut the connection in the middle of a body.
 */
class CutOffError extends Error {
  override readonly name = 'CutOffError';
}

type Body = string | Buffer | Readable;

async function* piecesOf(payload: Body): AsyncGenerator<Buffer> {
  if (typeof payload === 'string' || Buffer.isBuffer(payload)) yield Buffer.from(payload);
  else for await (const piece of payload) yield Buffer.from(piece);
}

async function* truncated(pieces: AsyncIterable<Buffer>, bytes: number, cutOff: boolean) {
  let left = bytes;
  for await (const piece of pieces) {
    yield piece.subarray(0, left);
    left -= piece.length;
    if (left <= 0) break;
  }
  if (cutOff) throw new CutOffError('a fault ends the answer here');
}

async function* dripping(pieces: AsyncIterable<Buffer>, { fault }: Strike, clock: Clock) {
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; at += fault.bytes) {
      await clock.sleep(fault.delay);
      yield piece.subarray(at, at + fault.bytes);
    }
  }
}

/** Bytes of a stream that are put together to be rewritten; of a longer one no more changes. */
const REWRITTEN_BYTES = 1_048_576;

async function* rewritten(pieces: AsyncIterable<Buffer>, strike: Strike) {
  const head: Buffer[] = [];
  let bytes = 0;
  let isHead = true;
  const changed = () => Buffer.from(rewrite(strike, Buffer.concat(head).toString()));
  for await (const piece of pieces) {
    if (isHead) {
      head.push(piece);
      bytes += piece.length;
      isHead = bytes < REWRITTEN_BYTES;
      if (!isHead) yield changed();
    } else yield piece;
  }
  if (isHead) yield changed();
}

const SPACES = Buffer.alloc(65_536, ' ');

/** Adds white space after the body. JSON with it is still JSON: only its size is wrong. */
async function* padded(pieces: AsyncIterable<Buffer>, bytes: number) {
  yield* pieces;
  for (let left = bytes; left > 0; left -= SPACES.length) yield SPACES.subarray(0, left);
}

interface SpoiledBody {
  readonly payload: string | Readable;
  /** Headers that the server would not send by itself. */
  readonly headers: Readonly<Record<string, string>>;
}

function streamed(
  pieces: AsyncIterable<Buffer>,
  headers: Readonly<Record<string, string>> = {},
): SpoiledBody {
  return { payload: Readable.from(pieces, { objectMode: false }), headers };
}

function cutShort(payload: Body, { fault }: Strike): SpoiledBody {
  const whole = payload instanceof Readable ? undefined : Buffer.byteLength(payload);
  const bytes = whole === undefined ? fault.bytes : Math.min(fault.bytes, Math.max(0, whole - 1));
  const cutOff = fault.contentLength === 'wrong';
  const announced: Readonly<Record<string, string>> =
    cutOff && whole !== undefined ? { 'content-length': String(whole) } : {};
  return streamed(truncated(piecesOf(payload), bytes, cutOff), announced);
}

/** The body of an answer as the client gets it, with the fault applied. */
export function spoil(payload: Body, strike: Strike, clock: Clock): SpoiledBody {
  const { fault } = strike;
  const pieces = () => piecesOf(payload);
  switch (fault.kind) {
    case 'truncated':
      return cutShort(payload, strike);
    case 'drip':
      return streamed(dripping(pieces(), strike, clock));
    case 'padded':
      return streamed(padded(pieces(), fault.padding));
    case 'gzipBomb': {
      const packed = Readable.from(padded(pieces(), fault.padding)).pipe(createGzip());
      return { payload: packed, headers: { 'content-encoding': 'gzip' } };
    }
    default:
      return payload instanceof Readable
        ? streamed(rewritten(pieces(), strike))
        : { payload: rewrite(strike, payload.toString()), headers: {} };
  }
}
