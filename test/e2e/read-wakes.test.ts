/** Whoever reads an order, what the read has changed is decided at once. */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { stringify } from 'yaml';
import { manualClock } from '../../src/lib/clock.ts';
import { localFile } from '../../src/local-api/ask.ts';
import { selvedge } from '../cli/support.ts';
import { startTestDaemon, testConfig, without } from '../support/house.ts';
import { temporaryFolder } from '../support/store.ts';
import { placeOrders, startFastReference } from './support.ts';

const HOLD_ALL = `
rules:
  - { id: hold, title: All, action: hold, mode: live, when: [ delivery.quantity > 0 ] }
`;

/** A daemon whose first delivery is held, and that hears of nothing more. */
async function deafDaemon() {
  const clock = manualClock(Date.UTC(2026, 10, 23, 10));
  const life = { packAfter: '30d', shipAfter: '30d', cancelShare: 0, splitShare: 1 };
  const reference = await startFastReference({ world: { styles: 4, orders: 0 }, life }, clock);
  const folder = temporaryFolder();
  const config = testConfig(reference, {
    ...{ folder, rules: HOLD_ALL, overrides: [without('orders', 'ordersFull')] },
  });
  const { dataDir, rules } = config;
  const file = join(folder, 'selvedge.yaml');
  const v1 = { baseUrl: reference.v1Url, apiKey: { env: 'KEY' } };
  const own = { dataDir, rules: { directory: rules.directory }, service: { v1 } };
  writeFileSync(file, stringify(own));
  rmSync(localFile(dataDir), { force: true });
  /** Time goes on in 1,999 steps, with turns for the network, until something is so. */
  async function until<T>(stepMs: number, look: () => Promise<T | undefined> | T | undefined) {
    for (let step = 1; step < 2_000; step += 1) {
      const found = await look();
      if (found !== undefined) return found;
      await clock.advance(stepMs);
      await wait(2);
    }
    throw new Error('waited in vain');
  }
  const daemon = await startTestDaemon(reference, config, clock);
  await until(100, () => existsSync(localFile(dataDir)) || undefined);
  const decided = async () => {
    const rows = daemon.store.db.selectFrom('decision').select('order_delivery_id as id');
    return (await rows.execute()).map(({ id }) => id);
  };
  placeOrders(reference, 1);
  const { book, trade } = reference.world;
  const [order] = book.orders.all;
  if (!order) throw new Error('nothing was ordered');
  trade.packSome(order);
  const [first] = await until(100, async () => {
    const rows = await decided();
    return rows.length > 0 ? rows : undefined;
  });
  for (const { id } of reference.relay.listEndpoints()) reference.relay.deleteEndpoint(id);
  const accept = async () => {
    const args = ['deliveries', 'accept', String(first), '--reason', 'agreed'];
    const run = await selvedge(['--config', file, ...args], { KEY: 'x' });
    expect(run, run.stderr).toMatchObject({ code: 0 });
  };
  return { clock, until, decided, accept, packRest: () => trade.packAll(order) };
}

it('also if it was read for a push: no search and no event is waited for', async () => {
  const { clock, until, decided, accept, packRest } = await deafDaemon();
  const second = packRest();
  await clock.advance(60_000);
  await accept();
  // A search comes two seconds later at the earliest.
  const isDecided = async () => (await decided()).includes(second?.orderDeliveryId ?? 0);
  await until(1, async () => (await isDecided()) || undefined);
});
