import { describe, expect, it } from 'vitest';
import {
  formatDuration,
  formatSize,
  parseDuration,
  parseExactTime,
  parseSize,
  parseTime,
} from '../../src/lib/units.ts';

describe('a duration', () => {
  it('is whole milliseconds, and never a number alone', () => {
    const texts = ['1h30m', '1.5s', '250ms', '2d', '0.0004s'];
    expect(texts.map(parseDuration)).toEqual([5_400_000, 1_500, 250, 172_800_000, 0]);
    for (const text of ['', '15', '1h30', '1h 30m', '-1h', '1w', 'h', '1h30m later']) {
      expect(parseDuration(text), text).toBeUndefined();
    }
  });

  it('is shown in its one or two largest units', () => {
    const shown = [0, 999, 1_000, 59_999, 90_061_000, 86_400_000].map(formatDuration);
    expect(shown).toEqual(['0ms', '999ms', '1s', '1m', '1d 1h', '1d']);
  });
});

describe('a size', () => {
  it('is whole bytes, in units of a thousand or of 1,024', () => {
    const texts = ['1B', '1.5KiB', '1MB', '1MiB', '2 GiB', '0.3B'];
    expect(texts.map(parseSize)).toEqual([1, 1_536, 1_000_000, 1_048_576, 2_147_483_648, 0]);
    for (const text of ['1', '1K', '1mb', '-1B', '1MiBs']) expect(parseSize(text)).toBeUndefined();
    expect([1_023, 1_024, 1_572_864].map(formatSize)).toEqual(['1023 B', '1.0 KiB', '1.5 MiB']);
  });
});

describe('a time', () => {
  it('is a day or a moment of the calendar, in UTC unless it says otherwise', () => {
    expect(parseTime('2026-03-31')).toBe(Date.UTC(2026, 2, 31));
    expect(parseTime('2026-03-31 08:00')).toBe(Date.UTC(2026, 2, 31, 8));
    expect(parseTime('2026-03-31T08:00:01.5+02:00')).toBe(Date.UTC(2026, 2, 31, 6, 0, 1, 500));
    for (const text of ['7', '2026-02-30', '2026-13-01', '2026-03-31T25:00', 'today', '']) {
      expect(parseTime(text), text).toBeUndefined();
    }
  });

  it('has its zone where it decides', () => {
    expect(parseExactTime('2026-03-31')).toBe(Date.UTC(2026, 2, 31));
    expect(parseExactTime('2026-03-31T08:00-02:00')).toBe(Date.UTC(2026, 2, 31, 10));
    expect(parseExactTime('2026-03-31T08:00')).toBeUndefined();
    expect(parseExactTime('2026-03-31 08:00Z')).toBeUndefined();
  });
});
