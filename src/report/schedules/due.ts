/** Times of a schedule: by the clock on the wall of a zone, also on days that change their hour. */
import type { Every } from '../../config/schema/reports.ts';
import { localClockOf } from '../../lib/local-time.ts';

const DAY_MS = 86_400_000;
/** From the first day of a month to that of the next but one. */
const DAYS_MAX = 62;

/**
 * Epoch ms of a time of day in a zone. A time that a day skips is later by what it skips; of a time
 * that it has twice, the first counts.
 */
export function atLocal(timeZone: string, date: string, time: string): number {
  const localTime = localClockOf(timeZone);
  const wanted = Date.parse(`${date}T${time}Z`);
  const offsetAt = (at: number): number => {
    const local = localTime(at);
    return Date.parse(`${local.date}T${local.time}Z`) - at;
  };
  // The offsets of a day before and after: they differ only where the hour changes between them.
  const [before, after] = [offsetAt(wanted - DAY_MS), offsetAt(wanted + DAY_MS)];
  const fits = [wanted - before, wanted - after].filter((at) => at + offsetAt(at) === wanted);
  return fits.length > 0 ? Math.min(...fits) : wanted - before;
}

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

/** The latest time until now at which it is due, in epoch ms. */
export function lastDue(every: Every, timeZone: string, now: number): number {
  for (let days = 0; days <= DAYS_MAX; days += 1) {
    const at = dueOn(every, timeZone, now, -days);
    if (at !== undefined && at <= now) return at;
  }
  return 0;
}

/** The next time at which it is due, in epoch ms. */
export function nextDue(every: Every, timeZone: string, now: number): number {
  for (let days = 0; days <= DAYS_MAX; days += 1) {
    const at = dueOn(every, timeZone, now, days);
    if (at !== undefined && at > now) return at;
  }
  return Number.POSITIVE_INFINITY;
}
