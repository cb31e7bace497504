/** A relay that goes silent and comes back, and what the daemon makes of it. */
import { expect, it } from 'vitest';
import { readRelayFigures } from '../../src/ops/relay.ts';
import { startTestDaemon, testConfig, until, without } from '../support/house.ts';
import { fastClock, placeOrders, startFastReference } from './support.ts';

const MINUTE = 60_000;

it('sweeps every two minutes while events are lost, and raises an alarm (R12)', async () => {
  const clock = fastClock(250);
  const life = { packAfter: '1s', shipAfter: '30d', cancelShare: 0, splitShare: 0 };
  const world = { styles: 6, orders: 0 };
  const reference = await startFastReference({ world, life }, clock);
  const config = testConfig(reference, {
    overrides: [{ path: 'service.limits.loginSpacing', value: '0s' }, without('ordersFull')],
  });
  const { store } = await startTestDaemon(reference, config, clock);
  const figures = (state: string) =>
    until(`the relay to count as ${state}`, async () => {
      const now = await readRelayFigures(store.db);
      return now?.state === state ? now : undefined;
    });
  const sweeps = async () => {
    const runs = store.db.selectFrom('sync_run').select('started_at').orderBy('run_id');
    const complete = await runs.where('outcome', '=', 'complete').execute();
    return complete.map((run) => run.started_at);
  };
  await until('the first sweep, which takes in what there is', async () =>
    (await sweeps()).length > 0 ? true : undefined,
  );

  placeOrders(reference, 6);
  const healthy = await figures('healthy');
  expect(healthy).toMatchObject({ missed: 0 });

  reference.knobs.patch({ webhooks: { lost: 1 } });
  const silentFrom = clock.now();
  placeOrders(reference, 6);
  await figures('degraded');
  // No event told of these, and yet they are decided.
  await until('all to be decided', async () => {
    const rows = await store.db.selectFrom('decision').select('order_delivery_id').execute();
    return new Set(rows.map((row) => row.order_delivery_id)).size === 12 || undefined;
  });
  await until('three quick sweeps', async () => {
    const times = (await sweeps()).filter((at) => at > silentFrom).slice(-3);
    const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    return (gaps.length === 2 && gaps.every((gap) => gap < 3 * MINUTE)) || undefined;
  });
  const alarms = () => store.db.selectFrom('incident').select(['kind', 'resolved_at']).execute();
  expect(await alarms()).toEqual([{ kind: 'events_missed', resolved_at: null }]);

  reference.knobs.patch({ webhooks: { lost: 0 } });
  placeOrders(reference, 30);
  await until('the end of the alarm', async () =>
    (await alarms()).every(({ resolved_at }) => resolved_at !== null) ? true : undefined,
  );
});
