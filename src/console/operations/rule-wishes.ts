/** Requests of the pages about rules: schemas of their bodies, and messages to the daemon. */
import { z } from 'zod';
import type { ReportInput } from '../../decisions/reject/arm.ts';

const reason = z.string().trim().min(1, 'say why').max(1_000);
const DAY_MS = 86_400_000;
const ARMED_DAYS_MAX = 366;

export const armAct = z.object({
  reason,
  /** Days for which the rule stays armed. */
  days: z.coerce.number().min(1).max(ARMED_DAYS_MAX).default(90),
});

export const seenAct = z.object({
  reason,
  /** Decision in which the rule matched, and which the person has looked at. */
  decisionId: z.coerce.number().int().min(1),
});

export const reloadAct = z.object({
  reason,
  /** Hash of the rule set that the preview showed; a reload with another set is refused. */
  rules: z.string().min(1).max(100),
  mode: z.string().min(1).max(20),
});

export type RuleWish =
  | {
      readonly do: 'rules.reload';
      readonly agreed: { readonly rules: string; readonly mode: string };
      readonly reason: string;
    }
  | {
      readonly do: 'rules.arm';
      readonly rule: string;
      readonly lastsMs: number;
      readonly reason: string;
    }
  | { readonly do: 'rules.disarm'; readonly rule: string; readonly reason: string }
  | {
      readonly do: 'rules.seen';
      readonly rule: string;
      readonly decisionId: number;
      readonly reason: string;
    }
  | { readonly do: 'rules.report'; readonly report: ReportInput; readonly reason: string }
  | { readonly do: 'rules.resume'; readonly reason: string };

export function armedMs({ days }: z.output<typeof armAct>): number {
  return Math.round(days * DAY_MS);
}
