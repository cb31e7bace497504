/**
 * Computes when a stream is due. Cron patterns are UTC; the next time follows from the injected
 * clock, so that missed times are caught up and nothing depends on a timer that fired.
 */
import { createTask, parse } from 'node-cron';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/**
 * Span that is searched for a time: any 41 years have a 29th of February on each day of the week.
 */
const SEARCH_MS_MAX = 41 * 366 * DAY_MS;

/** Times of day that a cron pattern names, in milliseconds since midnight, ascending. */
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

/** First time after `after` (epoch ms) that the cron pattern names, if any. */
export function nextRunAfter(pattern: string, after: number): number | undefined {
  const fields = parse(pattern);
  const [first = 0] = timesOfDay(fields);
  const task = createTask(pattern, () => undefined, { timezone: 'UTC' });
  try {
    const today = Math.floor(after / DAY_MS) * DAY_MS;
    for (let day = today; day - after <= SEARCH_MS_MAX; day += DAY_MS) {
      // Matching a pattern is slow: once per day of a named month is enough.
      if (!fields.month.includes(new Date(day).getUTCMonth() + 1)) continue;
      if (!task.match(new Date(day + first))) continue;
      for (const time of timesOfDay(fields)) if (day + time > after) return day + time;
    }
    return undefined;
  } finally {
    void task.destroy();
  }
}

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

function two(value: number): string {
  return String(value).padStart(2, '0');
}

/** Constant step between values that cover their whole range; undefined: the steps differ. */
function stepOf(values: readonly number[], range: number): number | undefined {
  if (values.length < 2) return undefined;
  const [first = 0, second = 0] = values;
  const step = second - first;
  const isEven = values.every((value, index) => value === first + index * step);
  return isEven && values.length * step === range && first < step ? step : undefined;
}

function daysOf({ dayOfWeek }: ReturnType<typeof parse>): string {
  const days = [...new Set(dayOfWeek.map((day) => Number(day) % 7))].sort((a, b) => a - b);
  if (days.length === 7) return '';
  if (days.join() === '1,2,3,4,5') return ', Monday to Friday';
  return `, on ${days.map((day) => WEEKDAYS[day]).join(', ')}`;
}

/** Describes the minutes of the hours in words; undefined: too many to name. */
function timesInWords(minutes: readonly number[], hours: readonly number[]): string | undefined {
  const [minute = 0, hour = 0] = [minutes[0], hours[0]];
  const minuteStep = minutes.length === 60 ? 1 : stepOf(minutes, 60);
  if (hours.length === 24) {
    if (minuteStep === 1) return 'every minute';
    const after = minute === 0 ? '' : `, from minute ${minute}`;
    if (minuteStep !== undefined) return `every ${minuteStep} minutes${after}`;
    return minutes.length === 1 ? `each hour at minute ${minute}` : undefined;
  }
  if (minutes.length !== 1) return undefined;
  const hourStep = stepOf(hours, 24);
  if (hourStep !== undefined) return `every ${hourStep} hours, from ${two(hour)}:${two(minute)}`;
  if (hours.length > 4) return undefined;
  return `each day at ${hours.map((one) => `${two(one)}:${two(minute)}`).join(', ')}`;
}

/**
 * Describes the cron pattern in words, with times in UTC. Gives the pattern itself where words
 * would be longer.
 */
export function describeSchedule(pattern: string): string {
  const fields = parse(pattern);
  const inOrder = (values: readonly number[]): number[] =>
    [...new Set(values)].sort((a, b) => a - b);
  const isEachDay = new Set(fields.dayOfMonth).size === 31 && new Set(fields.month).size === 12;
  const isOnTheMinute = inOrder(fields.second).join() === '0';
  const times = timesInWords(inOrder(fields.minute), inOrder(fields.hour));
  if (!isEachDay || !isOnTheMinute || times === undefined) return pattern;
  const days = daysOf(fields);
  return times.startsWith('each day') && days !== ''
    ? `${times.replace('each day ', '')}${days}`
    : `${times}${days}`;
}
