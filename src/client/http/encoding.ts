/**
 * Removes content codings (RFC 9110, 8.4) from an answer while it streams, limited by the
 * decompressed size, because a few kilobytes may unfold to gigabytes. A body whose named coding is
 * wrong, or left over from a proxy that unpacked it, is read unchanged, and noted.
 */
import { Readable, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import * as zlib from 'node:zlib';
import { createBodyBuffer } from './body-buffer.ts';
import type { Note } from './charset.ts';
import { type AnswerHeaders, ExchangeFailure, headerText, type RawAnswer } from './exchange.ts';

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
