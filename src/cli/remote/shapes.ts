/** Answers of a console as commands have them: times in epoch milliseconds. */
import { z } from 'zod';
import { epochTimes } from '../../console/show.ts';

/** A point in time as the console writes it. */
export const isoMoment = z.iso.datetime().transform((text) => Date.parse(text));

/**
 * A value of a console of this version. `shape` has the members that commands go into; the others
 * are only passed on.
 */
export function shaped<T>(shape: z.ZodType): z.ZodType<T> {
  const isShaped = (value: unknown): boolean => shape.safeParse(value).success;
  return z.preprocess(epochTimes, z.custom<T>(isShaped));
}
