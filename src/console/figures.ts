/** Figures of the rules for pages, counted in the background and kept for a minute. */
import { countRuleFigures } from '../decisions/simulation/trial.ts';
import type { Clock } from '../lib/clock.ts';
import { toError } from '../lib/errors.ts';
import type { StoreOptions } from '../store/store.ts';
import type { RuleFigures } from '../surface/reading.ts';

export interface Figures {
  /** Figures of each rule; undefined: they are being counted for the first time. */
  readonly rules: readonly RuleFigures[] | undefined;
  /** Epoch ms when the figures were counted. */
  readonly at: number | null;
  /** Error because of which the figures cannot be counted. */
  readonly problem: string | undefined;
}

export interface FigureCounter {
  /** Returns the figures that are known, after waiting a moment for the first ones at most. */
  soon(): Promise<Figures>;
  /** Waits until the figures are counted; throws the error when they cannot be. */
  now(): Promise<readonly RuleFigures[]>;
  close(): void;
}

const FRESH_MS = 60_000;
/** Milliseconds that a page waits for the first figures; a small database is counted by then. */
const SOON_MS = 1_500;

/** Creates the counter, which counts once at a time, however many pages ask. */
export function createFigureCounter(store: StoreOptions, clock: Clock): FigureCounter {
  const closing = new AbortController();
  let known: Figures = { rules: undefined, at: null, problem: undefined };
  let countedAt = Number.NEGATIVE_INFINITY;
  let running: Promise<readonly RuleFigures[]> | undefined;
  const count = async (): Promise<readonly RuleFigures[]> => {
    try {
      const rules = await countRuleFigures(store, clock, closing.signal);
      known = { rules, at: clock.now(), problem: undefined };
      countedAt = clock.monotonic();
      return rules;
    } catch (error) {
      known = { ...known, problem: toError(error).message };
      throw error;
    } finally {
      running = undefined;
    }
  };
  const isFresh = (): boolean => clock.monotonic() - countedAt < FRESH_MS;
  const begin = (): Promise<readonly RuleFigures[]> => {
    running ??= count();
    return running;
  };
  return {
    async soon() {
      if (isFresh()) return known;
      const over = new AbortController();
      const counted = begin().catch(() => undefined);
      // Figures older than a minute are shown until the new ones are there.
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
