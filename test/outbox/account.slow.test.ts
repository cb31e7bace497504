/** A data folder that is pointed at another account, through the daemon as a whole. */
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { EXIT } from '../../src/lib/errors.ts';
import { readAccount, readAccountHold, writeSystemKey } from '../../src/store/state.ts';
import { startCliHouse } from '../cli/house.ts';
import { placeOrders } from '../e2e/support.ts';
import { until } from '../support/house.ts';
import {
  folderOf,
  leaveDocument,
  ordersComplete,
  run,
  startAccount,
  withStore,
} from './account-folder.ts';

describe('the account of a data folder', () => {
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
      { path: 'service.retry', value: 1 },
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
    expect(audit.stdout).toContain('adopted the account');
  });
});
