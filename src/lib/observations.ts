/** Observations that wait until somebody fetches them: where nobody does, the newest are kept. */
export interface Observations<T> {
  note(observed: T): void;
  /** Gives them and keeps none. */
  take(): readonly T[];
}

/** More than happens between two looks of a program that looks at all. */
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
