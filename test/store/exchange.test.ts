import { once } from 'node:events';
import { copyFileSync, existsSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { RetryLaterError } from '../../src/lib/errors.ts';
import { type Exchange, inspectExchange, openExchange } from '../../src/store/exchange/exchange.ts';
import type { ReceiptRow } from '../../src/store/exchange/statements.ts';
import { foreignSql, startForeignClient } from '../support/foreign-sql.ts';
import { temporaryFolder } from '../support/store.ts';

const CHARS = 1_000_000;

function open(path = join(temporaryFolder(), 'exchange.db'), clock = manualClock()): Exchange {
  const exchange = openExchange(path, clock);
  onTestFinished(() => exchange[Symbol.dispose]());
  return exchange;
}

const INSERT = "INSERT INTO intake(kind, reference, payload) VALUES ('order', 'SO-1', '{}')";

function refused(intakeId: string | number): ReceiptRow {
  return {
    intakeId: String(intakeId),
    documentId: null,
    kind: 'order',
    reference: 'SO-1',
    state: 'refused',
    final: true,
    orderId: null,
    orderNo: null,
    deliveries: '[]',
    pendingRefundId: null,
    refundId: null,
    styleId: null,
    problems: '[]',
    nextStep: 'Correct it.',
    handedInAt: '2026-01-05T08:00:00.000Z',
    changedAt: '2026-01-05T08:00:00.000Z',
    endedAt: '2026-01-05T08:00:00.000Z',
  };
}

describe('the exchange database', () => {
  it('is not replaced by an empty one where a restore was killed between two names', () => {
    const path = join(temporaryFolder(), 'exchange.db');
    writeFileSync(`${path}.restoring`, 'ready');
    const refused = expect.objectContaining({ code: 'exchange.half_restored' });
    expect(() => openExchange(path, manualClock())).toThrow(refused);
    expect(existsSync(path)).toBe(false);
  });

  it('writes so that a power cut cannot take back what the ERP was told', () => {
    const connections = new Set<Database.Database>();
    const { pragma } = Database.prototype;
    onTestFinished(() => {
      Database.prototype.pragma = pragma;
    });
    Database.prototype.pragma = function noted(source, asked) {
      connections.add(this);
      return pragma.call(this, source, asked);
    };
    const exchange = open();
    foreignSql(exchange.path, INSERT);
    exchange.writeReceipts([refused(1)]);
    const own = [...connections].filter(({ name, open }) => open && name === exchange.path);
    expect(own.map((each) => each.pragma('synchronous', { simple: true }))).toEqual([2]);
  });

  it('takes a row from a foreign client and tells that there is one', () => {
    const exchange = open();
    expect(exchange.hasNews()).toBe(true);
    expect(exchange.hasNews()).toBe(false);
    foreignSql(exchange.path, INSERT);
    expect(exchange.hasNews()).toBe(true);
    expect(exchange.hasNews()).toBe(false);
    expect(exchange.waiting(0, 10, CHARS)).toMatchObject([
      { intakeId: '1', kind: 'order', reference: 'SO-1', payload: '{}' },
    ]);
    const receipt = foreignSql(exchange.path, 'SELECT state, final, next_step FROM receipt');
    expect(receipt).toMatch(/^waiting\|0\|Nothing: the daemon takes/);
  });

  it('says that another file lies in its place, into which rows are submitted now', () => {
    const exchange = open();
    exchange.hasNews();
    copyFileSync(exchange.path, `${exchange.path}.copy`);
    rmSync(exchange.path);
    expect(exchange.hasNews()).toBe(false);
    renameSync(`${exchange.path}.copy`, exchange.path);
    foreignSql(exchange.path, INSERT);
    expect(() => exchange.hasNews()).toThrow('somebody has put another file there');
    expect(open(exchange.path).waiting(0, 10, CHARS)).toMatchObject([{ reference: 'SO-1' }]);
  });

  it('says that it is gone, once nobody has put anything in its place for a while', async () => {
    const clock = manualClock();
    const exchange = open(undefined, clock);
    renameSync(exchange.path, `${exchange.path}.aside`);
    exchange.hasNews();
    await clock.advance(9_000);
    expect(exchange.hasNews()).toBe(false);
    renameSync(`${exchange.path}.aside`, exchange.path);
    exchange.hasNews();
    rmSync(exchange.path);
    await clock.advance(9_000);
    expect(exchange.hasNews()).toBe(false);
    await clock.advance(10_000);
    expect(() => exchange.hasNews()).toThrow('somebody has moved or removed it');
  });

  it('waits with what it has to write while somebody has it moved away', () => {
    const exchange = open();
    foreignSql(exchange.path, INSERT);
    renameSync(exchange.path, `${exchange.path}.aside`);
    const receipts = [refused(1)];
    expect(() => exchange.writeReceipts(receipts)).toThrow(
      expect.objectContaining({ code: 'exchange.busy' }),
    );
    renameSync(`${exchange.path}.aside`, exchange.path);
    exchange.writeReceipts(receipts);
  });

  it('does not take its own writing for news', () => {
    const exchange = open();
    foreignSql(exchange.path, INSERT);
    exchange.hasNews();
    exchange.writeReceipts([refused(1)]);
    expect(exchange.hasNews()).toBe(false);
    expect(exchange.waiting(0, 10, CHARS)).toEqual([]);
  });

  it('stops reading once the payloads are as long as it may hold', () => {
    const exchange = open();
    for (let count = 0; count < 5; count += 1) foreignSql(exchange.path, INSERT);
    expect(exchange.waiting(0, 3, CHARS)).toHaveLength(3);
    expect(exchange.waiting(0, 10, 4)).toHaveLength(2);
  });

  it('lets nobody change, replace or take back a document', () => {
    const { path } = open();
    foreignSql(path, INSERT);
    expect(() => foreignSql(path, "UPDATE intake SET payload = '{ }'")).toThrow(/immutable/);
    expect(() => foreignSql(path, 'DELETE FROM intake')).toThrow(/until its receipt is final/);
    expect(() => foreignSql(path, 'DELETE FROM receipt')).toThrow(/until it is final/);
    const replace = INSERT.replace('INSERT', 'INSERT OR REPLACE')
      .replace('(kind', '(intake_id, kind')
      .replace('VALUES (', 'VALUES (1, ');
    expect(() => foreignSql(path, replace)).toThrow(/intake_id is taken/);
  });

  it('refuses what is too long for a document', () => {
    const { path } = open();
    const long = `INSERT INTO intake(kind, reference, payload)
      VALUES ('order', 'SO-1', printf('%.*c', 1048577, 'x'))`;
    expect(() => foreignSql(path, long)).toThrow(/CHECK constraint failed/);
  });

  it('is for the group to read and write, also when it failed as soon as it was made', () => {
    expect(statSync(open().path).mode & 0o777).toBe(0o660);
    const path = join(temporaryFolder(), 'exchange.db');
    const full = vi.spyOn(Database.prototype, 'pragma').mockImplementationOnce(() => {
      throw new Database.SqliteError('the disk is full', 'SQLITE_FULL');
    });
    onTestFinished(() => full.mockRestore());
    expect(() => open(path)).toThrow('the disk is full');
    expect(statSync(open(path).path).mode & 0o777).toBe(0o660);
  });

  it('gives up after a moment while another program holds the lock, and works again later', () => {
    const exchange = open();
    const other = new Database(exchange.path);
    onTestFinished(() => other.close() && undefined);
    other.exec('begin exclusive');
    expect(() => exchange.waiting(0, 1, CHARS)).toThrow(/another program holds it/);
    expect(() => exchange.writeReceipts([refused(1)])).toThrow(/another program holds it/);
    other.exec('commit');
    expect(exchange.waiting(0, 1, CHARS)).toEqual([]);
  });

  it('goes back to a rollback journal when a client has changed that', () => {
    const exchange = open();
    exchange.hasNews();
    foreignSql(exchange.path, 'PRAGMA journal_mode = wal');
    foreignSql(exchange.path, INSERT);
    expect(exchange.hasNews()).toBe(true);
    expect(foreignSql(exchange.path, 'PRAGMA journal_mode')).toBe('delete\n');
  });

  it('does not open a file whose tables somebody has changed, and names what', () => {
    const { path } = open();
    foreignSql(path, 'CREATE TABLE own (id INTEGER)');
    open(path);
    foreignSql(path, 'CREATE TRIGGER planted AFTER INSERT ON intake BEGIN SELECT 1; END');
    expect(() => open(path)).toThrow(/somebody changed planted/);
  });

  it.each([
    ['of a newer program', "INSERT INTO schema_migration VALUES (3, 'x', 'y', 0)", 'has schema 3'],
    ['of another program', "UPDATE schema_migration SET checksum = 'y'", 'made before 0.1.0'],
    ['whose ledger is gone', 'DROP TABLE schema_migration', 'intake already exists'],
  ])('lets the daemon go on without a file %s', (_, change, told) => {
    const { path } = open();
    foreignSql(path, change);
    const refused = expect.objectContaining({
      name: 'RetryLaterError',
      message: expect.stringContaining(told),
      hint: expect.stringMatching(/move it away.*keep the old one/),
    });
    expect(() => open(path)).toThrow(refused);
    expect(() => inspectExchange(path, manualClock())).toThrow(RetryLaterError);
  });

  it('finds a foreign trigger under any spelling of the table', () => {
    const { path } = open();
    foreignSql(path, 'CREATE TRIGGER planted AFTER UPDATE ON Receipt BEGIN SELECT 1; END');
    expect(() => open(path)).toThrow(/somebody changed planted/);
  });

  it('waits while a table has another name, says so, and works again once it has its own', () => {
    const exchange = open();
    foreignSql(exchange.path, INSERT);
    foreignSql(exchange.path, 'ALTER TABLE intake RENAME TO aside');
    const gone = expect.objectContaining({
      code: 'exchange.schema_changed',
      message: expect.stringContaining('somebody changed intake'),
      hint: expect.stringContaining('give intake its name back'),
    });
    expect(() => exchange.hasNews()).toThrow(gone);
    expect(() => open(exchange.path)).toThrow(gone);
    foreignSql(exchange.path, 'ALTER TABLE aside RENAME TO intake');
    inspectExchange(exchange.path, manualClock());
    expect(exchange.hasNews()).toBe(true);
    expect(exchange.waiting(0, 10, CHARS)).toHaveLength(1);
    const reopened = open(exchange.path);
    foreignSql(exchange.path, INSERT);
    reopened.writeReceipts([refused(1)]);
    expect(foreignSql(exchange.path, 'SELECT state FROM receipt')).toBe('refused\nwaiting\n');
  });

  it('says of an own trigger that is gone or another one how to get on', () => {
    const { path } = open();
    foreignSql(path, 'DROP TRIGGER intake_waits');
    const refused = expect.objectContaining({
      message: expect.stringContaining('somebody changed intake_waits'),
      hint: expect.stringMatching(/move it away.*keep the old one/),
    });
    expect(() => open(path)).toThrow(refused);
    foreignSql(path, 'CREATE TRIGGER intake_waits AFTER INSERT ON intake BEGIN SELECT 1; END');
    expect(() => open(path)).toThrow(refused);
  });

  it('does nothing more in a file whose tables somebody changes meanwhile', () => {
    const exchange = open();
    foreignSql(exchange.path, `CREATE TABLE own (id INTEGER); ${INSERT}`);
    expect(exchange.waiting(0, 10, CHARS)).toHaveLength(1);
    const hand = INSERT.replace('SO-1', 'SO-2');
    foreignSql(exchange.path, `CREATE TRIGGER planted AFTER UPDATE ON receipt BEGIN ${hand}; END`);
    expect(() => exchange.writeReceipts([refused(1)])).toThrow(/somebody changed planted/);
    foreignSql(exchange.path, 'DROP TRIGGER planted');
    exchange.writeReceipts([refused(1)]);
    expect(foreignSql(exchange.path, 'SELECT count(*) FROM intake')).toBe('1\n');
  });

  it('gives a receipt to a row that lost its own', () => {
    const exchange = open();
    foreignSql(exchange.path, INSERT);
    exchange.writeReceipts([refused(1)]);
    foreignSql(exchange.path, 'DELETE FROM receipt');
    exchange.repair();
    expect(exchange.waiting(0, 10, CHARS)).toHaveLength(1);
  });

  it('forgets what was final long ago, and nothing else', () => {
    const exchange = open();
    foreignSql(exchange.path, INSERT);
    foreignSql(exchange.path, INSERT);
    exchange.writeReceipts([refused(1)]);
    expect(exchange.forget('2026-01-05T08:00:00.000Z', 10)).toBe(0);
    expect(exchange.forget('2026-01-05T08:00:00.001Z', 10)).toBe(1);
    expect(foreignSql(exchange.path, 'SELECT intake_id FROM intake')).toBe('2\n');
    expect(foreignSql(exchange.path, 'SELECT intake_id FROM receipt')).toBe('2\n');
  });

  it('forgets what a table of the ERP refers to', () => {
    const exchange = open();
    foreignSql(
      exchange.path,
      `${INSERT}; CREATE TABLE erp_sent (intake_id INTEGER REFERENCES intake)`,
    );
    foreignSql(exchange.path, 'INSERT INTO erp_sent VALUES (1)');
    exchange.writeReceipts([refused(1)]);
    expect(exchange.forget('2026-01-06', 10)).toBe(1);
    expect(foreignSql(exchange.path, 'SELECT * FROM erp_sent')).toBe('1\n');
  });

  it('tells rows apart whose numbers are larger than a double holds', () => {
    const exchange = open();
    for (const id of ['638996000000000001', '638996000000000002']) {
      const own = INSERT.replace('(kind', '(intake_id, kind').replace(
        'VALUES (',
        `VALUES (${id}, `,
      );
      foreignSql(exchange.path, own);
    }
    const [first, second] = exchange.waiting(0, 10, CHARS);
    exchange.writeReceipts([refused(first?.intakeId ?? '')]);
    expect(exchange.waiting(0, 10, CHARS)).toEqual([second]);
    expect(exchange.forget('2026-01-06', 10)).toBe(1);
    expect(foreignSql(exchange.path, 'SELECT intake_id FROM intake')).toBe(`${second?.intakeId}\n`);
  });

  it('leaves what was final as it is where it cuts receipts off, and names the rest', () => {
    const exchange = open();
    const ended = { ...refused(0), intakeId: null, state: 'confirmed', endedAt: '2026-01-04' };
    const known = { ...ended, documentId: 1 };
    const open1 = { ...ended, state: 'queued', final: false, endedAt: null };
    exchange.writeReceipts([known, { ...ended, documentId: 2 }, { ...open1, documentId: 3 }]);
    expect(exchange.cutOff(1)).toBe(2);
    expect(exchange.cutOff(1)).toBe(0);
    const columns = "ifnull(document_id, '-'), state, final, ended_at, problems <> '[]', next_step";
    const told = foreignSql(exchange.path, `SELECT ${columns} FROM receipt ORDER BY receipt_id`);
    expect(told.split('\n')).toEqual([
      '1|confirmed|1|2026-01-04|0|Correct it.',
      '-|confirmed|1|2026-01-04|0|Correct it.',
      expect.stringMatching(/^-\|in_doubt\|1\|2026-01-05.*\|1\|The daemon works on a restored/),
      '',
    ]);
  });

  it('has every customer compared once by whoever repairs it', () => {
    const exchange = open();
    foreignSql(exchange.path, "INSERT INTO erp_customer(account_no) VALUES ('C1')");
    const done = () => {
      const changes = exchange.changedCustomers(10);
      const sound = changes.map((change) => ({ change, problem: null }));
      exchange.customersDone(sound, '2026-01-05T08:00:00.000Z');
      return changes.length;
    };
    expect([done(), done()]).toEqual([1, 0]);
    exchange.repair();
    expect(exchange.changedCustomers(10)).toMatchObject([{ accountNo: 'C1' }]);
  });

  it('tells which customers have changed, each once, also those that are gone', () => {
    const exchange = open();
    const { path } = exchange;
    foreignSql(
      path,
      "INSERT INTO erp_customer(account_no, balance) VALUES ('C1', 10.5), ('C2', 1)",
    );
    foreignSql(path, "UPDATE erp_customer SET balance = 11 WHERE account_no = 'C1'");
    foreignSql(path, "DELETE FROM erp_customer WHERE account_no = 'C2'");
    const changes = exchange.changedCustomers(10);
    expect(changes).toMatchObject([
      { accountNo: 'C1', row: { balance: 11, extra: '{}' } },
      { accountNo: 'C2', row: null },
    ]);
    // While the daemon works on them, one changes again.
    foreignSql(path, "INSERT OR REPLACE INTO erp_customer(account_no, balance) VALUES ('C2', 2)");
    exchange.customersDone(
      changes.map((change) => ({ change, problem: { path: 'balance', message: 'no' } })),
      '2026-01-05T08:00:00.000Z',
    );
    expect(exchange.changedCustomers(10)).toMatchObject([{ accountNo: 'C2', row: { balance: 2 } }]);
    expect(foreignSql(path, 'SELECT account_no, path FROM erp_customer_problem')).toBe(
      'C1|balance\nC2|balance\n',
    );
  });

  it('loses no row while three foreign clients and the daemon write at the same time', async () => {
    const exchange = open();
    const script = `${INSERT};\n`.repeat(40);
    const clients = [1, 2, 3].map(() => {
      const client = startForeignClient(exchange.path);
      let complaints = '';
      client.stderr.on('data', (chunk: Buffer) => {
        complaints += chunk.toString();
      });
      client.stdin.end(script);
      return once(client, 'exit').then(() => complaints);
    });
    const answered = new Set<string>();
    const work = async (): Promise<void> => {
      while (answered.size < 120) {
        try {
          const rows = exchange.waiting(0, 50, CHARS);
          exchange.writeReceipts(rows.map(({ intakeId }) => refused(intakeId)));
          for (const { intakeId } of rows) answered.add(intakeId);
        } catch (error) {
          expect(error).toMatchObject({ code: 'exchange.busy' });
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const [complaints] = await Promise.all([Promise.all(clients), work()]);
    expect(complaints).toEqual(['', '', '']);
    expect(foreignSql(exchange.path, "SELECT count(*) FROM receipt WHERE state = 'refused'")).toBe(
      '120\n',
    );
  });
});
