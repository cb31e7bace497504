/**
 * Holds unchanged pages until the next write, because their checkpoint alone is not worth a
 * transaction, which waits for the disk and blocks other writers. A kill loses only the comparison;
 * the pages are read again.
 */
import type { JsonObject } from '../../lib/json.ts';
import type { PageCounts, Run } from '../run/ledger.ts';

/** Rows after which the checkpoint is written anyway: a third of a second's work. */
const ROWS_MAX = 20_000;

export interface Proved {
  readonly run: Run;
  readonly checkpoint: JsonObject;
  readonly counts: PageCounts;
}

export interface ProvedPages {
  /** Adds a page; returns what must be written now if too many rows have gathered. */
  add(page: Proved): Proved | undefined;
  /** Removes and returns what is held for the run. */
  take(runId: number): Proved | undefined;
}

/** Adds the counts of two pages. */
export function sumOf(a: PageCounts | undefined, b: PageCounts): PageCounts {
  if (!a) return b;
  const of = (name: 'rows' | 'changed' | 'unchanged' | 'quarantined' | 'bytes'): number =>
    a[name] + b[name];
  const wireOf = (name: 'retries' | 'waits' | 'waitMs'): number =>
    (a.wire?.[name] ?? 0) + (b.wire?.[name] ?? 0);
  return {
    rows: of('rows'),
    changed: of('changed'),
    // `a` counts unchanged pages, which insert nothing and change nothing drastically.
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
