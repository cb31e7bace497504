/** Fields that several kinds of file have. */
import { z } from 'zod';
import { parseDuration } from '../../lib/units.ts';

const DURATION = 'write a duration such as 90m, 36h or 3d';
export const duration = z
  .string(DURATION)
  .refine((text) => parseDuration(text) !== undefined, DURATION);

export const mode = z.enum(['off', 'shadow', 'live']);

export const count = z.int().positive();
