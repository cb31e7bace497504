/** When a delivery must be looked at again although nothing will have told us. */
import type { RuleSet } from '../../rules/rule.ts';
import type { DueWhy } from '../../store/tables.ts';
import { nextCalendarChange } from '../holds/business-time.ts';
import type { Reads } from './reads.ts';

/** Nothing should need it: a fact that moved and was not noticed is noticed within a day. */
const SAFETY_MS = 86_400_000;

export interface NextLook {
  /** Epoch milliseconds. */
  readonly dueAt: number;
  readonly dueWhy: DueWhy;
}

/** The earliest of: a hold's time, the calendar, a rule that begins or ends, the tick for ages. */
export function nextLook(
  { rules, settings }: RuleSet,
  reads: Reads,
  tickMs: number,
  holdAt: number | null,
  now: number,
): NextLook {
  const begins = rules.flatMap((rule) => [rule.effectiveFrom ?? 0, rule.effectiveUntil ?? 0]);
  const tick = Math.min(
    now + SAFETY_MS,
    ...(reads.time ? [now + tickMs] : []),
    ...(reads.calendar ? [nextCalendarChange(now, settings)] : []),
    ...begins.filter((at) => at > now),
  );
  if (holdAt === null || holdAt >= tick) return { dueAt: tick, dueWhy: 'tick' };
  return { dueAt: holdAt, dueWhy: 'hold' };
}
