/** Schemas for query parameters of forms, in which an empty field counts as left out. */
import { z } from 'zod';

const TEXT_CHARS_MAX = 200;

export const optionalText = z
  .string()
  .trim()
  .max(TEXT_CHARS_MAX)
  .optional()
  .transform((text) => text || undefined);
