/** Proposed rules for pages and programs: made in a process of its own, and kept for a while. */
import type { Clock } from '../lib/clock.ts';
import { RetryLaterError, SelvedgeError, toError } from '../lib/errors.ts';
import type { StoreOptions } from '../store/store.ts';
import { runSuggest } from '../suggest/beside.ts';
import type { Suggestion, SuggestOptions } from '../surface/suggestion.ts';

/** Proposals as a page shows them; none and no problem: they are being made. */
interface SuggestionSoon {
  readonly suggestion?: Suggestion;
  /** Error because of which there are none. */
  readonly problem?: string;
}

export interface Suggestions {
  /**
   * Proposals about such a period; waits for them up to two minutes. Refuses when others wait.
   */
  of(wish: SuggestOptions): Promise<Suggestion>;
  /** The same for a page, which waits only a moment and asks again. */
  soon(wish: SuggestOptions): Promise<SuggestionSoon>;
  close(): void;
}

/** Milliseconds for which proposals are kept; a period is another one after that. */
const KEPT_MS = 600_000;
/** Milliseconds for which a failure is shown before they are made again. */
const FAILED_MS = 10_000;
const SOON_MS = 1_500;
/** Wishes that wait for the one that is being made. */
const WAITING_MAX = 2;
/** Wishes whose proposals are kept. */
const KEPT_MAX = 5;

interface Entry {
  readonly at: number;
  readonly made: Promise<Suggestion>;
  /** End of it, once it is there. */
  end: SuggestionSoon;
  /** When it failed, by the monotonic clock; undefined: it did not. */
  failedAt: number | undefined;
}

function problemOf(error: unknown): string {
  const { hint } = error instanceof SelvedgeError ? error : {};
  return [toError(error).message, hint].filter(Boolean).join('; ');
}

export function createSuggestions(store: StoreOptions, clock: Clock): Suggestions {
  const closing = new AbortController();
  const kept = new Map<string, Entry>();
  let last: Promise<unknown> = Promise.resolve();
  let unfinished = 0;
  const make = (wish: SuggestOptions): Entry => {
    const run = () => runSuggest(store, clock, wish, { signal: closing.signal });
    unfinished += 1;
    // They run in turn: each may take the memory of a whole process.
    const made = last.then(run);
    const entry: Entry = { at: clock.monotonic(), made, end: {}, failedAt: undefined };
    last = made.then(
      (suggestion) => {
        unfinished -= 1;
        entry.end = { suggestion };
      },
      (error) => {
        unfinished -= 1;
        entry.end = { problem: problemOf(error) };
        entry.failedAt = clock.monotonic();
      },
    );
    return entry;
  };
  const entryOf = ({ since, until, ...wish }: SuggestOptions, failedMs: number): Entry => {
    const length = Math.round((until - since) / KEPT_MS);
    const key = JSON.stringify([length, wish.owner ?? null]);
    const known = kept.get(key);
    const now = clock.monotonic();
    const isOver = known?.failedAt !== undefined && now - known.failedAt >= failedMs;
    if (known && !isOver && now - known.at < KEPT_MS) return known;
    if (unfinished > WAITING_MAX) {
      throw new RetryLaterError('rules.suggest_busy', 'other proposals are being made', {
        hint: 'ask again in a minute',
      });
    }
    const entry = make({ since, until, ...wish });
    kept.delete(key);
    kept.set(key, entry);
    const [oldest] = kept.keys();
    if (kept.size > KEPT_MAX && oldest !== undefined) kept.delete(oldest);
    return entry;
  };
  return {
    of: async (wish) => await entryOf(wish, 0).made,
    async soon(wish) {
      let entry: Entry;
      try {
        entry = entryOf(wish, FAILED_MS);
      } catch (error) {
        return { problem: problemOf(error) };
      }
      const over = new AbortController();
      const waited = clock.sleep(SOON_MS, over.signal).catch(() => undefined);
      await Promise.race([entry.made.catch(() => undefined), waited]);
      over.abort();
      return entry.end;
    },
    close: () => closing.abort(),
  };
}
