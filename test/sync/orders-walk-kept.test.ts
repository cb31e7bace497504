/** How far a walk came is kept: what it should have met and did not is missing at the service. */
import { expect, it } from 'vitest';
import { readWalks } from '../../src/mirror/walks.ts';
import { startOrders } from './orders-support.ts';

const WORLD = { styles: 12, colors: 2, sizes: 4, orders: 12 };

it('every order from the bottom of a sound walk up bears its read', async () => {
  const { store, runOrders } = await startOrders({ world: WORLD, paging: { orders: 4 } });
  expect(await readWalks(store.db)).toEqual([]);
  await runOrders({ full: true });
  await runOrders();
  const [short, full] = await readWalks(store.db);
  expect(full).toMatchObject({ bottom: 0 });
  const rows = await store.db.selectFrom('sales_order').select(['order_id', 'read_seq']).execute();
  for (const { readSeq = 0, bottom = 0 } of [short ?? {}, full ?? {}]) {
    const met = rows.filter(({ order_id }) => order_id >= bottom);
    expect(met.length).toBeGreaterThan(0);
    expect(met.every(({ read_seq }) => read_seq >= readSeq)).toBe(true);
  }
});
