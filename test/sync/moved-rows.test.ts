/** Rows that stand in two places of their list, because it moves while it is read. */
import { describe, expect, it } from 'vitest';
import { byBarcode, manyRows, startList, stockIn } from './list-server.ts';

const MODES = ['stream', 'pages'] as const;

describe.each(MODES)('a row that came twice, mode %s', (mode) => {
  it('is what its place says once the other one is gone', async () => {
    const { list, store, run } = await startList(mode);
    const rows = manyRows(64);
    const again = { barcode: 'b0000', quantity: 2 };
    list.rows = rows.with(40, again);
    // Between pages a row shifts now and then.
    const outcome = mode === 'pages' ? 'complete' : 'partial';
    expect(await run()).toMatchObject({ outcome });
    list.rows = rows;
    expect(await run()).toMatchObject({ outcome: 'complete' });
    expect(await stockIn(store)).toEqual(byBarcode(rows));
  });
});

it('a row that moved before a run failed is what its old place says again', async () => {
  const { list, store, run } = await startList('pages');
  const rows = manyRows(128);
  list.rows = rows;
  expect(await run()).toMatchObject({ outcome: 'complete' });
  // The last row comes first and is another one; then the service is down for long.
  list.rows = [{ barcode: 'b0127', quantity: 2 }, ...rows.slice(0, -1)];
  list.beforePage = (page) => page < 3;
  expect(await run()).toMatchObject({ outcome: 'interrupted' });
  for (let times = 0; times < 5; times += 1) await run();
  list.beforePage = () => true;
  list.rows = rows;
  expect(await run()).toMatchObject({ outcome: 'complete' });
  expect(await stockIn(store)).toEqual(byBarcode(rows));
});

it('a row that came twice in a run that was released is what its place says', async () => {
  const deletionGuard = { absolute: 10, share: 1 };
  const { list, store, stock, run, operations, lastRun } = await startList('pages', deletionGuard);
  list.rows = manyRows(128);
  await run();
  const left = list.rows.slice(0, 96);
  list.rows = left.with(40, { barcode: 'b0000', quantity: 2 });
  // The count is lost on the way, so that the run is doubtful.
  list.counts = (page) => page === 1;
  expect(await run()).toMatchObject({ outcome: 'suspicious' });
  const { run_id } = await lastRun('stock');
  await operations([stock]).release(run_id, { actor: 'anna', reason: 'they are gone' });
  list.counts = () => true;
  list.rows = left;
  expect(await run()).toMatchObject({ outcome: 'complete' });
  expect(await stockIn(store)).toEqual(byBarcode(left));
});
