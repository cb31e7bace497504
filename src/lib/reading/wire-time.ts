/**
 * Parses times as services write them: ISO 8601, with a space, with slashes, HTTP dates, seconds
 * since 1970, PHP objects. A time without a zone belongs to the account's zone. When clocks are set
 * back, an hour repeats: the first one counts. When they are set forward, an hour is missing: its
 * times move forward by as much.
 */
import { isJsonObject } from '../json.ts';
import { parseTime } from '../units.ts';

const YEAR_FIRST = /^(\d{4})[-/](\d\d?)[-/](\d\d?)(?!\d)/;
const DAY_FIRST = /^(?:[a-z]{3}, )?(\d\d?) [a-z]{3} \d{4}(?!\d)/i;
// An offset of hours alone (`+02`) counts only after a time of day; after a year it would be month
// and day.
const ZONE = /(?:Z|GMT|UTC?|[ECMP][SD]T|[+-]\d\d:?\d\d|[+-](?<=:.{2,16})[\d:]+)$/i;

/** Whether the date exists; JavaScript would turn February 31 into a day in March. */
function hasDay(text: string): boolean {
  const [, year, month, day] = (YEAR_FIRST.exec(text) ?? []).map(Number);
  if (year !== undefined && month !== undefined) {
    return new Date(Date.UTC(year, month - 1, day)).getUTCMonth() === month - 1;
  }
  const [upToYear, inMonth] = DAY_FIRST.exec(text) ?? [];
  return new Date(`${upToYear} UTC`).getUTCDate() === Number(inMonth);
}

/**
 * Reads a time in other formats than ISO 8601; without a zone, JavaScript would use this machine's.
 */
function looseTime(text: string): number {
  if (!hasDay(text)) return Number.NaN;
  return Date.parse(ZONE.test(text) ? text : `${text} UTC`);
}

/** Reads a time as epoch ms, in UTC unless it names a zone; undefined: the text is no time. */
export function timeOfText(text: string): number | undefined {
  const at = parseTime(text) ?? looseTime(text);
  return Number.isFinite(at) ? at : undefined;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Builds a function that gives the zone's offset from UTC at a time, in milliseconds. */
function offsetsOf(timeZone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  return (at) => {
    const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    const of = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
    const day = [of('year'), of('month') - 1, of('day')] as const;
    const shown = Date.UTC(...day, of('hour'), of('minute'), of('second'));
    return Math.round((shown - at) / MINUTE_MS) * MINUTE_MS;
  };
}

/** Finds the moment at which clocks of the zone show the time that UTC clocks show at `shown`. */
function momentIn(offsetAt: (at: number) => number, shown: number): number {
  const [before, after] = [offsetAt(shown - DAY_MS), offsetAt(shown + DAY_MS)];
  const moments = [shown - before, shown - after].filter((at) => at + offsetAt(at) === shown);
  return moments.length > 0 ? Math.min(...moments) : shown - before;
}

const SECONDS = /^[1-4]\d{9}$/;
const MILLISECONDS = /^[1-4]\d{12}$/;

function sinceEpoch(value: string): number | undefined {
  if (SECONDS.test(value)) return Number(value) * 1_000;
  return MILLISECONDS.test(value) ? Number(value) : undefined;
}

type ReadTime = (value: unknown) => number | undefined;

/** Reads a time as PHP serializes it: `{date, timezone_type, timezone}`. */
function timeOfPhp({ date, timezone }: Record<string, unknown>): number | undefined {
  if (typeof date !== 'string' || typeof timezone !== 'string') return undefined;
  try {
    return timeIn(timezone)(date);
  } catch {
    // An unknown zone makes the time unreadable.
    return undefined;
  }
}

/** Builds the reader for an account's times; the zone (IANA) is that of times that name none. */
export function timeIn(timeZone: string): ReadTime {
  const offsetAt = offsetsOf(timeZone);
  return (value) => {
    if (isJsonObject(value)) return timeOfPhp(value);
    const text = typeof value === 'number' ? String(value) : value;
    if (typeof text !== 'string') return undefined;
    const shown = sinceEpoch(text.trim());
    if (shown !== undefined) return shown;
    const at = timeOfText(text.trim());
    return at === undefined || ZONE.test(text.trim()) ? at : momentIn(offsetAt, at);
  };
}
