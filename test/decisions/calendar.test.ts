import { describe, expect, it } from 'vitest';
import {
  clockFacts,
  endOfSpan,
  nextCalendarChange,
  nextOpening,
} from '../../src/decisions/calendar.ts';
import { parseSpan } from '../../src/rules/text/timing.ts';
import { rulesOf } from '../rules/support.ts';
import { ACCEPT_SMALL } from './support.ts';

const SETTINGS = `version: 1
timezone: Europe/Copenhagen
calendar:
  days: [monday, tuesday, wednesday, thursday, friday]
  from: "08:00"
  to: "16:00"
  holidays: ['2026-12-24', '2026-12-25']
`;
const { settings } = rulesOf(ACCEPT_SMALL, SETTINGS);
const LUNCH = `${SETTINGS}  breaks: [{ from: "12:00", to: "12:30" }]
  half_days: { friday: "14:00", 2026-12-23: "12:00" }
`;
const lunch = rulesOf(ACCEPT_SMALL, LUNCH).settings;
const shown = (at: number | undefined) => at && new Date(at).toISOString().slice(0, 16);

function ends(from: string, text: string): string | number | undefined {
  const span = parseSpan(text);
  if (!span) throw new Error(`no span: ${text}`);
  return shown(endOfSpan(Date.parse(from), span, settings));
}

describe('the next opening', () => {
  const opens = (from: string) => shown(nextOpening(Date.parse(from), settings));

  it('is this morning, tomorrow, or after the weekend and the holidays', () => {
    expect(opens('2026-11-18T05:00:00Z')).toBe('2026-11-18T07:00');
    expect(opens('2026-11-18T07:00:00Z')).toBe('2026-11-19T07:00');
    expect(opens('2026-11-20T12:00:00Z')).toBe('2026-11-23T07:00');
    expect(opens('2026-12-23T18:00:00Z')).toBe('2026-12-28T07:00');
  });

  it('is at the same time on the wall after the clocks have changed', () => {
    // Summer time begins on 29 March 2026 and ends on 25 October, at 01:00 UTC.
    expect(opens('2026-03-27T15:00:00Z')).toBe('2026-03-30T06:00');
    expect(opens('2026-10-23T15:00:00Z')).toBe('2026-10-26T07:00');
  });

  it('does not exist for a business without working days', () => {
    const closed = rulesOf(ACCEPT_SMALL, 'version: 1\ncalendar: { days: [] }\n').settings;
    expect(nextOpening(0, closed)).toBeUndefined();
    expect(endOfSpan(0, { kind: 'business-days', days: 2 }, closed)).toBe(2 * 86_400_000);
  });
});

describe('business days', () => {
  it('end at the same time of a later working day', () => {
    expect(ends('2026-11-20T14:00:00Z', '2 business days')).toBe('2026-11-24T14:00');
    expect(ends('2026-12-22T09:30:00Z', '2 business days')).toBe('2026-12-28T09:30');
  });

  it('are not shorter by the seconds of the minute in which they begin', () => {
    const from = Date.parse('2026-11-20T14:00:59.900Z');
    const end = endOfSpan(from, { kind: 'business-days', days: 1 }, settings);
    expect(end - from).toBe(3 * 86_400_000);
  });

  it('begin with the next opening where nobody is at work', () => {
    expect(ends('2026-11-21T10:00:00Z', '1 business day')).toBe('2026-11-24T07:00');
    expect(ends('2026-11-20T20:00:00Z', '1 business day')).toBe('2026-11-24T07:00');
  });

  it('keep the time on the wall across a change of the clocks', () => {
    expect(ends('2026-03-27T14:00:00Z', '1 business day')).toBe('2026-03-30T13:00');
    expect(ends('2026-10-23T10:00:00Z', '1 business day')).toBe('2026-10-26T11:00');
  });
});

describe('business hours', () => {
  it('run only while somebody is at work', () => {
    expect(ends('2026-11-20T13:00:00Z', '1 business hour')).toBe('2026-11-20T14:00');
    expect(ends('2026-11-20T13:00:00Z', '2 business hours')).toBe('2026-11-20T15:00');
    expect(ends('2026-11-20T13:00:00Z', '4 business hours')).toBe('2026-11-23T09:00');
    expect(ends('2026-11-21T10:00:00Z', '9 business hours')).toBe('2026-11-24T08:00');
  });

  it('are as long as ever on the day of a change of the clocks', () => {
    expect(ends('2026-03-27T14:00:00Z', '2 business hours')).toBe('2026-03-30T07:00');
  });
});

describe('a duration', () => {
  it('runs day and night', () => {
    expect(ends('2026-10-24T23:00:00Z', '24h')).toBe('2026-10-25T23:00');
  });
});

describe('the calendar changes next', () => {
  const changes = (from: string) => shown(nextCalendarChange(Date.parse(from), settings));

  it('at the opening, at the closing, or at midnight on the wall', () => {
    expect(changes('2026-11-18T05:00:00Z')).toBe('2026-11-18T07:00');
    expect(changes('2026-11-18T08:00:00Z')).toBe('2026-11-18T15:00');
    expect(changes('2026-11-18T16:00:00Z')).toBe('2026-11-18T23:00');
    expect(changes('2026-11-21T10:00:00Z')).toBe('2026-11-21T23:00');
  });

  it.each(['America/Santiago', 'America/Havana', 'Africa/Cairo'])(
    'later than now on each day of %s, where midnight may be skipped',
    (timezone) => {
      const there = rulesOf(ACCEPT_SMALL, `version: 1\ntimezone: ${timezone}\n`).settings;
      const end = Date.UTC(2027, 0, 1);
      for (let now = Date.UTC(2026, 0, 1), next = now; now < end; now = next) {
        next = nextCalendarChange(now, there);
        // Too early it would stand still when it comes there, too late it would have passed one.
        if (next <= now) expect.fail(`${shown(next)} is not later than ${shown(now)}`);
        const again = nextCalendarChange(next - 1, there);
        if (again !== next) expect.fail(`${shown(again)} before ${shown(next)}`);
      }
    },
  );
});

describe('breaks and half days', () => {
  const works = (at: string) => clockFacts(Date.parse(at), lunch).business_hours;

  it.each([
    ['2026-11-18T10:59:59Z', true],
    ['2026-11-18T11:00:00Z', false],
    ['2026-11-18T11:29:59Z', false],
    ['2026-11-18T11:30:00Z', true],
    ['2026-11-18T14:59:59Z', true],
    // A Friday.
    ['2026-11-20T12:59:59Z', true],
    ['2026-11-20T13:00:00Z', false],
    // A Wednesday before Christmas.
    ['2026-12-23T10:59:59Z', true],
    ['2026-12-23T11:30:00Z', false],
  ])('at %s somebody is at work: %s', (at, expected) => {
    expect(works(at)).toBe(expected);
  });

  it('open again after lunch, and change the calendar at its beginning and end', () => {
    expect(shown(nextOpening(Date.parse('2026-11-18T11:05:00Z'), lunch))).toBe('2026-11-18T11:30');
    const changes = (at: string) => shown(nextCalendarChange(Date.parse(at), lunch));
    expect(changes('2026-11-18T09:00:00Z')).toBe('2026-11-18T11:00');
    expect(changes('2026-11-18T11:00:00Z')).toBe('2026-11-18T11:30');
    expect(changes('2026-11-20T12:00:00Z')).toBe('2026-11-20T13:00');
  });

  it('do not count as business time, and a day with a break is one day', () => {
    const ends = (from: string, text: string) => {
      const span = parseSpan(text);
      return span && shown(endOfSpan(Date.parse(from), span, lunch));
    };
    expect(ends('2026-11-18T10:00:00Z', '2 business hours')).toBe('2026-11-18T12:30');
    expect(ends('2026-11-20T12:00:00Z', '2 business hours')).toBe('2026-11-23T08:00');
    expect(ends('2026-11-17T10:00:00Z', '2 business days')).toBe('2026-11-19T10:00');
  });
});
