import { DEPTH_MAX } from '../json.ts';
import * as structure from './structure.ts';

/**
 * Structural bytes under local names: V8 looks imported names up again for each byte, which takes a
 * third of the time.
 */
const { BACKSLASH, CLOSE_OBJECT, JsonRowsError, OPEN_OBJECT, QUOTE } = structure;

/** Bit in which `[` and `{` differ, and also `]` and `}`; their other bits are equal. */
const BRACKET_BIT = 0x20;

/** Lowest byte of a bracket; most bytes outside of strings are below it: digits, commas, colons. */
const FIRST_BRACKET = 0x5b;

const DEPTH_USUAL = DEPTH_MAX;

/** Result when the input ends inside a string. */
const OPEN_END = -1;
/** Result when the input ends inside a string, and the next byte is escaped. */
const ESCAPED_END = -2;

/** Index after a string's closing quote, or how the input ends before it. */
function endOfString(input: Uint8Array, from: number, end: number): number {
  let at = from;
  while (at < end) {
    const byte = input[at] ?? 0;
    at += 1;
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at += 1;
  }
  return at > end ? ESCAPED_END : OPEN_END;
}

/** Finds where an object, array or string ends, across input buffers. */
export class ValueScanner {
  #open = new Uint8Array(DEPTH_USUAL);
  #depth = 0;
  #inString = false;
  /** Whether the next buffer begins with an escaped byte. */
  #escaped = false;

  /** Whether the value is nested so deep that a parser should check it. */
  get isDeep(): boolean {
    return this.#open.length > DEPTH_USUAL;
  }

  /** Number of brackets that are open at the end of the last buffer. */
  get depth(): number {
    return this.#depth;
  }

  /** Begins a value; `first` is its first byte, already consumed. */
  begin(first: number): void {
    this.#inString = first === QUOTE;
    this.#depth = this.#inString ? 0 : 1;
    this.#escaped = false;
    if (this.isDeep) this.#open = new Uint8Array(DEPTH_USUAL);
    this.#open[1] = first;
  }

  /** Index after the last byte of the value, or -1 when the input ends inside it. */
  scan(input: Uint8Array, from: number): number {
    if (!this.#inString) return this.#scanOutside(input, from);
    const at = endOfString(input, this.#escaped ? from + 1 : from, input.length);
    if (at < 0) return this.#stopInString(at);
    this.#inString = false;
    return this.#depth === 0 ? at : this.#scanOutside(input, at);
  }

  #scanOutside(input: Uint8Array, from: number): number {
    let open = this.#open;
    const end = input.length;
    let depth = this.#depth;
    let at = from;
    while (at < end) {
      const byte = input[at] ?? 0;
      at += 1;
      if (byte === QUOTE) {
        at = endOfString(input, at, end);
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
