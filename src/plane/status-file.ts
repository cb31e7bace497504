/**
 * How the plane's process tells the daemon, and people on this machine, how far it is: a small
 * file in the data folder, replaced as a whole. The daemon never talks to PostgreSQL.
 */
import { z } from 'zod';
import { statusFile } from '../lib/process/status-file.ts';

const STATUS = z.object({
  /** When it was written, epoch ms; the sink writes it at least every ten seconds. */
  at: z.number(),
  state: z.enum(['following', 'rebuilding', 'reconciling', 'waiting']),
  account: z.string(),
  /** Last entry of the change feed, and of `ledger_change`, that the plane has. */
  seq: z.number(),
  ledgerSeq: z.number(),
  /** Age of the oldest change that the plane does not have, at `at`; 0: it has all. */
  lagMs: z.number(),
  /** The mark that it left last in the cursor, by which a restarted one knows its own. */
  writtenAt: z.number().optional(),
  /** Why it waits. */
  error: z.object({ code: z.string(), message: z.string(), hint: z.string().nullish() }).nullish(),
});

export type PlaneStatus = z.output<typeof STATUS>;

export const { write: writePlaneStatus, read: readPlaneStatus } = statusFile(
  'plane-status.json',
  STATUS,
);

/** How old the copy is now: its last word, and the time since, because it may say no more. */
export function planeLagMs({ at, lagMs, state }: PlaneStatus, now: number): number {
  const silent = Math.max(0, now - at);
  return state === 'following' && silent < SILENT_MS_MAX ? lagMs : lagMs + silent;
}

/** A following sink writes its file and its cursor at least so often. */
export const STATUS_EVERY_MS = 10_000;
export const SILENT_MS_MAX = 3 * STATUS_EVERY_MS;
