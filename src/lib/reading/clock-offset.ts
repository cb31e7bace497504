/**
 * Clocks that are apart, or times that are of another zone, are always apart by the same; what is
 * late on its way is not.
 */

/** Zones differ by quarters of an hour. */
export const ZONE_STEP_MS = 15 * 60_000;
/** Nothing that is told at once takes longer to be known. */
const SPREAD_MS_MAX = 5 * 60_000;
/** With fewer it may be chance. */
const TIMES_MIN = 10;

/** What all of these are late by, as two zones are apart; 0: they are not. Milliseconds. */
export function constantOffset(lates: readonly number[]): number {
  if (lates.length < TIMES_MIN) return 0;
  const [least, most] = [Math.min(...lates), Math.max(...lates)];
  const steps = Math.floor((least + SPREAD_MS_MAX / 5) / ZONE_STEP_MS) * ZONE_STEP_MS;
  return steps > 0 && most - steps <= SPREAD_MS_MAX ? steps : 0;
}
