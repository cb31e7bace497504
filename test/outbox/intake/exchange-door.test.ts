import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { manualClock, scaledClock, systemClock } from '../../../src/lib/clock.ts';
import { openCauses } from '../../../src/ops/causes.ts';
import { readExchangeWait, writeRestored } from '../../../src/store/state.ts';
import { foreignSql } from '../../support/foreign-sql.ts';
import { until } from '../../support/house.ts';
import { repositoryRoot } from '../../support/source.ts';
import { insert, receiptOf } from './exchange-support.ts';
import { closedDoors, type Doors, delivered, endDocument, openDoors, order } from './support.ts';

const problems = z.array(z.object({ path: z.string(), message: z.string() }));

/** Doors of a database that was restored, and does not know the second document any more. */
async function restoredDoors(): Promise<Doors> {
  const doors = await openDoors();
  doors.sql(`${insert('SO-1', order())}; ${insert('SO-2', order())};`);
  await receiptOf(doors, 2);
  await doors.stop();
  await doors.store.transaction(async (tx) => {
    await tx.deleteFrom('intake').where('outbox_id', '=', 2).execute();
    await tx.deleteFrom('outbox').where('outbox_id', '=', 2).execute();
  });
  return doors;
}

/** Both documents of other doors are shown in the file. */
function bothShown({ sql }: Doors): Promise<true> {
  const count = 'SELECT count(document_id) FROM receipt WHERE intake_id IS NULL';
  return until('both receipts', () => (sql(count) === '2' ? true : undefined));
}

/** No receipt is due: a question to the file would make the daemon in this process wait. */
function shownAll({ db }: Doors['store']): Promise<true> {
  const due = db.selectFrom('intake').select('outbox_id').where('receipt_due', '>', 0);
  return until('all receipts', async () => (await due.execute()).length === 0 || undefined);
}

/** Stopped doors whose file, with two documents of other doors, is gone. */
async function doorsWithoutFile(): Promise<Doors> {
  const doors = await openDoors();
  await doors.intake.submit([delivered('SO-1'), delivered('SO-2')]);
  await bothShown(doors);
  await doors.stop();
  rmSync(doors.path);
  return doors;
}

function problemsOf(receipt: Record<string, unknown> | undefined) {
  return problems.parse(receipt?.problems);
}

describe('the SQL door', () => {
  it('takes a document and keeps its receipt up to its end', async () => {
    const doors = await openDoors();
    doors.sql(insert('SO-1', order()));
    expect(await receiptOf(doors, 1)).toMatchObject({ documentId: 1, state: 'queued', final: 0 });
    const result = JSON.stringify({ orderId: 77, orderNo: 'N-77', deliveries: [] });
    await endDocument(doors.store, 1, 'confirmed', { result });
    await until('the end', () => doors.sql('SELECT 1 FROM receipt WHERE final') || undefined);
    expect(await receiptOf(doors, 1)).toMatchObject({
      ...{ state: 'confirmed', orderId: 77, orderNo: 'N-77', problems: [] },
      next: 'nothing: it is done',
    });
  });

  it('refuses text that is not UTF-8, and half a character, where they stand', async () => {
    const doors = await openDoors();
    const latin = Buffer.from(JSON.stringify({ ...order(), comment: 'M\u00fcller' }), 'latin1');
    doors.sql(
      `INSERT INTO intake(kind, reference, payload)
       VALUES ('order', 'SO-1', CAST(x'${latin.toString('hex')}' AS TEXT))`,
    );
    const message = 'holds what is no character (U+FFFD): the text was not UTF-8';
    expect(problemsOf(await receiptOf(doors, 1))).toEqual([{ path: 'comment', message }]);
    doors.sql(insert('SO-2', { ...order(), comment: '\ud800' }));
    expect(problemsOf(await receiptOf(doors, 2))).toEqual([{ path: 'comment', message }]);
    doors.sql(insert('SO-3', { ...order(), reference: 'SO-\ufffd' }));
    expect(problemsOf(await receiptOf(doors, 3))).toEqual([{ path: 'reference', message }]);
    doors.sql(insert('SO-4', { ...order(), comment: 'M\u00fcller \\ud800' }));
    expect(await receiptOf(doors, 4)).toMatchObject({ state: 'queued' });
  });

  it('gives the same row twice one document and the same receipt', async () => {
    const doors = await openDoors();
    doors.sql(`${insert('SO-1', order())}; ${insert('so-1 ', order())};`);
    const [first, second] = [await receiptOf(doors, 1), await receiptOf(doors, 2)];
    expect(second).toEqual(first);
    await endDocument(doors.store, 1, 'refused', { last_error: 'orderLineItems[0]: sold out' });
    await until(
      'both ends',
      () => doors.sql('SELECT sum(final) FROM receipt') === '2' || undefined,
    );
    expect(await receiptOf(doors, 1)).toMatchObject({
      state: 'refused',
      problems: [{ message: 'orderLineItems[0]: sold out' }],
    });
    expect(await receiptOf(doors, 2)).toEqual(await receiptOf(doors, 1));
    const intake = await doors.store.db.selectFrom('intake').selectAll().execute();
    expect(intake).toMatchObject([{ channel: 'sql', source: '1', repeats: 1 }]);
  });

  it('refuses another document under the same reference, with both on show', async () => {
    const doors = await openDoors();
    doors.sql(insert('SO-1', order(1)));
    await receiptOf(doors, 1);
    doors.sql(insert('SO-1', order(2)));
    const receipt = await receiptOf(doors, 2);
    expect(receipt).toMatchObject({ documentId: null, state: 'refused', final: 1 });
    expect(receipt.problems).toMatchObject([
      {
        path: 'reference',
        message: expect.stringMatching(/^belongs to document 1 .*quantity: 1 there, 2 here$/),
      },
      {
        conflict: {
          existing: { documentId: 1, document: { lines: [{ quantity: 1 }] } },
          given: { document: { lines: [{ quantity: 2 }] } },
        },
      },
    ]);
    expect(await receiptOf(doors, 1)).toMatchObject({ state: 'queued' });
  });

  it('shows each document once, as a program in C# asks for it', async () => {
    const doors = await openDoors();
    const example = readFileSync(join(repositoryRoot, 'docs/examples/erp-client.cs'), 'utf8');
    const [, query = ''] = /CommandText = @"\s+(SELECT.*?)";/s.exec(example) ?? [];
    expect(query).toContain('FROM v_document');
    const ask = (reference: string): string =>
      foreignSql(doors.path, query, { parameters: { reference } }).trim();
    const shows = (reference: string, state: string) =>
      until(`${reference} to be ${state}`, () => ask(reference).startsWith(state) || undefined);

    doors.sql(insert('SO-1', order()));
    await shows('SO-1', 'queued|0|');
    await endDocument(doors.store, 1, 'confirmed', { result: '{"orderId":7,"orderNo":"N-7"}' });
    await shows('SO-1', 'confirmed|1|N-7|');
    // Another document under the reference is refused, and says nothing about the first one.
    doors.sql(insert('so-1', order(2)));
    expect(await receiptOf(doors, 2)).toMatchObject({ state: 'refused' });
    for (const reference of ['SO-1', 'so-1']) {
      expect(ask(reference)).toMatch(/^confirmed\|1\|N-7\|/);
      expect(ask(reference).split('\n')).toHaveLength(1);
    }

    doors.sql(insert('SO-2', { lines: [] }));
    await shows('SO-2', 'refused|1|');
    // A waiting document is not final, whatever was refused before.
    await doors.stop();
    doors.sql(insert('SO-2', order()));
    expect(ask('SO-2')).toMatch(/^waiting\|0\|/);
    doors.start();
    await shows('SO-2', 'queued|0|');
    doors.sql(insert('SO-2', { lines: 1 }));
    expect(await receiptOf(doors, 5)).toMatchObject({ state: 'refused' });
    expect(ask('SO-2')).toMatch(/^queued\|0\|/);
  });

  it('names every mistake of a document, and leaves its reference free', async () => {
    const doors = await openDoors();
    doors.sql(insert('SO-1', { lines: [{ barcode: '', quantity: 0 }], frieght: {} }));
    doors.sql(
      "INSERT INTO intake(kind, reference, payload) VALUES ('order', 'SO-2', '{\"lines\"')",
    );
    doors.sql(insert('SO-3', order(), 'ordre'));
    doors.sql(insert('SO-4', { reference: 'SO-5', ...order() }));
    const [shape, json, kind, reference] = [1, 2, 3, 4].map((id) => receiptOf(doors, id));
    const paths = problemsOf(await shape).map(({ path }) => path);
    expect(paths.sort()).toEqual([
      'frieght',
      'lines[0].barcode',
      'lines[0].price',
      'lines[0].quantity',
    ]);
    expect(problemsOf(await json)[0]?.message).toMatch(/^is no JSON: /);
    expect(problemsOf(await kind)[0]?.message).toContain('did you mean order?');
    expect(problemsOf(await reference)[0]).toEqual({
      path: 'reference',
      message: 'says SO-5 in the document and SO-4 beside it',
    });
    doors.sql(insert('SO-1', order()));
    expect(await receiptOf(doors, 5)).toMatchObject({ documentId: 1, state: 'queued' });
  });

  it('refuses a document with a member twice, of which the last would count', async () => {
    const doors = await openDoors();
    const lines = '{"lines": [{"barcode": "1", "quantity": 5, "price": 1, "quantity": 3}]}';
    doors.sql(`INSERT INTO intake(kind, reference, payload) VALUES ('order', 'SO-1', '${lines}')`);
    const receipt = await receiptOf(doors, 1);
    expect(receipt).toMatchObject({ state: 'refused', documentId: null });
    expect(problemsOf(receipt)).toEqual([
      {
        path: 'lines[0].quantity',
        message: 'is written twice: which of the two counts cannot be told',
      },
    ]);
  });

  it('shows documents of other doors too, and all of them again in a new file', async () => {
    const doors = await doorsWithoutFile();
    doors.start();
    await until('a new file', () => (existsSync(doors.path) ? true : undefined));
    await bothShown(doors);
  });

  it('shows what became of deliveries, and all of it again in a new file', async () => {
    const doors = await openDoors();
    await doors.intake.submit([delivered('SO-1')]);
    await endDocument(doors.store, 1, 'confirmed', {});
    // The reference is the one that the ERP gave to the order.
    await doors.store.db.updateTable('outbox').set({ order_id: 5 }).execute();
    await doors.store.db
      .insertInto('decision')
      .values({
        ...{
          order_delivery_id: 7,
          order_id: 5,
          at: systemClock().now(),
          trigger: 'event',
          actor: 'daemon',
        },
        ...{ rule_set_hash: 'h', facts_digest: 'd', mode: 'live', outcome: 'hold', reason: 'big' },
        ...{ rules: '["hold-big"]', shadow: '{}', said: 'hold', matched: '[]', lapsed: '[]' },
        ...{ evaluation: Buffer.from('{}'), previous_hash: 'p', hash: 'h' },
      })
      .execute();
    const query = 'SELECT outcome_id, order_delivery_id, outcome, state, reference FROM outcome';
    const shown = () => until('the outcome', () => doors.sql(query) || undefined);
    expect(await shown()).toBe('1|7|hold|confirmed|SO-1');
    await doors.stop();
    rmSync(doors.path);
    doors.start();
    await until('the file', () => existsSync(doors.path) || undefined);
    expect(await shown()).toBe('1|7|hold|confirmed|SO-1');
  });

  it('shows all of them again also where somebody has emptied the file', async () => {
    const doors = await doorsWithoutFile();
    // An empty file is left by a client that opens a missing one, or by `cp /dev/null`.
    writeFileSync(doors.path, '');
    doors.start();
    await until('a new file', () => statSync(doors.path).size > 0 || undefined);
    await bothShown(doors);
  });

  it('shows all documents in a new file also when that fails once', async () => {
    const doors = await doorsWithoutFile();
    await sql`create trigger full before update of receipt_due on intake begin
      select raise(abort, 'the disk is full'); end`.execute(doors.store.db);
    expect(String(await doors.start().failure)).toContain('the disk is full');
    await sql`drop trigger full`.execute(doors.store.db);
    doors.start();
    await bothShown(doors);
  });

  it('shows each document once that was taken and not answered before a stop', async () => {
    const { store, intake, sql: client, stop, start } = await openDoors();
    await stop();
    const count = 230;
    const row = JSON.stringify(order());
    client(`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
      insert into intake (kind, reference, payload) select 'order', 'SO-' || i, '${row}' from n`);
    const taken = Array.from({ length: count }, (_, at) => delivered(`SO-${at + 1}`));
    await intake.submit(taken);
    // Their receipts wait, so that those of others are next.
    const first = store.db.updateTable('outbox').where('outbox_id', '<=', 10);
    await first.set({ state: 'sending' }).execute();
    start();
    await until('their receipts', async () => {
      const due = store.db.selectFrom('intake').select('outbox_id').where('receipt_due', '>', 0);
      return (await due.execute()).length === 10 || undefined;
    });
    const receipts = 'SELECT count(*), count(intake_id), count(document_id) FROM receipt';
    expect(client(receipts)).toBe(`${count}|${count}|${count}`);
  });

  it('tells since when a lock lasts, after five minutes somebody, until it is over', async () => {
    const clock = manualClock();
    const { store, path, open } = await closedDoors();
    const erp = new Database(path, { timeout: 0 });
    onTestFinished(() => void erp.close());
    erp.exec('begin exclusive');
    let laterMs = 0;
    open({ clock: { ...clock, monotonic: () => clock.monotonic() + laterMs } });
    const kinds = async () => (await openCauses(store.db)).map(({ kind }) => kind);
    const begunAt = clock.now();
    await clock.advance(10);
    expect(await readExchangeWait(store.db)).toBeUndefined();
    laterMs = 4 * 60_000;
    await clock.advance(100);
    expect(await kinds()).toEqual([]);
    // The monotonic clock alone has gone on.
    expect(await readExchangeWait(store.db)).toBeLessThan(begunAt - 3 * 60_000);
    laterMs = 5 * 60_000;
    await clock.advance(100);
    expect(await kinds()).toEqual(['exchange_locked']);
    erp.exec('rollback');
    await clock.advance(100);
    expect(await kinds()).toEqual([]);
    expect(await readExchangeWait(store.db)).toBeUndefined();
  });

  it('takes customers and documents once while a program reads without an end', async () => {
    const { store, path, sql: erp, open } = await closedDoors();
    erp("INSERT INTO erp_customer(account_no, blocked) VALUES ('C1', 1), ('C2', 0)");
    erp(`${insert('SO-1', order())}; ${insert('SO-2', order())};`);
    const reader = new Database(path);
    onTestFinished(() => void reader.close());
    reader.exec('begin; select * from receipt');
    let taken = 0;
    const kept = vi.spyOn(Database.prototype, 'exec');
    onTestFinished(() => kept.mockRestore());
    const clock = scaledClock(systemClock(), 50);
    const { stop } = open({ onCustomers: () => (taken += 1), clock });
    const tries = () => kept.mock.calls.filter(([text]) => text === 'rollback').length;
    await until('many tries to write', () => tries() > 20 || undefined);
    const customers = await store.db.selectFrom('erp_customer').select('blocked').execute();
    expect([customers, taken]).toEqual([[{ blocked: 1 }, { blocked: 0 }], 1]);
    const known = store.db.selectFrom('intake').select('repeats');
    expect(await known.execute()).toMatchObject([{ repeats: 0 }, { repeats: 0 }]);
    expect(await readExchangeWait(store.db)).toBeDefined();
    reader.exec('commit');
    await shownAll(store);
    const wait = () => readExchangeWait(store.db);
    await until('the end', async () => ((await wait()) === undefined ? true : undefined));
    await stop();
    const left = `SELECT (SELECT count(*) FROM receipt WHERE state = 'waiting')
      + (SELECT count(*) FROM erp_customer_change)`;
    expect(erp(left)).toBe('0');
  });

  it('reads no customer again that waits to be ticked off when the ERP commits one', async () => {
    const { store, path, open } = await closedDoors();
    const [reader, erp] = [new Database(path), new Database(path)];
    onTestFinished(() => [reader, erp].forEach((one) => void one.close()));
    erp.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)
      insert into erp_customer (account_no, blocked) select 'C' || i, 0 from n`);
    reader.exec('begin; select * from receipt');
    const clock = scaledClock(systemClock(), 50);
    // After the first try to write, time stands still: there is no second one.
    let stoppedAt: number | undefined;
    const { exec } = Database.prototype;
    const watched = vi.spyOn(Database.prototype, 'exec').mockImplementation(function (
      this: Database.Database,
      text: string,
    ) {
      if (text === 'rollback') stoppedAt = clock.monotonic();
      return exec.call(this, text);
    });
    onTestFinished(() => watched.mockRestore());
    open({ clock: { ...clock, monotonic: () => stoppedAt ?? clock.monotonic() } });
    const known = store.db.selectFrom('erp_customer').select((eb) => eb.fn.countAll().as('n'));
    const shows = (count: number) =>
      until(`${count} customers`, async () => {
        return Number((await known.executeTakeFirst())?.n) === count || undefined;
      });
    await shows(2_000);
    reader.exec('commit');
    const batches = vi.spyOn(store, 'transaction');
    onTestFinished(() => batches.mockRestore());
    erp.exec("insert into erp_customer (account_no, blocked) values ('C0', 1)");
    await shows(2_001);
    expect(batches.mock.calls.length).toBeLessThan(5);
  });

  it('writes receipts although always somebody reads, each only for a moment', async () => {
    const { store, path, intake, open } = await closedDoors();
    await intake.submit([delivered('SO-1')]);
    const readers = [1, 2].map(() => new Database(path, { timeout: 0 }));
    onTestFinished(() => readers.forEach((reader) => void reader.close()));
    let isOver = false;
    onTestFinished(() => {
      isOver = true;
    });
    let [reads, refused] = [0, 0];
    // Each begins before the other one ends, unless a writer keeps it out.
    const poll = (): void => {
      if (isOver) return;
      const [next, before] = reads % 2 === 0 ? readers : readers.toReversed();
      try {
        next?.exec('begin; select * from receipt');
        reads += 1;
      } catch {
        next?.exec('rollback');
        refused += 1;
      }
      if (before?.inTransaction) before.exec('commit');
      setImmediate(poll);
    };
    poll();
    open();
    await shownAll(store);
    expect(refused).toBeGreaterThan(0);
  });

  it('takes what came while nobody was there, and shows what moved meanwhile', async () => {
    const doors = await openDoors();
    doors.sql(insert('SO-1', order()));
    await receiptOf(doors, 1);
    await doors.stop();
    doors.sql(insert('SO-2', order()));
    await endDocument(doors.store, 1, 'confirmed', { result: '{"orderId":5}' });
    doors.start();
    expect(await receiptOf(doors, 2)).toMatchObject({ state: 'queued' });
    await until('the end', () => doors.sql('SELECT 1 FROM receipt WHERE final') || undefined);
    expect(await receiptOf(doors, 1)).toMatchObject({ state: 'confirmed', orderId: 5 });
  });

  it('starts without a commit for each of a thousand open documents', async () => {
    const { store, intake, sql: client, stop, start } = await openDoors();
    const count = 1_000;
    await intake.submit(Array.from({ length: count }, (_, at) => delivered(`SO-${at + 1}`)));
    const shownAfter = (time: string) => () =>
      client(`SELECT count(*) FROM receipt WHERE changed_at > '${time}'`) === `${count}` ||
      undefined;
    await until('all receipts', shownAfter(''));
    await stop();
    const last = client('SELECT max(changed_at) FROM receipt');
    await sql`pragma wal_checkpoint(truncate)`.execute(store.db);
    start();
    await until('all of them again', shownAfter(last));
    // Each commit writes at least one page into the log.
    expect(statSync(`${store.path}-wal`).size).toBeLessThan(count * 2_048);
  });

  it('cuts off receipts of documents that a restored database does not know', async () => {
    const doors = await restoredDoors();
    doors.start();
    await until('the cut', () => doors.sql('SELECT 1 FROM receipt WHERE final') || undefined);
    const receipt = await receiptOf(doors, 2);
    expect(receipt).toMatchObject({ documentId: null, state: 'in_doubt', final: 1 });
    expect(receipt.next).toContain('look for it at the service');
    expect(await receiptOf(doors, 1)).toMatchObject({ documentId: 1, state: 'queued', final: 0 });
  });

  it('cuts them off although another door was first after the restore', async () => {
    const doors = await restoredDoors();
    const restored = { at: 1, createdAt: '2026-01-05T07:00:00Z', maxDocumentId: 1 };
    await writeRestored(doors.store.db, restored, systemClock());
    await doors.intake.submit([delivered('SO-3')]);
    doors.start();
    await until('the cut', () => doors.sql('SELECT 1 FROM receipt WHERE final') || undefined);
    expect(await receiptOf(doors, 2)).toMatchObject({ documentId: null, state: 'in_doubt' });
    doors.sql(insert('SO-4', order()));
    expect(await receiptOf(doors, 3)).toMatchObject({ documentId: 4, state: 'queued' });
    await doors.stop();
    doors.start();
    doors.sql(insert('SO-5', order()));
    expect(await receiptOf(doors, 4)).toMatchObject({ state: 'queued' });
    expect(await receiptOf(doors, 3)).toMatchObject({ documentId: 4, state: 'queued' });
  });

  it('cuts no new document off when it was stopped before it had noted the cut', async () => {
    const doors = await restoredDoors();
    const { db } = doors.store;
    const restored = { at: 1, createdAt: '2026-01-05T07:00:00Z', maxDocumentId: 1 };
    await writeRestored(db, restored, systemClock());
    doors.sql(insert('SO-4', order()));
    await sql`create trigger full before update on daemon_state begin
      select raise(abort, 'the disk is full'); end`.execute(db);
    expect(String(await doors.start().failure)).toContain('the disk is full');
    expect(doors.sql('SELECT state FROM receipt WHERE intake_id = 2')).toBe('in_doubt');
    expect(doors.sql('SELECT state FROM receipt WHERE intake_id = 3')).toBe('waiting');
    await sql`drop trigger full`.execute(db);
    doors.start();
    expect(await receiptOf(doors, 3)).toMatchObject({ documentId: 3, state: 'queued', final: 0 });
  });

  it('leaves rows where they are while the disk is too full', async () => {
    const room = { isThere: false };
    const doors = await openDoors(() => room.isThere);
    doors.sql(insert('SO-1', order()));
    expect(await doors.failure).toMatchObject({ code: 'intake.no_room' });
    expect(doors.sql('SELECT state FROM receipt')).toBe('waiting');
    room.isThere = true;
    doors.start();
    expect(await receiptOf(doors, 1)).toMatchObject({ documentId: 1 });
  });

  it('takes customers over, keeps the last good word, and names what is wrong', async () => {
    const doors = await openDoors();
    doors.sql(`INSERT INTO erp_customer
      (account_no, credit_limit, balance, currency, overdue_days, blocked, as_of, extra) VALUES
      ('C1', 1000.5, 19.99, 'DKK', 3, 0, '2026-01-05T08:00:00Z', '{"group": "A"}'),
      ('C2', NULL, NULL, NULL, NULL, 1, datetime('2026-01-05 08:00:00'), '{}')`);
    const rows = () =>
      doors.store.db.selectFrom('erp_customer').selectAll().orderBy('account_no').execute();
    const found = await until('both', async () => {
      const all = await rows();
      return all.length === 2 ? all : undefined;
    });
    const at = Date.UTC(2026, 0, 5, 8);
    expect(found).toMatchObject([
      {
        ...{ account_no: 'C1', credit_limit: 1_000_5000, balance: 19_9900, currency: 'DKK' },
        ...{ overdue_days: 3, blocked: 0, as_of: at, extra: '{"group":"A"}' },
      },
      { account_no: 'C2', credit_limit: null, blocked: 1, as_of: at },
    ]);
    doors.sql("UPDATE erp_customer SET as_of = 'yesterday' WHERE account_no = 'C1'");
    const problem = 'SELECT account_no, path FROM erp_customer_problem';
    await until('the problem', () => doors.sql(problem) || undefined);
    expect(doors.sql(problem)).toBe('C1|as_of');
    expect(doors.sql('SELECT message FROM erp_customer_problem')).toContain('must be a time such');
    expect((await rows())[0]).toMatchObject({ as_of: at, deleted_at: null });
    const kept = await doors.store.db.selectFrom('quarantine').selectAll().execute();
    expect(kept).toMatchObject([{ entity: 'erp_customer', path: 'as_of' }]);
    doors.sql("DELETE FROM erp_customer WHERE account_no = 'C2'");
    await until('the deletion', async () => ((await rows())[1]?.deleted_at ? true : undefined));
    doors.sql("UPDATE erp_customer SET as_of = '2026-01-06' WHERE account_no = 'C1'");
    await until('no problem', () => (doors.sql(problem) === '' ? true : undefined));
    expect(await doors.store.db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
  });

  it('of which a text was not UTF-8 are named: no rule would find them under it', async () => {
    const doors = await openDoors();
    const text = (written: string) => {
      const hex = Buffer.from(written, 'latin1').toString('hex');
      return `CAST(x'${hex}' AS TEXT)`;
    };
    const account = text('M\u00fcller');
    doors.sql(`INSERT INTO erp_customer(account_no, blocked, extra) VALUES
      (${account}, 1, '{}'), ('C1', 1, ${text('{"group":"Gr\u00f6\u00dfe"}')}), ('C2', 1, '{}')`);
    const problem = 'SELECT account_no, path FROM erp_customer_problem ORDER BY path';
    const named = await until('problems', () => doors.sql(problem) || undefined);
    expect(named).toBe('M\ufffdller|account_no\nC1|extra');
    const known = await doors.store.db.selectFrom('erp_customer').select('account_no').execute();
    expect(known).toEqual([{ account_no: 'C2' }]);
    doors.sql(`UPDATE erp_customer SET account_no = 'M\u00fcller' WHERE account_no = ${account};
      UPDATE erp_customer SET extra = '{"group":"Gr\u00f6\u00dfe"}' WHERE account_no = 'C1'`);
    await until('no problem', () => (doors.sql(problem) === '' ? true : undefined));
  });

  it('of which one is nested without end is named, and keeps no other', async () => {
    const doors = await openDoors();
    const deep = `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
    doors.sql(`INSERT INTO erp_customer(account_no, extra) VALUES ('C1', '${deep}'), ('C2', '{}')`);
    const problem = 'SELECT account_no, path, message FROM erp_customer_problem';
    const named = await until('the problem', () => doors.sql(problem) || undefined);
    expect(named).toBe('C1|extra|is nested too deep');
    const known = await doors.store.db.selectFrom('erp_customer').select('account_no').execute();
    expect(known).toEqual([{ account_no: 'C2' }]);
  });

  it('of which a number has spaces around it are found, and two of one account named', async () => {
    const doors = await openDoors();
    doors.sql(`INSERT INTO erp_customer(account_no, blocked) VALUES
      ('12345   ', 1), ('  777', 1), ('8 ', 0), ('8', 1), ('   ', 1)`);
    const known = (blocked: string) =>
      until(`customers ${blocked}`, async () => {
        const rows = await doors.store.db
          .selectFrom('erp_customer')
          .select(['account_no', 'blocked'])
          .where('deleted_at', 'is', null)
          .orderBy('account_no')
          .execute();
        const found = rows.map((row) => `${row.account_no}=${row.blocked}`).join(' ');
        return found === blocked ? true : undefined;
      });
    const problems = () => doors.sql('SELECT account_no, message FROM erp_customer_problem');
    await known('12345=1 777=1 8=1');
    await until('problems', () => (problems().includes('8 |') ? true : undefined));
    expect(problems()).toBe('|must not be empty\n8 |is "8" but for spaces, and that row counts');
    // The one that counted is gone; then all are submitted again without the spaces.
    doors.sql("DELETE FROM erp_customer WHERE account_no IN ('8', '   ')");
    await known('12345=1 777=1 8=0');
    await until('no problem', () => (problems() === '' ? true : undefined));
    doors.sql(`BEGIN; DELETE FROM erp_customer;
      INSERT INTO erp_customer(account_no, blocked) VALUES ('12345', 0), ('777', 1); COMMIT`);
    await known('12345=0 777=1');
    // SubmitResult in with spaces before it from now on.
    doors.sql("UPDATE erp_customer SET account_no = '  777', blocked = 0 WHERE account_no = '777'");
    await known('12345=0 777=0');
    doors.sql("INSERT INTO erp_customer(account_no, blocked) VALUES ('777', 1)");
    await known('12345=0 777=1');
    doors.sql("DELETE FROM erp_customer WHERE account_no = '777'");
    await known('12345=0 777=0');
    const feed = await doors.store.db.selectFrom('change').select(['op', 'key']).execute();
    expect(feed.filter(({ op }) => op === 'delete')).toEqual([{ op: 'delete', key: '8' }]);
  });
});
