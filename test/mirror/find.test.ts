/** People find orders, parcels, customers and styles by all that they know them by. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { found } from '../../src/mirror/find/find.ts';
import { orderDeliveries, orderNamed } from '../../src/mirror/find/order.ts';
import { createDeciderFixture } from '../decisions/support.ts';
import { readingOf } from '../support/reading.ts';

const UNION = { company: 'Union Mode', accountNo: '20015' };

async function soldWorld() {
  const world = await createDeciderFixture();
  await world.order(100_043, {
    reference: 'PO-20015-100043',
    orderNo: 'SO-100043',
    status: 'fulfilled',
    shippingAddress: UNION,
    freight: { freightType: 'Courier', amount: 0 },
  });
  const parcel = { trackAndTrace: { trackingNumbers: ['TT0000500043DK'], trackingLinks: [] } };
  const of = { order: 100_043, status: 'accepted' } as const;
  await world.delivery({ id: 500_043, ...of, more: { deliveryNo: 'DN-500043', ...parcel } });
  await world.delivery({ id: 500_044, ...of, more: { deliveryNo: 'DN-500044' } });
  await world.order(100_044, { reference: 'PO-7_1' });
  await world.stock({ a: 4 }, { a: { details: { styleNo: 'S101058', styleName: 'Odin Jacket' } } });
  const reading = (seesAddresses = true) =>
    readingOf(world.store, world.clock.now(), { seesAddresses });
  const find = async (q: string, seesAddresses = true) => {
    const { rows } = await found.read(reading(seesAddresses), { q });
    return rows.map(({ thing, name, says, state }) => `${thing} ${name} [${says}] ${state}`);
  };
  return { world, find, reading };
}

const ORDER =
  'order PO-20015-100043 [SO-100043, Union Mode, customer 20015\nDN-500044: accepted\n' +
  'DN-500043: shipped, tracking number TT0000500043DK] fulfilled';
const PARCEL =
  'delivery DN-500043 [of order PO-20015-100043, Union Mode, shipped, ' +
  'tracking number TT0000500043DK] shipped';

it('an order is found by its reference or number, with where its parcels are', async () => {
  const { find } = await soldWorld();
  for (const q of ['PO-20015-100043', 'po-20015-100043', 'SO-100043', ' 100043 ', 'id:100043']) {
    expect([q, await find(q)]).toEqual([q, [ORDER]]);
  }
  expect(await find('DN-500043')).toEqual([PARCEL]);
  expect(await find('TT0000500043')).toEqual([PARCEL]);
  const union = await find('union');
  expect(union).toEqual(['customer Union Mode [customer 20015, 1 order] null', ORDER]);
  expect(await find('20015')).toEqual(union);
  expect(await find('S101058')).toEqual(['style S101058 [Odin Jacket] null']);
  // A sign of LIKE stands for itself, and nothing asked for finds nothing.
  expect(await find('PO-7_1')).toEqual(['order PO-7_1 [SO-100044, no delivery is known] pending']);
  expect(await find('PO%')).toEqual([]);
  expect(await find(' ')).toEqual([]);
});

it('a reader who may not see names finds and reads numbers alone', async () => {
  const { find } = await soldWorld();
  expect(await find('union', false)).toEqual([]);
  expect((await find('20015', false))[0]).toBe('customer 20015 [customer 20015, 1 order] null');
  expect((await find('20015', false)).join()).not.toContain('Union');
});

it('an order of the ERP that the service does not have is found as its document', async () => {
  const { find, world } = await soldWorld();
  const put = (reference: string, orderId: number | null) =>
    sql`insert into outbox (kind, ordering_key, reference, body, body_hash, state, due_at,
        created_at, cause, order_id)
      values ('order', ${reference}, ${reference}, '{}', '', 'refused', 0, 0, '', ${orderId})`;
  await put('PO-NEW-1', null).execute(world.store.db);
  await put('PO-NEW-2', 100_044).execute(world.store.db);
  expect(await find('po-new')).toEqual(['push PO-NEW-1 [an order of the ERP] refused']);
});

it('the page of an order has its deliveries with parcels, and who brings them', async () => {
  const { reading } = await soldWorld();
  const { db } = reading();
  const named = await orderNamed(db, 'po-20015-100043');
  expect(named).toMatchObject({ orderId: 100_043, carrier: 'Courier', ordered: 10, packed: 4 });
  expect(await orderNamed(db, '100043')).toEqual(named);
  await expect(orderNamed(db, 'PO-9')).rejects.toMatchObject({ code: 'orders.unknown' });
  const { rows } = await orderDeliveries.read(reading(), { order: 'SO-100043' });
  expect(rows.map(({ deliveryNo, tracking }) => [deliveryNo, tracking])).toEqual([
    ['DN-500044', null],
    ['DN-500043', 'TT0000500043DK'],
  ]);
});
