/** More documents wait in the exchange database than receipts are kept to be written. */
import Database from 'better-sqlite3';
import { it, onTestFinished } from 'vitest';
import { until } from '../../support/house.ts';
import { insert, receiptOf } from './exchange-support.ts';
import { openDoors, order } from './support.ts';

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
