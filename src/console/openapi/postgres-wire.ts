/** This machine as a holder or a standby, and the copy in PostgreSQL, in answers to programs. */
import { z } from 'zod';

const numberOrNull = z.number().nullable();
const textOrNull = z.string().nullable();

export const standbyWire = z
  .strictObject({
    role: z.enum(['holder', 'standby']).nullable(),
    state: z.string(),
    holder: textOrNull,
    heldMs: numberOrNull,
    sends: z.boolean(),
    waiting: z.number(),
    acknowledge: z.string(),
    ready: numberOrNull,
    behind: numberOrNull,
    backupMs: numberOrNull,
    error: z.strictObject({ message: z.string(), hint: textOrNull }).nullable(),
  })
  .nullable()
  .meta({ description: 'This machine as a holder or a standby; null: there is no standby' });

export const planeWire = z
  .strictObject({
    account: z.string(),
    state: z.string(),
    lagMs: numberOrNull,
    isLate: z.boolean(),
    error: z.strictObject({ message: z.string(), hint: textOrNull }).nullable(),
  })
  .nullable()
  .meta({ description: 'Copy in PostgreSQL; null: there is none' });
