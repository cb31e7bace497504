import { DEPTH_MAX } from '../json.ts';
import * as structure from './structure.ts';

/** Names of this module: V8 looks imported ones up again for each byte, a third of the time. */
const { BACKSLASH, CLOSE_OBJECT, JsonRowsError, OPEN_OBJECT, QUOTE } = structure;

/** `[` and `{` differ from each other in this bit only, and so do `]` and `}`. */
const BRACKET_BIT = 0x20;

/** The first bracket; what stands outside of strings is mostly below it: digits, commas, colons. */
const FIRST_BRACKET = 0x5b;

/** No row that is data is nested deeper than this. */
const DEPTH_USUAL = DEPTH_MAX;

/** The chunk ends inside the string. */
const OPEN_END = -1;
/** The same, and the byte that comes next is escaped. */
const ESCAPED_END = -2;

/** The index behind the string's closing quote, or how the chunk ends before it, at `end`. */
function endOfString(chunk: Uint8Array, from: number, end: number): number {
  let at = from;
  while (at < end) {
    const byte = chunk[at] ?? 0;
    at += 1;
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at += 1;
  }
  return at > end ? ESCAPED_END : OPEN_END;
}

/** Finds where an object, array or string ends; goes on over chunk borders. */
export class ValueScanner {
  #open = new Uint8Array(DEPTH_USUAL);
  #depth = 0;
  #inString = false;
  /** The next byte is escaped and belongs to the next chunk. */
  #escaped = false;

  /** The value is nested so deep that whoever parses it should look twice. */
  get isDeep(): boolean {
    return this.#open.length > DEPTH_USUAL;
  }

  /** Brackets that are open where the last chunk has ended. */
  get depth(): number {
    return this.#depth;
  }

  /** `first` is the value's first byte, which the caller has already stepped over. */
  begin(first: number): void {
    this.#inString = first === QUOTE;
    this.#depth = this.#inString ? 0 : 1;
    this.#escaped = false;
    if (this.isDeep) this.#open = new Uint8Array(DEPTH_USUAL);
    this.#open[1] = first;
  }

  /** The index behind the value's last byte, or -1 when the chunk ends inside the value. */
  scan(chunk: Uint8Array, from: number): number {
    if (!this.#inString) return this.#scanOutside(chunk, from);
    const at = endOfString(chunk, this.#escaped ? from + 1 : from, chunk.length);
    if (at < 0) return this.#stopInString(at);
    this.#inString = false;
    return this.#depth === 0 ? at : this.#scanOutside(chunk, at);
  }

  #scanOutside(chunk: Uint8Array, from: number): number {
    let open = this.#open;
    const end = chunk.length;
    let depth = this.#depth;
    let at = from;
    while (at < end) {
      const byte = chunk[at] ?? 0;
      at += 1;
      if (byte === QUOTE) {
        at = endOfString(chunk, at, end);
        if (at >= 0) continue;
        this.#depth = depth;
        return this.#stopInString(at);
      }
      if (byte < FIRST_BRACKET) continue;
      const bracket = byte | BRACKET_BIT;
      if (bracket === OPEN_OBJECT) {
        depth += 1;
        if (depth >= open.length) open = this.#deeper();
        open[depth] = byte;
      } else if (bracket === CLOSE_OBJECT) {
        if (open[depth] !== byte - 2) throw new JsonRowsError('malformed', 'brackets in a row');
        depth -= 1;
        if (depth === 0) return at;
      }
    }
    this.#depth = depth;
    return -1;
  }

  #deeper(): Uint8Array<ArrayBuffer> {
    const wider = new Uint8Array(this.#open.length * 2);
    wider.set(this.#open);
    this.#open = wider;
    return wider;
  }

  #stopInString(end: number): number {
    this.#inString = true;
    this.#escaped = end === ESCAPED_END;
    return -1;
  }
}
