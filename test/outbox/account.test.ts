/** A data folder that is pointed at another account, through the daemon as a whole. */
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openDaemon } from '../../src/daemon/daemon.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { EXIT, exitCodeOf, SelvedgeError } from '../../src/lib/errors.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createScrubber } from '../../src/lib/secret.ts';
import type { Reference } from '../../src/reference/reference.ts';
import { readAccount, readAccountHold, writeSystemKey } from '../../src/store/state.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { startCliHouse } from '../cli/house.ts';
import type { Setting } from '../config/config-of.ts';
import { placeOrders } from '../e2e/support.ts';
import { startTestReference, testConfig, testLogger, until } from '../support/house.ts';
import { placeDatabase, temporaryFolder } from '../support/store.ts';

const KEYS = [{ name: 'erp', clientId: 'erp', clientSecret: 'a-secret-for-tests' }];

function startAccount(seed: number): Promise<Reference> {
  const world = { seed, styles: 6, orders: 0 };
  return startTestReference({ world, auth: { loginSpacing: 0 }, keys: KEYS });
}

function run(reference: Reference, folder: string, overrides: readonly Setting[] = []) {
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

async function withStore<T>(folder: string, use: (store: Store) => Promise<T>): Promise<T> {
  const path = join(folder, 'data', 'mirror.db');
  const { store } = await openStore({ path, busyTimeoutMs: 0 }, systemClock());
  return use(store).finally(() => store.close());
}

const ordersComplete = (store: Store, after = 0) =>
  until('all orders', async () => {
    const row = await store.db
      .selectFrom('stream_state')
      .select('complete_at')
      .where('stream', '=', 'orders')
      .executeTakeFirst();
    return (row?.complete_at ?? 0) > after ? row?.complete_at : undefined;
  });

/** A folder whose daemon has met this account and has been stopped. */
async function folderOf(reference: Reference, overrides: readonly Setting[] = []) {
  const folder = temporaryFolder();
  const daemon = run(reference, folder, overrides);
  const { store } = await daemon.opening;
  await ordersComplete(store);
  expect(await daemon.end()).toBeUndefined();
  return folder;
}

/** A document that was submitted and has not left. */
async function leaveDocument(folder: string, body: object = { lines: [] }): Promise<void> {
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

describe('the account of a data folder', () => {
  it('ends the daemon with 78 and both ways on when the newest orders are others', async () => {
    const sandbox = await startAccount(3);
    placeOrders(sandbox, 4);
    const folder = await folderOf(sandbox);
    const production = await startAccount(5);
    placeOrders(production, 9);
    const error = await run(production, folder).ended;
    expect(error).toMatchObject({ code: 'account.another' });
    expect(exitCodeOf(error)).toBe(EXIT.config.code);
    const hint = error instanceof SelvedgeError ? error.hint : undefined;
    expect(hint).toMatch(/nothing was sent.*new folder.*selvedge account adopt/);
    const mirrored = await withStore(folder, ({ db }) =>
      db.selectFrom('sales_order').select('order_id').execute(),
    );
    expect(mirrored).toHaveLength(4);
  });

  it('ends it as well when the other account does not have the newest order yet', async () => {
    const production = await startAccount(3);
    placeOrders(production, 4);
    const copy = await startAccount(3);
    placeOrders(copy, 3);
    const folder = await folderOf(production);
    expect(await run(copy, folder).ended).toMatchObject({ code: 'account.another' });
  });

  it('is taken over, and audited, when it shows the same orders at another address', async () => {
    const before = await startAccount(3);
    placeOrders(before, 4);
    const folder = await folderOf(before);
    const moved = await startAccount(3);
    placeOrders(moved, 4);
    const startedAt = Date.now();
    const daemon = run(moved, folder);
    const { store } = await daemon.opening;
    await ordersComplete(store, startedAt);
    expect(await readAccount(store.db)).toMatchObject({ address: moved.v1Url });
    const audit = await store.db.selectFrom('audit').selectAll().execute();
    expect(audit).toMatchObject([{ action: 'account.take_over', actor: 'daemon' }]);
    expect(await daemon.end()).toBeUndefined();
  });

  it('is never questioned while its address and client id stay the same', async () => {
    const reference = await startAccount(3);
    placeOrders(reference, 4);
    const folder = await folderOf(reference);
    await withStore(folder, ({ db }) =>
      db.updateTable('sales_order').set({ reference: 'of a time before a restore' }).execute(),
    );
    const startedAt = Date.now();
    const daemon = run(reference, folder);
    await ordersComplete((await daemon.opening).store, startedAt);
    expect(await daemon.end()).toBeUndefined();
  });

  it('is taken over where there is no order and nothing to be sent', async () => {
    const sandbox = await startAccount(3);
    const folder = await folderOf(sandbox);
    const production = await startAccount(5);
    placeOrders(production, 2);
    const startedAt = Date.now();
    const daemon = run(production, folder);
    await ordersComplete((await daemon.opening).store, startedAt);
    expect(await daemon.end()).toBeUndefined();
  });

  it('is not, where documents wait and nothing tells whose they are', async () => {
    const sandbox = await startAccount(3);
    const folder = await folderOf(sandbox);
    await leaveDocument(folder);
    const production = await startAccount(5);
    expect(await run(production, folder).ended).toMatchObject({ code: 'account.another' });
    expect(production.world.book.orders.all).toHaveLength(0);
  });

  it('is another one when its address names another system key than the events did', async () => {
    const reference = await startAccount(3);
    placeOrders(reference, 2);
    const folder = await folderOf(reference);
    await withStore(folder, async (store) => {
      const old = { address: 'https://north.example.com/api/v1', clientId: 'erp' };
      await store.db
        .updateTable('daemon_state')
        .set({ value: JSON.stringify(old) })
        .where('key', '=', 'account')
        .execute();
      await writeSystemKey(store.db, 'north', systemClock());
    });
    const overrides = [{ path: 'service.v1.baseUrl', value: 'https://south.example.com/api/v1' }];
    const error = await run(reference, folder, overrides).ended;
    expect(error).toMatchObject({ code: 'account.another' });
    expect(String(error)).toContain('another system key');
  });

  it('keeps everything back while the service cannot be asked, and says so', async () => {
    const sandbox = await startAccount(3);
    placeOrders(sandbox, 2);
    const folder = await folderOf(sandbox);
    await leaveDocument(folder);
    const gone = { path: 'service.v1.baseUrl', value: 'http://127.0.0.1:9/api/v1' };
    const quick = [
      { path: 'service.retry.attempts', value: 1 },
      { path: 'service.timeouts.connect', value: '1s' },
    ];
    const daemon = run(sandbox, folder, [gone, ...quick]);
    const { store } = await daemon.opening;
    const why = await until('what is said', () => readAccountHold(store.db));
    expect(why).toContain('cannot be compared');
    const rows = await store.db.selectFrom('outbox').select(['state', 'attempts']).execute();
    expect(rows).toEqual([{ state: 'queued', attempts: 0 }]);
    expect(await daemon.end()).toBeUndefined();
  });

  it('is asked nothing but whose it is, and sent nothing, until that is told', async () => {
    const sandbox = await startAccount(3);
    placeOrders(sandbox, 2);
    const folder = await folderOf(sandbox);
    const ordered = sandbox.world.book.orders.all.flatMap(({ lines }) => lines);
    const line = { barcode: ordered[0]?.barcode ?? '', quantity: 1, price: '12.50' };
    await leaveDocument(folder, { lines: [line] });
    const production = await startAccount(3);
    production.knobs.patch({ faults: [{ kind: 'serverError', path: '*/orders/*' }] });
    const quick = { path: 'service.retry.attempts', value: 1 };
    const daemon = run(production, folder, [quick]);
    const { store } = await daemon.opening;
    const tried = await until('the document is tried', async () => {
      const row = await store.db
        .selectFrom('outbox')
        .select(['state', 'attempts', 'last_error'])
        .executeTakeFirstOrThrow();
      return row.last_error === null && row.state === 'queued' ? undefined : row;
    });
    expect(tried).toMatchObject({ state: 'queued', attempts: 0 });
    await until('what is said', () => readAccountHold(store.db));
    expect(await daemon.end()).toBeUndefined();
    const asked = new Set(production.edge.journal.list().map(({ path }) => path));
    const others = [...asked].filter((path) => !/\/auth\/login$|\/orders\/\d+$/.test(path));
    expect(others).toEqual([]);
  });

  it('is adopted by a person, who then looks through what waits before it is sent', async () => {
    const reference = await startAccount(3);
    placeOrders(reference, 2);
    const house = await startCliHouse(reference);
    await ordersComplete(house.daemon.store);
    const busy = await house.call('account', 'adopt', '--reason', 'too early');
    expect(busy.code).toBe(EXIT.temporary.code);
    await house.daemon.stop();
    await leaveDocument(house.folder);
    const old = { address: 'https://old.example.com/api/v1', clientId: 'erp' };
    await withStore(house.folder, ({ db }) =>
      db
        .updateTable('daemon_state')
        .set({ value: JSON.stringify(old) })
        .where('key', '=', 'account')
        .execute(),
    );
    const shown = await house.call('account', 'show');
    expect(shown.stdout).toContain('data folder  https://old.example.com/api/v1, client erp');
    expect(shown.stdout).toContain(`configured   ${reference.v1Url}`);
    const adopted = await house.call('account', 'adopt', '--reason', 'the vendor moved us');
    expect(adopted.stdout).toContain('1 documents wait');
    const { stdout } = await house.call('status');
    expect(stdout).toContain('account adopted: the vendor moved us');
    const audit = await house.call('audit', 'list');
    expect(audit.stdout).toContain('account.adopt');
  });
});
