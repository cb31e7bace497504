import { BACKSLASH, CLOSE_OBJECT, JsonRowsError, OPEN_OBJECT, QUOTE } from './bytes.ts';

/** `[` and `{` differ from each other in this bit only, and so do `]` and `}`. */
const BRACKET_BIT = 0x20;

/** Deeper nesting inside one row is not data but an attack on the parser's stack. */
const DEPTH_MAX = 256;

/** Finds where an object, array or string ends; goes on over chunk borders. */
export class ValueScanner {
  readonly #open = new Uint8Array(DEPTH_MAX);
  #depth = 0;
  #inString = false;
  /** The next byte is escaped and belongs to the next chunk. */
  #escaped = false;

  /** `first` is the value's first byte, which the caller has already stepped over. */
  begin(first: number): void {
    this.#inString = first === QUOTE;
    this.#depth = this.#inString ? 0 : 1;
    this.#escaped = false;
    this.#open[1] = first;
  }

  /** The index behind the value's last byte, or -1 when the chunk ends inside the value. */
  scan(chunk: Buffer, from: number): number {
    const end = chunk.length;
    let at = from;
    let depth = this.#depth;
    let inString = this.#inString;
    if (this.#escaped && at < end) {
      at += 1;
      this.#escaped = false;
    }
    while (at < end) {
      if (inString) {
        let byte = chunk[at];
        while (byte !== QUOTE && byte !== BACKSLASH && at < end) {
          at += 1;
          byte = chunk[at];
        }
        if (at >= end) break;
        at += byte === QUOTE ? 1 : 2;
        if (byte === BACKSLASH) continue;
        inString = false;
        if (depth === 0) return at;
      }
      while (at < end) {
        const byte = chunk[at] ?? 0;
        at += 1;
        if (byte === QUOTE) {
          inString = true;
          break;
        }
        const bracket = byte | BRACKET_BIT;
        if (bracket === OPEN_OBJECT) {
          depth += 1;
          if (depth >= DEPTH_MAX) throw new JsonRowsError('too_deep', 'in a row');
          this.#open[depth] = byte;
        } else if (bracket === CLOSE_OBJECT) {
          if (this.#open[depth] !== byte - 2) {
            throw new JsonRowsError('malformed', 'brackets in a row');
          }
          depth -= 1;
          if (depth === 0) return at;
        }
      }
    }
    this.#escaped = at > end;
    this.#depth = depth;
    this.#inString = inString;
    return -1;
  }
}
