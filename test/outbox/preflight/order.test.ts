import { expect, it } from 'vitest';
import { type House, startHouse } from '../house.ts';

/** A stream that was pulled completely, and brought none of what is ordered. */
async function pulled(house: House, stream: string): Promise<void> {
  await house.store.db
    .insertInto('stream_state')
    .values({
      ...{ stream, due_at: 0, last_run_id: null, complete_at: 1, complete_rows: 1 },
      ...{ last_error: null, requested: null },
    })
    .execute();
}

it('does not refuse what is in stock because only the seasons were pulled completely', async () => {
  const house = await startHouse();
  const [barcode = ''] = house.barcodes;
  await pulled(house, 'season');
  const lines = [{ barcode, quantity: 1, price: '12.50' }];
  const state = await house.until(
    await house.put('order', 'A-1', { lines }),
    ...['confirmed', 'refused'],
  );
  expect(state).toMatchObject({
    state: 'confirmed',
    problems: [{ path: 'lines', severity: 'warning' }],
  });
  await pulled(house, 'stock');
  const unknown = { lines: [{ barcode: '1', quantity: 1, price: '12.50' }] };
  const refused = await house.until(await house.put('order', 'A-2', unknown), 'refused');
  expect(refused.problems).toMatchObject([{ path: 'lines[0].barcode', severity: 'error' }]);
});
