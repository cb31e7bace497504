/**
 * Skips scanning of unchanged rows. At the position of a stored chunk, as many bytes as it had are
 * digested: an equal digest proves the same rows, if the array continues properly after them. All
 * other bytes are scanned.
 */

import { hash } from 'node:crypto';
import { CLOSE_ARRAY, COMMA, isSpace } from './structure.ts';

/** A chunk of rows as the last run stored it. */
export interface KnownChunk {
  readonly firstRow: number;
  readonly rowCount: number;
  /** Number of bytes from the start of the chunk's first row to the end of its last. */
  readonly size: number;
  /** Digest of these bytes by {@link digestOf}. */
  readonly digest: string;
}

/**
 * Digests bytes as half of a SHA-256, in hex: nobody finds other bytes with the same digest, by
 * chance or on purpose.
 */
export function digestOf(bytes: Uint8Array | string): string {
  return hash('sha256', bytes).slice(0, 32);
}

interface KnownOptions {
  /** Gives the stored chunk that begins with this row. */
  readonly known?: ((firstRow: number) => KnownChunk | undefined) | undefined;
  readonly rowsPerChunk: number;
  readonly rowBytesMax: number;
  readonly skipRows?: number | undefined;
}

/**
 * Number of misses in a row after which only some chunks are tried, because a shifted list differs
 * everywhere.
 */
const MISSES_MAX = 4;
const TRIED_THEN = 16;

export class KnownRows {
  readonly #options: KnownOptions;
  #misses = 0;
  #triedAt = -1;

  constructor(options: KnownOptions) {
    this.#options = options;
  }

  /** Gives the stored chunk to compare at this row, once per position. */
  expectedAt(row: number): KnownChunk | undefined {
    const { known, rowsPerChunk, rowBytesMax, skipRows = 0 } = this.#options;
    if (!known || row % rowsPerChunk !== 0 || row === this.#triedAt) return undefined;
    const isRare = (row / rowsPerChunk) % TRIED_THEN === 0;
    if (this.#misses >= MISSES_MAX && !isRare) return undefined;
    const chunk = known(row);
    if (!chunk || chunk.rowCount > rowsPerChunk) return undefined;
    // A chunk below the limit of a row has no row that is too large.
    if (chunk.size > rowBytesMax) return undefined;
    if (row < skipRows && row + chunk.rowCount > skipRows) return undefined;
    this.#triedAt = row;
    return chunk;
  }

  /** Whether the bytes are those of the stored chunk; `next` is the byte after them. */
  isUnchanged({ rowCount, digest }: KnownChunk, bytes: Uint8Array, next: number): boolean {
    // A stored chunk with fewer rows was the last one: if rows follow, it is another chunk.
    const mayGoOn = rowCount === this.#options.rowsPerChunk;
    const ends = next === CLOSE_ARRAY || (mayGoOn && (next === COMMA || isSpace(next)));
    const isSame = ends && digestOf(bytes) === digest;
    this.#misses = isSame ? 0 : this.#misses + 1;
    return isSame;
  }
}

// The digests that the scanner will need are loaded ahead of it.

/** Gives the stored chunks that begin with a row in [from, to). */
export type KnownChunks = (from: number, to: number) => Promise<readonly KnownChunk[]>;

export interface KnownAhead {
  /** Loads the stored chunks around this row; rows only increase. */
  reach(row: number): Promise<void>;
  at(firstRow: number): KnownChunk | undefined;
}

/** Number of rows whose digests are loaded at once: a few hundred chunks, a millisecond's work. */
const STRETCH_ROWS = 8_192;
/**
 * Number of rows that loading is ahead of the scanner: more than a network read or a page has. Rows
 * beyond are scanned.
 */
const AHEAD_ROWS = 4_096;

export function createKnownAhead(load: KnownChunks | undefined): KnownAhead {
  const chunks = new Map<number, KnownChunk>();
  let until = 0;
  let loading: Promise<void> = Promise.resolve();
  const loadNext = async (load: KnownChunks, from: number, to: number): Promise<void> => {
    // The previous stretch is kept, because pages in progress may still need it.
    for (const row of chunks.keys()) if (row < from - STRETCH_ROWS) chunks.delete(row);
    for (const chunk of await load(from, to)) chunks.set(chunk.firstRow, chunk);
  };
  return {
    at: (firstRow) => chunks.get(firstRow),
    reach(row) {
      if (!load || row + AHEAD_ROWS <= until) return loading;
      const from = Math.max(row, until);
      until = from + STRETCH_ROWS;
      loading = loadNext(load, from, until);
      return loading;
    },
  };
}
