/** Prefetches the stored digests that the scanner will ask for. */
import type { KnownSegment } from './known.ts';

/** Returns the stored chunks that begin with a row in [from, to). */
export type KnownSegments = (from: number, to: number) => Promise<readonly KnownSegment[]>;

export interface KnownAhead {
  /** Loads the digests around this row; rows only increase. */
  reach(row: number): Promise<void>;
  at(firstRow: number): KnownSegment | undefined;
}

/** Rows loaded at once: a millisecond's work, a few hundred chunks. */
const STRETCH_ROWS = 8_192;
/** Lead of the prefetch: more rows than a network read or a page has. Rows beyond are scanned. */
const AHEAD_ROWS = 4_096;

export function createKnownAhead(load: KnownSegments | undefined): KnownAhead {
  const segments = new Map<number, KnownSegment>();
  let until = 0;
  let loading: Promise<void> = Promise.resolve();
  const loadNext = async (load: KnownSegments, from: number, to: number): Promise<void> => {
    // Keeps the previous stretch, because pages in progress may still need it.
    for (const row of segments.keys()) if (row < from - STRETCH_ROWS) segments.delete(row);
    for (const segment of await load(from, to)) segments.set(segment.firstRow, segment);
  };
  return {
    at: (firstRow) => segments.get(firstRow),
    reach(row) {
      if (!load || row + AHEAD_ROWS <= until) return loading;
      const from = Math.max(row, until);
      until = from + STRETCH_ROWS;
      loading = loadNext(load, from, until);
      return loading;
    },
  };
}
