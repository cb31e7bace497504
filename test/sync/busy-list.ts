/** A list that moves while it is read page by page. */
import { expect } from 'vitest';
import { seededRandom } from '../../src/lib/random.ts';
import { byBarcode, manyRows, type Row, startList, stockIn } from './list-server.ts';

/** Sells a row of the list before each page, and puts another one in. */
function busy(list: { rows: readonly Row[] }, seed: number) {
  const random = seededRandom(seed);
  let fresh = 0;
  return (): boolean => {
    const at = Math.floor(random.next() * list.rows.length);
    const rows = random.next() < 0.5 ? list.rows.toSpliced(at, 1) : [...list.rows];
    if (random.next() < 0.5) {
      fresh += 1;
      const where = Math.floor(random.next() * rows.length);
      rows.splice(where, 0, { barcode: `n${seed}-${fresh}`, quantity: 3 });
    }
    list.rows = rows;
    return true;
  };
}

/** Each run of such a list is complete, and loses no row that is there. */
export async function expectNoLoss(seed: number): Promise<void> {
  const { list, run, store } = await startList('pages');
  list.rows = manyRows(1_000);
  await run();
  list.beforePage = busy(list, seed);
  for (let times = 0; times < 3; times += 1) {
    const before = await stockIn(store);
    const { outcome, reason } = await run();
    expect(outcome, String(reason)).toBe('complete');
    // A new row that slips comes with the next run.
    const there = list.rows.filter(({ barcode }) => barcode in before);
    expect(await stockIn(store)).toMatchObject(byBarcode(there));
  }
  list.beforePage = () => true;
  for (let times = 0; times < 3; times += 1) await run();
  expect(await stockIn(store)).toEqual(byBarcode(list.rows));
}
