import { expect, it } from 'vitest';
import { quarantineRows } from '../../../src/mirror/quarantine.ts';
import { checkOrder } from '../../../src/outbox/preflight/order.ts';
import { temporaryStore } from '../../support/store.ts';
import { type House, startHouse } from '../house.ts';

/** A stream that was pulled completely, and brought none of what is ordered. */
async function pulled(house: Pick<House, 'store'>, stream: string): Promise<void> {
  await house.store.db
    .insertInto('stream_state')
    .values({
      ...{ stream, due_at: 0, last_run_id: null, complete_at: 1, complete_rows: 1 },
      ...{ last_error: null, requested: null },
    })
    .execute();
}

/** A variant as the stock or a season shows it, or showed it before it was gone. */
function variant(barcode: string, currency: string, deletedAt: number | null) {
  return {
    ...{ barcode, currency, deleted_at: deletedAt, wsp_price: 1_250, b2b_hidden: 0 },
    ...{ extra: '{}', content_hash: '', first_seen_at: 0, changed_at: 0, read_seq: 0 },
    ...{ source: 'test', variant_type: null, style_no: null, style_name: null, brand_name: null },
    ...{ color_code: null, color_name: null, size: null, price: null, price_original: null },
    ...{ b2c_sale_price: null, category: null, gender: null, color_active: null },
  };
}

it('takes nothing from a variant of the stock that is gone when a season has it', async () => {
  const store = await temporaryStore();
  for (const stream of ['stock', 'season']) await pulled({ store }, stream);
  const gone = { ...variant('b-1', 'EUR', 1), quantity: 0, season_name: null };
  await store.db.insertInto('stock_variant').values(gone).execute();
  const offered = {
    ...variant('b-1', 'DKK', null),
    season_name: 'AW27',
    quantity: 0,
    season_barcode: 'AW27 b-1',
  };
  await store.db.insertInto('season_variant').values(offered).execute();
  const line = { barcode: 'b-1', quantity: 1, price: '12.50', deliveryName: 'Drop 1' };
  const order = { lines: [line], seasonName: 'AW27', currency: 'DKK' };
  const rules = { freight: 'learned', level: '1.4.14' } as const;
  expect(await checkOrder(store.db, order, rules)).toEqual([]);
});

it('counts what several lines want of one variant', async () => {
  const store = await temporaryStore();
  await pulled({ store }, 'stock');
  const held = { ...variant('b-1', 'EUR', null), quantity: 5, season_name: null };
  await store.db.insertInto('stock_variant').values(held).execute();
  const line = (quantity: number) => ({ barcode: 'b-1', quantity, price: '12.50' });
  const rules = { freight: 'learned', level: '1.4.14' } as const;
  expect(await checkOrder(store.db, { lines: [line(3), line(3)] }, rules)).toEqual([
    {
      path: 'lines[1].quantity',
      message: 'only 2 are in stock, after the lines above',
      severity: 'warning',
    },
  ]);
});

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

it('does not refuse a pre-order for a season that is listed and cannot be read', async () => {
  const store = await temporaryStore();
  await pulled({ store }, 'seasons');
  const raw = { seasonName: 'AW27', deliveryNames: [{ name: 'Drop 1' }] };
  const rejected = [{ raw, path: 'deliveryNames.0', reason: 'no text' }];
  const provenance = { source: 'run:1', readSeq: 1, at: 0 };
  await store.transaction((tx) => quarantineRows(tx, 'season', rejected, provenance));
  const lines = [{ barcode: 'b-1', quantity: 1, price: '12.50', deliveryName: 'Drop 1' }];
  const check = (seasonName: string) =>
    checkOrder(store.db, { lines, seasonName }, { freight: 'learned', level: '1.4.14' });
  expect(await check('AW27')).toContainEqual(
    expect.objectContaining({ path: 'seasonName', severity: 'warning' }),
  );
  expect(await check('SS99')).toContainEqual(
    expect.objectContaining({ path: 'seasonName', severity: 'error' }),
  );
});

it('does not refuse a variant that the service has in a row that cannot be read', async () => {
  const store = await temporaryStore();
  await pulled({ store }, 'stock');
  // A number where a text belongs is what makes it unreadable.
  const rejected = [{ raw: { barcode: 5712345000012 }, path: 'barcode', reason: 'no text' }];
  const provenance = { source: 'run:1', readSeq: 1, at: 0 };
  await store.transaction((tx) => quarantineRows(tx, 'stock_variant', rejected, provenance));
  const check = (barcode: string) => {
    const lines = [{ barcode, quantity: 1, price: '12.50' }];
    return checkOrder(store.db, { lines }, { freight: 'learned', level: '1.4.14' });
  };
  expect(await check('5712345000012')).toContainEqual(
    expect.objectContaining({ path: 'lines[0].barcode', severity: 'warning' }),
  );
  expect(await check('5712345000029')).toContainEqual(
    expect.objectContaining({ path: 'lines[0].barcode', severity: 'error' }),
  );
});
