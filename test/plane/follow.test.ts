import { describe, expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { readPlaneStatus } from '../../src/plane/status-file.ts';
import { planeStatus } from '../../src/plane/status.ts';
import { churnOnce, deleteEntriesBefore } from './churn.ts';
import { planeHouse, startPglite } from './support.ts';

const wrongTables = (tables: readonly { missing: number; different: number; surplus: number }[]) =>
  tables.filter(({ missing, different, surplus }) => missing + different + surplus > 0);

describe('the plane, in PGlite', () => {
  it('has every row of the mirror after it was made and after it followed', async () => {
    const clock = manualClock();
    const house = await planeHouse({ connect: await startPglite(), clock, seed: 1 });
    for (let count = 0; count < 60; count += 1) await churnOnce(house.churn);
    expect(await house.settle()).toEqual(['rebuilt', 'nothing']);
    expect(wrongTables((await house.verify()).tables)).toEqual([]);
    for (let round = 0; round < 10; round += 1) {
      for (let count = 0; count < 30; count += 1) await churnOnce(house.churn);
      expect(await house.settle()).toEqual(['followed', 'nothing']);
      const verdict = await house.verify();
      expect(wrongTables(verdict.tables)).toEqual([]);
      expect(verdict.pending).toBe(0);
    }
    const status = readPlaneStatus(house.dataDir);
    expect(status).toMatchObject({ state: 'following', account: 'acme', lagMs: 0 });
    const client = await house.connect();
    const [acme] = await planeStatus(client, clock.now());
    expect(acme).toMatchObject({ account: 'acme', seq: status?.seq, lagMs: 0 });
    await deleteEntriesBefore(house.store, house.churn.at + 1);
    expect(await house.settle()).toContain('nothing');
  });
});
