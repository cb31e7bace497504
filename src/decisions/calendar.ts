/**
 * The calendar of the business: facts about the clock, opening hours on working days, and spans of
 * business time, all in the time zone of the settings. A hold of two business days from Friday
 * 15:00 ends on Tuesday at 15:00 local time, also when daylight saving begins or ends between.
 */
import { type LocalClock, localClockOf } from '../lib/local-time.ts';
import { nameKey } from '../lib/strings.ts';
import type { Facts } from '../rules/facts/plain.ts';
import { WEEKDAYS } from '../rules/facts/table.ts';
import type { RuleSet } from '../rules/rule.ts';
import type { Span } from '../rules/text/timing.ts';

// Facts on delivery windows: their first and last days, from the settings of the rules.

interface Bounds {
  readonly from: number;
  readonly to: number;
}

/**
 * Bounds of delivery windows by season and window name; the empty name stands for all windows of
 * the season that are not named.
 */
const known = new WeakMap<Settings, ReadonlyMap<string, Bounds>>();

function keyOf(season: string, delivery: string): string {
  return JSON.stringify([nameKey(season), nameKey(delivery)]);
}

function boundsOf(settings: Settings): ReadonlyMap<string, Bounds> {
  const made =
    known.get(settings) ??
    new Map(
      settings.season_windows.map((window) => [
        keyOf(window.season, window.delivery ?? ''),
        daysBetween(window, settings),
      ]),
    );
  known.set(settings, made);
  return made;
}

/** Beginning and end of a line's delivery window; null if the settings do not name the window. */
export function windowFacts(
  season: string | null,
  delivery: string | null,
  settings: Settings,
): { readonly window_from: number | null; readonly window_to: number | null } {
  const bounds = boundsOf(settings);
  const window =
    season === null
      ? undefined
      : (bounds.get(keyOf(season, delivery ?? '')) ?? bounds.get(keyOf(season, '')));
  return { window_from: window?.from ?? null, window_to: window?.to ?? null };
}

type ClockFacts = Facts['clock'];
type Settings = RuleSet['settings'];

function weekdayOf(date: string): ClockFacts['weekday'] {
  const sinceMonday = (new Date(`${date}T00:00:00Z`).getUTCDay() + 6) % 7;
  return WEEKDAYS[sinceMonday] ?? 'monday';
}

/** Day of the week of a moment where the business is. */
export function weekdayAt(
  at: number,
  { timezone }: Pick<Settings, 'timezone'>,
  localTime: LocalClock = localClockOf(timezone),
): ClockFacts['weekday'] {
  return weekdayOf(localTime(at).date);
}

interface Hours {
  /** Opening time as local time, `08:00`. */
  readonly from: string;
  readonly to: string;
}

/** Opening hours of a local date, in order: none on a holiday, several if there is a break. */
function hoursOn(date: string, { calendar }: Settings): readonly Hours[] {
  const weekday = weekdayOf(date);
  if (!calendar.days.includes(weekday) || calendar.holidays.includes(date)) return [];
  const { half_days: halfDays, breaks } = calendar;
  const early = halfDays[date] ?? halfDays[weekday] ?? calendar.to;
  const closes = early < calendar.to ? early : calendar.to;
  const hours: Hours[] = [];
  let { from } = calendar;
  for (const pause of breaks.toSorted((a, b) => (a.from < b.from ? -1 : 1))) {
    const to = pause.from < closes ? pause.from : closes;
    if (from < to) hours.push({ from, to });
    if (pause.to > from) from = pause.to;
  }
  if (from < closes) hours.push({ from, to: closes });
  return hours;
}

export function clockFacts(
  now: number,
  settings: Settings,
  localTime: LocalClock = localClockOf(settings.timezone),
): ClockFacts {
  const { date, time } = localTime(now);
  const works = hoursOn(date, settings).some(({ from, to }) => from <= time && time < to);
  return { now, business_hours: works, weekday: weekdayOf(date) };
}

interface Period {
  /** Working day as a local date, `2026-11-21`. */
  readonly date: string;
  /** Time at which the business opens, in epoch milliseconds. */
  readonly opens: number;
  readonly closes: number;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** Days ahead that are searched for opening hours; a calendar without any in them never opens. */
const DAYS_MAX = 400;

/** Milliseconds by which local time is ahead of UTC. */
function offsetAt(at: number, localTime: LocalClock): number {
  const { date, time } = localTime(at);
  return Date.parse(`${date}T${time}:00Z`) - Math.floor(at / MINUTE_MS) * MINUTE_MS;
}

/**
 * Epoch milliseconds of a local time; one that daylight saving skips is the moment after the gap.
 */
function utcOf(date: string, time: string, localTime: LocalClock): number {
  const shown = Date.parse(`${date}T${time}:00Z`);
  const guess = shown - offsetAt(shown, localTime);
  const at = shown - offsetAt(guess, localTime);
  // West of Greenwich the guess for a skipped time lies before the gap of daylight saving.
  return localTime(at).time === time ? at : Math.max(at, guess);
}

function dayAfter(date: string): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + DAY_MS).toISOString().slice(0, 10);
}

/** Bounds of a span of local dates: the start of its first day and the midnight after its last. */
function daysBetween(
  { from, to }: { readonly from: string; readonly to: string },
  { timezone }: Settings,
): { readonly from: number; readonly to: number } {
  const localTime = localClockOf(timezone);
  return {
    from: utcOf(from, '00:00', localTime),
    to: utcOf(dayAfter(to), '00:00', localTime),
  };
}

/** Yields the opening hours of working days, beginning with the local date of `from`. */
function* periods(from: number, settings: Settings, localTime: LocalClock): Generator<Period> {
  let { date } = localTime(from);
  for (let day = 0; day < DAYS_MAX; day += 1) {
    for (const hours of hoursOn(date, settings)) {
      const opens = utcOf(date, hours.from, localTime);
      const closes = utcOf(date, hours.to, localTime);
      if (closes > opens) yield { date, opens, closes };
    }
    date = dayAfter(date);
  }
}

/** Time at which the business opens next; undefined when it never does. */
export function nextOpening(
  now: number,
  settings: Settings,
  localTime: LocalClock = localClockOf(settings.timezone),
): number | undefined {
  for (const { opens } of periods(now, settings, localTime)) if (opens > now) return opens;
  return undefined;
}

/** Time at which a fact of the calendar may change next: opening, closing or midnight. */
export function nextCalendarChange(now: number, settings: Settings): number {
  const localTime = localClockOf(settings.timezone);
  const midnight = utcOf(dayAfter(localTime(now).date), '00:00', localTime);
  for (const { opens, closes } of periods(now, settings, localTime)) {
    if (opens > now) return Math.min(opens, midnight);
    if (closes > now) return Math.min(closes, midnight);
  }
  return midnight;
}

/** Time from which business time runs: `from` while the business is open, else the next opening. */
function businessStart(from: number, settings: Settings, localTime: LocalClock): number {
  if (clockFacts(from, settings, localTime).business_hours) return from;
  return nextOpening(from, settings, localTime) ?? from;
}

function afterBusinessDays(from: number, days: number, settings: Settings): number {
  const localTime = localClockOf(settings.timezone);
  const start = businessStart(from, settings, localTime);
  const { date: first, time } = localTime(start);
  let left = days;
  let last = first;
  for (const { date } of periods(start, settings, localTime)) {
    if (date === last) continue;
    last = date;
    left -= 1;
    // Local times have whole minutes; the rest of the minute is added, so that no hold ends too
    // early.
    if (left === 0) return utcOf(date, time, localTime) + (start % MINUTE_MS);
  }
  return from + days * DAY_MS;
}

function afterBusinessHours(from: number, hours: number, settings: Settings): number {
  let left = hours * HOUR_MS;
  for (const { opens, closes } of periods(from, settings, localClockOf(settings.timezone))) {
    const start = Math.max(opens, from);
    if (closes <= start) continue;
    if (left <= closes - start) return start + left;
    left -= closes - start;
  }
  return from + hours * HOUR_MS;
}

/** Time at which a span of hours or business days that begins at `from` is over. */
export function endOfSpan(from: number, span: Span, settings: Settings): number {
  if (span.kind === 'duration') return from + span.ms;
  return span.kind === 'business-days'
    ? afterBusinessDays(from, span.days, settings)
    : afterBusinessHours(from, span.hours, settings);
}
