import { describe, expect, it } from 'vitest';
import { createJudge } from '../../src/standby/lease.ts';
import { permitFrom } from '../../src/standby/permit.ts';
import { literal } from '../../src/standby/session.ts';

const row = (beat: number, more: { taking?: string; handedOver?: boolean } = {}) => ({
  taking: 'a',
  beat,
  handedOver: false,
  ...more,
});

describe('the judge of a lease', () => {
  const judge = () => createJudge({ leaseMs: 15_000, renewMs: 5_000 });

  it('frees it once nothing has moved for its length and a renewal, by its own clock alone', () => {
    const judged = judge();
    expect(judged.saw(row(7), 0, 10)).toEqual({ quietMs: 0, isFree: false });
    expect(judged.saw(row(7), 10_010, 10_020)).toEqual({ quietMs: 10_000, isFree: false });
    expect(judged.saw(row(8), 12_000, 12_010)).toEqual({ quietMs: 0, isFree: false });
    expect(judged.saw(row(8), 32_009, 32_010).isFree).toBe(false);
    expect(judged.saw(row(8), 32_011, 32_012).isFree).toBe(true);
    expect(judged.saw(row(8, { taking: 'b' }), 40_000, 40_001).isFree).toBe(false);
  });

  it('counts no time beside a read that failed, and none that a read itself took', () => {
    const judged = judge();
    judged.saw(row(1), 0, 0);
    judged.missed();
    expect(judged.saw(row(1), 60_000, 90_000)).toEqual({ quietMs: 0, isFree: false });
    expect(judged.saw(row(1), 91_000, 91_000)).toEqual({ quietMs: 1_000, isFree: false });
    judged.missed();
    expect(judged.saw(row(1), 120_000, 120_000).quietMs).toBe(1_000);
  });

  it('frees at once what its holder has given away', () => {
    expect(judge().saw(row(3, { handedOver: true }), 0, 0).isFree).toBe(true);
  });
});

describe('a permit', () => {
  const times = { monotonic: 0, uptime: 0, wall: 0 };
  const clocks = {
    clock: { now: () => 1_000_000 + times.wall, monotonic: () => 500 + times.monotonic },
    uptime: () => 90_000 + times.uptime,
  };
  const asked = { monotonic: 500, uptime: 90_000, wall: 1_000_000 };

  it.each([
    ['monotonic time', { monotonic: 5_000 }],
    ['time since boot, as after a suspension', { uptime: 6_000 }],
    ['the wall clock', { wall: 5_000 }],
    ['a wall clock that was set back', { wall: -5_000 }],
  ])('is over by %s alone', (_, passed) => {
    Object.assign(times, { monotonic: 0, uptime: 0, wall: 0 });
    const permit = permitFrom(asked, 5_000, clocks);
    Object.assign(times, { monotonic: 4_999, uptime: 5_000, wall: 4_999 });
    expect(permit.whyOver()).toBeUndefined();
    Object.assign(times, { monotonic: 0, uptime: 0, wall: 0 }, passed);
    expect(permit.whyOver()).toMatch(/over/);
  });
});

it('literals of SQL hold any text', () => {
  expect(literal("it's")).toBe("'it''s'");
  expect(literal('a\\u0000')).toBe(" E'a\\\\u0000'");
  expect([literal(null), literal(5), literal(true)]).toEqual(['null', '5', 'true']);
});
