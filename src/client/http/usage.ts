/** Usage counters of a unit of work: retries and waits of its requests. */

export interface Usage {
  /** Counts a repeated request. */
  retried(): void;
  /** Counts a request that waited for its slot, for a log-in, or before a retry. */
  waited(ms: number): void;
  /** Counts received bytes, also those of a useless answer. */
  received(bytes: number): void;
  /** Counts an answer that deviated from the contract and was read anyway. */
  noted(what: string): void;
  /** Notes how old an answer was that came from a cache. */
  aged(ms: number): void;
}

export interface WireCounts {
  readonly retries: number;
  /** Number of waits of requests. */
  readonly waits: number;
  /** Milliseconds of all waits in total; concurrent waits each count in full. */
  readonly waitMs: number;
}

export interface UsageCounters extends Usage {
  /** Gives the counts since the last call of `take`. */
  take(): WireCounts;
  /** Gives the bytes received since the last call of `takeBytes`. */
  takeBytes(): number;
  /** Gives the number of occurrences of each noted deviation since the beginning. */
  notes(): Readonly<Record<string, number>>;
  /** Gives the age of the oldest cached answer since the beginning, in milliseconds. */
  ageMs(): number;
}

/** Milliseconds from which a delay counts as a wait; shorter ones are scheduling. */
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
