/** Statements of the ERP about its customers, row by row. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { manualClock } from '../../../src/lib/clock.ts';
import { acceptCustomerLoss, readCustomerLoss } from '../../../src/mirror/customer-loss.ts';
import { quarantineRows } from '../../../src/mirror/quarantine.ts';
import { endLossOfCustomers, importCustomers } from '../../../src/outbox/intake/customers.ts';
import { openExchange } from '../../../src/store/exchange/exchange.ts';
import { writeState } from '../../../src/store/state.ts';
import { temporaryFolder, temporaryStore } from '../../support/store.ts';

async function openBooks() {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const path = join(temporaryFolder(), 'exchange.db');
  const exchange = openExchange(path, clock);
  const erp = new Database(path);
  onTestFinished(() => {
    exchange[Symbol.dispose]();
    erp.close();
  });
  const takeOver = async () => {
    let [after, waiting, more] = [0, 0, true];
    while (more) {
      const asked = { rows: 200, after, now: clock.now() };
      const read = await importCustomers(store, exchange, asked);
      exchange.customersDone(read.done, '2026-01-05T08:00:00.000Z');
      waiting += read.waiting;
      more = read.last !== undefined;
      after = read.last ?? after;
    }
    if (waiting === 0) await endLossOfCustomers(store, clock.now());
  };
  const customers = () =>
    store.db
      .selectFrom('erp_customer')
      .selectAll()
      .where('deleted_at', 'is', null)
      .orderBy('account_no')
      .execute();
  return {
    ...{ store, clock, customers, takeOver },
    lost: async () => (await readCustomerLoss(store.db))?.what,
    /** Accepts the loss as a person. */
    accept: () =>
      store.transaction(async (tx) => {
        const loss = await readCustomerLoss(tx);
        if (!loss) throw new Error('nothing is lost');
        await acceptCustomerLoss(tx, loss, { actor: 'anna', reason: 'meant' }, clock.now());
      }),
    /** Changes rows as the ERP, and takes them over. */
    async change(text: string): Promise<void> {
      erp.exec(text);
      await takeOver();
    },
    problems: () =>
      erp
        .prepare<[], string>(
          "select account_no || ' ' || path || ' ' || message from erp_customer_problem order by 1",
        )
        .pluck()
        .all(),
    known: async () => (await customers()).map((row) => `${row.account_no}=${row.blocked}`),
  };
}

it('takes nothing that is not known for zero, and a debt of ours for what it is', async () => {
  const { change, customers } = await openBooks();
  await change(`insert into erp_customer (account_no, balance, as_of) values
    ('A', null, null), ('B', -12.5, '2026-01-05T09:00:00+01:00')`);
  const [unknown, owed] = await customers();
  expect(unknown).toMatchObject({
    ...{ credit_limit: null, balance: null, currency: null, overdue_days: null },
    ...{ blocked: null, as_of: null },
  });
  expect(owed).toMatchObject({ balance: -12_5000, as_of: Date.UTC(2026, 0, 5, 8) });
});

it('takes figures over to four decimals, also those that binary arithmetic has left', async () => {
  const { change, customers } = await openBooks();
  await change(`insert into erp_customer (account_no, credit_limit, balance) values
    ('A', 12.3456, 0.1 + 0.2), ('B', 900000000000, -0.0001)`);
  expect(await customers()).toMatchObject([
    { credit_limit: 12_3456, balance: 3_000 },
    { credit_limit: 900_000_000_000_0000, balance: -1 },
  ]);
});

it.each([
  ['currency', "'kr.'", 'must be three capital letters'],
  ['overdue_days', '-1', 'must be a whole number from 0 to 100000'],
  ['overdue_days', '100001', 'must be a whole number from 0 to 100000'],
  ['credit_limit', '1e13', 'must be a number from -900000000000 to 900000000000'],
  ['balance', '0.12345', 'must have at most four decimals; round it where it is worked out'],
  ['extra', "'[]'", 'must be a JSON object'],
])('names %s %s, and keeps what was known', async (column, value, message) => {
  const { change, problems, known } = await openBooks();
  await change("insert into erp_customer (account_no, blocked) values ('A', 1)");
  await change(`update erp_customer set blocked = 0, ${column} = ${value}`);
  expect(problems()).toEqual([`A ${column} ${message}`]);
  expect(await known()).toEqual(['A=1']);
});

it('counts the row without spaces, else the first, and names the others', async () => {
  const { change, problems, known } = await openBooks();
  await change("insert into erp_customer (account_no, blocked) values ('7', 1), ('9 ', 1)");
  await change("insert into erp_customer (account_no, blocked) values ('  7', 0), ('9  ', 0)");
  expect(await known()).toEqual(['7=1', '9=1']);
  expect(problems()).toEqual([
    '  7 account_no is "7" but for spaces, and that row counts',
    '9   account_no is "9 " but for spaces, and that row counts',
  ]);
  // The rows that do not count are gone: nothing is left to be said about them.
  await change("delete from erp_customer where account_no in ('  7', '9  ')");
  expect(problems()).toEqual([]);
  expect(await known()).toEqual(['7=1', '9=1']);
});

it.each([
  ['both with space before them', ' 9', '  9', '  9'],
  ['one with space before it, one with space behind', '9 ', ' 9', '9 '],
])('lets the same row count whichever changed last, %s', async (_, first, second, counting) => {
  const { change, problems, known } = await openBooks();
  await change(`insert into erp_customer (account_no, blocked) values ('${counting}', 1)`);
  const other = counting === first ? second : first;
  await change(`insert into erp_customer (account_no, blocked) values ('${other}', 0)`);
  expect(await known()).toEqual(['9=1']);
  for (const changed of [first, second, first]) {
    await change(`update erp_customer set balance = 1 where account_no = '${changed}'`);
    expect(await known()).toEqual(['9=1']);
    expect(problems()).toEqual([
      `${other} account_no is "${counting}" but for spaces, and that row counts`,
    ]);
  }
});

it('lets go of what was kept of a customer that was put right, and of nothing else', async () => {
  const { store, change } = await openBooks();
  const provenance = { source: 'run:1', readSeq: 1, at: 1 };
  const told = { path: '', reason: 'odd' };
  await store.transaction(async (tx) => {
    await quarantineRows(tx, 'delivery', [{ ...told, raw: { account_no: 'A' } }], provenance);
    await quarantineRows(tx, 'erp_customer', [{ ...told, raw: 'A' }], provenance);
  });
  await change(`insert into erp_customer (account_no, as_of) values ('A', 'x'), ('B', 'x')`);
  await change(`update erp_customer set as_of = null where account_no = 'A'`);
  const kept = await store.db.selectFrom('quarantine').select(['entity', 'raw']).execute();
  expect(kept).toMatchObject([
    { entity: 'delivery', raw: '{"account_no":"A"}' },
    { entity: 'erp_customer', raw: expect.not.stringContaining('{') },
    { entity: 'erp_customer', raw: expect.stringContaining('"account_no":"B"') },
  ]);
});

/** SQL that writes `count` customers, the first 20 of them blocked. */
const fill = (count: number) => `with recursive n(i) as (select 1 union all select i + 1 from n
    where i < ${count})
  insert into erp_customer (account_no, blocked, credit_limit)
  select 'C-' || i, i <= 20, 1000 from n`;

it.each([
  ['is emptied', 'delete from erp_customer', '300 of 300 customers'],
  ['is cut in half', "delete from erp_customer where substr(account_no, -1) < '6'", 'customers'],
  ['blanks its credits', 'update erp_customer set credit_limit = null', '300 of 300 credit limits'],
  ['blanks its blocks', 'update erp_customer set blocked = null', '20 of 20 blocks'],
  ['unblocks all of them', 'update erp_customer set blocked = 0', '20 of 20 blocks'],
])('keeps what was known where the list %s, until it is full again', async (_, text, what) => {
  const { change, customers, lost, takeOver } = await openBooks();
  await change(fill(300));
  const before = await customers();
  await change(text);
  expect(await lost()).toContain(what);
  expect(await customers()).toEqual(before);
  await change("insert into erp_customer (account_no, blocked) values ('NEW', 1)");
  expect((await customers()).length).toBe(301);
  await change(`delete from erp_customer where account_no <> 'NEW'; ${fill(300)}`);
  await takeOver();
  expect([await lost(), (await customers()).length]).toEqual([undefined, 301]);
  expect((await customers()).filter(({ blocked }) => blocked === 1)).toHaveLength(21);
});

it('takes a loss over that a person has accepted, and then counts from there', async () => {
  const { change, customers, lost, takeOver, accept } = await openBooks();
  await change(fill(300));
  await change("delete from erp_customer where account_no not in ('C-1', 'C-2', 'C-3')");
  expect((await customers()).length).toBe(300);
  await accept();
  await takeOver();
  expect([await lost(), (await customers()).length]).toEqual([undefined, 3]);
  await change("delete from erp_customer where account_no = 'C-3'");
  expect([await lost(), (await customers()).length]).toEqual([undefined, 2]);
});

it('counts customers together that go one by one, and lets a few go', async () => {
  const { change, customers, lost } = await openBooks();
  await change(fill(40));
  for (let at = 21; at < 40; at += 1) {
    await change(`delete from erp_customer where account_no = 'C-${at}'`);
  }
  expect([await lost(), (await customers()).length]).toEqual([undefined, 21]);
  await change("delete from erp_customer where account_no = 'C-40'");
  expect(await lost()).toMatch(/^20 of 40 customers,/);
  expect(await customers()).toHaveLength(21);
});

/** A house of few customers: all of them have credit, two are blocked. */
const FEW = `insert into erp_customer (account_no, credit_limit, overdue_days, blocked)
  select value, 5000, 0, value in ('C-1', 'C-2')
  from json_each('["C-1", "C-2", "C-3", "C-4", "C-5", "C-6", "C-7", "C-8"]')`;

it.each([
  ['is emptied', 'delete from erp_customer', '8 of 8 customers'],
  ['blanks half of its credits', 'C-4', '4 of 8 credit limits'],
  ['blanks some of its credits', 'C-3', undefined],
  ['unblocks both that were blocked', 'update erp_customer set blocked = 0', undefined],
])('holds few customers as many: where the list %s', async (_, text, what) => {
  const { change, lost } = await openBooks();
  await change(FEW);
  const cut = `update erp_customer set credit_limit = null where account_no <= '${text}'`;
  await change(text.startsWith('C-') ? cut : text);
  if (what === undefined) expect(await lost()).toBeUndefined();
  else expect(await lost()).toContain(what);
});

it('counts credits together that are blanked bit by bit, of customers that stay', async () => {
  const { change, customers, clock, lost, takeOver, accept } = await openBooks();
  await change(fill(60));
  const blank = (upTo: number) =>
    change(`update erp_customer set credit_limit = null
      where cast(substr(account_no, 3) as integer) <= ${upTo}`);
  for (const upTo of [10, 20, 29]) await blank(upTo);
  expect(await lost()).toBeUndefined();
  await blank(30);
  expect(await lost()).toBe('30 of 60 credit limits');
  expect((await customers()).filter((one) => one.credit_limit === null)).toHaveLength(29);
  await accept();
  await takeOver();
  await blank(40);
  expect(await lost()).toBeUndefined();
  await clock.advance(86_400_001);
  await blank(49);
  expect(await lost()).toBeUndefined();
});

it('takes no more over than the person who accepted a loss has seen', async () => {
  const { change, customers, lost, takeOver, accept } = await openBooks();
  await change(fill(300));
  await change('update erp_customer set credit_limit = null');
  await accept();
  await change('delete from erp_customer');
  expect([(await customers()).length, await lost()]).toEqual([
    300,
    expect.stringContaining('300 of 300 customers'),
  ]);
  await accept();
  await takeOver();
  expect([(await customers()).length, await lost()]).toEqual([0, undefined]);
});

/** SQL that unblocks or blocks customers from one number to another. */
const unblock = (from: number, to: number, blocked = 0) => `update erp_customer
  set blocked = ${blocked} where cast(substr(account_no, 3) as integer) between ${from} and ${to}`;

it('holds a loss whatever the ERP says that is new', async () => {
  const { change, customers, lost } = await openBooks();
  await change(fill(300));
  await change(unblock(1, 11));
  await change(unblock(30, 49, 1));
  expect(await lost()).toBe('11 of 20 blocks');
  expect((await customers()).filter(({ blocked }) => blocked === 1)).toHaveLength(40);
});

it('lets many customers be unblocked, and be overdue no more, one by one in a day', async () => {
  const { change, customers, clock, lost } = await openBooks();
  await change(fill(300));
  await change(`update erp_customer set overdue_days = 9 where account_no like 'C-1%'`);
  for (let at = 1; at <= 19; at += 1) {
    await change(`${unblock(at, at)};
      update erp_customer set overdue_days = null where account_no like 'C-1${at}%'`);
    await clock.advance(3_600_000);
    expect(await lost()).toBeUndefined();
  }
  expect((await customers()).filter(({ blocked }) => blocked === 1)).toHaveLength(1);
});

it('lets half of few customers be unblocked at once, and lose their limits in a day', async () => {
  const { change, clock, lost } = await openBooks();
  await change(FEW);
  await change(unblock(1, 8, 1));
  await change(unblock(1, 4));
  for (const account of ['C-1', 'C-2', 'C-3', 'C-4']) {
    await change(`update erp_customer set credit_limit = null where account_no = '${account}'`);
    await clock.advance(3_600_000);
  }
  expect(await lost()).toBeUndefined();
});

it('counts what goes within an hour whenever the first went, until the loss is over', async () => {
  const { change, customers, clock, lost } = await openBooks();
  await change(`${fill(400)}; ${unblock(1, 99, 1)}`);
  await change(unblock(1, 1));
  await clock.advance(86_400_000 - 300_000);
  await change(unblock(2, 48));
  await clock.advance(600_000);
  await change(unblock(49, 73));
  const isHeld = async () => [
    await lost(),
    (await customers()).filter(({ blocked }) => blocked === 1).length,
  ];
  expect(await isHeld()).toEqual(['72 of 98 blocks', 51]);
  await clock.advance(90_000_000);
  await change("update erp_customer set balance = 1 where account_no = 'C-400'");
  expect(await isHeld()).toEqual(['72 of 98 blocks', 51]);
});

it('goes on from a loss that an earlier build has noted, with less about it', async () => {
  const { store, change, clock, lost } = await openBooks();
  await change(fill(300));
  const kept = { what: '12 of 20 blocks', gone: 0, isAccepted: false };
  await writeState(store.db, 'customers_lost', JSON.stringify(kept), clock);
  expect(await lost()).toBe('12 of 20 blocks');
  await change(unblock(1, 2));
  expect(await lost()).toBeUndefined();
});

it('keeps all of a short list that is cut exactly in half, and of one that is empty', async () => {
  const { change, customers, lost } = await openBooks();
  await change(fill(60));
  await change('delete from erp_customer where cast(substr(account_no, 3) as integer) % 2 = 0');
  expect(await lost()).toContain('30 of 60 customers');
  expect((await customers()).length).toBe(60);
  await change('delete from erp_customer');
  expect((await customers()).length).toBe(60);
});
