/** The list of columns that tell of people has every column, and kept text is text. */
import { isUtf8 } from 'node:buffer';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { writeOrders } from '../../src/mirror/sales-order.ts';
import { writeAudit } from '../../src/store/audit.ts';
import { insertBulk } from '../../src/store/bulk.ts';
import { TOLD } from '../../src/store/tables/people.ts';
import { temporaryStore } from '../support/store.ts';

it('says of every column of text or bytes once whether it tells of people', async () => {
  const { path } = await temporaryStore();
  const database = new Database(path, { readonly: true });
  const columns = database
    .prepare<[], { table: string; name: string }>(
      `select t.name "table", c.name from sqlite_schema t, pragma_table_xinfo(t.name) c
       where t.type = 'table' and t.name not like 'sqlite_%' and c.type in ('TEXT', 'BLOB')`,
    )
    .all();
  database.close();
  const found = Map.groupBy(columns, ({ table }) => table);
  const said = Object.entries(TOLD).map(([table, told]) => {
    const { open = '', staff = '', quotes = '', people = {} } = told;
    const listed = [open, staff].flatMap((list) => list.split(' ').filter((one) => one !== ''));
    // A column of people may also have sentences with quotations.
    const others = new Set([
      ...quotes.split(' ').filter((one) => one !== ''),
      ...Object.keys(people),
    ]);
    return [table, [...listed, ...others].sort()] as const;
  });
  const wanted = [...found].map(
    ([table, of]) => [table, of.map(({ name }) => name).sort()] as const,
  );
  expect(said.filter(([, names]) => names.length > 0).sort()).toEqual(wanted.sort());
});

it('keeps half a character as one that every SQL client can read', async () => {
  const store = await temporaryStore();
  const half = 'Anna \ud83d';
  await store.transaction(async (tx) => {
    const order = { orderId: 7, status: 'pending', completed: false, orderLineItems: [] };
    const record = { ...order, comment: half, note: half, shippingAddress: { city: half } };
    await writeOrders(tx, [record], { source: 'test', readSeq: 1, at: 1 });
    const act = { actor: half, action: 'a', subject: 'b', reason: half, detail: { half } };
    await writeAudit(tx, act, 1);
    const rows = Buffer.from(
      JSON.stringify([
        ['B', half],
        ['C', '\u{1f600} \\ud83d\\ude00'],
      ]),
    );
    await insertBulk(tx, {
      table: 'color',
      columns: ['color_id', 'name'],
      rows,
      constants: {
        extra: '{}',
        content_hash: '',
        first_seen_at: 1,
        changed_at: 1,
        read_seq: 1,
        source: '',
      },
    });
  });
  const database = new Database(store.path, { readonly: true });
  const bytes = database
    .prepare<[], Buffer>(
      `select cast(comment as blob) from sales_order
       union all select cast(extra ->> '$.note' as blob) from sales_order
       union all select cast(shipping_address ->> '$.city' as blob) from sales_order
       union all select cast(reason || actor || detail as blob) from audit
       union all select cast(detail ->> '$.half' as blob) from audit
       union all select cast(name as blob) from color where color_id = 'B'`,
    )
    .pluck()
    .all();
  const other = database.prepare("select name from color where color_id = 'C'").pluck().get();
  database.close();
  expect(bytes.map((one) => [isUtf8(one), one.toString().includes('Anna \ufffd')])).toEqual(
    bytes.map(() => [true, true]),
  );
  expect(bytes).toHaveLength(6);
  expect(other).toBe('\u{1f600} \\ud83d\\ude00');
});
