/** Due times of a schedule in the local time of a zone, also on days when the clocks change. */
import type { Every } from '../../config/schema/reports.ts';
import { atLocal, localClockOf } from '../../lib/local-time.ts';

const DAY_MS = 86_400_000;
/** Days to search for a due time: more than two months, because schedules may be monthly. */
const DAYS_MAX = 62;

function isDay({ weekdays }: Every, date: string): boolean {
  if (weekdays.length === 0) return date.endsWith('-01');
  const day = new Date(`${date}T00:00Z`).getUTCDay();
  return weekdays.includes(day === 0 ? 7 : day);
}

function dueOn(every: Every, timeZone: string, now: number, days: number): number | undefined {
  const today = Date.parse(localClockOf(timeZone)(now).date);
  const date = new Date(today + days * DAY_MS).toISOString().slice(0, 10);
  return isDay(every, date) ? atLocal(timeZone, date, every.time) : undefined;
}

/** Epoch ms of the schedule's latest due time that is not later than `now`. */
export function lastDue(every: Every, timeZone: string, now: number): number {
  for (let days = 0; days <= DAYS_MAX; days += 1) {
    const at = dueOn(every, timeZone, now, -days);
    if (at !== undefined && at <= now) return at;
  }
  return 0;
}

/** Epoch ms of the schedule's next due time after `now`. */
export function nextDue(every: Every, timeZone: string, now: number): number {
  for (let days = 0; days <= DAYS_MAX; days += 1) {
    const at = dueOn(every, timeZone, now, days);
    if (at !== undefined && at > now) return at;
  }
  return Number.POSITIVE_INFINITY;
}
