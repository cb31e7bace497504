import { afterEach, describe, expect, it, vi } from 'vitest';
import { membersOfOwn } from '../../src/mirror/members.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

describe('a time of the wire', () => {
  it.each([
    ['2026-03-31T18:00:00Z', '2026-03-31T18:00:00.000Z'],
    ['2026-03-31T18:00:00+02:00', '2026-03-31T16:00:00.000Z'],
    ['2026-03-31T18:00:00', '2026-03-31T18:00:00.000Z'],
    ['2026-03-31 18:00:00', '2026-03-31T18:00:00.000Z'],
    ['2026-03-31', '2026-03-31T00:00:00.000Z'],
    ['Tue, 31 Mar 2026 18:00:00 GMT', '2026-03-31T18:00:00.000Z'],
    ['31 Mar 2026 18:00:00 +0200', '2026-03-31T16:00:00.000Z'],
    ['31 Mar 2026 18:00:00', '2026-03-31T18:00:00.000Z'],
    ['2026/03/31 18:00:00', '2026-03-31T18:00:00.000Z'],
    ['2026/3/31', '2026-03-31T00:00:00.000Z'],
    ['2026-03-31 18:00:00 +0200', '2026-03-31T16:00:00.000Z'],
    ['2026-03-31 18:00:00 UTC', '2026-03-31T18:00:00.000Z'],
    ['2026-03-31 18:00:00+02', '2026-03-31T16:00:00.000Z'],
    ['2026-03-31 18:00:00.123456-05', '2026-03-31T23:00:00.123Z'],
    ['2026-03-31 18:00:00 GMT+2', '2026-03-31T16:00:00.000Z'],
    ['2026-3-31', '2026-03-31T00:00:00.000Z'],
  ])('is the same on a host of any zone: %s', (written, meant) => {
    vi.stubEnv('TZ', 'Asia/Tokyo');
    expect(membersOfOwn({ createdAt: written }).time('createdAt')).toBe(Date.parse(meant));
  });

  it.each([
    '2026-02-31T00:00:00',
    '2026-02-31 00:00:00 UTC',
    '2026/02/30 03:04:05',
    'Tue, 31 Feb 2026 18:00:00 GMT',
    '7',
  ])('is none where there is no such day, and the text is kept: %s', (createdAt) => {
    const members = membersOfOwn({ createdAt });
    expect(members.time('createdAt')).toBeNull();
    expect(members.rest()).toEqual({ createdAt });
  });
});

it('an integer that is none is kept as it came', () => {
  const odd = { a: 1.5, b: 2 ** 53, c: '7', d: 7 };
  const members = membersOfOwn({ ...odd });
  const read = Object.keys(odd).map((name) => members.integer(name));
  expect(read).toEqual([null, null, null, 7]);
  expect(members.rest()).toEqual({ ...odd, d: undefined });
});

it('an amount beyond what is counted exactly is kept as it came', () => {
  const odd = { a: 1e21, b: -1e308, c: 900_719_925_475, d: 900_719_925_474 };
  const members = membersOfOwn({ ...odd });
  const read = Object.keys(odd).map((name) => members.money(name));
  expect(read).toEqual([null, null, null, 900_719_925_474_0000]);
  expect(members.rest()).toEqual({ ...odd, d: undefined });
});

it('an amount of more than four decimals is kept as it came, and one of four is exact', () => {
  const odd = { a: 12.34567, b: 0.00001, c: 4.4449, d: -0.0001 };
  const members = membersOfOwn({ ...odd });
  expect(Object.keys(odd).map((name) => members.money(name))).toEqual([null, null, 44_449, -1]);
  expect(members.rest()).toEqual({ ...odd, c: undefined, d: undefined });
});

it('a member that is no object is kept as it came, and has no members', () => {
  const odd = { a: [{ b: 1 }], c: 'text', d: 7 };
  const members = membersOfOwn({ ...odd, e: null, f: { g: 'h' } });
  expect(members.object('a').text('b')).toBeNull();
  expect([members.object('c'), members.object('d')].map((one) => one.rest())).toEqual([{}, {}]);
  expect(members.object('e').rest()).toEqual({});
  expect(members.object('f').text('g')).toBe('h');
  expect(JSON.parse(JSON.stringify(members.rest()))).toEqual(odd);
});

it('an empty text names nothing, where a name is meant', () => {
  const members = membersOfOwn({ SeasonName: '', comment: '' });
  expect(members.name('SeasonName')).toBeNull();
  expect(members.text('comment')).toBe('');
  expect(members.rest()).toEqual({});
});
