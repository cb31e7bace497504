/**
 * A pull of the stock as a process of its own, to be killed: `node child.ts <database> <service>`,
 * the service as JSON. Goes on where the last one stopped; writes one line at the end.
 */
import { systemClock } from '../../src/lib/clock.ts';
import { openStore } from '../../src/store/store.ts';
import { createVariantThread } from '../../src/sync/bulk/thread.ts';
import { createStockStream } from '../../src/sync/streams/stock.ts';
import { clientsOf, FUSE, runnerOf, runsOn } from './support.ts';

const [path = '', service = '{}', mode = 'stream'] = process.argv.slice(2);
const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, systemClock());
const isPaged = mode === 'pages';
const clients = clientsOf(JSON.parse(service), {
  mode: isPaged ? 'pages' : 'stream',
  batchRows: 256,
});
const thread = createVariantThread({ path, busyTimeoutMs: 5_000 });
const { run } = runsOn({ ...runnerOf(store), variants: thread });
const stock = createStockStream(clients.v1, {
  level: { detailed: true, detailedPricing: false, includeVariantsOnOrder: false },
  mode: isPaged ? 'pages' : 'stream',
  pageRows: 100,
  fuse: FUSE,
});
process.stdout.write('started\n');
const result = await run(stock);
process.stdout.write(`${JSON.stringify(result)}\n`);
await thread[Symbol.asyncDispose]();
await clients.transport[Symbol.asyncDispose]();
await store.close();
