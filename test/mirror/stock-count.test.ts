/** The sums of a day and the ranks of sizes, asked through their views. */
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { writeStockVariants } from '../../src/mirror/catalog/out-of-band.ts';
import { STOCK_VARIANT } from '../../src/mirror/catalog/variant.ts';
import { markDeleted } from '../../src/mirror/list.ts';
import { createStockCounter } from '../../src/mirror/stock-count.ts';
import { deleteOldStockDays } from '../../src/mirror/upkeep.ts';
import { COMMON, insertRow } from '../report/trade/world.ts';
import { temporaryStore } from '../support/store.ts';

const NEVER = new AbortController().signal;
const MINUTE = 60_000;
const DAY = 86_400_000;
/** A new day at once, so that the clock moves within it. */
const NOON = Date.UTC(2026, 0, 5, 12);

async function counted(sizeOrder: readonly string[] = [], zone = { name: 'UTC' }) {
  const clock = manualClock(NOON);
  const store = await temporaryStore(clock);
  const counter = createStockCounter({ store, clock, sizeOrder, timeZone: () => zone.name });
  let readSeq = 0;
  const read = () => {
    readSeq += 1;
    return { source: 'run:1', readSeq, at: clock.now() };
  };
  return {
    clock,
    store,
    count: () => counter(NEVER),
    write: (rows: readonly object[]) =>
      store.transaction((tx) => writeStockVariants(tx, [...rows], read())),
    remove: (barcode: string) =>
      store.transaction((tx) => markDeleted(tx, STOCK_VARIANT, [barcode], read())),
    complete: () =>
      store.db
        .insertInto('stream_state')
        .values({ stream: 'stock', due_at: 0, complete_at: clock.now() })
        .execute(),
    ask: (sql: string): unknown[] => {
      const database = new Database(store.path, { readonly: true });
      const rows = database.prepare(sql).raw().all();
      database.close();
      return rows;
    },
  };
}

function variant(barcode: string, quantity: number, details: object) {
  return { barcode, quantity, details: { currency: 'DKK', ...details } };
}

const SUMS = `select brand_name, variants, in_stock, pieces, wsp_value, unpriced from v_stock_day
  order by day, brand_name`;
const SIZES = 'select size from v_size order by rank';

describe('the count of the stock', () => {
  it('counts for the day of the house, and anew when that begins', async () => {
    const { clock, write, complete, count, ask } = await counted([], { name: 'Asia/Tokyo' });
    await write([variant('a', 4, { brand_name: 'Acme', wsp_price: 10 })]);
    await complete();
    const days = () => ask('select day, pieces from v_stock_day order by 1');
    await count();
    expect(days()).toEqual([['2026-01-05', 4]]);
    // Midnight is at 15:00 UTC.
    await clock.advance(3 * 60 * MINUTE - 1);
    await count();
    expect(days()).toHaveLength(1);
    await clock.advance(1);
    await count();
    expect(days()).toEqual([
      ['2026-01-05', 4],
      ['2026-01-06', 4],
    ]);
  });

  it('sums what is listed by brand, negative pieces as they are and worth nothing', async () => {
    const { write, remove, complete, count, ask } = await counted();
    await write([
      variant('1', 5, { brandName: 'Fold', wspPrice: 80 }),
      variant('2', -2, { brandName: 'Fold', wspPrice: 10 }),
      variant('3', 3, { brandName: 'Fold' }),
      variant('4', 9, { brandName: 'Fold', wspPrice: 1 }),
      variant('5', 2, { wspPrice: 0.5 }),
    ]);
    await remove('4');
    await complete();
    await count();
    expect(ask(SUMS)).toEqual([
      [null, 1, 1, 2, 1, 0],
      ['Fold', 3, 2, 6, 400, 3],
    ]);
  });

  it('tells how long what is left has not sold, by the newest accepted delivery', async () => {
    const { store, write, complete, count, ask } = await counted();
    const of = { brandName: 'Fold', wspPrice: 10 };
    await write([
      ...[variant('never', 1, of), variant('new', 2, of), variant('old', 4, of)],
      ...[variant('rejected', 8, of), variant('gone', 16, of), variant('twice', 32, of)],
      ...[variant('none', 0, of), variant('below', -1, of), variant('unpriced', 64, {})],
    ]);
    await store.db
      .updateTable('stock_variant_row')
      .set({ first_seen_at: NOON - 400 * DAY })
      .execute();
    const sold = [
      ...([
        ['old', 180, 'accepted'],
        ['twice', 364, 'accepted'],
      ] as const),
      ...([
        ['rejected', 90, 'accepted'],
        ['gone', 30, 'accepted'],
      ] as const),
      ...([
        ['new', 29.9, 'accepted'],
        ['twice', 89, 'accepted'],
      ] as const),
      ...([
        ['rejected', 1, 'rejected'],
        ['gone', 1, 'accepted', NOON],
      ] as const),
    ];
    const database = new Database(store.path);
    for (const [at, [barcode, days, status, deleted_at]] of sold.entries()) {
      const id = at + 1;
      insertRow(database, 'delivery', {
        ...{
          ...COMMON,
          order_delivery_id: id,
          order_id: 1,
          status,
          deleted_at: deleted_at ?? null,
        },
        ...{ created_at: NOON - days * DAY, tracking_numbers: '[]', tracking_links: '[]' },
      });
      const line = { order_delivery_id: id, line_no: 1, barcode, fulfilled_quantity: 1 };
      insertRow(database, 'delivery_line', { ...line, extra: '{}' });
    }
    database.close();
    await complete();
    await count();
    const names = 'brand_name, unsold_days, variants, pieces, wsp_value, unpriced';
    expect(ask(`select ${names} from v_stock_age order by 1, 2`)).toEqual([
      [null, 365, 1, 64, 0, 64],
      ['Fold', 0, 1, 2, 20, 0],
      ['Fold', 30, 2, 48, 480, 0],
      ['Fold', 90, 1, 8, 80, 0],
      ['Fold', 180, 1, 4, 40, 0],
      ['Fold', 365, 1, 1, 10, 0],
    ]);
  });

  it('keeps the last of a day, counts again when something changed, and each new day', async () => {
    const { clock, write, complete, count, ask } = await counted();
    const pieces = () => ask('select day, pieces from v_stock_day order by day');
    await complete();
    await write([variant('1', 5, {})]);
    await count();
    await write([variant('1', 4, {})]);
    await clock.advance(14 * MINUTE);
    await count();
    expect(pieces()).toEqual([['2026-01-05', 5]]);
    await clock.advance(MINUTE);
    await count();
    expect(pieces()).toEqual([['2026-01-05', 4]]);
    await clock.advance(12 * 60 * MINUTE);
    await count();
    expect(pieces()).toEqual([
      ['2026-01-05', 4],
      ['2026-01-06', 4],
    ]);
  });

  it('sums nothing before the stock was read as a whole, and ranks the sizes already', async () => {
    const { write, count, ask } = await counted();
    const sizes = ['XL', '34', 'S', 'One Size', 'M'];
    await write(sizes.map((size, at) => variant(String(at), 1, { size })));
    await count();
    expect(ask(SUMS)).toEqual([]);
    expect(ask(SIZES).flat()).toEqual(['S', 'M', 'XL', '34', 'One Size']);
  });

  it('is made at each call until the stock was read as a whole, as in a first pull', async () => {
    const { clock, write, complete, count, ask } = await counted();
    await count();
    for (const [at, size] of ['L', 'S', 'M'].entries()) {
      await write([variant(String(at), 1, { size })]);
      await clock.advance(MINUTE);
      await count();
    }
    expect(ask(SIZES).flat()).toEqual(['S', 'M', 'L']);
    await complete();
    await write([variant('4', 2, {})]);
    await clock.advance(MINUTE);
    await count();
    expect(ask('select pieces from v_stock_day').flat()).toEqual([5]);
  });

  it('ranks sizes by the order of the settings, and a new one among them', async () => {
    const { clock, write, complete, count, ask } = await counted(['Tall', 'Short']);
    await complete();
    await write(['S', 'Short', 'Tall'].map((size) => variant(size, 1, { size })));
    await count();
    expect(ask(SIZES).flat()).toEqual(['Tall', 'Short', 'S']);
    await write([variant('XS', 1, { size: 'XS' })]);
    await clock.advance(15 * MINUTE);
    await count();
    expect(ask(SIZES).flat()).toEqual(['Tall', 'Short', 'XS', 'S']);
    const grid = `select size from v_stock order by size_rank`;
    expect(ask(grid).flat()).toEqual(['Tall', 'Short', 'XS', 'S']);
  });

  it('lets go of the sums of days that are older than they are kept', async () => {
    const { clock, store, write, complete, count, ask } = await counted();
    await complete();
    await write([variant('1', 5, {})]);
    for (let day = 0; day < 4; day += 1) {
      await count();
      await clock.advance(DAY);
    }
    await store.transaction((tx) => deleteOldStockDays(tx, NOON + 2 * DAY));
    expect(ask('select day from v_stock_day').flat()).toEqual(['2026-01-07', '2026-01-08']);
  });
});
