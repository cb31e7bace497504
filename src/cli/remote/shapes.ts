/** Schemas for a console's answers, with times as epoch milliseconds. */
import { z } from 'zod';
import { epochTimes } from '../../console/show.ts';

/**
 * Schema of a value from a console of this version. `shape` has the members that commands use; the
 * others are only passed on.
 */
export function shaped<T>(shape: z.ZodType): z.ZodType<T> {
  const isShaped = (value: unknown): boolean => shape.safeParse(value).success;
  return z.preprocess(epochTimes, z.custom<T>(isShaped));
}
