import { copyFileSync, renameSync } from 'node:fs';
import fastify from 'fastify';
import { sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { pushRoutes } from '../../../src/local-api/push-routes.ts';
import { createPreflight } from '../../../src/outbox/intake/preflight.ts';
import { followClock } from '../../support/clock-guard.ts';
import { until } from '../../support/house.ts';
import { notePlans } from '../../support/plans.ts';
import { temporaryStore } from '../../support/store.ts';
import { turnsDuring } from '../../support/turns.ts';
import { closedDoors, DAY_MS, delivered, endDocument, intakeOf, order } from './support.ts';

it('tells of a thousand documents at once without keeping anybody waiting', async () => {
  const clock = systemClock();
  const store = await temporaryStore(clock);
  const intake = intakeOf(store);
  const ids = Array.from({ length: 1_000 }, (_, index) => index + 1);
  await intake.submit(ids.map((id) => delivered(`SO-${id}`)));
  const app = fastify();
  onTestFinished(() => app.close());
  const preflight = createPreflight(store, systemClock(), []);
  pushRoutes({ store, intake, preflight, clock }).install(app);
  await app.ready();
  const payload = { actor: 'anna', documentIds: ids };
  const ask = () => app.inject({ method: 'POST', url: '/api/intake/receipts', payload });
  const turns = await turnsDuring(async () => {
    const { receipts } = (await ask()).json();
    expect(receipts).toHaveLength(1_000);
    expect(receipts[999]).toMatchObject({ documentId: 1_000, reference: 'SO-1000' });
  });
  expect(turns).toBeGreaterThan(40);
});

/** Closed doors, and a wait until the file says this. */
async function doorsToOpen() {
  const { sql: client, ...doors } = await closedDoors();
  const told = (query: string, answer: string) =>
    until(answer, () => client(query) === answer || undefined);
  return { ...doors, client, told };
}

function submit(reference: string, payload: unknown = order()): string {
  const text = JSON.stringify(payload);
  const values = `'order', '${reference}', '${text}'`;
  return `insert into intake (kind, reference, payload) values (${values});`;
}

it('takes all documents that came at once, however large they are together', async () => {
  const { client, open, told } = await doorsToOpen();
  const large = { ...order(), comment: 'x'.repeat(1_000_000) };
  const rows = Array.from({ length: 6 }, (_, at) => submit(`SO-${at}`, large));
  client(`begin immediate; ${rows.join('\n')} commit;`);
  open();
  await told('select count(*) from receipt where final', '6');
});

it('shows a change that came while the one before was shown', async () => {
  const { store, intake, client, open, told } = await doorsToOpen();
  await intake.submit([delivered('SO-1')]);
  let isFirst = true;
  open({
    store: {
      get db() {
        return store.db;
      },
      path: store.path,
      snapshot: (read) => store.snapshot(read),
      close: () => store.close(),
      async transaction(work) {
        // Between what is written in the file and what is noted about that.
        if (isFirst && client('select count(*) from receipt') === '1') {
          isFirst = false;
          await endDocument(store, 1, 'refused', { last_error: 'sold out' });
        }
        return store.transaction(work);
      },
    },
  });
  await told('select state, final from receipt', 'refused|1');
});

it('shows an end once and for all, whatever is submitted after it', async () => {
  const { store, client, open, told } = await doorsToOpen();
  open();
  client(submit('SO-1'));
  await told('select state from receipt', 'queued');
  const result = JSON.stringify({
    ...{ orderId: 7, orderNo: 'N-7', pendingRefundId: 8, orderRefundId: 9, styleId: 'S-4' },
    deliveries: [{ orderDeliveryId: 5, deliveryNo: 'D-5', status: 'pending' }],
  });
  await endDocument(store, 1, 'confirmed', { result });
  const columns = `order_id, order_no, pending_refund_id, refund_id, style_id, ended_at > '2020',
    deliveries ->> '$[0].orderDeliveryId'`;
  const shown = `select state, final, ${columns} from receipt where intake_id = 1`;
  await told(shown, 'confirmed|1|7|N-7|8|9|S-4|1|5');
  expect(client("select style_id from v_document where reference = 'SO-1'")).toBe('S-4');
  client(`${submit('SO-2')} ${submit('SO-1')}`);
  await told('select count(document_id) from receipt', '3');
  expect(client(shown)).toBe('confirmed|1|7|N-7|8|9|S-4|1|5');
});

it('forgets in the file what ended long ago, thousands at once, but no dead', async () => {
  const { store, client, open, told } = await doorsToOpen();
  const { stop } = open();
  client(['old', 'young', 'dead'].map((reference) => submit(reference)).join(''));
  await told('select count(document_id) from receipt', '3');
  await stop();
  await endDocument(store, 2, 'confirmed', {});
  const end = (id: number, state: 'canceled' | 'dead') =>
    store.db
      .updateTable('outbox')
      .set({ state, ended_at: 1 })
      .where('outbox_id', '=', id)
      .execute();
  await end(1, 'canceled');
  await end(3, 'dead');
  client(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 1200)
    insert into receipt (document_id, kind, reference, state, final, next_step, handed_in_at,
      changed_at, ended_at)
    select null, 'order', 'R' || i, 'refused', 1, '', '', '', '2020' from n;`);
  const { failure } = open();
  const left = told('select min(reference), max(reference), count(*) from receipt', 'dead|young|2');
  expect(await Promise.race([failure, left])).toBe(true);
  expect(client('select group_concat(reference) from intake')).toBe('young,dead');
});

it('forgets months of keys that are due at once in slices', async () => {
  const { store, open } = await doorsToOpen();
  await sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 1200)
    insert into intake_key (client, key, outbox_id, at) select 'erp', 'k' || i, i, i from n
    union all select 'erp', 'young', 0, ${systemClock().now()}`.execute(store.db);
  const planned = notePlans(store);
  const { stop } = open({ store: planned.store });
  const left = await until('the end', async () => {
    const keys = await store.db.selectFrom('intake_key').select('key').execute();
    return keys.length > 1 ? undefined : keys;
  });
  expect(left).toEqual([{ key: 'young' }]);
  await stop();
  expect(planned.times(/^delete from "?intake_key/)).toBe(3);
  expect(await planned.steps(/^delete from "?intake_key/)).toContain(
    'SEARCH intake_key USING COVERING INDEX intake_key_at (at<?)',
  );
});

it('forgets nothing by a clock that is a year ahead', async () => {
  const { store, open } = await doorsToOpen();
  const clock = systemClock();
  await followClock({ store, clock });
  const rows = [1, clock.now()].map((at) => ({ client: 'erp', key: `k${at}`, outbox_id: 1, at }));
  await store.db.insertInto('intake_key').values(rows).execute();
  const { stop } = open({ clock: { ...clock, now: () => clock.now() + 365 * DAY_MS } });
  const keys = () => store.db.selectFrom('intake_key').select('key').execute();
  await until('the old one to go', async () => (await keys()).length < 2 || undefined);
  await stop();
  expect(await keys()).toHaveLength(1);
});

it('keeps no end for a command that nobody has named', async () => {
  const { store, intake, open } = await doorsToOpen();
  await intake.submit([delivered('SO-1')]);
  await endDocument(store, 1, 'confirmed', {});
  open({ hasCallback: false });
  const row = () => store.db.selectFrom('intake').selectAll().executeTakeFirstOrThrow();
  await until('the receipt', async () => (await row()).receipt_due === 0 || undefined);
  expect((await row()).callback_due_at).toBe(null);
});

it('takes over all customers that came at once, and tells who rests on them', async () => {
  const { store, client, open } = await doorsToOpen();
  const calls: number[] = [];
  open({ onCustomers: () => calls.push(1) });
  client(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 450)
    insert into erp_customer (account_no) select 'C' || i from n;`);
  await until('all of them', async () => {
    const { rows } = await sql<{ n: number }>`select count(*) n from erp_customer`.execute(
      store.db,
    );
    return rows[0]?.n === 450 || undefined;
  });
  expect(calls.length).toBeGreaterThanOrEqual(2);
});

it('ends where another file was put in the place of its own, to open that one', async () => {
  const { path, client, open, told } = await doorsToOpen();
  const { failure, stop } = open();
  client(submit('SO-1'));
  await told('select state from receipt', 'queued');
  copyFileSync(path, `${path}.copy`);
  renameSync(`${path}.copy`, path);
  expect(await failure).toMatchObject({ code: 'exchange.replaced' });
  await stop();
});
