import { expect, it } from 'vitest';
import { nextRunAfter } from '../../src/sync/schedule.ts';

const AFTER = Date.UTC(2026, 10, 22, 3, 4, 5, 678);

function next(pattern: string, after = AFTER): string | undefined {
  const at = nextRunAfter(pattern, after);
  return at === undefined ? undefined : new Date(at).toISOString();
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
  // Too far away to be looked for: in 2028.
  ['0 0 29 2 *', undefined],
])('finds the next time of %s', (pattern, expected) => {
  expect(next(pattern)).toBe(expected);
});

it('takes a time that is later within the very minute, and none that is now', () => {
  expect(next('4 3 22 11 *', Date.UTC(2026, 10, 22, 3, 3, 59, 999))).toBe(
    '2026-11-22T03:04:00.000Z',
  );
  expect(next('4 3 22 11 *', Date.UTC(2026, 10, 22, 3, 4))).toBe('2027-11-22T03:04:00.000Z');
});
