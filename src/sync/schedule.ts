/**
 * When a stream is due. Cron patterns are UTC; the next time is computed from the injected clock,
 * so that missed times are caught up after downtime and nothing depends on a timer that fired.
 */
import { createTask, parse } from 'node-cron';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** In any such span the 29th of February falls on each day of the week. */
const SEARCH_MS_MAX = 41 * 366 * DAY_MS;

/** Texts (the last day of the month) are for the task to understand. */
function isNamed(days: readonly (number | string)[], day: number): boolean {
  return days.some((one) => typeof one === 'string' || one === day);
}

/** The first time after `after` (epoch ms) that the pattern names, if it names one. */
export function nextRunAfter(pattern: string, after: number): number | undefined {
  const fields = parse(pattern);
  const task = createTask(pattern, () => undefined, { timezone: 'UTC' });
  const seconds = [...fields.second].sort((a, b) => a - b);
  try {
    let minute = Math.floor(after / MINUTE_MS) * MINUTE_MS;
    while (minute - after <= SEARCH_MS_MAX) {
      const at = new Date(minute);
      // Asking the task is dear: a pattern of once a year would take a tenth of a second.
      const month = at.getUTCMonth() + 1;
      if (!fields.month.includes(month)) {
        minute = Date.UTC(at.getUTCFullYear(), month);
        continue;
      }
      if (!isNamed(fields.dayOfMonth, at.getUTCDate())) {
        minute = (Math.floor(minute / DAY_MS) + 1) * DAY_MS;
        continue;
      }
      if (!fields.hour.includes(at.getUTCHours())) {
        minute = (Math.floor(minute / HOUR_MS) + 1) * HOUR_MS;
        continue;
      }
      for (const second of fields.minute.includes(at.getUTCMinutes()) ? seconds : []) {
        const candidate = minute + second * 1_000;
        if (candidate > after && task.match(new Date(candidate))) return candidate;
      }
      minute += MINUTE_MS;
    }
    return undefined;
  } finally {
    void task.destroy();
  }
}
