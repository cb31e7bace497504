/** A row of the stock that is longer than 1 MiB is put aside in short, and stops nothing. */
import { expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { sha256 } from '../../src/lib/json.ts';
import { retryQuarantine } from '../../src/sync/quarantine.ts';
import { createStockStream } from '../../src/sync/streams/stock.ts';
import { temporaryStore } from '../support/store.ts';
import { DELETION_GUARD, runsOn } from './pull.ts';
import { runnerOf, startClients } from './support.ts';

const LEVEL = { detailed: false, detailedPricing: false, includeVariantsOnOrder: false };
const row = (barcode: string) => JSON.stringify({ barcode, quantity: 1 });

/** The stock is these rows. */
async function startStock(rows: readonly string[], mode: 'stream' | 'pages') {
  const list = { rows };
  const clients = await startClients(
    (request, response) => {
      const isLogin = request.url?.startsWith('/auth/login');
      const { rows } = list;
      const variants = `{"count":${rows.length},"variants":[${rows.join(' ,\n')}]}`;
      const data = isLogin ? '{"token":"a"}' : variants;
      response.writeHead(200).end(`{"status":200,"message":"ok","data":${data}}`);
    },
    { mode },
  );
  const store = await temporaryStore(systemClock());
  const stock = createStockStream(clients.v1, {
    level: LEVEL,
    mode,
    pageRows: 250,
    deletionGuard: DELETION_GUARD,
  });
  const { run, ...runs } = runsOn(runnerOf(store));
  const live = async () => {
    const all = store.db.selectFrom('stock_variant').select('barcode').orderBy('barcode');
    return (await all.where('deleted_at', 'is', null).execute()).map(({ barcode }) => barcode);
  };
  return { ...runs, list, store, live, run: () => run(stock) };
}

it.each(['stream', 'pages'] as const)('is put aside in short, mode %s', async (mode) => {
  const long = `{"barcode":"long","odd":"${'x'.repeat(3_000_000)}","quantity":1}`;
  const before = Array.from({ length: 20 }, (_, at) => `a${at}`);
  const whole = [...before, 'long', 'y', 'z'];
  const { list, run, live, store } = await startStock(whole.map(row), mode);
  expect(await run()).toMatchObject({ outcome: 'complete', changed: 23 });
  list.rows = [...before.map(row), long, row('y'), row('new')];
  const reason = '1 rows cannot be read: "selvedge report run quarantine"';
  expect(await run()).toMatchObject({ outcome: 'partial', rows: 23, reason });
  expect(await run()).toMatchObject({ outcome: 'partial', changed: 0 });
  // No row is gone as long as one cannot be read.
  expect(await live()).toEqual([...before, 'long', 'new', 'y', 'z'].sort());
  const aside = await store.db.selectFrom('quarantine').select(['path', 'reason', 'raw']).execute();
  const size = long.length;
  expect(aside).toMatchObject([{ path: '', reason: `it is too long: ${size} bytes` }]);
  const kept = JSON.parse(aside[0]?.raw ?? '');
  expect(kept).toMatchObject({ barcode: 'long', rowTooLong: { size, sha256: sha256(long) } });
  expect(aside[0]?.raw.length).toBeLessThan(2_000);
  expect(await retryQuarantine({ store, clock: systemClock() })).toEqual({
    understood: 0,
    left: 1,
  });
  list.rows = whole.map(row);
  expect(await run()).toMatchObject({ outcome: 'complete' });
  expect(await store.db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
});
