/**
 * Makes UTF-8 of the bytes of an answer, whatever charset they came in, so that everything behind
 * reads one charset. Bytes that are not of their charset are an error and never become U+FFFD: a
 * damaged name would be another name, and two of them one key.
 *
 * A service that names no charset, or a Latin one while it sends UTF-8 (a default of its server),
 * is read as UTF-8 if its bytes are. What names none and is no UTF-8 is read as windows-1252 if
 * nothing speaks against that: the account has no other way to say it. All of it is noted.
 */
import { isAscii, isUtf8 } from 'node:buffer';
import { TextDecoder } from 'node:util';

/** The bytes are not of the charset that they came in. */
class CharsetError extends Error {
  override readonly name = 'CharsetError';
}

/** Told of what is unusual. */
export type Note = (what: string) => void;

const NO_BYTES = Buffer.alloc(0);

/** More would only be noise in a message. */
const NEAR_CHARS_MAX = 40;

const LABEL = /;\s*charset\s*=\s*["']?([^\s;"']+)/i;

interface Declared {
  /** The name in small letters; undefined: none was named, or one that nobody knows. */
  readonly label: string | undefined;
  /** The name of the decoder. */
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

/** UTF-16 by its mark, or by the zero in the first character, which JSON has from ASCII. */
function utf16In(head: Buffer, { label, encoding }: Declared): string | undefined {
  const [first, second] = head;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  if (first === 0 && second !== undefined && second !== 0) return 'utf-16be';
  if (second === 0 && first !== undefined && first !== 0) return 'utf-16le';
  return label?.startsWith('utf-16') ? encoding : undefined;
}

/** The place of the first bytes that are not UTF-8, in words. */
function behind(bytes: Buffer): string {
  const text = bytes.toString();
  const at = text.indexOf('\ufffd');
  const near = text.slice(Math.max(0, at - NEAR_CHARS_MAX), at).replaceAll(/\s+/g, ' ');
  return near === '' ? 'at its beginning' : `behind "${near}"`;
}

function notUtf8(bytes: Buffer, { label }: Declared): CharsetError {
  const what = label === undefined ? 'it names no charset, and is' : `it says ${label}, and is`;
  return new CharsetError(`${what} no UTF-8 ${behind(bytes)}`);
}

/** Characters of two and three bytes of UTF-8, which no text in windows-1252 has. */
const UTF8_CHARACTER = /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}/;
/** Bytes that stand for nothing there. */
const NO_CHARACTER = /[\x81\x8d\x8f\x90\x9d]/;

function isWindows1252(bytes: Buffer): boolean {
  const text = bytes.toString('latin1');
  return !UTF8_CHARACTER.test(text) && !NO_CHARACTER.test(text);
}

/** Bytes of the character of UTF-8 that begins so. */
function lengthOf(first: number): number {
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}

/** Bytes at the end that begin a character of UTF-8 and do not end it. */
function openEnd(bytes: Buffer): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte < 0xc0) continue;
    return lengthOf(byte) > back ? back : 0;
  }
  return 0;
}

export interface ToUtf8 {
  /** Gives the whole characters so far; the chunk itself, if that is UTF-8 already. */
  push(chunk: Buffer): Buffer;
  /** The rest. Both throw where bytes are not of their charset. */
  end(): Buffer;
}

type Mode = 'undecided' | 'utf-8' | 'decoded';

class Transcoder implements ToUtf8 {
  readonly #declared: Declared;
  readonly #note: Note;
  #mode: Mode = 'undecided';
  #decoder: TextDecoder | undefined;
  /** Windows-1252 is only supposed: it is looked at for what speaks against it. */
  #isGuess = false;
  #isFirst = true;
  /** The beginning of a character. */
  #open: Buffer = NO_BYTES;

  constructor(contentType: string | undefined, note: Note) {
    this.#note = note;
    this.#declared = declaredIn(contentType, note);
  }

  push(chunk: Buffer): Buffer {
    if (chunk.length === 0) return chunk;
    if (this.#isFirst) this.#begin(chunk);
    if (this.#decoder) return this.#decode(chunk);
    if (this.#mode === 'undecided' && this.#open.length === 0 && isAscii(chunk)) return chunk;
    const bytes = this.#open.length === 0 ? chunk : Buffer.concat([this.#open, chunk]);
    const end = bytes.length - openEnd(bytes);
    const whole = bytes.subarray(0, end);
    if (!isUtf8(whole)) return this.#otherwise(bytes);
    // Copied: a few bytes must not keep the chunk, nor change with it.
    this.#open = end === bytes.length ? NO_BYTES : Buffer.from(bytes.subarray(end));
    if (this.#mode === 'undecided' && !isAscii(whole)) this.#isUtf8();
    return whole;
  }

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

  /** Bytes that are no UTF-8, and all before them was ASCII, or is no excuse. */
  #otherwise(bytes: Buffer): Buffer {
    if (this.#mode === 'utf-8') throw notUtf8(bytes, this.#declared);
    const { label, encoding } = this.#declared;
    this.#isGuess = encoding === undefined;
    if (this.#isGuess && !isWindows1252(bytes)) throw notUtf8(bytes, this.#declared);
    this.#decodeAs('windows-1252', label ?? 'none (windows-1252 came)');
    this.#open = NO_BYTES;
    return this.#decode(bytes);
  }

  #decodeAs(encoding: string, told: string): void {
    this.#mode = 'decoded';
    this.#decoder = new TextDecoder(encoding, { fatal: true });
    this.#note(`charset=${told}`);
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

export function createToUtf8(contentType: string | undefined, note: Note): ToUtf8 {
  return new Transcoder(contentType, note);
}

/** The same of a whole body; one that is UTF-8 comes back as it is. */
export function utf8Of(body: Buffer, contentType: string | undefined, note: Note): Buffer {
  const transcoder = createToUtf8(contentType, note);
  const text = transcoder.push(body);
  const rest = transcoder.end();
  return rest.length === 0 ? text : Buffer.concat([text, rest]);
}

/** The text for a message: bytes that are not of the charset are shown as U+FFFD. */
export function looseTextOf(body: Buffer, contentType: string | undefined): string {
  try {
    return textOf(utf8Of(body, contentType, () => undefined));
  } catch {
    return textOf(body);
  }
}

/** UTF-8, without a byte order mark. */
export function textOf(body: Buffer): string {
  return body.toString().replace(/^\ufeff/, '');
}
