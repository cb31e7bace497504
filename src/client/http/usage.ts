/** Usage counters of a unit of work: retries and waits of its requests. */

export interface Usage {
  /** A request is repeated. */
  retried(): void;
  /** A request waited: for its slot, for a log-in, or before a retry. */
  waited(ms: number): void;
  /** Bytes of an answer arrived, also of a useless one. */
  received(bytes: number): void;
  /** An answer deviated from the contract and was read anyway. */
  noted(what: string): void;
  /** An answer was this old in a cache. */
  aged(ms: number): void;
}

export interface WireCounts {
  readonly retries: number;
  /** Number of waits… */
  readonly waits: number;
  /** …and their total, ms. Concurrent waits count each. */
  readonly waitMs: number;
}

export interface UsageCounters extends Usage {
  /** Counts since the last call. */
  take(): WireCounts;
  /** Bytes since its last call. */
  takeBytes(): number;
  /** Occurrences of each note since the beginning. */
  notes(): Readonly<Record<string, number>>;
  /** Age of the oldest answer since the beginning, ms. */
  ageMs(): number;
}

/** Shorter ones are scheduling delays, not waits. */
const WAIT_MS_MIN = 1;

export function createUsageCounters(): UsageCounters {
  let [retries, waits, waitMs, bytes, age] = [0, 0, 0, 0, 0];
  const notes = new Map<string, number>();
  return {
    noted(what) {
      notes.set(what, (notes.get(what) ?? 0) + 1);
    },
    notes: () => Object.fromEntries(notes),
    aged(ms) {
      age = Math.max(age, ms);
    },
    ageMs: () => age,
    received(count) {
      bytes += count;
    },
    takeBytes() {
      const taken = bytes;
      bytes = 0;
      return taken;
    },
    retried() {
      retries += 1;
    },
    waited(ms) {
      if (ms < WAIT_MS_MIN) return;
      waits += 1;
      waitMs += ms;
    },
    take() {
      const taken = { retries, waits, waitMs: Math.round(waitMs) };
      [retries, waits, waitMs] = [0, 0, 0];
      return taken;
    },
  };
}
