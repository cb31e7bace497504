/** A data folder that is pointed at another account, through the daemon as a whole. */
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { openDaemon } from '../../src/daemon/daemon.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createScrubber } from '../../src/lib/secret.ts';
import type { Reference } from '../../src/reference/reference.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import type { Setting } from '../config/config-of.ts';
import { startTestReference, testConfig, testLogger, until } from '../support/house.ts';
import { placeDatabase, temporaryFolder } from '../support/store.ts';

const KEYS = [{ name: 'erp', clientId: 'erp', clientSecret: 'a-secret-for-tests' }];

export function startAccount(seed: number): Promise<Reference> {
  const world = { seed, styles: 6, orders: 0 };
  return startTestReference({ world, auth: { loginSpacing: 0 }, keys: KEYS });
}

export function run(reference: Reference, folder: string, overrides: readonly Setting[] = []) {
  const spacing = { path: 'service.limits.loginSpacing', value: '0s' };
  const config = testConfig(reference, { folder, overrides: [spacing, ...overrides] });
  placeDatabase(join(config.dataDir, 'mirror.db'));
  const stop = new AbortController();
  const parts = { clock: systemClock(), random: systemRandom(), scrubber: createScrubber() };
  const opening = openDaemon(config, { ...parts, log: testLogger() });
  const ended = opening
    .then((daemon) => daemon.run(stop.signal))
    .then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
  const end = async (): Promise<unknown> => {
    stop.abort();
    return ended;
  };
  onTestFinished(async () => void (await end()));
  return { opening, ended, end };
}

export async function withStore<T>(folder: string, use: (store: Store) => Promise<T>): Promise<T> {
  const path = join(folder, 'data', 'mirror.db');
  const { store } = await openStore({ path, busyTimeoutMs: 0 }, systemClock());
  return use(store).finally(() => store.close());
}

export const ordersComplete = (store: Store, after = 0) =>
  until('all orders', async () => {
    const row = await store.db
      .selectFrom('stream_state')
      .select('complete_at')
      .where('stream', '=', 'orders')
      .executeTakeFirst();
    return (row?.complete_at ?? 0) > after ? row?.complete_at : undefined;
  });

/** A folder whose daemon has met this account and has been stopped. */
export async function folderOf(reference: Reference, overrides: readonly Setting[] = []) {
  const folder = temporaryFolder();
  const daemon = run(reference, folder, overrides);
  const { store } = await daemon.opening;
  await ordersComplete(store);
  expect(await daemon.end()).toBeUndefined();
  return folder;
}

/** A document that was submitted and has not left. */
export async function leaveDocument(folder: string, body: object = { lines: [] }): Promise<void> {
  await withStore(folder, (store) =>
    store.db
      .insertInto('outbox')
      .values({
        ...{
          kind: 'order',
          ordering_key: 'order/LEFT-1',
          reference: 'LEFT-1',
          reference_key: 'left-1',
        },
        ...{ body_hash: 'x', state: 'queued', cause: 'test', body: JSON.stringify(body) },
        ...{ created_at: Date.now(), due_at: Date.now() },
      })
      .execute()
      .then(() => undefined),
  );
}
