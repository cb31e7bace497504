/**
 * Computes when a stream is due. Cron patterns are UTC; the next time follows from the injected
 * clock, so that missed times are caught up and nothing depends on a timer that fired.
 */
import { createTask, parse } from 'node-cron';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Any such span has a 29th of February on each day of the week. */
const SEARCH_MS_MAX = 41 * 366 * DAY_MS;

/** Times of day that a pattern names, in milliseconds since midnight, ascending. */
function* timesOfDay(fields: ReturnType<typeof parse>): Generator<number> {
  const inOrder = (values: readonly number[]): number[] => [...values].sort((a, b) => a - b);
  const minutes = inOrder(fields.minute);
  const seconds = inOrder(fields.second);
  for (const hour of inOrder(fields.hour)) {
    for (const minute of minutes) {
      for (const second of seconds) yield hour * HOUR_MS + minute * MINUTE_MS + second * SECOND_MS;
    }
  }
}

/** First time after `after` (epoch ms) that the pattern names, if any. */
export function nextRunAfter(pattern: string, after: number): number | undefined {
  const fields = parse(pattern);
  const [first = 0] = timesOfDay(fields);
  const task = createTask(pattern, () => undefined, { timezone: 'UTC' });
  try {
    const today = Math.floor(after / DAY_MS) * DAY_MS;
    for (let day = today; day - after <= SEARCH_MS_MAX; day += DAY_MS) {
      // Matching is slow: once per day of a named month is enough.
      if (!fields.month.includes(new Date(day).getUTCMonth() + 1)) continue;
      if (!task.match(new Date(day + first))) continue;
      for (const time of timesOfDay(fields)) if (day + time > after) return day + time;
    }
    return undefined;
  } finally {
    void task.destroy();
  }
}
