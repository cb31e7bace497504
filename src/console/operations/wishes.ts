/**
 * Requests of the pages about pulls, events and the system: the schemas of their bodies, and the
 * messages to the daemon.
 */
import { z } from 'zod';
import type { RuleWish } from './rule-wishes.ts';

const reason = z.string().trim().min(1, 'say why').max(1_000);

export const reasonAct = z.object({ reason });

/** Selection of events: one by its id, or all that arrived since a time (ISO 8601, UTC). */
export const replayQuery = z.object({
  id: z.string().trim().max(256).optional(),
  since: z.iso.datetime({ offset: true }).optional(),
});

/** Reply of the daemon to a lookup of the doctor's findings. */
export const doctorFindings = z.array(
  z.object({
    check: z.string(),
    grade: z.enum(['ok', 'warning', 'failed', 'skipped']),
    text: z.string(),
    advice: z.string().optional(),
  }),
);

/** Changes that a page asks of the daemon, which alone can make them. */
export type OperationWish =
  | { readonly do: 'session.end'; readonly sessionId: number; readonly reason: string }
  | RuleWish;

/** Information that a page asks of the daemon, which alone has it. */
export type Lookup =
  | { readonly ask: 'release'; readonly runId: number }
  | { readonly ask: 'inbox' }
  | { readonly ask: 'people' }
  | { readonly ask: 'doctor' }
  | { readonly ask: 'reload' };
