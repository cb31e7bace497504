import { isRowNumber } from './keyed.ts';
import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  JsonRowsError,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from './structure.ts';

const NULL = Buffer.from('null');

interface Frame {
  readonly object: boolean;
  key: string | undefined;
}

/** Scans everything around the array: keeps its bytes and tracks the position in the document. */
export class RestScanner {
  readonly #others: readonly (readonly string[])[] | undefined;
  readonly #bytesMax: number;
  readonly #parts: Buffer[] = [];
  readonly #frames: Frame[] = [];
  /** Paths at which the array may still be. */
  #paths: readonly (readonly string[])[];
  #foundAt: readonly string[] | undefined;
  #isKeyed = false;
  #bytes = 0;
  #expectsKey = false;
  #inString = false;
  #escaped = false;
  #key: number[] | undefined;

  constructor(
    path: readonly string[],
    others: readonly (readonly string[])[] | undefined,
    bytesMax: number,
  ) {
    this.#paths = [path, ...(others ?? [])];
    this.#others = others;
    this.#bytesMax = bytesMax;
  }

  get foundAt(): readonly string[] | undefined {
    return this.#foundAt;
  }

  /** Whether the list is an object by number instead of an array. */
  get isKeyed(): boolean {
    return this.#isKeyed;
  }

  /**
   * Scans up to the list. Returns the index after the array's `[`, or of the first row of an object
   * by number; -1 when the input contains neither.
   */
  scan(input: Buffer, from: number): number {
    for (let at = from; at < input.length; at += 1) {
      const byte = input[at] ?? 0;
      if (this.#inString) this.#stringByte(byte);
      else if (byte === OPEN_ARRAY && this.#isTarget(0)) {
        this.#keep(input.subarray(from, at + 1));
        this.#frames.push({ object: false, key: undefined });
        return at + 1;
      } else if (byte === OPEN_OBJECT && this.#isKeyedRow()) {
        this.#keep(input.subarray(from, at));
        this.#keep(NULL);
        return at;
      } else this.#structureByte(byte);
    }
    this.#keep(input.subarray(from));
    return -1;
  }

  end(): unknown {
    const text = Buffer.concat(this.#parts).toString();
    if (this.#inString || this.#frames.length > 0 || text.trim() === '') {
      throw new JsonRowsError('truncated', 'outside of the rows');
    }
    return JSON.parse(text);
  }

  /** Whether the array would start at this depth, or `inside` levels further out. */
  #isTarget(inside: number): boolean {
    const depth = this.#frames.length - inside;
    const found = this.#paths.find(
      (path) =>
        path.length === depth &&
        path.every((name, at) => this.#frames[at]?.object && this.#frames[at]?.key === name),
    );
    if (!found) return false;
    this.#foundAt = found;
    this.#paths = [found];
    return true;
  }

  #isKeyedRow(): boolean {
    const last = this.#frames.at(-1);
    // A list that started as an array is no object by number.
    if (!this.#others || this.#foundAt || !last?.object || !isRowNumber(last.key)) return false;
    this.#isKeyed = this.#isTarget(1);
    return this.#isKeyed;
  }

  #keep(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes > this.#bytesMax) {
      throw new JsonRowsError('rest_too_large', 'outside of the rows');
    }
    // The part is copied, so that a few bytes do not keep a whole buffer in memory.
    if (part.length > 0) this.#parts.push(Buffer.from(part));
  }

  #stringByte(byte: number): void {
    if (this.#escaped) this.#escaped = false;
    else if (byte === BACKSLASH) this.#escaped = true;
    else if (byte === QUOTE) {
      this.#inString = false;
      const frame = this.#frames.at(-1);
      if (frame && this.#key) frame.key = keyText(this.#key);
      this.#key = undefined;
      return;
    }
    this.#key?.push(byte);
  }

  #structureByte(byte: number): void {
    if (byte === QUOTE) {
      this.#inString = true;
      this.#key = this.#expectsKey ? [] : undefined;
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      this.#frames.push({ object: byte === OPEN_OBJECT, key: undefined });
      this.#expectsKey = byte === OPEN_OBJECT;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      this.#frames.pop();
      this.#expectsKey = false;
    } else if (byte === COMMA) this.#expectsKey = this.#frames.at(-1)?.object ?? false;
    else if (byte === COLON) this.#expectsKey = false;
  }
}

function keyText(bytes: readonly number[]): string | undefined {
  try {
    const key: unknown = JSON.parse(`"${Buffer.from(bytes).toString()}"`);
    return typeof key === 'string' ? key : undefined;
  } catch {
    // Invalid JSON is reported when the rest is parsed.
    return undefined;
  }
}
