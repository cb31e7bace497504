/**
 * Requests of the pages about pulls, events and the system: the bodies as they are checked, and
 * the messages that the daemon gets.
 */
import { z } from 'zod';
import type { RuleWish } from './rule-wishes.ts';

const reason = z.string().trim().min(1, 'say why').max(1_000);

export const reasonAct = z.object({ reason });

export const runAct = z.object({
  reason,
  /** 1: every row is compared, whatever the digests say. */
  full: z
    .union([z.boolean(), z.enum(['', '0', '1'])])
    .default(false)
    .transform((full) => full === true || full === '1'),
});

export const releaseAct = z.object({
  reason,
  /** Rows that the release would delete, as the person saw it. */
  deletes: z.coerce.number().int().min(0),
});

/** Events of one page of people; more are replayed by time. */
const IDS_MAX = 100;

/** Events by their ids, or all that arrived since a point in time (ISO 8601, UTC). */
export const replayQuery = z.object({
  id: z.string().trim().max(256).optional(),
  since: z.iso.datetime({ offset: true }).optional(),
});

export const replayAct = z
  .object({
    reason,
    ids: z
      .union([z.array(z.string().min(1).max(256)).max(IDS_MAX), z.string().min(1).max(256)])
      .optional()
      .transform((ids) => (typeof ids === 'string' ? [ids] : ids)),
    since: z.iso.datetime({ offset: true }).optional(),
  })
  .refine(({ ids, since }) => (ids === undefined) !== (since === undefined), {
    error: 'either ids or since',
  });

export type Replayed = { readonly ids: readonly string[] } | { readonly since: number };

/** Answer to a lookup of the doctor's findings. */
export const doctorFindings = z.array(
  z.object({
    check: z.string(),
    grade: z.enum(['ok', 'warning', 'failed', 'skipped']),
    text: z.string(),
    advice: z.string().optional(),
  }),
);

/** Changes that only the daemon can make. */
export type OperationWish =
  | {
      readonly do: 'pull.run';
      readonly stream: string;
      readonly full: boolean;
      readonly reason: string;
    }
  | {
      readonly do: 'pull.release';
      readonly runId: number;
      readonly deletes: number;
      readonly reason: string;
    }
  | { readonly do: 'pull.retry'; readonly reason: string }
  | { readonly do: 'events.replay'; readonly selection: Replayed; readonly reason: string }
  | { readonly do: 'portal.open'; readonly reason: string }
  | { readonly do: 'session.end'; readonly sessionId: number; readonly reason: string }
  | RuleWish;

/** Figures that only the daemon has. */
export type Lookup =
  | { readonly ask: 'release'; readonly runId: number }
  | { readonly ask: 'inbox' }
  | { readonly ask: 'people' }
  | { readonly ask: 'doctor' }
  | { readonly ask: 'reload' };
