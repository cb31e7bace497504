/**
 * When something in doubt is looked for. Soon and often at first, because most effects are there
 * at once; then every minute; and exactly when the quiet time is over, because only then an
 * absence begins to prove something.
 */

const FIRST_LOOKS_MS = [2_000, 10_000, 30_000];
const STEP_MS = 60_000;
/** Between the two looks that prove an absence. */
export const PROOF_GAP_MS = 60_000;

/** The first time of the schedule after `now`; all are epoch milliseconds. */
export function nextLookAt(since: number, quietMs: number, now: number): number {
  const age = Math.max(0, now - since);
  const last = FIRST_LOOKS_MS.at(-1) ?? 0;
  const stepped = last + STEP_MS * (Math.floor(Math.max(0, age - last) / STEP_MS) + 1);
  const planned = [...FIRST_LOOKS_MS, quietMs, quietMs + PROOF_GAP_MS, stepped];
  return since + Math.min(...planned.filter((after) => after > age));
}
