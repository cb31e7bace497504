import { createTask } from 'node-cron';
import { expect, it, vi } from 'vitest';
import { describeSchedule, nextRunAfter } from '../../src/sync/schedule.ts';

const AFTER = Date.UTC(2026, 10, 22, 3, 4, 5, 678);

function next(pattern: string, after = AFTER): string {
  return new Date(nextRunAfter(pattern, after) ?? Number.NaN).toISOString();
}

it.each([
  ['* * * * *', '2026-11-22T03:05:00.000Z'],
  ['*/20 * * * * *', '2026-11-22T03:04:20.000Z'],
  ['10 4 3 * * *', '2026-11-22T03:04:10.000Z'],
  ['4 3 * * *', '2026-11-23T03:04:00.000Z'],
  ['0 0 1 1 *', '2027-01-01T00:00:00.000Z'],
  ['30 23 31 12 *', '2026-12-31T23:30:00.000Z'],
  ['0 12 31 * *', '2026-12-31T12:00:00.000Z'],
  ['0 6 * feb,mar mon', '2027-02-01T06:00:00.000Z'],
  // Day of month and day of week must both fit.
  ['0 0 1 * fri', '2027-01-01T00:00:00.000Z'],
  ['0 0 * * sun#2', '2026-12-13T00:00:00.000Z'],
  ['0 0 * * 5L', '2026-11-27T00:00:00.000Z'],
  ['0 0 29 2 *', '2028-02-29T00:00:00.000Z'],
  ['* * 29 2 *', '2028-02-29T00:00:00.000Z'],
  ['0 0 29 2 sun', '2032-02-29T00:00:00.000Z'],
  ['* * L 2 *', '2027-02-28T00:00:00.000Z'],
])('finds the next time of %s', (pattern, expected) => {
  expect(next(pattern)).toBe(expected);
});

it('takes a time that is later within the very minute, and none that is now', () => {
  expect(next('4 3 22 11 *', Date.UTC(2026, 10, 22, 3, 3, 59, 999))).toBe(
    '2026-11-22T03:04:00.000Z',
  );
  expect(next('4 3 22 11 *', Date.UTC(2026, 10, 22, 3, 4))).toBe('2027-11-22T03:04:00.000Z');
});

it('finds the 29th of February behind a year of a century that has none', () => {
  expect(next('0 0 29 2 *', Date.UTC(2096, 1, 29))).toBe('2104-02-29T00:00:00.000Z');
});

it.each([
  ['* * * * * 6', '2026-11-28T00:00:00.000Z'],
  ['* * L 2 *', '2027-02-28T00:00:00.000Z'],
])('asks no more than once about a day that %s does not name', (pattern, expected) => {
  const task = createTask('* * * * *', () => undefined);
  const match = vi.spyOn(Object.getPrototypeOf(task), 'match');
  try {
    expect(next(pattern)).toBe(expected);
    expect(match.mock.calls.length).toBeLessThan(32);
  } finally {
    match.mockRestore();
    void task.destroy();
  }
});

it.each([
  ['0 22-1 * * *', 'each day at 22:00, 23:00, 00:00, 01:00'],
  ['0 22,23,0 * * *', 'each day at 22:00, 23:00, 00:00'],
  ['30 6,12,18 * * *', 'each day at 06:30, 12:30, 18:30'],
  ['0 22-2 * * *', 'each hour from 22:00 to 02:00'],
  ['5 8-17 * * 1-5', 'each hour from 08:05 to 17:05, Monday to Friday'],
  ['*/15 22-5 * * *', 'every 15 minutes from 22:00 to 05:45'],
  ['* 23-0 * * *', 'every minute from 23:00 to 00:59'],
  // The hours after midnight are those of the Saturday itself.
  ['0 22-1 * * 6', 'at 00:00, 01:00, 22:00, 23:00, on Saturday'],
  ['0 20-3 * * 6', '0 20-3 * * 6'],
  ['0 3 * * 5-1', 'at 03:00, Friday to Monday'],
  ['0 3 * * fri-sun', 'at 03:00, Friday to Sunday'],
  ['0 3 * * 0,6', 'at 03:00, on Saturday, Sunday'],
  ['0 3 * * 1-5', 'at 03:00, Monday to Friday'],
  ['0 */6 * * *', 'every 6 hours, from 00:00'],
  ['*/10 * * * *', 'every 10 minutes'],
])('says %s as %s', (pattern, words) => {
  expect(describeSchedule(pattern)).toBe(words);
});
