import { existsSync, readFileSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { openSecondWriter, type SqliteStore } from '../../src/store/store.ts';
import {
  handOffOfMain,
  handOffOfThread,
  shareWriteHandOff,
} from '../../src/store/writers/write-hand-off.ts';
import { placeDatabase, temporaryStore } from '../support/store.ts';

function setState(store: SqliteStore, key: string, inside: () => Promise<void> = async () => {}) {
  return store.transaction(async (tx) => {
    const row = { key, value: '1', updated_at: 0 };
    await tx.insertInto('daemon_state').values(row).execute();
    await inside();
  });
}

describe('a second writer', () => {
  it('makes no database where somebody has taken it away', async () => {
    const clock = systemClock();
    const { path, writeHandOff, files } = await temporaryStore(clock);
    renameSync(path, `${path}.away`);
    const second = openSecondWriter({ path, writeHandOff, files, busyTimeoutMs: 100 }, clock);
    await expect(second).rejects.toMatchObject({ code: 'store.taken_away' });
    expect(existsSync(path)).toBe(false);
  });

  it('does not write the log into another database that lies in its place', async () => {
    const clock = systemClock();
    const { path, writeHandOff, files } = await temporaryStore(clock);
    renameSync(path, `${path}.away`);
    placeDatabase(path);
    const before = readFileSync(path);
    const second = openSecondWriter({ path, writeHandOff, files, busyTimeoutMs: 100 }, clock);
    await expect(second).rejects.toMatchObject({ code: 'store.taken_away' });
    expect(readFileSync(path).equals(before)).toBe(true);
  });
});

it('a writer goes on while nobody can look at the files, which says nothing of them', async () => {
  const store = await temporaryStore();
  const folder = dirname(store.path);
  renameSync(folder, `${folder}.away`);
  symlinkSync(folder, folder);
  expect(() => statSync(store.path)).toThrow('ELOOP');
  await setState(store, 'unseen').finally(() => {
    rmSync(folder);
    renameSync(`${folder}.away`, folder);
  });
  await setState(store, 'seen again');
  expect(store.damaged.aborted).toBe(false);
});

it.each(['', '-wal', '-shm'])(
  'a writer writes nothing while its mirror.db%s is taken away, and tells everybody',
  async (ending) => {
    const store = await temporaryStore();
    const file = store.path + ending;
    renameSync(file, `${file}.away`);
    const failure = { code: 'store.taken_away' };
    await expect(setState(store, 'together')).rejects.toMatchObject(failure);
    const row = { key: 'alone', value: '1', updated_at: 0 };
    const alone = store.db.insertInto('daemon_state').values(row).execute();
    await expect(alone).rejects.toMatchObject(failure);
    expect(store.damaged.reason).toMatchObject(failure);
    renameSync(`${file}.away`, file);
    await setState(store, 'put back');
    const states = await store.db.selectFrom('daemon_state').select('key').execute();
    const keys = states.map(({ key }) => key);
    expect(keys).toContain('put back');
    expect(keys).not.toContain('alone');
    expect(keys).not.toContain('together');
  },
);

describe('the turns of two writers', () => {
  it('let the first writer wait for the second without standing still', async () => {
    const clock = systemClock();
    const first = await temporaryStore(clock);
    // In one thread with the first: were that to wait by sleeping, both would wait for ever.
    const { path, writeHandOff, files } = first;
    const second = await openSecondWriter({ path, writeHandOff, files, busyTimeoutMs: 100 }, clock);
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const long = setState(second, 'second', () => held);
    const row = { key: 'alone', value: '1', updated_at: 0 };
    const waiting = [
      setState(first, 'first'),
      first.db.insertInto('daemon_state').values(row).execute(),
    ];
    expect(await Promise.race([...waiting, sleep(20, 'waits')])).toBe('waits');
    release();
    await Promise.all([long, ...waiting]);
    await second.close();
    const states = await first.db.selectFrom('daemon_state').select('key').execute();
    const keys = states.map(({ key }) => key);
    expect(keys).toEqual(expect.arrayContaining(['alone', 'first', 'second']));
  });

  it('let each go ahead in the end when the other one never leaves', async () => {
    const shared = shareWriteHandOff();
    const [main, thread] = [handOffOfMain(shared), handOffOfThread(shared)];
    await main.acquire();
    await thread.acquire();
    await main.acquire();
    main.release();
    main.release();
    const next = handOffOfThread(shared);
    await next.acquire();
    next.release();
  });

  it('leave it to the second writer to write the log back, as long as it is there', async () => {
    const clock = systemClock();
    const first = await temporaryStore(clock);
    const { path, writeHandOff, files } = first;
    const valuesInFile = () => Math.round(statSync(path).size / 6_000_000);
    const write = (store: SqliteStore, key: string) =>
      store.transaction(async (tx) => {
        const row = { key, value: 'x'.repeat(6_000_000), updated_at: 0 };
        await tx.insertInto('daemon_state').values(row).execute();
      });
    await write(first, 'alone');
    expect(valuesInFile()).toBe(1);
    const second = await openSecondWriter({ path, writeHandOff, files, busyTimeoutMs: 100 }, clock);
    await write(first, 'beside');
    expect(valuesInFile()).toBe(1);
    for (let n = 0; n < 8; n += 1) await setState(second, `second ${n}`);
    expect(valuesInFile()).toBe(2);
    await second.close();
    await write(first, 'alone again');
    expect(valuesInFile()).toBe(3);
  });

  it('are taken by two transactions of the second writer one after the other', async () => {
    const clock = systemClock();
    const { path, writeHandOff, files } = await temporaryStore(clock);
    const second = await openSecondWriter({ path, writeHandOff, files, busyTimeoutMs: 100 }, clock);
    const isTaken: boolean[] = [];
    const look = async (): Promise<void> => {
      for (let turn = 0; turn < 5; turn += 1) await sleep(1);
      isTaken.push(new Int32Array(writeHandOff)[1] === 1);
    };
    await Promise.all(['a', 'b', 'c'].map((key) => setState(second, key, look)));
    expect(isTaken).toEqual([true, true, true]);
    expect(new Int32Array(writeHandOff)[1]).toBe(0);
    await second.close();
  });

  it('do not make a failure of what is committed when the log cannot be written back', async () => {
    const clock = systemClock();
    const { path, writeHandOff, files, db } = await temporaryStore(clock);
    const second = await openSecondWriter({ path, writeHandOff, files, busyTimeoutMs: 100 }, clock);
    let failures = 0;
    Object.assign(second, {
      checkpoint() {
        failures += 1;
        throw new Error('the disk is full');
      },
    });
    for (let n = 0; n < 8; n += 1) await setState(second, `second ${n}`);
    expect(failures).toBeGreaterThan(1);
    const states = await db.selectFrom('daemon_state').select('key').execute();
    expect(states.filter(({ key }) => key.startsWith('second '))).toHaveLength(8);
  });

  it('come back after a transaction that failed', async () => {
    const store = await temporaryStore(systemClock());
    const broken = setState(store, 'a', () => Promise.reject(new Error('broken')));
    await expect(broken).rejects.toThrow('broken');
    // Nobody waits and nobody is inside: the other writer finds the way free.
    expect([...new Int32Array(store.writeHandOff)]).toEqual([0, 0, 0]);
  });
});
