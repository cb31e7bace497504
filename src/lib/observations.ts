/** Keeps observations until somebody fetches them; where nobody does, only the newest are kept. */
export interface Observations<T> {
  note(observed: T): void;
  /** Gives all observations and keeps none. */
  take(): readonly T[];
}

/**
 * Number of observations kept: more than happen between two fetches of a program that fetches at
 * all.
 */
const KEPT_MAX = 5_000;

export function createObservations<T>(): Observations<T> {
  let kept: T[] = [];
  return {
    note(observed) {
      kept.push(observed);
      if (kept.length >= 2 * KEPT_MAX) kept = kept.slice(-KEPT_MAX);
    },
    take() {
      const taken = kept;
      kept = [];
      return taken;
    },
  };
}
