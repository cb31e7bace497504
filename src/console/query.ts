/** Members of an address as forms send them: what a person left empty is not asked for. */
import { z } from 'zod';

const TEXT_CHARS_MAX = 200;

export const optionalText = z
  .string()
  .trim()
  .max(TEXT_CHARS_MAX)
  .optional()
  .transform((text) => text || undefined);

export function optionalOr<T extends z.ZodType>(given: T) {
  return z.union([z.literal('').transform(() => undefined), given]).optional();
}
