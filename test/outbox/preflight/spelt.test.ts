import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { FREIGHT_OPTION, SEASON } from '../../../src/mirror/catalog/names.ts';
import { writeStockVariants } from '../../../src/mirror/catalog/out-of-band.ts';
import { upsertRows } from '../../../src/mirror/entity.ts';
import { orderAsSpelt, refundAsSpelt } from '../../../src/outbox/preflight/spelling.ts';
import { temporaryStore } from '../../support/store.ts';
import { startHouse } from '../house.ts';

const FROM = { source: 'run:1', readSeq: 1, at: 0 };

describe('an order', () => {
  it('has the names of the service, of which only the spelling was another', async () => {
    const store = await temporaryStore(systemClock());
    const seasons = [
      { seasonName: ' Hiver', deliveryNames: ['Début ', 'Fin'] },
      { seasonName: 'Été', deliveryNames: [] },
    ].map(SEASON.toRow);
    const options = [{ freightType: 'Colis\u00a0' }].map(FREIGHT_OPTION.toRow);
    await store.transaction(async (tx) => {
      await upsertRows(tx, SEASON, seasons, FROM);
      await upsertRows(tx, FREIGHT_OPTION, options, FROM);
      const barcodes = ['K-1  ', '0712345678901', '08', '8'];
      const rows = barcodes.map((barcode) => ({ barcode, quantity: 1 }));
      await writeStockVariants(tx, rows, FROM);
    });
    const own = {
      seasonName: 'Hiver',
      freight: { amount: '0', type: 'Colis' },
      lines: [
        { barcode: 'K-1', quantity: 1, price: '1', deliveryName: 'De\u0301but' },
        { barcode: 'K-2 ', quantity: 1, price: '1', deliveryName: 'Midi' },
        { barcode: '712345678901', quantity: 1, price: '1' },
        { barcode: '008', quantity: 1, price: '1' },
      ],
    };
    expect(await orderAsSpelt(store.db, own)).toEqual({
      seasonName: ' Hiver',
      freight: { amount: '0', type: 'Colis\u00a0' },
      lines: [
        { barcode: 'K-1  ', quantity: 1, price: '1', deliveryName: 'Début ' },
        { barcode: 'K-2 ', quantity: 1, price: '1', deliveryName: 'Midi' },
        { barcode: '0712345678901', quantity: 1, price: '1' },
        // Two articles, of which nobody knows which one is meant.
        { barcode: '008', quantity: 1, price: '1' },
      ],
    });
  });

  it('and its refund are sent in the spelling of the service, and found in it', async () => {
    const house = await startHouse({ knobs: { dialect: { names: 'trailingSpace' } } });
    const [barcode = ''] = house.barcodes;
    const row = { barcode: `${barcode} `, quantity: 9 };
    await house.store.transaction((tx) => writeStockVariants(tx, [row], FROM));
    const lines = [{ barcode, quantity: 3, price: '12.50' }];
    const order = await house.put('order', 'A-1', { lines });
    await house.until(order, 'confirmed');
    const asked = { orderReference: 'A-1', lines: [{ barcode, quantity: 2 }] };
    const refund = await house.put('pending_refund', 'R-1', asked);
    await house.until(refund, 'confirmed');
    const differing = await house.store.db.selectFrom('incident').select('kind').execute();
    expect(differing).toEqual([]);
    const beyond = await house.put('pending_refund', 'R-2', asked);
    await house.settled();
    expect(await house.until(beyond, 'unfit', 'refused')).toMatchObject({ orderRefundId: null });
  });
});

it('a refund has the barcodes of its order', () => {
  const lines = [
    { barcode: 'K-1', quantity: 1 },
    { barcode: 'K-3', quantity: 1 },
  ];
  expect(refundAsSpelt({ orderId: 1, lines }, ['K-1 ', 'K-2']).lines).toEqual([
    { barcode: 'K-1 ', quantity: 1 },
    { barcode: 'K-3', quantity: 1 },
  ]);
});
