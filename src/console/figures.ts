/** Figures of the rules, counted beside the pages and kept for a minute. */
import type { RuleFigures } from '../decisions/simulation/rule-figures.ts';
import { countRuleFigures } from '../decisions/simulation/trial.ts';
import type { Clock } from '../lib/clock.ts';
import { toError } from '../lib/errors.ts';
import type { StoreOptions } from '../store/store.ts';

export interface Figures {
  /** Undefined: they are being counted for the first time. */
  readonly rules: readonly RuleFigures[] | undefined;
  /** When they were counted; epoch ms. */
  readonly at: number | null;
  /** Why they cannot be counted. */
  readonly problem: string | undefined;
}

export interface FigureCounter {
  /** Waits a moment at the most, and then gives what is known. */
  soon(): Promise<Figures>;
  /** Waits until they are counted; throws why they cannot be. */
  now(): Promise<readonly RuleFigures[]>;
  close(): void;
}

const FRESH_MS = 60_000;
/** A small journal is counted by then, and a page has its figures at once. */
const SOON_MS = 1_500;

/** Counts at most once at a time, however many pages ask. */
export function createFigureCounter(store: StoreOptions, clock: Clock): FigureCounter {
  const closing = new AbortController();
  let known: Figures = { rules: undefined, at: null, problem: undefined };
  let running: Promise<readonly RuleFigures[]> | undefined;
  const count = async (): Promise<readonly RuleFigures[]> => {
    try {
      const rules = await countRuleFigures(store, clock, closing.signal);
      known = { rules, at: clock.now(), problem: undefined };
      return rules;
    } catch (error) {
      known = { ...known, problem: toError(error).message };
      throw error;
    } finally {
      running = undefined;
    }
  };
  const isFresh = (): boolean => known.at !== null && clock.now() - known.at < FRESH_MS;
  const begin = (): Promise<readonly RuleFigures[]> => {
    running ??= count();
    return running;
  };
  return {
    async soon() {
      if (isFresh()) return known;
      const over = new AbortController();
      const counted = begin().catch(() => undefined);
      // Figures of a minute ago are shown until the next ones are there.
      if (known.at === null) {
        const waited = clock.sleep(SOON_MS, over.signal).catch(() => undefined);
        await Promise.race([counted, waited]);
        over.abort();
      }
      return known;
    },
    async now() {
      return isFresh() && known.rules ? known.rules : begin();
    },
    close: () => closing.abort(),
  };
}
