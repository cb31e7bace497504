/** A suspicious run that a person releases, while other things happen. */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { noteCustomerLoss, readCustomerLoss } from '../../src/mirror/customer-loss.ts';
import type { Stream } from '../../src/sync/stream.ts';
import { createStockStream } from '../../src/sync/streams/stock.ts';
import { DELETION_GUARD } from './pull.ts';
import { startPull } from './support.ts';

const ASKER = { actor: 'anna', reason: 'season is over' };
const EMPTY = { kind: 'emptyList', path: '*/variants/stock', probability: 1 };

/** The whole stock is mirrored, and a run after it got nothing. */
async function startHeld(styles = 8) {
  const world = { styles, colors: 2, sizes: 8, orders: 0 };
  const pull = await startPull({ world, paging: { variantsDefault: null } }, { mode: 'pages' });
  const level = { detailed: true, detailedPricing: false, includeVariantsOnOrder: false };
  const options = { level, mode: 'pages', pageRows: 100, deletionGuard: DELETION_GUARD } as const;
  const stock = createStockStream(pull.v1, options);
  await pull.run(stock);
  const { rows_seen: rows } = await pull.lastRun('stock');
  pull.reference.knobs.patch({ faults: [EMPTY] });
  expect(await pull.run(stock)).toMatchObject({ outcome: 'suspicious' });
  pull.reference.knobs.patch({ faults: [] });
  const { run_id: held } = await pull.lastRun('stock');
  const live = async () => {
    const all = pull.store.db.selectFrom('stock_variant').select('barcode');
    return (await all.where('deleted_at', 'is', null).execute()).length;
  };
  return { ...pull, stock, rows, held, live };
}

/** The stream, at which something happens once it is known which rows are missing. */
function withAfterLook(stream: Stream, missing: readonly string[], then: () => Promise<unknown>) {
  const { list } = stream;
  if (!list) throw new Error('no list');
  const diff = async () => {
    await then();
    return { live: missing.length, duplicates: 0, missing };
  };
  return { ...stream, list: { ...list, diff } };
}

describe('a release', () => {
  it('deletes nothing that a run which began meanwhile has seen', async () => {
    const { store, stock, held, rows, live, run, operations, lastRun } = await startHeld();
    const missing = await store.db.selectFrom('stock_variant').select('barcode').execute();
    const keys = missing.map(({ barcode }) => barcode);
    const slow = withAfterLook(stock, keys, () => run(stock));
    await expect(operations([slow]).release(held, ASKER)).rejects.toThrow(/is newer/);
    expect(await live()).toBe(rows);
    expect(await lastRun('stock')).toMatchObject({ outcome: 'complete', rows_seen: rows });
  });

  it('is refused while another run goes on, which may have seen the rows', async () => {
    const { store, stock, held, rows, live, operations } = await startHeld();
    const begun = { stream: 'stock', cause: 'schedule', started_at: 1, read_seq: 9 };
    const open = { ...begun, options: '{}', checkpoint: '{}' };
    await store.db.insertInto('sync_run').values(open).execute();
    await expect(operations([stock]).release(held, ASKER)).rejects.toThrow(/is newer/);
    expect(await live()).toBe(rows);
  });

  it('happens once when two ask for it', async () => {
    const { store, stock, held, rows, live, operations } = await startHeld();
    const { release } = operations([stock]);
    const both = await Promise.allSettled([release(held, ASKER), release(held, ASKER)]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(await live()).toBe(0);
    const run = store.db.selectFrom('sync_run').select('rows_deleted').where('run_id', '=', held);
    expect(await run.executeTakeFirst()).toEqual({ rows_deleted: rows });
  });

  it('that was cut off counts what it had deleted by then', async () => {
    const { store, stock, held, rows, live, operations, lastRun } = await startHeld(80);
    await sql`create trigger cut before update of deleted_at on stock_variant_row
      when (select count(*) from change where op = 'delete') >= 1000
      begin select raise(abort, 'cut off'); end`.execute(store.db);
    const { release } = operations([stock]);
    await expect(release(held, ASKER)).rejects.toThrow(/cut off/);
    expect(await live()).toBe(rows - 1_000);
    await sql`drop trigger cut`.execute(store.db);
    await release(held, ASKER);
    expect(await live()).toBe(0);
    const end = { outcome: 'complete', rows_deleted: rows, rows_held: 0 };
    expect(await lastRun('stock')).toMatchObject(end);
  });

  it('of customers that the ERP lost is for the loss that was seen alone', async () => {
    const { store, operations, deps } = await startPull({ world: { orders: 0 } });
    const { clock } = deps;
    const { release, previewRelease } = operations([]);
    const refused = /no loss of customers waits/;
    await expect(previewRelease('customers')).rejects.toThrow(refused);
    const loss = { what: '300 of 310 customers', gone: 300, lost: {}, of: {}, since: 0 };
    await store.transaction((tx) => noteCustomerLoss(tx, loss, clock.now()));
    expect(await previewRelease('customers')).toMatchObject({ stream: 'customers', deletes: 300 });
    await expect(release('customers', ASKER, { deletes: 299 })).rejects.toThrow(/300 rows by now/);
    expect(await release('customers', ASKER, { deletes: 300 })).toMatchObject({
      acceptedCount: 'the loss of 300 of 310 customers',
    });
    expect(await readCustomerLoss(store.db)).toMatchObject({ isAccepted: true });
    await expect(release('customers', ASKER)).rejects.toThrow(refused);
    const audited = await store.db.selectFrom('audit').select(['action', 'actor']).execute();
    expect(audited).toEqual([{ action: 'sync.accept_loss', actor: 'anna' }]);
  });

  it('of which no word can be kept in the audit is none, and may be repeated', async () => {
    const { store, stock, held, operations, lastRun } = await startHeld();
    await sql`create trigger full before insert on audit begin
      select raise(abort, 'the disk is full'); end`.execute(store.db);
    const { release } = operations([stock]);
    await expect(release(held, ASKER)).rejects.toThrow(/is full/);
    expect(await lastRun('stock')).toMatchObject({ outcome: 'suspicious' });
    await sql`drop trigger full`.execute(store.db);
    const { rowsDeleted } = await release(held, ASKER);
    const audited = await store.db.selectFrom('audit').select(['action', 'subject']).execute();
    expect(audited).toEqual([{ action: 'sync.release', subject: `run:${held}` }]);
    expect(rowsDeleted).toBeGreaterThan(0);
  });
});
