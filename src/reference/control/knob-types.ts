/** Schemas for the kinds of values that knobs have. */
import { z } from 'zod';
import { parseDuration } from '../../lib/units.ts';

/** Schema of a duration: milliseconds as a number, or a text with a unit. */
export function duration(fallback: string) {
  const error = 'no duration, e.g. 15m';
  return z
    .union(
      [
        z.number().int().min(0),
        z.string().transform((text, context) => {
          const ms = parseDuration(text);
          if (ms !== undefined) return ms;
          context.issues.push({ code: 'custom', input: text, message: error });
          return z.NEVER;
        }),
      ],
      { error },
    )
    .prefault(fallback);
}

export function share(fallback: number) {
  return z.number().min(0).max(1).default(fallback);
}

export function count(fallback: number, max: number) {
  return z.number().int().min(0).max(max).default(fallback);
}

export function size(fallback: number, max: number) {
  return z.number().int().min(1).max(max).default(fallback);
}
