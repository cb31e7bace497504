/**
 * The journal of requests: one entry each, in the order of arrival. Under a stepped clock two runs
 * give the same journal, byte for byte, so an entry has nothing that differs between runs: no
 * tokens, no ports, no time but that of the service's clock.
 */
import type { Clock } from '../../lib/clock.ts';

export interface JournalEntry {
  /** Position of the request since the start or the last reset, from 1. */
  readonly n: number;
  /** Time of the request by the service's clock, ISO text. */
  readonly at: string;
  readonly method: string;
  readonly path: string;
  /** Query as it was sent, without the question mark. */
  readonly query: string;
  /** Name of the key; null when the request has no known one. */
  keyId: string | null;
  /** Member `reference` of the body: two requests that mean the same order have the same one. */
  reference: string | null;
  /**
   * HTTP status of the answer; null until it is sent, and for good when the connection was cut
   * before.
   */
  status: number | null;
  /** Milliseconds from the request's arrival to the start of its answer; null until then. */
  durationMs: number | null;
  /** Names of the injected faults. */
  readonly faults: string[];
  /** Violations of the wire contract by the client, in words. */
  readonly mistakes: string[];
}

interface JournalFilter {
  readonly method?: string | undefined;
  /** Pattern of the paths of listed entries; `*` stands for any characters. */
  readonly path?: string | undefined;
  readonly keyId?: string | undefined;
  readonly status?: number | undefined;
  /** Whether listed entries have mistakes or have none; undefined: both. */
  readonly mistakes?: boolean | undefined;
  /** Position after which listed entries begin. */
  readonly after?: number | undefined;
  /** Number of the newest entries that are listed, in the order of arrival. */
  readonly limit?: number | undefined;
}

export interface Journal {
  open(method: string, path: string, query: string): JournalEntry;
  list(filter?: JournalFilter): readonly JournalEntry[];
  clear(): void;
}

/**
 * Makes a test of paths from a pattern: `*` stands for any characters, everything else for itself.
 */
export function pathPattern(pattern: string): (path: string) => boolean {
  const escaped = pattern.replace(/[\\^$.|?+()[\]{}]/g, '\\$&').replaceAll('*', '.*');
  const expression = new RegExp(`^${escaped}$`);
  return (path) => expression.test(path);
}

function keeps(filter: JournalFilter): (entry: JournalEntry) => boolean {
  const onPath = pathPattern(filter.path ?? '*');
  return (entry) =>
    entry.n > (filter.after ?? 0) &&
    onPath(entry.path) &&
    (filter.method === undefined || entry.method === filter.method) &&
    (filter.keyId === undefined || entry.keyId === filter.keyId) &&
    (filter.status === undefined || entry.status === filter.status) &&
    (filter.mistakes === undefined || entry.mistakes.length > 0 === filter.mistakes);
}

export function createJournal(clock: Clock, sizeMax: () => number): Journal {
  let entries: JournalEntry[] = [];
  let last = 0;
  return {
    open(method, path, query) {
      last += 1;
      const entry: JournalEntry = {
        n: last,
        at: new Date(clock.now()).toISOString(),
        method,
        path,
        query,
        keyId: null,
        reference: null,
        status: null,
        durationMs: null,
        faults: [],
        mistakes: [],
      };
      entries.push(entry);
      // Old entries are removed many at a time: shifting one at a time would cost the length of the
      // journal.
      if (entries.length >= sizeMax() * 2) entries = entries.slice(-sizeMax());
      return entry;
    },
    list(filter = {}) {
      const found = entries.slice(-sizeMax()).filter(keeps(filter));
      return found.slice(Math.max(0, found.length - (filter.limit ?? found.length)));
    },
    clear() {
      entries = [];
      last = 0;
    },
  };
}
