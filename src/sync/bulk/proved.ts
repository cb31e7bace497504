/**
 * Pages that were proved unchanged wait for the next write: their checkpoint alone is not worth a
 * transaction, which waits for the disk and keeps other writers waiting. A kill loses no more
 * than the proof; the pages are read again.
 */
import type { JsonObject } from '../../lib/json.ts';
import type { PageCounts, Run } from '../run/ledger.ts';

/** Rows beyond which the proof is written down all the same: a third of a second's work. */
const ROWS_MAX = 20_000;

export interface Proved {
  readonly run: Run;
  readonly checkpoint: JsonObject;
  readonly counts: PageCounts;
}

export interface ProvedPages {
  /** Adds a page; gives what is to be written down now, if it has become too much. */
  add(page: Proved): Proved | undefined;
  /** What waits for the run; it is the caller's from here on. */
  take(runId: number): Proved | undefined;
}

/** What both pages did. */
export function sumOf(a: PageCounts | undefined, b: PageCounts): PageCounts {
  if (!a) return b;
  const of = (name: 'rows' | 'changed' | 'unchanged' | 'quarantined' | 'bytes'): number =>
    a[name] + b[name];
  const wireOf = (name: 'retries' | 'waits' | 'waitMs'): number =>
    (a.wire?.[name] ?? 0) + (b.wire?.[name] ?? 0);
  return {
    rows: of('rows'),
    changed: of('changed'),
    // Of proved pages, which come first, there are none.
    ...{ inserted: b.inserted ?? 0, ...(b.drastic ? { drastic: b.drastic } : {}) },
    unchanged: of('unchanged'),
    quarantined: of('quarantined'),
    bytes: of('bytes'),
    pages: (a.pages ?? 1) + (b.pages ?? 1),
    wire: { retries: wireOf('retries'), waits: wireOf('waits'), waitMs: wireOf('waitMs') },
  };
}

export function createProvedPages(): ProvedPages {
  const waiting = new Map<number, Proved>();
  const take = (runId: number): Proved | undefined => {
    const proved = waiting.get(runId);
    waiting.delete(runId);
    return proved;
  };
  return {
    take,
    add(page) {
      const { runId } = page.run;
      const counts = sumOf(waiting.get(runId)?.counts, page.counts);
      waiting.set(runId, { ...page, counts });
      return counts.rows < ROWS_MAX ? undefined : take(runId);
    },
  };
}
