/** Body members by which a request names the person who asks for a change, and the reason. */
import { z } from 'zod';

/** Name of the machine's user who has the token, as the command line claims: nothing proves it. */
const actor = z
  .string()
  .min(1)
  .max(100)
  .transform((user) => `cli:${user}`);

export const actorFields = { actor, reason: z.string().max(1_000) };
