/** How requests say who asks for a change, and why. */
import { z } from 'zod';

/** The user of the machine who has the token, as the command line claims: nobody proved it. */
const actor = z
  .string()
  .min(1)
  .max(100)
  .transform((user) => `cli:${user}`);

export const actorFields = { actor, reason: z.string().max(1_000) };

/** The same of what nobody may do without saying why. */
export const actorWithReason = {
  ...actorFields,
  reason: z.string().trim().min(1, 'a reason is needed').max(1_000),
};
