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
  readonly weekday: ClockFacts['weekday'];
}

/** What the wall shows at a moment, in epoch milliseconds. */
export type Wall = (at: number) => LocalTime;

/** The wall of an IANA zone; daylight saving is the zone's own affair. Costly to make. */
export function createWall(timeZone: string): Wall {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    weekday: 'long',
  });
  return (at) => {
    const parts = new Map(format.formatToParts(at).map((part) => [part.type, part.value]));
    const weekday = parts.get('weekday')?.toLowerCase();
    return {
      date: `${parts.get('year')}-${parts.get('month')}-${parts.get('day')}`,
      time: `${parts.get('hour')}:${parts.get('minute')}`,
      weekday: WEEKDAYS.find((name) => name === weekday) ?? 'monday',
    };
  };
}

export function clockFacts(
  now: number,
  { calendar, timezone }: Settings,
  wall: Wall = createWall(timezone),
): ClockFacts {
  const local = wall(now);
  const works =
    calendar.days.includes(local.weekday) &&
    !calendar.holidays.includes(local.date) &&
    local.time >= calendar.from &&
    local.time < calendar.to;
  return { now, business_hours: works, weekday: local.weekday };
}
