import { describe, expect, it } from 'vitest';
import { nearestName } from '../../src/lib/nearest.ts';

describe('the nearest name', () => {
  it('prefers two swapped letters to any other slip, in any order of the names', () => {
    const names = ['hod', 'hold', 'hole', 'hoodl'];
    expect(nearestName('hodl', names)).toBe('hold');
    expect(nearestName('hodl', names.toReversed())).toBe('hold');
  });

  it('is none when no name is near enough', () => {
    expect(nearestName('accept', ['hold', 'reject'])).toBeUndefined();
    expect(nearestName('x', ['y'])).toBe('y');
  });

  it('is not looked for letter by letter where the lengths are too far apart', () => {
    const names = {
      *[Symbol.iterator]() {
        for (let at = 0; at < 2_000; at += 1) yield 'reference';
      },
    };
    expect(nearestName('x'.repeat(1_000_000), names)).toBeUndefined();
  });
});
