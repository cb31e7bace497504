/** A data folder that is pointed at another account; account.slow.test.ts has every case. */
import { describe, expect, it } from 'vitest';
import { EXIT, exitCodeOf, SelvedgeError } from '../../src/lib/errors.ts';
import { readAccountHold } from '../../src/store/state.ts';
import { placeOrders } from '../e2e/support.ts';
import { until } from '../support/house.ts';
import { folderOf, leaveDocument, run, startAccount, withStore } from './account-folder.ts';

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

  it('is asked nothing but whose it is, and sent nothing, until that is told', async () => {
    const sandbox = await startAccount(3);
    placeOrders(sandbox, 2);
    const folder = await folderOf(sandbox);
    const ordered = sandbox.world.book.orders.all.flatMap(({ lines }) => lines);
    const line = { barcode: ordered[0]?.barcode ?? '', quantity: 1, price: '12.50' };
    await leaveDocument(folder, { lines: [line] });
    const production = await startAccount(3);
    production.knobs.patch({ faults: [{ kind: 'serverError', path: '*/orders/*' }] });
    const quick = { path: 'service.retry', value: 1 };
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
});
