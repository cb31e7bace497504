/**
 * Removes content codings (RFC 9110, 8.4) from an answer while it streams, limited by the
 * decompressed size, because a few kilobytes may unfold to gigabytes. A body whose named coding is
 * wrong, or left over from a proxy that unpacked it, is read unchanged, and noted.
 */

import { isAscii, isUtf8 } from 'node:buffer';
import { Readable, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { TextDecoder } from 'node:util';
import * as zlib from 'node:zlib';
import { quoted } from '../../lib/reading/quoted.ts';
import {
  type AnswerHeaders,
  createBodyBuffer,
  ExchangeFailure,
  headerText,
  type RawAnswer,
} from './exchange.ts';

// Converts answers to UTF-8 from any charset. Invalid bytes are an error and never become U+FFFD,
// because a damaged name would be another name, and two of them one key. Without a charset, or with
// a Latin one (a server's default), valid UTF-8 is read as such. Other bytes without a charset are
// read as windows-1252 if nothing contradicts it. All deviations are noted.

/** Error for bytes that are invalid in the charset of their body. */
class CharsetError extends Error {
  override readonly name = 'CharsetError';
}

/** Called with each deviation from plain UTF-8, for the counts of dialects. */
export type Note = (what: string) => void;

const NO_BYTES = Buffer.alloc(0);

const NEAR_CHARS_MAX = 40;

const LABEL = /;\s*charset\s*=\s*["']?([^\s;"']+)/i;

const MARK = Buffer.from('\ufeff');

/**
 * Bytes behind the byte order marks of UTF-8: each script that makes an answer may put one before
 * it, whatever its charset.
 */
function behindMarks(bytes: Buffer): Buffer {
  let at = 0;
  while (MARK.equals(bytes.subarray(at, at + MARK.length))) at += MARK.length;
  return at === 0 ? bytes : bytes.subarray(at);
}

const mayBecomeMark = (bytes: Buffer): boolean => MARK.subarray(0, bytes.length).equals(bytes);

interface Declared {
  /** Lower-case name of the declared charset; undefined: none named, or one that is unknown. */
  readonly label: string | undefined;
  /** Name under which TextDecoder knows the charset. */
  readonly encoding: string | undefined;
}

function declaredIn(contentType: string | undefined, note: Note): Declared {
  const label = LABEL.exec(contentType ?? '')?.[1]?.toLowerCase();
  if (label === undefined) return { label, encoding: undefined };
  try {
    return { label, encoding: new TextDecoder(label).encoding };
  } catch {
    note(`charset=${label} (unknown)`);
    return { label: undefined, encoding: undefined };
  }
}

/**
 * Detects UTF-16 by its byte order mark, or by a zero byte in the first character, which in JSON is
 * ASCII.
 */
function utf16In(head: Buffer, { label, encoding }: Declared): string | undefined {
  const [first, second] = head;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  if (first === 0 && second !== undefined && second !== 0) return 'utf-16be';
  if (second === 0 && first !== undefined && first !== 0) return 'utf-16le';
  return label?.startsWith('utf-16') ? encoding : undefined;
}

/** Describes the position of the first invalid bytes. */
function behind(bytes: Buffer): string {
  const text = bytes.toString();
  const at = text.indexOf('\ufffd');
  const near = text.slice(Math.max(0, at - NEAR_CHARS_MAX), at).replaceAll(/\s+/g, ' ');
  return near === '' ? 'at its beginning' : `behind ${quoted(near)}`;
}

function notUtf8(bytes: Buffer, { label }: Declared): CharsetError {
  const what = label === undefined ? 'it names no charset, and is' : `it says ${label}, and is`;
  return new CharsetError(`${what} no UTF-8 ${behind(bytes)}`);
}

/** UTF-8 sequences of two and three bytes, which no text in windows-1252 contains. */
const UTF8_CHARACTER = /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}/;
/** Bytes that stand for no character in windows-1252. */
const NO_CHARACTER = /[\x81\x8d\x8f\x90\x9d]/;

function isWindows1252(bytes: Buffer): boolean {
  const text = bytes.toString('latin1');
  return !UTF8_CHARACTER.test(text) && !NO_CHARACTER.test(text);
}

/** Length of the UTF-8 character with this first byte. */
function lengthOf(first: number): number {
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}

/** Number of bytes at the end of a chunk that start an incomplete UTF-8 character. */
function openEnd(bytes: Buffer): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte < 0xc0) continue;
    return lengthOf(byte) > back ? back : 0;
  }
  return 0;
}

type Mode = 'undecided' | 'utf-8' | 'decoded';

/** Converts a body to UTF-8 as it arrives. */
export class Transcoder {
  readonly #declared: Declared;
  readonly #note: Note;
  #mode: Mode = 'undecided';
  #decoder: TextDecoder | undefined;
  /** Whether windows-1252 is a guess, so that the bytes are checked for contradictions. */
  #isGuess = false;
  #isFirst = true;
  /** Bytes of a character, or of a mark, whose end has not arrived yet. */
  #open: Buffer = NO_BYTES;

  constructor(contentType: string | undefined, note: Note) {
    this.#note = note;
    this.#declared = declaredIn(contentType, note);
  }

  /**
   * Returns the complete characters so far as UTF-8; the chunk itself, if it is UTF-8 already.
   * Throws on invalid bytes.
   */
  push(chunk: Buffer): Buffer {
    if (chunk.length === 0) return chunk;
    if (!this.#isFirst) return this.#more(chunk);
    const text = behindMarks(Buffer.concat([this.#open, chunk]));
    const isOpen = mayBecomeMark(text);
    this.#open = isOpen ? text : NO_BYTES;
    if (isOpen) return NO_BYTES;
    this.#begin(text);
    return this.#more(text);
  }

  #more(chunk: Buffer): Buffer {
    if (this.#decoder) return this.#decode(chunk);
    if (this.#mode === 'undecided' && this.#open.length === 0 && isAscii(chunk)) return chunk;
    const bytes = this.#open.length === 0 ? chunk : Buffer.concat([this.#open, chunk]);
    const end = bytes.length - openEnd(bytes);
    const whole = bytes.subarray(0, end);
    if (!isUtf8(whole)) return this.#otherwise(bytes);
    // The bytes are copied, so that they neither keep the chunk alive nor change with it.
    this.#open = end === bytes.length ? NO_BYTES : Buffer.from(bytes.subarray(end));
    if (this.#mode === 'undecided' && !isAscii(whole)) this.#isUtf8();
    return whole;
  }

  /** Returns the remaining bytes as UTF-8. Throws on invalid bytes. */
  end(): Buffer {
    if (this.#decoder) return this.#decode(undefined);
    return this.#open.length === 0 ? NO_BYTES : this.#otherwise(this.#open);
  }

  #begin(head: Buffer): void {
    this.#isFirst = false;
    const { label, encoding } = this.#declared;
    const utf16 = utf16In(head, this.#declared);
    if (utf16 !== undefined) this.#decodeAs(utf16, label ?? utf16);
    else if (encoding === 'utf-8') this.#mode = 'utf-8';
    else if (encoding !== undefined && encoding !== 'windows-1252') {
      this.#decodeAs(encoding, label ?? encoding);
    }
  }

  #isUtf8(): void {
    this.#mode = 'utf-8';
    const { label } = this.#declared;
    if (label !== undefined) this.#note(`charset=${label} (UTF-8 came)`);
  }

  /**
   * Handles bytes that are not UTF-8: windows-1252 after pure ASCII, an error if UTF-8 is declared.
   */
  #otherwise(bytes: Buffer): Buffer {
    if (this.#mode === 'utf-8') throw notUtf8(bytes, this.#declared);
    const { label, encoding } = this.#declared;
    this.#isGuess = encoding === undefined;
    if (this.#isGuess && !isWindows1252(bytes)) throw notUtf8(bytes, this.#declared);
    this.#decodeAs('windows-1252', label ?? 'none (windows-1252 came)');
    this.#open = NO_BYTES;
    return this.#decode(bytes);
  }

  #decodeAs(encoding: string, name: string): void {
    this.#mode = 'decoded';
    this.#decoder = new TextDecoder(encoding, { fatal: true });
    this.#note(`charset=${name}`);
  }

  #decode(chunk: Buffer | undefined): Buffer {
    if (this.#isGuess && chunk && !isAscii(chunk) && !isWindows1252(chunk)) {
      throw new CharsetError(`it names no charset, and is neither UTF-8 nor windows-1252`);
    }
    try {
      const text = this.#decoder?.decode(chunk, { stream: chunk !== undefined });
      return Buffer.from(text ?? '');
    } catch {
      throw new CharsetError(`it is not ${this.#declared.label ?? this.#decoder?.encoding}`);
    }
  }
}

/** Converts a whole body to UTF-8 without a byte order mark; it is not copied if it is that. */
export function utf8Of(body: Buffer, contentType: string | undefined, note: Note): Buffer {
  const label = LABEL.exec(contentType ?? '')?.[1];
  const isSaidSo = label === undefined || label.toLowerCase() === 'utf-8';
  // Zero bytes at the beginning would be UTF-16.
  const bytes = behindMarks(body);
  if (isSaidSo && bytes[0] !== 0 && bytes[1] !== 0 && isUtf8(bytes)) return bytes;
  const transcoder = new Transcoder(contentType, note);
  const text = transcoder.push(bytes);
  const rest = transcoder.end();
  return rest.length === 0 ? text : Buffer.concat([text, rest]);
}

/** Text of a body for an error message; invalid bytes become U+FFFD. */
export function looseTextOf(body: Buffer, contentType: string | undefined): string {
  try {
    return textOf(utf8Of(body, contentType, () => undefined));
  } catch {
    return textOf(body);
  }
}

/** Text of a UTF-8 body, without a byte order mark. */
export function textOf(body: Buffer): string {
  return behindMarks(body).toString();
}

/** Content codings that every request declares as accepted. */
export const ACCEPTED_CODINGS = 'gzip, br';

/** Error for a body that has an unsupported content coding, or is damaged. */
class CodingError extends Error {
  override readonly name = 'CodingError';
}

const CHUNK_BYTES = 65_536;

/**
 * Largest zstd window as a power of two: 8 MiB, the maximum of RFC 9659. A frame may ask for
 * gigabytes.
 */
const ZSTD_WINDOW_LOG_MAX = 23;

const DECODERS: Readonly<Record<string, (first: number) => Transform>> = {
  gzip: () => zlib.createGunzip({ chunkSize: CHUNK_BYTES }),
  br: () => zlib.createBrotliDecompress({ chunkSize: CHUNK_BYTES }),
  // Some servers omit the zlib header, whose first byte ends in 8.
  deflate: (first) =>
    (first & 0x0f) === 8
      ? zlib.createInflate({ chunkSize: CHUNK_BYTES })
      : zlib.createInflateRaw({ chunkSize: CHUNK_BYTES }),
  zstd: () =>
    zlib.createZstdDecompress({
      chunkSize: CHUNK_BYTES,
      params: { [zlib.constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX },
    }),
};

/** Registered content codings that are not supported. */
const OTHERS: ReadonlySet<string> = new Set([
  'aes128gcm',
  'compress',
  'dcb',
  'dcz',
  'exi',
  'pack200-gzip',
]);

/**
 * Content codings of an answer in the order in which they were applied. Throws for an unsupported
 * one.
 */
function codingsIn(headers: AnswerHeaders, note: Note): readonly string[] {
  const header = headerText(headers, 'content-encoding');
  if (header === undefined || header === 'identity') return [];
  const codings: string[] = [];
  for (const written of header.split(',')) {
    const name = written.trim().toLowerCase().replace(/^x-/, '');
    if (Object.hasOwn(DECODERS, name)) codings.push(name);
    else if (OTHERS.has(name)) throw new CodingError(`it is packed with ${name}`);
    else note(`content-encoding=${written.trim().slice(0, 40)} (none)`);
  }
  return codings;
}

const GZIP_FIRST = 0x1f;

function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === GZIP_FIRST && bytes[1] === 0x8b;
}

/**
 * Corrects the named content codings by the body's first bytes; only gzip can be told from the
 * start of JSON.
 */
function codingsBy(head: Uint8Array, named: readonly string[], note: Note): readonly string[] {
  const [outermost] = named.slice(-1);
  if (outermost === 'gzip' && !isGzip(head)) {
    note('content-encoding=gzip (none)');
    return named.slice(0, -1);
  }
  if (outermost === undefined && isGzip(head)) {
    note('content-encoding=none (gzip came)');
    return ['gzip'];
  }
  return named;
}

export interface BodyLimit {
  /** Maximum bytes of the decompressed body. */
  readonly bytesMax: number;
  readonly note: Note;
}

/**
 * Reads only as much of the body as shows whether it is gzip, because other bodies may arrive
 * slowly.
 */
async function headOf(source: AsyncGenerator<Buffer>): Promise<Buffer> {
  let head: Buffer = Buffer.alloc(0);
  while (head.length === 0 || (head.length === 1 && head[0] === GZIP_FIRST)) {
    const { value, done } = await source.next();
    if (done) break;
    head = head.length === 0 ? value : Buffer.concat([head, value]);
  }
  return head;
}

async function* withHead(head: Buffer, source: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  if (head.length > 0) yield head;
  yield* source;
}

async function* unpacked(
  source: AsyncGenerator<Buffer>,
  codings: readonly string[],
  first: number,
): AsyncGenerator<Buffer, void, undefined> {
  const decoders = codings.toReversed().map((name) => DECODERS[name]?.(first));
  const chain = decoders.filter((decoder) => decoder !== undefined);
  const last = chain.at(-1);
  if (!last) return;
  // A failure while feeding surfaces at the end of the chain of decoders.
  const feeding = pipeline([Readable.from(source), ...chain]).catch(() => undefined);
  try {
    for await (const chunk of last) if (chunk instanceof Buffer) yield chunk;
    await feeding;
  } catch (error) {
    if (error instanceof ExchangeFailure || !(error instanceof Error)) throw error;
    throw new CodingError(`it cannot be unpacked (${codings.join(', ')}): ${error.message}`);
  } finally {
    last.destroy();
  }
}

/** Decompressed body of an answer as a stream; read it to its end or abandon it, without delay. */
export async function* streamedBody(
  answer: RawAnswer,
  { bytesMax, note }: BodyLimit,
): AsyncGenerator<Buffer, void, undefined> {
  let bytes = 0;
  try {
    const named = codingsIn(answer.headers, note);
    const source = answer.stream();
    const head = await headOf(source);
    const codings = head.length === 0 ? [] : codingsBy(head, named, note);
    const isPlain = codings.length === 0;
    if (isPlain && head.length > 0) yield head;
    bytes = isPlain ? head.length : 0;
    const chunks = isPlain ? source : unpacked(withHead(head, source), codings, head[0] ?? 0);
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw new ExchangeFailure('too_large', true, undefined);
      yield chunk;
    }
  } finally {
    // After an abandoned read, the source may wait for a byte that never comes.
    answer.discard();
  }
}

async function* of(body: Buffer): AsyncGenerator<Buffer> {
  yield body;
}

/**
 * Decompressed body of an answer as a whole, in memory of its own; `mayCut` drops what exceeds the
 * limit.
 */
export async function wholeBody(
  answer: RawAnswer,
  { bytesMax, note, mayCut = false }: BodyLimit & { readonly mayCut?: boolean },
): Promise<Buffer> {
  let chunks: AsyncGenerator<Buffer>;
  const header = headerText(answer.headers, 'content-encoding');
  if (header === undefined || header === 'identity') {
    const body = await answer.whole(bytesMax);
    if (!isGzip(body)) return body;
    chunks = unpacked(of(body), codingsBy(body, [], note), 0);
  } else {
    chunks = streamedBody(answer, { bytesMax: Number.POSITIVE_INFINITY, note });
  }
  const buffer = createBodyBuffer(undefined, bytesMax);
  for await (const chunk of chunks) {
    buffer.add(chunk);
    if (!buffer.isOver()) continue;
    if (mayCut) break;
    throw new ExchangeFailure('too_large', true, undefined);
  }
  return buffer.end();
}
