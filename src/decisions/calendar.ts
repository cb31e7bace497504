/** The clock facts: what time it is where the business is, and whether somebody is at work. */
import type { Facts } from '../rules/facts/plain.ts';
import { WEEKDAYS } from '../rules/facts/table.ts';
import type { RuleSet } from '../rules/rule.ts';

type ClockFacts = Facts['clock'];
type Settings = RuleSet['settings'];

interface LocalTime {
  /** `2026-11-21` */
  readonly date: string;
  /** `08:05` */
  readonly time: string;
}

/** What the wall shows at a moment, in epoch milliseconds. */
export type Wall = (at: number) => LocalTime;

const walls = new Map<string, Wall>();

/** The wall of an IANA zone; daylight saving is the zone's own affair. Costly to make, so kept. */
export function wallOf(timeZone: string): Wall {
  const wall = walls.get(timeZone) ?? createWall(timeZone);
  walls.set(timeZone, wall);
  return wall;
}

function createWall(timeZone: string): Wall {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
  });
  return (at) => {
    const parts = new Map(format.formatToParts(at).map((part) => [part.type, part.value]));
    return {
      date: `${parts.get('year')}-${parts.get('month')}-${parts.get('day')}`,
      time: `${parts.get('hour')}:${parts.get('minute')}`,
    };
  };
}

function weekdayOf(date: string): ClockFacts['weekday'] {
  const sinceMonday = (new Date(`${date}T00:00:00Z`).getUTCDay() + 6) % 7;
  return WEEKDAYS[sinceMonday] ?? 'monday';
}

/** Whether the business is open at all on this local date. */
export function worksOn(date: string, { calendar }: Settings): boolean {
  return calendar.days.includes(weekdayOf(date)) && !calendar.holidays.includes(date);
}

export function clockFacts(
  now: number,
  settings: Settings,
  wall: Wall = wallOf(settings.timezone),
): ClockFacts {
  const { date, time } = wall(now);
  const { from, to } = settings.calendar;
  const works = worksOn(date, settings) && time >= from && time < to;
  return { now, business_hours: works, weekday: weekdayOf(date) };
}
