/** Defines the schema for text used as a key. */
import { z } from 'zod';

/**
 * Key text is neither empty nor blank, and valid in every encoding: JSON may contain half a
 * character (`"\ud800"`), which the database would return as another key.
 */
export const keyText = z
  .string()
  .min(1)
  .refine((text) => text.isWellFormed(), 'it has half of a character in it')
  .refine((text) => text.trim() !== '', 'there are only spaces in it');
