import { describe, expect, it } from 'vitest';
import {
  type Beginning,
  type Measure,
  whyNoBeginning,
} from '../../src/standby/take-over/choose-backup.ts';

/** The record of three machines, one after the other: entries by their places. */
const RECORD = [
  { place: 10, seq: 1 },
  { place: 20, seq: 2 },
  // Another machine took over at 30, from a backup whose queue ended at 1.
  { place: 40, seq: 2 },
  { place: 50, seq: 7 },
];

const measure: Measure = {
  feed: 'feed',
  begins: 1,
  trimmed: 5,
  lines: [
    { name: 'second', place: 30 },
    { name: 'third', place: 60 },
  ],
  lastSeq: async (after, before) =>
    Math.max(
      0,
      ...RECORD.filter(({ place }) => place > after && place < before).map(({ seq }) => seq),
    ),
};

const why = (given: Partial<Beginning>, more: Partial<Measure> = {}) =>
  whyNoBeginning(
    { feed: 'feed', line: undefined, place: 5, waiting: 0, ...given },
    { ...measure, ...more },
  );

describe('a backup to begin from', () => {
  it('has the present feed, and is not older than the record', async () => {
    expect(await why({})).toBeUndefined();
    expect(await why({ feed: undefined })).toMatch(/before there was a standby/);
    expect(await why({ feed: 'old' })).toMatch(/earlier feed/);
    expect(await why({ place: 4 })).toMatch(/older than what the record still has/);
    // A feed that began behind all that was deleted needs nothing of before.
    expect(await why({ place: 0 }, { begins: 40 })).toBeUndefined();
  });

  it('has nothing that was never recorded, though others use the same numbers', async () => {
    expect(await why({ waiting: 2 })).toBeUndefined();
    // The first machine was cut off: its entry 3 is not the one that the second machine wrote.
    expect(await why({ waiting: 3 })).toMatch(/never recorded/);
    expect(await why({ line: 'second', place: 30, waiting: 7 })).toBeUndefined();
    expect(await why({ line: 'second', place: 30, waiting: 8 })).toMatch(/never recorded/);
    expect(await why({ line: 'third', place: 60, waiting: 1 })).toMatch(/never recorded/);
    // Entries of the feed before have the same numbers, and are not those of this one.
    expect(await why({ place: 0, waiting: 7 }, { begins: 50 })).toBeUndefined();
    expect(await why({ place: 0, waiting: 2 }, { begins: 51 })).toMatch(/never recorded/);
  });
});
