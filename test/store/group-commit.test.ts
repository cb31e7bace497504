import { expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { writeState } from '../../src/store/state.ts';
import type { Store } from '../../src/store/store.ts';
import { groupCommits } from '../../src/store/transaction/group-commit.ts';
import { temporaryStore } from '../support/store.ts';

async function keys({ db }: Store): Promise<string[]> {
  const rows = await db
    .selectFrom('daemon_state')
    .select('key')
    .where('key', 'like', 'k%')
    .execute();
  return rows.map(({ key }) => key).sort();
}

it('commits what is asked for in one moment together, and undoes alone what throws', async () => {
  const store = await temporaryStore();
  let commits = 0;
  const counted: Store = {
    ...{ db: store.db, path: store.path, close: () => store.close() },
    snapshot: (read) => store.snapshot(read),
    transaction(work) {
      commits += 1;
      return store.transaction(work);
    },
  };
  const grouped = groupCommits(counted);
  const clock = manualClock();
  const effects: string[] = [];
  const write = (key: string, fails: boolean) =>
    grouped.transaction(async (tx, onCommit) => {
      onCommit(() => effects.push(key));
      await writeState(tx, key, 'x', clock);
      if (fails) throw new Error(`no ${key}`);
      return key;
    });
  const ended = await Promise.allSettled([
    write('k1', false),
    write('k2', true),
    write('k3', false),
  ]);
  expect(ended.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(commits).toBe(1);
  expect(await keys(store)).toEqual(['k1', 'k3']);
  expect(effects).toEqual(['k1', 'k3']);
  await expect(write('k4', true)).rejects.toThrow('no k4');
  expect(await write('k5', false)).toBe('k5');
  expect(await keys(store)).toEqual(['k1', 'k3', 'k5']);
});

it('does all that is asked for in one moment, however much it is', async () => {
  const store = await temporaryStore();
  const grouped = groupCommits(store);
  const write = (key: string) =>
    grouped.transaction((tx) => writeState(tx, key, 'x', manualClock()));
  await Promise.all(Array.from({ length: 150 }, (_, index) => write(`k${index}`)));
  expect(await keys(store)).toHaveLength(150);
});

it('tells everybody when the common commit fails', async () => {
  const store = await temporaryStore();
  const broken: Store = {
    ...{ db: store.db, path: store.path, close: () => store.close() },
    snapshot: (read) => store.snapshot(read),
    async transaction(work) {
      await store.transaction(async (tx, onCommit) => {
        await work(tx, onCommit);
        throw new Error('the disk is full');
      });
      throw new Error('not reached');
    },
  };
  const grouped = groupCommits(broken);
  const write = (key: string) =>
    grouped.transaction((tx) => writeState(tx, key, 'x', manualClock()));
  const ended = await Promise.allSettled([write('k1'), write('k2')]);
  expect(ended.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await keys(store)).toEqual([]);
});
