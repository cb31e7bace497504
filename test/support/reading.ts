/** Surroundings of a list that a test reads. */

import type { Store } from '../../src/store/store.ts';
import type { Reading } from '../../src/surface/reading.ts';

const nothing = async () => undefined;

export function readingOf(
  { db, snapshot }: Pick<Store, 'db' | 'snapshot'>,
  now: number,
  more: Partial<Reading> = {},
): Reading {
  return {
    db,
    snapshot,
    now,
    pulled: {},
    notAtLevel: {},
    dataDir: undefined,
    rowsMax: 1_000,
    reports: { directory: '', schedules: [] },
    rules: {
      inForce: nothing,
      figures: nothing,
      suggest: () => Promise.reject(new Error('nothing is proposed here')),
    },
    timeZone: async () => 'Europe/Copenhagen',
    rates: [],
    sessionIdleMs: 1,
    me: 'ada',
    seesAddresses: true,
    masked: async (_orderIds, value) => value,
    maskedEach: async (rows) => rows,
    ...more,
  };
}
