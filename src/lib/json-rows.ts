/**
 * Splits a streamed JSON document into the rows of one array in it, for example the million
 * elements of `data.variants`, without ever holding or parsing the whole. Rows come out as chunks:
 * the bytes of a few neighbouring rows, separators included, so that a chunk is digested at once
 * and `[` + chunk + `]` is JSON. Everything around the array is kept and parsed at the end, with
 * the array empty. Input may break anywhere. A row that is too long is shortened
 * (json-rows/long-row.ts). The scanner verifies structure only: brackets match, strings end, commas
 * separate, nothing is cut off. Whether a row is valid JSON is found when it is parsed
 * (json-rows/rows-of.ts).
 */

import { withoutNames } from './json-rows/keyed.ts';
import { type KnownChunk, KnownRows } from './json-rows/known.ts';
import { LongRow } from './json-rows/long-row.ts';
import { RestScanner } from './json-rows/rest-scanner.ts';
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  isSpace,
  JsonRowsError,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from './json-rows/structure.ts';
import { ValueScanner } from './json-rows/value-scanner.ts';

export interface RowChunk {
  /** Index of the chunk's first row in the whole array, from 0. */
  readonly firstRow: number;
  readonly rowCount: number;
  /** Bytes from the start of the chunk's first row to the end of its last. */
  readonly bytes: Buffer;
  /** Whether the chunk's digest equals the stored one, so that it was not scanned. */
  readonly isKnown: boolean;
}

export interface RowScanOptions {
  /** Names of the members from the root to the array; empty: the document itself is the array. */
  readonly path: readonly string[];
  /**
   * Other paths at which the array may be. If given, it may also be an object by number (`{"0": …,
   * "1": …}`). The first match counts.
   */
  readonly others?: readonly (readonly string[])[] | undefined;
  /** Rows per chunk: a chunk ends where the row index is a multiple of this. */
  readonly rowsPerChunk: number;
  /** Maximum bytes of a row; a longer row is shortened. */
  readonly rowBytesMax: number;
  /** Maximum bytes of everything around the array. */
  readonly restBytesMax: number;
  /** Number of rows at the beginning that are checked but not returned. */
  readonly skipRows?: number | undefined;
  /** Gives the stored chunk that begins with this row of the array. */
  readonly known?: ((firstRow: number) => KnownChunk | undefined) | undefined;
}

export interface RowScanEnd {
  /** Chunks that were held back because they might have matched a stored one. */
  readonly chunks: readonly RowChunk[];
  /** Parsed document around the array, with the array empty. */
  readonly rest: unknown;
  /** Whether the document has the array. */
  readonly found: boolean;
  /** Path at which the array was found. */
  readonly at: readonly string[] | undefined;
  /** Whether the array is an object by number; its first row is then null in the rest. */
  readonly isKeyed: boolean;
  /** Number of rows of the array, including skipped ones. */
  readonly rows: number;
}

export interface RowScanner {
  /** Number of rows completed so far. */
  readonly rows: number;
  /** Returns the chunks that this input completes. Throws {@link JsonRowsError}. */
  push(input: Buffer): RowChunk[];
  /**
   * Ends the document after its last input; returns the remaining chunks and the rest. Throws
   * {@link JsonRowsError}.
   */
  end(): RowScanEnd;
}

type Place =
  | 'rest'
  | 'first_row'
  | 'next_row'
  | 'in_row'
  | 'in_scalar'
  | 'in_known'
  | 'after_row'
  // The remaining states are within an object by number.
  | 'in_name'
  | 'after_name'
  | 'row_value';

class StreamedRows implements RowScanner {
  readonly #options: RowScanOptions;
  readonly #rest: RestScanner;
  readonly #value = new ValueScanner();
  readonly #known: KnownRows;
  #place: Place = 'rest';
  #found = false;
  #rows = 0;
  /**
   * The chunk that is still open: its earlier buffers, and its start in the present one (-1: no
   * chunk is open).
   */
  #parts: Buffer[] = [];
  #partsBytes = 0;
  #chunkAt = -1;
  #chunkFirst = 0;
  /** Offsets in the open chunk: start of the current row, and end of the last complete one. */
  #rowAt = 0;
  #lastEnd = 0;
  /** Summary of the current row when it is too long, so that its bytes are not kept. */
  #long: LongRow | undefined;
  /** Stored chunk to compare with, and bytes of earlier buffers that may belong to it. */
  #expected: KnownChunk | undefined;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #out: RowChunk[] = [];

  constructor(options: RowScanOptions) {
    this.#options = options;
    this.#known = new KnownRows(options);
    this.#rest = new RestScanner(options.path, options.others, options.restBytesMax);
  }

  get rows(): number {
    return this.#rows;
  }

  push(input: Buffer): RowChunk[] {
    this.#out = [];
    this.#scan(input);
    return this.#out;
  }

  #scan(input: Buffer): void {
    let at = 0;
    while (at >= 0 && at < input.length) at = this.#step(input, at);
    if (this.#chunkAt >= 0) {
      this.#keep(input.subarray(this.#chunkAt));
      this.#chunkAt = 0;
      const reading = this.#place === 'in_row' || this.#place === 'in_scalar';
      if (reading) this.#checkRow();
    }
  }

  end(): RowScanEnd {
    this.#out = [];
    while (this.#place === 'in_known') this.#scanHeld();
    if (this.#place !== 'rest') throw new JsonRowsError('truncated', `in row ${this.#rows}`);
    let rest: unknown;
    try {
      rest = this.#rest.end();
    } catch (error) {
      if (error instanceof JsonRowsError) throw error;
      throw new JsonRowsError('malformed', 'outside of the rows');
    }
    const { foundAt: at, isKeyed } = this.#rest;
    return { chunks: this.#out, rest, found: this.#found, at, isKeyed, rows: this.#rows };
  }

  /**
   * Advances the scan from `at` to the next state; returns its index, or -1 at the end of the
   * buffer.
   */
  #step(input: Buffer, at: number): number {
    switch (this.#place) {
      case 'rest':
        return this.#enterArray(this.#rest.scan(input, at));
      case 'in_row': {
        const end = this.#value.scan(input, at);
        if (end >= 0) this.#endRow(input, end);
        return end;
      }
      case 'in_scalar':
        return this.#scanScalar(input, at);
      case 'in_known':
        return this.#prove(input, at);
      case 'in_name': {
        const end = this.#value.scan(input, at);
        if (end >= 0) this.#place = 'after_name';
        return end;
      }
      default:
        return this.#betweenRows(input, at);
    }
  }

  #enterArray(at: number): number {
    if (at < 0) return at;
    if (this.#found) throw new JsonRowsError('repeated_array', this.#options.path.join('.'));
    this.#found = true;
    this.#place = this.#rest.isKeyed ? 'row_value' : 'first_row';
    return at;
  }

  #scanScalar(input: Buffer, from: number): number {
    for (let at = from; at < input.length; at += 1) {
      const byte = input[at];
      if (byte === COMMA || byte === CLOSE_ARRAY || isSpace(byte)) {
        this.#endRow(input, at);
        return at;
      }
    }
    return -1;
  }

  #betweenRows(input: Buffer, from: number): number {
    let at = from;
    while (at < input.length && isSpace(input[at])) at += 1;
    const byte = input[at];
    if (byte === undefined) return -1;
    const { isKeyed } = this.#rest;
    const isEnd = byte === (isKeyed ? CLOSE_OBJECT : CLOSE_ARRAY);
    if (this.#place === 'after_row') {
      if (byte === COMMA) {
        this.#place = 'next_row';
        return at + 1;
      }
      if (!isEnd) throw new JsonRowsError('malformed', `after row ${this.#rows - 1}`);
    } else if (!isEnd) {
      return isKeyed ? this.#nameOrRow(byte, at) : this.#beginRow(byte, at);
    } else if (this.#place !== 'first_row') {
      throw new JsonRowsError('malformed', `after row ${this.#rows - 1}`);
    }
    if (this.#chunkAt >= 0) this.#endChunk(input);
    this.#place = 'rest';
    return at;
  }

  /** Consumes the next token of an object by number: a name, its colon, or the row. */
  #nameOrRow(byte: number, at: number): number {
    if (this.#place === 'row_value' && byte === OPEN_OBJECT) return this.#beginRow(byte, at);
    const isName = this.#place === 'next_row' && byte === QUOTE;
    if (!isName && !(this.#place === 'after_name' && byte === COLON)) {
      throw new JsonRowsError('malformed', `at row ${this.#rows}`);
    }
    if (isName) this.#value.begin(QUOTE);
    this.#place = isName ? 'in_name' : 'row_value';
    return at + 1;
  }

  /** Begins a row, or the comparison with a stored chunk; returns the index to continue from. */
  #beginRow(first: number, at: number): number {
    const mayBeKnown = this.#chunkAt < 0 && !this.#rest.isKeyed;
    this.#expected = mayBeKnown ? this.#known.expectedAt(this.#rows) : undefined;
    if (this.#expected) {
      this.#place = 'in_known';
      return at;
    }
    if (first === COMMA || first === COLON || first === CLOSE_OBJECT) {
      throw new JsonRowsError('malformed', `at row ${this.#rows}`);
    }
    const bracketed = first === OPEN_OBJECT || first === OPEN_ARRAY || first === QUOTE;
    if (bracketed) this.#value.begin(first);
    this.#place = bracketed ? 'in_row' : 'in_scalar';
    if (this.#chunkAt < 0) {
      this.#chunkAt = at;
      this.#chunkFirst = this.#rows;
    }
    this.#rowAt = this.#partsBytes + at - this.#chunkAt;
    return at + 1;
  }

  /**
   * Compares the bytes with a stored chunk; returns like {@link #step}. The byte after the chunk is
   * part of the check.
   */
  #prove(input: Buffer, at: number): number {
    const known = this.#expected;
    const end = at + (known?.size ?? 0) - this.#heldBytes;
    const next = input[end];
    if (!known || next === undefined) {
      const part = input.subarray(at);
      this.#held.push(part);
      this.#heldBytes += part.length;
      return -1;
    }
    const here = input.subarray(at, end);
    const bytes = this.#held.length === 0 ? here : Buffer.concat([...this.#held, here]);
    if (!this.#known.isUnchanged(known, bytes, next)) {
      this.#scanHeld();
      return at;
    }
    this.#dropHeld();
    const { rowCount } = known;
    const chunk = { firstRow: this.#rows, rowCount, bytes, isKnown: true };
    this.#rows += rowCount;
    this.#place = 'after_row';
    if (this.#rows > (this.#options.skipRows ?? 0)) this.#out.push(chunk);
    return end;
  }

  /** Scans the bytes that were held for a stored chunk, because they do not match it. */
  #scanHeld(): void {
    const held = this.#dropHeld();
    // The state `next_row` starts a row in the same way as `first_row`.
    this.#place = 'next_row';
    for (const part of held) this.#scan(part);
  }

  #dropHeld(): readonly Buffer[] {
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    return held;
  }

  #keep(part: Buffer): void {
    if (this.#long) {
      this.#long.add(part);
      return;
    }
    this.#parts.push(part);
    this.#partsBytes += part.length;
  }

  /** Checks the size of the current row, of which all bytes so far are kept. */
  #checkRow(): void {
    const { rowBytesMax } = this.#options;
    // The record of open brackets would grow with the row.
    if (this.#value.depth > rowBytesMax) {
      throw new JsonRowsError('row_too_large', `at row ${this.#rows}`);
    }
    if (this.#long || this.#partsBytes - this.#rowAt <= rowBytesMax) return;
    const all = Buffer.concat(this.#parts);
    this.#long = new LongRow();
    this.#long.add(all.subarray(this.#rowAt));
    this.#parts = [Buffer.from(all.subarray(0, this.#rowAt))];
    this.#partsBytes = this.#rowAt;
  }

  /** Replaces the row that ends at `at` by a short one, if it is too long. */
  #shorten(input: Buffer, at: number): void {
    const size = this.#partsBytes + at - this.#chunkAt - this.#rowAt;
    if (!this.#long && size <= this.#options.rowBytesMax) return;
    this.#keep(input.subarray(this.#chunkAt, at));
    this.#chunkAt = at;
    this.#checkRow();
    const short = this.#long?.end();
    this.#long = undefined;
    if (short) this.#keep(short);
  }

  #endRow(input: Buffer, at: number): void {
    this.#shorten(input, at);
    this.#lastEnd = this.#partsBytes + at - this.#chunkAt;
    this.#rows += 1;
    this.#place = 'after_row';
    const skipped = this.#rows <= (this.#options.skipRows ?? 0);
    if (skipped) this.#dropChunk();
    else if (this.#rows % this.#options.rowsPerChunk === 0) this.#endChunk(input);
  }

  #endChunk(input: Buffer): void {
    // The last row may have ended in an earlier buffer, so that nothing of this one belongs to it.
    const lengthHere = Math.max(0, this.#lastEnd - this.#partsBytes);
    const here = input.subarray(this.#chunkAt, this.#chunkAt + lengthHere);
    const bytes =
      this.#parts.length === 0
        ? here
        : Buffer.concat([...this.#parts, here]).subarray(0, this.#lastEnd);
    const rowCount = this.#rows - this.#chunkFirst;
    const rows = this.#rest.isKeyed ? withoutNames(bytes) : bytes;
    this.#out.push({ firstRow: this.#chunkFirst, rowCount, bytes: rows, isKnown: false });
    this.#dropChunk();
  }

  #dropChunk(): void {
    this.#parts = [];
    this.#partsBytes = 0;
    this.#chunkAt = -1;
  }
}

export function createRowScanner(options: RowScanOptions): RowScanner {
  return new StreamedRows(options);
}
