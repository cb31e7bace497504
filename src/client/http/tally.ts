/** What the requests of one piece of work cost besides themselves: repetitions and waits. */

export interface Tally {
  /** A request is made once more. */
  retried(): void;
  /** A request stood still: for its turn, for a log-in, or before a repetition. */
  waited(ms: number): void;
  /** Bytes of an answer have come, also of one that is no use. */
  received(bytes: number): void;
  /** An answer has something otherwise than the contract says, and was read all the same. */
  noted(what: string): void;
  /** A cache has kept an answer for so long. */
  aged(ms: number): void;
}

export interface WireCounts {
  readonly retries: number;
  /** How often a request stood still… */
  readonly waits: number;
  /** …and for how long in all, ms. Requests that wait beside each other count each. */
  readonly waitMs: number;
}

export interface WireTally extends Tally {
  /** What was told since the last call. */
  take(): WireCounts;
  /** The bytes since the last call of this one. */
  takeBytes(): number;
  /** Counts by what was noted since the beginning. */
  notes(): Readonly<Record<string, number>>;
  /** The age of the oldest answer since the beginning, ms. */
  ageMs(): number;
}

/** Shorter ones are the scheduling of this process, not a wait. */
const WAIT_MS_MIN = 1;

export function createTally(): WireTally {
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
