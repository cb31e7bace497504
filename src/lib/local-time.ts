/** Converts moments to the date and time of day in a zone, for calendars and for people. */

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
