/** Proposed rules for pages and programs: made in a process of its own, and kept for a while. */
import type { Clock } from '../lib/clock.ts';
import type { StoreOptions } from '../store/store.ts';
import { runSuggest } from '../suggest/beside.ts';
import type { Suggestion, SuggestOptions } from '../surface/suggestion.ts';

export interface Suggestions {
  /** Proposals about such a period; waits for them up to two minutes. */
  of(wish: SuggestOptions): Promise<Suggestion>;
  close(): void;
}

/** Milliseconds for which proposals are kept; a period is another one after that. */
const KEPT_MS = 600_000;
/** Wishes whose proposals are kept. */
const KEPT_MAX = 5;

export function createSuggestions(store: StoreOptions, clock: Clock): Suggestions {
  const closing = new AbortController();
  const kept = new Map<string, { readonly at: number; readonly made: Promise<Suggestion> }>();
  let last: Promise<unknown> = Promise.resolve();
  const make = (wish: SuggestOptions): Promise<Suggestion> => {
    const run = () => runSuggest(store, clock, wish, { signal: closing.signal });
    // One after the other: each may take the memory of a whole process.
    const made = last.then(run);
    last = made.catch(() => undefined);
    return made;
  };
  return {
    of(wish) {
      const { since, until, owner } = wish;
      const length = Math.round((until - since) / KEPT_MS);
      const key = JSON.stringify([length, owner ?? null]);
      const known = kept.get(key);
      if (known && clock.monotonic() - known.at < KEPT_MS) return known.made;
      const made = make(wish);
      kept.delete(key);
      kept.set(key, { at: clock.monotonic(), made });
      made.catch(() => kept.delete(key));
      const [oldest] = kept.keys();
      if (kept.size > KEPT_MAX && oldest !== undefined) kept.delete(oldest);
      return made;
    },
    close: () => closing.abort(),
  };
}
