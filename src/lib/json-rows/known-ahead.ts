/** What the consumer of a list knows of it, at hand when the scanner asks. */
import type { KnownSegment } from './known.ts';

/** Gives the segments as they were the last time, those that begin with a row in [from, to). */
export type KnownSegments = (from: number, to: number) => Promise<readonly KnownSegment[]>;

export interface KnownAhead {
  /** Has what is known of the rows around this one at hand; rows only go on. */
  reach(row: number): Promise<void>;
  at(firstRow: number): KnownSegment | undefined;
}

/** Rows that are asked for at once: a millisecond's work, a few hundred segments. */
const STRETCH_ROWS = 8_192;
/** Asked for so far ahead: more than a chunk or a page has. What is farther away is scanned. */
const AHEAD_ROWS = 4_096;

export function createKnownAhead(load: KnownSegments | undefined): KnownAhead {
  const segments = new Map<number, KnownSegment>();
  let until = 0;
  let loading: Promise<void> = Promise.resolve();
  const loadNext = async (load: KnownSegments, from: number, to: number): Promise<void> => {
    // Pages on their way may still ask for the stretch before.
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
