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

/**
 * Values in the order in which they pass, from the one after the widest gap, which may lie over
 * midnight or the end of the week; `isRun`: each follows the one before it.
 */
function inPassing(sorted: readonly number[], range: number) {
  const gapBefore = (at: number): number => {
    const [now = 0, before = 0] = [sorted[at], sorted.at(at - 1)];
    return (now - before + range) % range || range;
  };
  const places = [...sorted.keys()];
  const start = places.reduce((best, at) => (gapBefore(at) > gapBefore(best) ? at : best), 0);
  const values = [...sorted.slice(start), ...sorted.slice(0, start)];
  return { values, isRun: places.every((at) => at === start || gapBefore(at) === 1) };
}

function daysOf({ dayOfWeek }: ReturnType<typeof parse>): string {
  const days = [...new Set(dayOfWeek.map((day) => Number(day) % 7))].sort((a, b) => a - b);
  if (days.length === 7) return '';
  // A week begins on Monday, unless the days run over its end.
  const { values, isRun } = inPassing(days, 7);
  const [first = 0, last = 0] = [values[0], values.at(-1)];
  if (isRun && values.length > 2) return `, ${WEEKDAYS[first]} to ${WEEKDAYS[last]}`;
  const fromMonday = days.toSorted((a, b) => ((a + 6) % 7) - ((b + 6) % 7));
  return `, on ${fromMonday.map((day) => WEEKDAYS[day]).join(', ')}`;
}

/** Describes the minutes of the hours in words; undefined: too many to name. */
function timesInWords(
  minutes: readonly number[],
  hours: readonly number[],
  isEveryDay: boolean,
): string | undefined {
  const [minute = 0, hour = 0] = [minutes[0], hours[0]];
  const minuteStep = minutes.length === 60 ? 1 : stepOf(minutes, 60);
  if (hours.length === 24) {
    if (minuteStep === 1) return 'every minute';
    const after = minute === 0 ? '' : `, from minute ${minute}`;
    if (minuteStep !== undefined) return `every ${minuteStep} minutes${after}`;
    return minutes.length === 1 ? `each hour at minute ${minute}` : undefined;
  }
  const hourStep = stepOf(hours, 24);
  if (hourStep !== undefined && minutes.length === 1) {
    return `every ${hourStep} hours, from ${two(hour)}:${two(minute)}`;
  }
  // On a named day, hours over midnight are two parts of that day, and no night.
  const passing = inPassing(hours, 24);
  const values = isEveryDay ? passing.values : hours;
  const isRun = passing.isRun && (isEveryDay || passing.values[0] === hour);
  const at = (one: number, of = minute) => `${two(one)}:${two(of)}`;
  const span = `from ${at(values[0] ?? 0)} to ${at(values.at(-1) ?? 0, minutes.at(-1))}`;
  if (minuteStep === 1) return isRun ? `every minute ${span}` : undefined;
  if (minuteStep !== undefined) return isRun ? `every ${minuteStep} minutes ${span}` : undefined;
  if (minutes.length !== 1) return undefined;
  if (hours.length > 4) return isRun ? `each hour ${span}` : undefined;
  return `each day at ${values.map((one) => at(one)).join(', ')}`;
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
  const days = daysOf(fields);
  const times = timesInWords(inOrder(fields.minute), inOrder(fields.hour), days === '');
  if (!isEachDay || !isOnTheMinute || times === undefined) return pattern;
  return times.startsWith('each day') && days !== ''
    ? `${times.replace('each day ', '')}${days}`
    : `${times}${days}`;
}
