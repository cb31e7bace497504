/** The stock of a style at the end of past days, against a diary that was kept at each of them. */
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/lib/random.ts';
import { writeStockVariants } from '../../src/mirror/catalog/out-of-band.ts';
import { STOCK_VARIANT } from '../../src/mirror/catalog/variant.ts';
import { markDeleted } from '../../src/mirror/list.ts';
import { deleteOldChanges } from '../../src/mirror/upkeep.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { temporaryStore } from '../support/store.ts';

const HOUR = 3_600_000;
const START = Date.UTC(2026, 0, 5);
const BARCODES = ['a', 'b', 'c', 'd'];

type Diary = ReadonlyMap<string, readonly (readonly [barcode: string, quantity: number])[]>;

/** Writes ten days of changes; gives what was listed at the end of each day with one. */
async function aPast(store: SqliteStore, seed: number): Promise<Diary> {
  const random = seededRandom(seed);
  const now = new Map<string, number>();
  const diary = new Map<string, readonly (readonly [string, number])[]>();
  for (let hour = 0; hour < 240; hour += random.int(1, 20)) {
    const at = START + hour * HOUR;
    const barcode = random.pick(BARCODES);
    const from = { source: 'run:1', readSeq: hour + 1, at };
    const quantity = random.int(-1, 30);
    const isSame = now.get(barcode) === quantity;
    if (now.has(barcode) && random.chance(0.25)) {
      now.delete(barcode);
      await store.transaction((tx) => markDeleted(tx, STOCK_VARIANT, [barcode], from));
    } else {
      now.set(barcode, quantity);
      const row = { barcode, quantity, details: { styleNo: 'S-1' } };
      await store.transaction((tx) => writeStockVariants(tx, [row], from));
    }
    const day = new Date(at).toISOString().slice(0, 10);
    // A day on which nothing changed has no row in the view.
    if (diary.has(day) || !isSame) diary.set(day, [...now].sort());
  }
  return diary;
}

function ask(store: SqliteStore, day: string): unknown[] {
  const database = new Database(store.path, { readonly: true });
  const rows = database
    .prepare(
      `select barcode, quantity from v_style_stock_day
       where style_no = 'S-1' and day = ? order by barcode`,
    )
    .raw()
    .all(day);
  database.close();
  return rows;
}

describe('the stock of a style on past days', () => {
  it.each([1, 2, 3, 4])('is what a diary says that was kept then (%i)', async (seed) => {
    const store = await temporaryStore();
    const diary = await aPast(store, seed);
    expect(diary.size).toBeGreaterThan(6);
    for (const [day, listed] of diary) {
      expect({ day, listed: ask(store, day) }).toEqual({ day, listed });
    }
  });

  it('is told as far back as the feed is kept, and right from its first day on', async () => {
    const store = await temporaryStore();
    const diary = await aPast(store, 5);
    const days = [...diary.keys()];
    const middle = days[Math.floor(days.length / 2)] ?? '';
    const cut = Date.parse(`${middle}T00:00:00Z`);
    await store.transaction((tx) => deleteOldChanges(tx, cut));
    for (const [day, listed] of diary) {
      if (Date.parse(`${day}T00:00:00Z`) < cut) expect(ask(store, day)).toEqual([]);
      else expect({ day, listed: ask(store, day) }).toEqual({ day, listed });
    }
  });
});
