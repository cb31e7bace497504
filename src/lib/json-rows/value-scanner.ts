import { BACKSLASH, CLOSE_OBJECT, JsonRowsError, OPEN_OBJECT, QUOTE } from './structure.ts';

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
  scan(chunk: Uint8Array, from: number): number {
    let at = from;
    if (this.#inString) {
      at = this.#endOfString(chunk, this.#escaped ? from + 1 : from);
      if (this.#inString) return -1;
      if (this.#depth === 0) return at;
    }
    const open = this.#open;
    const end = chunk.length;
    let depth = this.#depth;
    while (at < end) {
      const byte = chunk[at] ?? 0;
      at += 1;
      if (byte === QUOTE) {
        // The same as #endOfString, written out: this loop is where the time goes.
        let inString = true;
        while (at < end) {
          const inner = chunk[at];
          at += 1;
          if (inner === QUOTE) {
            inString = false;
            break;
          }
          if (inner === BACKSLASH) at += 1;
        }
        if (!inString) continue;
        this.#inString = true;
        break;
      }
      const bracket = byte | BRACKET_BIT;
      if (bracket === OPEN_OBJECT) {
        depth += 1;
        if (depth >= DEPTH_MAX) throw new JsonRowsError('too_deep', 'in a row');
        open[depth] = byte;
      } else if (bracket === CLOSE_OBJECT) {
        if (open[depth] !== byte - 2) throw new JsonRowsError('malformed', 'brackets in a row');
        depth -= 1;
        if (depth === 0) return at;
      }
    }
    this.#escaped = at > end;
    this.#depth = depth;
    return -1;
  }

  #endOfString(chunk: Uint8Array, from: number): number {
    let at = from;
    while (at < chunk.length) {
      const byte = chunk[at];
      at += 1;
      if (byte === QUOTE) {
        this.#inString = false;
        this.#escaped = false;
        return at;
      }
      if (byte === BACKSLASH) at += 1;
    }
    this.#escaped = at > chunk.length;
    return at;
  }
}
