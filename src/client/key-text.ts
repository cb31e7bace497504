/** Text that tells records apart. */
import { z } from 'zod';

/**
 * Not empty, nor of spaces alone, and text in every coding: JSON may spell half of a character
 * (`"\ud800"`), which the database would give back as another key than the list has.
 */
export const keyText = z
  .string()
  .min(1)
  .refine((text) => text.isWellFormed(), 'it has half of a character in it')
  .refine((text) => text.trim() !== '', 'there are only spaces in it');
