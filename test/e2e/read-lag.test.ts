/** The service shows a delivery later than its events and its own answers tell of it. */
import { expect, it } from 'vitest';
import { startTestDaemon, testConfig, until } from '../support/house.ts';
import { fastClock, placeOrders, startFastReference } from './support.ts';

const EVENTS_ALONE = [
  { path: 'service.limits.loginSpacing', value: '0s' },
  { path: 'streams.orders.schedule', value: '0 3 1 1 *' },
  { path: 'streams.ordersFull.schedule', value: '0 3 1 1 *' },
];

it('decides and confirms all the same, and takes its own accept for nobody else’s', async () => {
  const clock = fastClock();
  const life = { packAfter: '2s', cancelShare: 0, splitShare: 0, shipAfter: '1h' };
  const reference = await startFastReference({ life, dialect: { readLag: '8s' } }, clock);
  const config = testConfig(reference, { overrides: EVENTS_ALONE });
  const { store } = await startTestDaemon(reference, config, clock);
  await until('the first sweep', () =>
    store.db
      .selectFrom('stream_state')
      .select('stream')
      .where('stream', '=', 'orders')
      .where('complete_at', 'is not', null)
      .executeTakeFirst(),
  );
  placeOrders(reference, 5);
  const { deliveries } = reference.world.book;
  const pushes = await until('the ends of all pushes', async () => {
    const rows = await store.db.selectFrom('outbox').select(['state', 'ended_at']).execute();
    const held = await store.db
      .selectFrom('decision')
      .select('decision_id')
      .where('outcome', '=', 'hold')
      .execute();
    const isWhole = rows.length + held.length >= 5 && deliveries.all.length === 5;
    return isWhole && rows.every(({ ended_at }) => ended_at !== null) ? rows : undefined;
  });
  expect(pushes.map(({ state }) => state)).toEqual(pushes.map(() => 'confirmed'));
  expect(deliveries.all.filter(({ status }) => status === 'accepted')).toHaveLength(pushes.length);
  const actors = await store.db.selectFrom('decision').select('actor').distinct().execute();
  expect(actors).toEqual([{ actor: 'daemon' }]);
});
