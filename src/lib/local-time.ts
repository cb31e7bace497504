/** Converts moments to the date and time of day in a zone, for calendars and for people. */
import { parseTime } from './units.ts';

interface LocalTime {
  /** Local date, such as `2026-11-21`. */
  readonly date: string;
  /** Local time of day, such as `08:05`. */
  readonly time: string;
}

/** Gives the local date and time at a moment in epoch milliseconds. */
export type LocalClock = (at: number) => LocalTime;

const localClocks = new Map<string, LocalClock>();

/** Gives the local clock of an IANA zone; each is kept, because making one is costly. */
export function localClockOf(timeZone: string): LocalClock {
  const localTime = localClocks.get(timeZone) ?? createLocalClock(timeZone);
  localClocks.set(timeZone, localTime);
  return localTime;
}

const MINUTE_MS = 60_000;

function createLocalClock(timeZone: string): LocalClock {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
  });
  let last: { readonly minute: number; readonly time: LocalTime } | undefined;
  const read = (at: number): LocalTime => {
    const parts = new Map(format.formatToParts(at).map((part) => [part.type, part.value]));
    return {
      date: `${parts.get('year')}-${parts.get('month')}-${parts.get('day')}`,
      time: `${parts.get('hour')}:${parts.get('minute')}`,
    };
  };
  // The last result is kept, because formatting is slow and thousands of deliveries are evaluated
  // in one minute.
  return (at) => {
    const minute = Math.floor(at / MINUTE_MS);
    if (last?.minute !== minute) last = { minute, time: read(at) };
    return last.time;
  };
}

/** Time zone of this machine, as its user set it; UTC where it has no name that we know. */
export function zoneOfMachine(): string {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  return Intl.supportedValuesOf('timeZone').includes(timeZone) ? timeZone : 'UTC';
}

/** Gives the time of day with its seconds in a zone, such as `08:05:59`. */
export function timeOfDay(timeZone: string, at: number): string {
  const seconds = new Date(at).toISOString().slice(16, 19);
  return localClockOf(timeZone)(at).time + seconds;
}

const DAY_MS = 86_400_000;

/**
 * Epoch ms of a local time in a zone. A time that the change of clocks skips is later by what is
 * skipped; of a time that occurs twice, the first counts.
 */
export function atLocal(timeZone: string, date: string, time: string): number {
  const localTime = localClockOf(timeZone);
  const wanted = Date.parse(`${date}T${time}Z`);
  const offsetAt = (at: number): number => {
    const local = localTime(at);
    return Date.parse(`${local.date}T${local.time}Z`) - at;
  };
  // The zone's offsets a day before and after differ only if clocks change between.
  const [before, after] = [offsetAt(wanted - DAY_MS), offsetAt(wanted + DAY_MS)];
  const fits = [wanted - before, wanted - after].filter((at) => at + offsetAt(at) === wanted);
  return fits.length > 0 ? Math.min(...fits) : wanted - before;
}

/** Day of a moment that stands for a local one, such as the midnight of a date in UTC. */
export function isoDay(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** Epoch ms when the local day or week (from Monday) of a moment begins. */
export function beginOf(unit: 'day' | 'week', at: number, timeZone: string): number {
  const day = Date.parse(localClockOf(timeZone)(at).date);
  const sinceMonday = (new Date(day).getUTCDay() + 6) % 7;
  const first = unit === 'day' ? day : day - sinceMonday * DAY_MS;
  return atLocal(timeZone, isoDay(first), '00:00');
}

const LOCAL = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d))?(?::\d\d(?:\.\d+)?)?$/;

/** Epoch ms of a time as people write it, local unless it names its zone; undefined: it is none. */
export function localMoment(text: string, timeZone: string): number | undefined {
  const [, date, time = '00:00'] = LOCAL.exec(text) ?? [];
  const at = date === undefined ? undefined : parseTime(`${date}T${time}Z`);
  if (date === undefined || at === undefined) return parseTime(text);
  return atLocal(timeZone, date, time);
}
