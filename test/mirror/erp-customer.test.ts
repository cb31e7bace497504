import { expect, it } from 'vitest';
import {
  type ErpCustomerRow,
  removeErpCustomers,
  writeErpCustomers,
} from '../../src/mirror/erp-customer.ts';
import { temporaryStore } from '../support/store.ts';

const HANSEN: ErpCustomerRow = {
  accountNo: 'C-1',
  creditLimit: 100_000_0000,
  balance: 20_000_0000,
  currency: 'DKK',
  overdueDays: 0,
  blocked: false,
  asOf: 1_000,
  extra: { price_group: 'A' },
};

it('writes what changed, tells it in the change feed, and writes nothing twice', async () => {
  const store = await temporaryStore();
  const write = (row: ErpCustomerRow, at: number) =>
    store.transaction((tx) => writeErpCustomers(tx, [row], at));
  expect(await write(HANSEN, 1)).toMatchObject({ inserted: 1 });
  expect(await write(HANSEN, 2)).toMatchObject({ changed: 0, unchanged: 1 });
  expect(await write({ ...HANSEN, balance: 30_000_0000, blocked: true }, 3)).toMatchObject({
    changed: 1,
  });
  const rows = await store.db.selectFrom('erp_customer').selectAll().execute();
  expect(rows).toMatchObject([
    { account_no: 'C-1', balance: 30_000_0000, blocked: 1, first_seen_at: 1, changed_at: 3 },
  ]);
  const feed = await store.db.selectFrom('change').select(['op', 'key', 'diff']).execute();
  expect(feed).toEqual([
    { op: 'insert', key: 'C-1', diff: '{}' },
    { op: 'update', key: 'C-1', diff: '{"balance":[200000000,300000000],"blocked":[0,1]}' },
  ]);
});

it('forgets a customer that the ERP no longer has until it comes back', async () => {
  const store = await temporaryStore();
  await store.transaction((tx) => writeErpCustomers(tx, [HANSEN], 1));
  const remove = (at: number) => store.transaction((tx) => removeErpCustomers(tx, ['C-1'], at));
  expect(await remove(2)).toBe(1);
  expect(await remove(3)).toBe(0);
  const gone = store.db.selectFrom('erp_customer').select(['deleted_at', 'changed_at']);
  expect(await gone.execute()).toEqual([{ deleted_at: 2, changed_at: 2 }]);
  await store.transaction((tx) => writeErpCustomers(tx, [HANSEN], 4));
  const { deleted_at } = await store.db
    .selectFrom('erp_customer')
    .select('deleted_at')
    .executeTakeFirstOrThrow();
  expect(deleted_at).toBeNull();
  const feed = await store.db.selectFrom('change').select(['at', 'op', 'key', 'cause']).execute();
  expect(feed).toEqual([
    { at: 1, op: 'insert', key: 'C-1', cause: 'exchange' },
    { at: 2, op: 'delete', key: 'C-1', cause: 'exchange' },
    { at: 4, op: 'restore', key: 'C-1', cause: 'exchange' },
  ]);
});

it('tells the figures of a night in one entry, and what else changed by itself', async () => {
  const store = await temporaryStore();
  const rows = Array.from({ length: 300 }, (_, at) => ({ ...HANSEN, accountNo: `C-${at}` }));
  await store.transaction((tx) => writeErpCustomers(tx, rows, 1));
  const night = rows.map((row, at) => ({
    ...{ ...row, balance: at * 1_0000 + 1, overdueDays: at % 3, asOf: 2_000 },
    ...(at === 7 && { blocked: true }),
  }));
  await store.transaction((tx) => writeErpCustomers(tx, night, 2));
  const feed = await store.db
    .selectFrom('change')
    .select(['key', 'op', 'diff'])
    .where('at', '=', 2)
    .execute();
  expect(feed).toMatchObject([
    { key: 'C-7', op: 'update' },
    { key: '', op: 'update' },
  ]);
  const others = rows.map(({ accountNo }) => accountNo).filter((no) => no !== 'C-7');
  expect(JSON.parse(feed[1]?.diff ?? '')).toEqual({ figures_of: others });
});
