/**
 * When something in doubt is looked for. Soon and often at first, because most effects are there
 * at once; then at a steady pace; and exactly when the quiet time is over, because only then an
 * absence begins to prove something.
 */

const FIRST_LOOKS_MS = [2_000, 10_000, 30_000];

export interface LookPace {
  /** An absence proves nothing before this long after the doubt began. */
  readonly quietMs: number;
  /** The steady pace, and the least time between the two looks that prove an absence. */
  readonly everyMs: number;
}

/**
 * The first time of the schedule after `now`; all are epoch milliseconds. A doubt that seems to
 * begin later, because the clock was set back, is looked for at the steady pace meanwhile.
 */
export function nextLookAt(since: number, { quietMs, everyMs }: LookPace, now: number): number {
  const age = Math.max(0, now - since);
  const first = FIRST_LOOKS_MS.filter((after) => after < everyMs);
  const last = first.at(-1) ?? 0;
  const stepped = last + everyMs * (Math.floor(Math.max(0, age - last) / everyMs) + 1);
  const planned = [...first, quietMs, quietMs + everyMs, stepped];
  const next = since + Math.min(...planned.filter((after) => after > age));
  return Math.min(next, now + everyMs);
}
