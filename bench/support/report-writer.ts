/**
 * Stands for the daemon in bench/reports.ts: a stock row and its change, 500 a transaction, some
 * 2,500 a second. More would make the feed of the last day, which reports read, another one.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { openWriter } from '../../src/store/connection.ts';

const [path = '', variants = '1'] = process.argv.slice(2);
const database = openWriter(path, { busyTimeoutMs: 5_000 });
const update = database.prepare(
  'update stock_variant_row set quantity = quantity + 1, changed_at = ? where barcode = ?',
);
const note = database.prepare(
  `insert into change (at, entity, key, op, diff, cause)
   values (?, 'stock_variant', ?, 'update', '{"quantity":[1,2]}', 'run:2')`,
);
const page = database.transaction((first: number) => {
  const now = Date.now();
  for (let index = first; index < first + 500; index += 1) {
    const barcode = String(5_700_000_000_000 + (index % Number(variants)));
    update.run(now, barcode);
    note.run(now, barcode);
  }
});
for (let first = 0; process.connected; first += 500) {
  page.immediate(first);
  if (first === 0) process.send?.('writing');
  await pause(200);
}
database.close();
