/** A house with stock that changed over days, and orders that want some of it. */
import { writeStockVariants } from '../../src/mirror/catalog/out-of-band.ts';
import { writeDeliveries, writeOrders } from '../../src/mirror/sales-order.ts';
import { lastChange } from '../../src/store/bulk.ts';
import type { Store, Tx } from '../../src/store/store.ts';

export const DAY_MS = 86_400_000;

/** A number that an address must write otherwise. */
export const SHIRT = 'S-100/1';
export const CUSTOMER = 'Quillfeather Outfitters';

/** Pieces of the shirt by colour and size: three days ago, and since yesterday. */
const SHIRTS = [
  ['White', 'XL', 9, 9],
  ['White', 'S', 14, 6],
  ['White', 'M', 20, 4],
  ['Navy', '3XL', 2, 2],
  ['Navy', 'XS', 5, -3],
  ['Navy', 'M', 30, 12],
] as const;

function shirt(at: number, quantity: number) {
  const [colorName = '', size = ''] = SHIRTS[at] ?? [];
  return {
    barcode: `57020${at}`,
    quantity,
    details: {
      ...{ styleNo: SHIRT, styleName: 'Oxford shirt', brandName: 'Nordlys', colorName, size },
      ...{ colorCode: colorName === 'White' ? '100' : '490', currency: 'DKK', price: '400.00' },
      ...{ customsTariffNumber: '62052000', countryOfOrigin: 'PT', weight: 310 },
    },
  };
}

function boot(size: string) {
  const details = { styleNo: 'B-7', styleName: 'Chelsea boot', brandName: 'Fjord', size };
  return { barcode: `5703${size}`, quantity: 3, details: { ...details, colorName: 'Brown' } };
}

/** Pieces that each of two orders wants of a shirt; the first has one packed. */
const WANTED = [
  { orderId: 990_001, company: CUSTOMER, barcode: '570202', quantity: 5, packed: 1 },
  { orderId: 990_002, company: 'Ask & Embla', barcode: '570204', quantity: 2, packed: 0 },
];

const HOUR_MS = 3_600_000;

/** The feed of a daemon that has just begun is taken for older than what was days ago. */
async function beginHour(tx: Tx, at: number): Promise<void> {
  const hour = Math.floor(at / HOUR_MS);
  await tx.deleteFrom('change_hour').where('hour', '>=', hour).execute();
  const first_seq = (await lastChange(tx)) + 1;
  await tx.insertInto('change_hour').values({ hour, first_seq }).execute();
}

export async function seedGoods(store: Store, now: number): Promise<void> {
  let readSeq = 1_000_000;
  const from = (at: number) => ({ source: 'run:1', readSeq: ++readSeq, at });
  const before = SHIRTS.map(([, , quantity], at) => shirt(at, quantity));
  const since = SHIRTS.map(([, , , quantity], at) => shirt(at, quantity));
  const boots = ['42', '41', '44'].map(boot);
  await store.transaction(async (tx) => {
    await beginHour(tx, now - 3 * DAY_MS);
    await writeStockVariants(tx, [...before, ...boots], from(now - 3 * DAY_MS));
    await beginHour(tx, now - DAY_MS);
    await writeStockVariants(tx, since, from(now - DAY_MS));
    await beginHour(tx, now);
    await writeOrders(
      tx,
      WANTED.map(({ orderId, company, barcode, quantity }) => ({
        ...{ orderId, orderNo: `SO-${orderId}`, reference: `PO-${orderId}`, status: 'pending' },
        ...{ completed: false, currency: 'DKK' },
        shippingAddress: { company, countryCode: 'DK', accountNo: `C-${orderId}` },
        orderLineItems: [{ barcode, quantity, price: 400 }],
      })),
      from(now),
    );
    await writeDeliveries(
      tx,
      WANTED.filter(({ packed }) => packed > 0).map(({ orderId, barcode, packed }) => ({
        ...{ orderDeliveryId: orderId, orderId, deliveryNo: `DN-${orderId}`, status: 'pending' },
        createdAt: new Date(now).toISOString(),
        fulfilledLineItems: [{ barcode, fulfilledQuantity: packed, price: 400 }],
      })),
      from(now),
    );
  });
}
