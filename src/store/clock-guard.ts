/**
 * The one guard against steps of the clock on the wall. It gives the daemon a clock that jumps only
 * after each room has moved its times in the database (`upkeep.ts`), all in one transaction:
 *
 * - Back: times that lie in the future move back by the step, so that nothing waits longer than its
 *   own delay, no accept may leave later, and nothing counts as newer than what is read next.
 * - Forth (or the machine slept, or no daemon ran): graces of rejects move along, so that people
 *   have all of them. Unknown outcomes are watched for a whole settlement delay from then on
 *   (`watchedSince`): no jump makes one absent.
 *
 * The time is noted each minute. So a start knows how far the clock was moved meanwhile, and
 * `trustedNow` never advances faster than 24 times what has passed while a daemon ran: a boot with
 * a clock that is a year ahead deletes no rows and disarms no rules before somebody sets it right.
 */
import { CLOCK_MS_MIN, type Clock } from '../lib/clock.ts';
import { isJsonObject, tryParseJson } from '../lib/json.ts';
import type { Logger } from '../lib/log.ts';
import { readState, writeStateAt } from './state.ts';
import type { Db, Store, Tx } from './store.ts';
import type { ClockStepHandler } from './upkeep.ts';

export interface Timed {
  readonly store: Store;
  readonly clock: Clock;
}

export interface ClockGuard {
  readonly name: 'clock';
  /** For everybody who works on the database. */
  readonly clock: Clock;
  /** Since when, by that clock, this process has felt time pass: its start, or the last step. */
  watchedSince(): number;
  /** Looks for steps and notes the time until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

/** Less than this is a correction, not a step. */
const STEP_MS_MIN = 5_000;
const LOOK_MS = 5_000;
const NOTE_MS = 60_000;
/** A day in an hour: what a long stop left is cleared soon, and a wrong clock is seen sooner. */
const CATCH_UP = 24;
const STATE = 'clock';

interface Noted {
  /** The clock on the wall when it was last noted; epoch milliseconds. */
  readonly seen: number;
  readonly trusted: number;
}

async function readNoted(db: Db): Promise<Noted | undefined> {
  const noted = tryParseJson((await readState(db, STATE)) ?? '');
  if (!isJsonObject(noted)) return undefined;
  const { seen, trusted } = noted;
  return typeof seen === 'number' && typeof trusted === 'number' ? { seen, trusted } : undefined;
}

/** Trusted "now" for what cannot be undone; at most the clock's. */
export async function trustedNow({ store, clock }: Timed): Promise<number> {
  const noted = await readNoted(store.db);
  return Math.min(clock.now(), noted?.trusted ?? Number.POSITIVE_INFINITY);
}

/** Follows what happened to the clock while no daemon ran; then give its `clock` to everybody. */
export async function openClockGuard(
  deps: Timed & { readonly log: Logger; readonly steps: readonly ClockStepHandler[] },
): Promise<ClockGuard> {
  const { store, clock: wall, log, steps } = deps;
  const elapsed = (): number => wall.monotonic();
  let offset = wall.now() - elapsed();
  let watchedSince = wall.now();
  let notedAt = elapsed();

  /** By how much the wall was moved since the last call that was followed; 0: it was not. */
  const moved = (): number => {
    const step = wall.now() - elapsed() - offset;
    if (Math.abs(step) >= STEP_MS_MIN) return Math.round(step);
    offset += step;
    return 0;
  };

  const note = async (db: Db | Tx, noted: Noted | undefined): Promise<void> => {
    const seen = wall.now();
    if (seen < CLOCK_MS_MIN) return;
    const at = elapsed();
    const reached = (noted?.trusted ?? seen) + CATCH_UP * (at - notedAt);
    const trusted = Math.min(seen, Math.floor(reached));
    await writeStateAt(db, STATE, JSON.stringify({ seen, trusted }), seen);
    notedAt = at;
  };

  const follow = async (step: number, isWatched: boolean): Promise<void> => {
    const noted = await readNoted(store.db);
    const now = wall.now();
    await store.transaction(async (tx) => {
      for (const { back, forth } of steps) {
        await (step < 0 ? back : forth)?.(tx, { step, now, isWatched });
      }
      await note(tx, noted);
    });
    offset = now - elapsed();
    watchedSince = now;
  };

  const noted = await readNoted(store.db);
  const away = noted === undefined ? 0 : wall.now() - noted.seen;
  if (Math.abs(away) >= STEP_MS_MIN) await follow(away, false);
  else await note(store.db, noted);

  return {
    name: 'clock',
    clock: {
      ...wall,
      now() {
        moved();
        return Math.round(elapsed() + offset);
      },
    },
    watchedSince: () => watchedSince,
    async run(signal) {
      while (!signal.aborted) {
        const step = moved();
        if (step !== 0) {
          await follow(step, true);
          log.warn({ byMs: step }, 'the clock was moved; due times were moved along');
        } else if (elapsed() - notedAt >= NOTE_MS) {
          await note(store.db, await readNoted(store.db));
        }
        await wall.sleep(LOOK_MS, signal).catch(() => undefined);
      }
      if (moved() === 0) await note(store.db, await readNoted(store.db));
    },
  };
}
