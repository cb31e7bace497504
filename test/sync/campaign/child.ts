/**
 * A pull of the stock as a process of its own, to be killed: `node child.ts <database> <service>
 * <mode>`, the service as JSON. Goes on where the last one stopped. Writes `page` after each page
 * that is in the database and waits for a line before the next one, so that whoever wants to kill
 * it comes in time; at the end one line with the result.
 */
import { createInterface } from 'node:readline';
import { systemClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { openStore } from '../../../src/store/store.ts';
import { createBulkThreads } from '../../../src/sync/bulk/threads.ts';
import { createVariantPages } from '../../../src/sync/bulk/variant-pages.ts';
import { createStockStream } from '../../../src/sync/streams/stock.ts';
import { clientsOf, DELETION_GUARD, runnerWith, runsOn } from '../pull.ts';

const PAGE_ROWS = 250;

const [path = '', service = '{}', wanted = 'stream'] = process.argv.slice(2);
const mode = wanted === 'pages' ? 'pages' : 'stream';
const clock = systemClock();
const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, clock);
// A write has as many rows in both modes: in pages, two of them.
const pageRows = PAGE_ROWS / 2;
const batchRows = mode === 'pages' ? PAGE_ROWS : PAGE_ROWS - (PAGE_ROWS % 16);
const clients = clientsOf(JSON.parse(service), { mode, pageRows, batchRows });
const { writeHandOff, files } = store;
const threads = createBulkThreads({ path, writeHandOff, files, busyTimeoutMs: 5_000 }, clock);
const deps = runnerWith(store, silentLogger());
const pages = createVariantPages({ ...deps, ...threads });
// An input that has ended lets every page pass.
const leave = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const variants: typeof pages = {
  ...pages,
  async write(page) {
    const counts = await pages.write(page);
    process.stdout.write('page\n');
    await leave.next();
    return counts;
  },
};
const { run } = runsOn({ ...deps, variants });
const stock = createStockStream(clients.v1, {
  level: { detailed: true, detailedPricing: false, includeVariantsOnOrder: false },
  ...{ mode, pageRows, deletionGuard: DELETION_GUARD },
});
const result = await run(stock);
process.stdout.write(`${JSON.stringify(result)}\n`);
process.stdin.destroy();
await threads[Symbol.asyncDispose]();
await clients.transport[Symbol.asyncDispose]();
await store.close();
