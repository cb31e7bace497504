/** Beginning of an hour in the change feed: the way to its latest entries. */
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { writeStockVariants } from '../../src/mirror/catalog/out-of-band.ts';
import { STOCK_VARIANT } from '../../src/mirror/catalog/variant.ts';
import { markDeleted } from '../../src/mirror/list.ts';
import { deleteOldChanges } from '../../src/mirror/upkeep.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { temporaryStore } from '../support/store.ts';

const HOUR = 3_600_000;
const START = 490_000;

function mirrorOf(store: SqliteStore) {
  let readSeq = 0;
  const read = (hour: number) => {
    readSeq += 1;
    return { source: 'run:1', readSeq, at: (START + hour) * HOUR + 60_000 };
  };
  return {
    /** Writes as many variants, all of them changed, in that hour. */
    write: (hour: number, count: number, quantity: number) =>
      store.transaction((tx) =>
        writeStockVariants(
          tx,
          Array.from({ length: count }, (_, at) => ({ barcode: `b${at}`, quantity })),
          read(hour),
        ),
      ),
    remove: (hour: number, barcode: string) =>
      store.transaction((tx) => markDeleted(tx, STOCK_VARIANT, [barcode], read(hour))),
    hours: () => store.db.selectFrom('change_hour').selectAll().orderBy('hour').execute(),
  };
}

/** Entries since an hour: those that the hours lead to, and those that a look at all finds. */
function since(store: SqliteStore, hour: number): readonly [found: number[], all: number[]] {
  const database = new Database(store.path, { readonly: true });
  const ask = (where: string) =>
    database
      .prepare<[], number>(`select seq from change where at >= ${(START + hour) * HOUR} ${where}`)
      .pluck()
      .all();
  const first = `and seq >= (select min(first_seq) from change_hour
    where hour >= ${START + hour})`;
  const answers = [ask(first), ask('')] as const;
  database.close();
  return answers;
}

describe('the hours of the change feed', () => {
  it('have the first entry of each, whatever wrote it', async () => {
    const store = await temporaryStore();
    const { write, remove, hours } = mirrorOf(store);
    await write(0, 5, 1);
    await write(0, 5, 2);
    await remove(1, 'b0');
    await write(3, 2, 3);
    expect(await hours()).toEqual([
      { hour: START, first_seq: 1 },
      { hour: START + 1, first_seq: 11 },
      { hour: START + 3, first_seq: 12 },
    ]);
  });

  it('get no row where nothing was appended', async () => {
    const store = await temporaryStore();
    const { write, hours } = mirrorOf(store);
    await write(0, 2, 1);
    await write(1, 2, 1);
    expect(await hours()).toHaveLength(1);
  });

  it('miss no entry since any time, with a clock that was put back and old ones gone', async () => {
    const store = await temporaryStore();
    const { write } = mirrorOf(store);
    const hours = [0, 1, 5, 2, 3, 2, 6, 7];
    for (const [at, hour] of hours.entries()) await write(hour, 3, at + 1);
    const check = (): void => {
      for (let hour = -1; hour <= 9; hour += 1) {
        const [found, all] = since(store, hour);
        expect({ hour, found }).toEqual({ hour, found: all });
      }
    };
    check();
    for (const hour of [1, 2, 4, 7]) {
      await store.transaction((tx) => deleteOldChanges(tx, (START + hour) * HOUR));
      check();
    }
  });

  it('go with the entries that they point to', async () => {
    const store = await temporaryStore();
    const { write, hours } = mirrorOf(store);
    for (let hour = 0; hour < 6; hour += 1) await write(hour, 3, hour + 1);
    await store.transaction((tx) => deleteOldChanges(tx, (START + 4) * HOUR));
    expect((await hours()).map(({ hour }) => hour - START)).toEqual([4, 5]);
  });
});
