/** Detects a constant offset between clocks or time zones, which real delays do not have. */

/** Zones differ by quarters of an hour. */
export const ZONE_STEP_MS = 15 * 60_000;
/** Maximum variation of real delays. */
const SPREAD_MS_MAX = 5 * 60_000;
/** Fewer values may agree by chance. */
const TIMES_MIN = 10;

/** Offset common to all delays, as between two zones, in ms; 0: none. */
export function constantOffset(lates: readonly number[]): number {
  if (lates.length < TIMES_MIN) return 0;
  const [least, most] = [Math.min(...lates), Math.max(...lates)];
  const steps = Math.floor((least + SPREAD_MS_MAX / 5) / ZONE_STEP_MS) * ZONE_STEP_MS;
  return steps > 0 && most - steps <= SPREAD_MS_MAX ? steps : 0;
}
