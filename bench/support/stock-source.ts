/**
 * A service that costs next to nothing, in a process of its own: the stock of the reference,
 * detailed, made once and kept as bytes; `node stock-source.ts <variants>`. It answers the log-in,
 * the list as a whole and its pages, and has every order that it is asked for, with nothing in it.
 *
 * Tells its parent `{v1Url, rows}`; told `{share}`, it changes the quantity of that share of the
 * rows, evenly spread, and answers `{changed}`.
 */
import { createServer, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { systemClock } from '../../src/lib/clock.ts';
import { createRowScanner } from '../../src/lib/json-rows.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { parseKnobs } from '../../src/reference/control/knob-store.ts';
import { startReference } from '../../src/reference/reference.ts';

const VARIANTS = Number(process.argv[2] ?? 100_000);
const PAGE_ROWS = 250;

/** The rows of each page, without what stands around them. */
async function makePages(): Promise<{ readonly pages: Buffer[]; readonly rows: number }> {
  // Five seasons, of which the newest is not in stock: 20 rows a style, four fifths in stock.
  const world = { styles: Math.ceil(VARIANTS / 16), colors: 4, sizes: 5, orders: 0 };
  const life = { ordersPerMinute: 0, restocksPerMinute: 0 };
  const reference = await startReference({
    host: '127.0.0.1',
    ports: { service: 0, relay: 0, control: 0 },
    knobs: parseKnobs({ world, life, rates: { perSecond: 0 }, auth: { loginSpacing: 0 } }),
    clock: systemClock(),
    log: silentLogger(),
  });
  const [key] = Object.values(reference.credentials);
  const answer = await fetch(`${reference.v1Url}/variants/stock?detailed=true`, {
    headers: { 'x-service-authorization': key?.apiKey ?? '' },
  });
  const limits = { rowBytesMax: 1_000_000, restBytesMax: 1_000_000 };
  const path = ['data', 'variants'];
  const scanner = createRowScanner({ path, rowsPerChunk: PAGE_ROWS, ...limits });
  const pages: Buffer[] = [];
  for await (const chunk of answer.body ?? []) {
    for (const { bytes } of scanner.push(Buffer.from(chunk))) pages.push(Buffer.from(bytes));
  }
  const { rows } = scanner.end();
  await reference.close();
  return { pages, rows };
}

const { pages, rows } = await makePages();
const COMMA = Buffer.from(',');
const head = Buffer.from(`{"status":200,"message":"OK","data":{"count":${rows},"variants":[`);
const tail = Buffer.from(']}}');

/** The answers to the pages: made for each request, they would cost as much as reading them. */
const answers = pages.map(answerOf);
const noRows = answerOf(Buffer.alloc(0));

function answerOf(page: Buffer): Buffer {
  return Buffer.concat([head, page, tail]);
}

function* whole(): Generator<Buffer> {
  yield head;
  for (const [index, page] of answers.entries()) {
    if (index > 0) yield COMMA;
    yield page.subarray(head.length, -tail.length);
  }
  yield tail;
}

function change(share: number): number {
  const step = Math.round(1 / share);
  let changed = 0;
  for (const [index, page] of answers.entries()) {
    const rowsOfPage = page.subarray(head.length, -tail.length);
    const variants: { quantity: number }[] = JSON.parse(`[${rowsOfPage}]`);
    for (const [row, variant] of variants.entries()) {
      if ((index * PAGE_ROWS + row) % step > 0) continue;
      variant.quantity += 1;
      changed += 1;
    }
    answers[index] = answerOf(Buffer.from(JSON.stringify(variants).slice(1, -1)));
  }
  return changed;
}

/** Answers the requests for anything but the stock. */
function smallAnswer(path: string): object {
  if (path.endsWith('/auth/login')) return { token: 'a-token-of-the-bench' };
  const orderId = Number(/\/orders\/(\d+)$/.exec(path)?.[1]);
  if (orderId > 0) return { orderId, status: 'pending', orderLineItems: [] };
  return { count: 0, deliveries: [], refunds: [], pendingRefunds: [] };
}

async function answer(url: URL, response: ServerResponse): Promise<void> {
  response.setHeader('content-type', 'application/json');
  if (!url.pathname.endsWith('/variants/stock')) {
    const data = smallAnswer(url.pathname);
    response.end(JSON.stringify({ status: 200, message: 'OK', data }));
  } else if (url.searchParams.has('page')) {
    response.end(answers[Number(url.searchParams.get('page')) - 1] ?? noRows);
  } else {
    await pipeline(Readable.from(whole()), response).catch(() => undefined);
  }
}

const server = createServer((request, response) => {
  request.resume();
  void answer(new URL(request.url ?? '/', 'http://source'), response);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  process.send?.({ v1Url: `http://127.0.0.1:${port}/v1`, rows });
});
process.on('message', (message) => {
  const { share } = JSON.parse(JSON.stringify(message));
  process.send?.({ changed: change(share) });
});
process.on('disconnect', () => process.exit(0));
