/** The exchange database among programs that keep its lock, or take it again and again. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import Database from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { until } from '../../support/house.ts';
import { repositoryRoot } from '../../support/source.ts';
import { insert, receiptOf } from './exchange-support.ts';
import { type Doors, delivered, openDoors, order } from './support.ts';

/** Starts a program that polls the database; returns what it prints. */
function startReader(path: string): readonly string[] {
  const script = join(repositoryRoot, 'test/support/polling-reader.mjs');
  const args = ['--disable-warning=ExperimentalWarning', script, path];
  const reader = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void reader.kill());
  const lines: string[] = [];
  createInterface({ input: reader.stdout }).on('line', (line) => lines.push(line));
  return lines;
}

/** Submits a document by another channel, whose receipt the daemon writes by itself. */
async function shown({ intake, store }: Doors, reference: string): Promise<true> {
  await intake.submit([delivered(reference)]);
  const due = store.db.selectFrom('intake').select('outbox_id').where('receipt_due', '>', 0);
  return until(`the receipt of ${reference}`, async () => {
    return (await due.execute()).length === 0 || undefined;
  });
}

it('the door takes all that waited behind a lock for long, without any news after it', async () => {
  const doors = await openDoors();
  const { store, path } = doors;
  doors.sql(insert('SO-0', order()));
  await receiptOf(doors, 1);
  const erp = new Database(path, { timeout: 5_000 });
  onTestFinished(() => void erp.close());
  const count = 5_100;
  erp.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
    insert into intake (kind, reference, payload)
      select 'order', 'SO-' || i, '${JSON.stringify(order())}' from n;
    begin immediate`);
  const taken = store.db.selectFrom('intake').select((eb) => eb.fn.countAll<number>().as('n'));
  const counted = async (n: number) => (await taken.executeTakeFirst())?.n === n || undefined;
  await until('as many as are kept', () => counted(5_001));
  erp.exec('rollback');
  await until('the rest', () => counted(count + 1));
});

it('the door writes receipts among three programs that poll, and none of them fails', async () => {
  const doors = await openDoors();
  for (let at = 0; at < 20; at += 1) doors.sql(insert(`SO-${at}`, order()));
  await receiptOf(doors, 20);
  const readers = [1, 2, 3].map(() => startReader(doors.path));
  const polled = (times: number) => () =>
    readers.every((lines) => lines.length >= times) || undefined;
  await until('three programs that poll', polled(5));
  for (let at = 0; at < 10; at += 1) await shown(doors, `MAIL-${at}`);
  await until('further reads', polled(30));
  expect(readers.flat().filter((line) => line !== 'read')).toEqual([]);
});
