/** How requests say who asks for a change, and why. */
import { z } from 'zod';

export const actorFields = { actor: z.string().min(1).max(100), reason: z.string().max(1_000) };

/** The same of what nobody may do without saying why. */
export const actorWithReason = {
  ...actorFields,
  reason: z.string().trim().min(1, 'a reason is needed').max(1_000),
};
