/**
 * How the process that holds or waits for the lease tells others on this machine how it stands: a
 * small file in the data folder, replaced as a whole.
 */
import { z } from 'zod';
import { statusFile } from '../lib/process/status-file.ts';

const STATUS = z.object({
  /** When it was written, epoch ms. */
  at: z.number(),
  role: z.enum(['holder', 'standby']),
  /**
   * `away`: PostgreSQL cannot be asked; `unknown`: it can, and who holds is not known yet;
   * `handed_over`: given away, nothing is sent any more.
   */
  state: z.enum(['sending', 'away', 'unknown', 'handed_over', 'waiting', 'taking_over']),
  account: z.string(),
  machine: z.string(),
  /** Machine that holds the lease, as far as is known, and since when by the server's clock. */
  holder: z.string().optional(),
  since: z.number().optional(),
  token: z.number().optional(),
  timeline: z.number().optional(),
  /** Entries that PostgreSQL does not have yet. */
  waiting: z.number(),
  /** Place of the record up to which this database has all. */
  place: z.number(),
  /** When the backup was made from which this standby would go on. */
  backupAt: z.number().optional(),
  /** Machines that wait, as the holder saw them at last. */
  standbys: z
    .array(
      z.object({
        machine: z.string(),
        version: z.string(),
        seenMsAgo: z.number(),
        /** Age of the backup that it would begin from; null: it has none. */
        backupMsAgo: z.number().nullable(),
        /** Rows of the record that it would play; null: it has no backup. */
        behind: z.number().nullable(),
      }),
    )
    .readonly()
    .optional(),
  /** Whether a replica confirms each commit, as the holder saw it at last. */
  replication: z
    .object({
      names: z.string(),
      replicas: z.array(z.object({ name: z.string(), state: z.string().nullable() })).readonly(),
    })
    .optional(),
  acknowledge: z.enum(['postgresql', 'local']),
  /** Why nothing is sent. */
  error: z.object({ code: z.string(), message: z.string(), hint: z.string().nullish() }).nullish(),
});

export type StandbyStatus = z.output<typeof STATUS>;

export const { write: writeStandbyStatus, read: readStandbyStatus } = statusFile(
  'standby-status.json',
  STATUS,
);
