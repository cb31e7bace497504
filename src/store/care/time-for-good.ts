/**
 * A time for what cannot be undone. The clock may be wrong: a boot with one that is a year ahead
 * must not empty tables, or disarm rules, before somebody sets it right. So a time is noted that
 * never goes on faster than `CATCH_UP` times what has passed while we ran.
 */
import { CLOCK_MS_MIN, type Clock } from '../../lib/clock.ts';
import { readState, writeState } from '../state.ts';
import type { Store } from '../store.ts';

export type Timed = { readonly store: Store; readonly clock: Clock };

const KEY = 'retention_now';
/** A day in an hour: what a long stop left is cleared soon, and a wrong clock is seen sooner. */
const CATCH_UP = 24;

/** As far as it may have come by now, where so much has passed since it was noted. */
async function reached({ store, clock }: Timed, passedMs: number) {
  const noted = Number((await readState(store.db, KEY)) ?? Infinity);
  return { noted, now: Math.min(clock.now(), Math.floor(noted + CATCH_UP * passedMs)) };
}

/** The time by which is done what cannot be undone; at most that of the clock. */
export async function timeForGood(timed: Timed): Promise<number> {
  return (await reached(timed, 0)).now;
}

/** Lets that time go on by what has passed since the last call. */
export function followTime(timed: Timed): () => Promise<number> {
  const { store, clock } = timed;
  let calledAt = clock.monotonic();
  return async () => {
    const at = clock.monotonic();
    const { noted, now } = await reached(timed, at - calledAt);
    if (now < CLOCK_MS_MIN) return now;
    if (now !== noted) await writeState(store.db, KEY, String(now), clock);
    calledAt = at;
    return now;
  };
}
