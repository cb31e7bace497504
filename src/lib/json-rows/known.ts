/**
 * Rows that are as they were the last time need no scanning. Where a known segment should begin,
 * as many bytes as it had are digested: an equal digest proves that the same rows stand there,
 * if the array goes on behind them as it must. Whatever differs is scanned.
 */
import { hash } from 'node:crypto';
import { CLOSE_ARRAY, COMMA, isSpace } from './structure.ts';

/** A segment as it was the last time. */
export interface KnownSegment {
  readonly firstRow: number;
  readonly rowCount: number;
  /** Bytes, from the first of the first row to the last of the last one. */
  readonly size: number;
  /** See {@link digestOf}. */
  readonly digest: string;
}

/** Half of a SHA-256, in hex: nobody finds other bytes for one, by chance or on purpose. */
export function digestOf(bytes: Uint8Array | string): string {
  return hash('sha256', bytes).slice(0, 32);
}

interface KnownOptions {
  /** What is known of the segment that begins with this row. */
  readonly known?: ((firstRow: number) => KnownSegment | undefined) | undefined;
  readonly rowsPerSegment: number;
  readonly rowBytesMax: number;
  readonly skipRows?: number | undefined;
}

/** A list that has shifted differs everywhere: after so many in a row only some are tried. */
const MISSES_MAX = 4;
const TRIED_THEN = 16;

export class KnownRows {
  readonly #options: KnownOptions;
  #misses = 0;
  #triedAt = -1;

  constructor(options: KnownOptions) {
    this.#options = options;
  }

  /** The segment to look for at this row; asked once for each place, as it is tried once. */
  expectedAt(row: number): KnownSegment | undefined {
    const { known, rowsPerSegment, rowBytesMax, skipRows = 0 } = this.#options;
    if (!known || row % rowsPerSegment !== 0 || row === this.#triedAt) return undefined;
    const isRare = (row / rowsPerSegment) % TRIED_THEN === 0;
    if (this.#misses >= MISSES_MAX && !isRare) return undefined;
    const segment = known(row);
    if (!segment || segment.rowCount > rowsPerSegment) return undefined;
    // None of its rows is too large then.
    if (segment.size > rowBytesMax) return undefined;
    if (row < skipRows && row + segment.rowCount > skipRows) return undefined;
    this.#triedAt = row;
    return segment;
  }

  /** `next` is the byte behind the bytes. */
  isProved({ rowCount, digest }: KnownSegment, bytes: Uint8Array, next: number): boolean {
    // A shorter one was the last: with rows behind it the segment is another one.
    const mayGoOn = rowCount === this.#options.rowsPerSegment;
    const ends = next === CLOSE_ARRAY || (mayGoOn && (next === COMMA || isSpace(next)));
    const isSame = ends && digestOf(bytes) === digest;
    this.#misses = isSame ? 0 : this.#misses + 1;
    return isSame;
  }
}
