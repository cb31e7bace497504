/**
 * The server side of bench/listener.ts, a process of its own: `node event-server.ts inbox|bare
 * <database>`. `bare` is the floor: node:http and the same two rows, one commit for each request,
 * no signature, no limits.
 */
import { createServer } from 'node:http';
import { createAccess } from '../../src/inbox/access.ts';
import { createEventStore } from '../../src/inbox/event-store.ts';
import { createListener } from '../../src/inbox/listener.ts';
import { createMeter } from '../../src/inbox/meter.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { Secret } from '../../src/lib/secret.ts';
import { openWriter } from '../../src/store/connection.ts';
import { openStore } from '../../src/store/store.ts';
import { createVerifier } from './moved.ts';

export const BENCH_KEY = Buffer.alloc(24, 7).toString('base64');

const clock = systemClock();
const log = silentLogger();

function cpuMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

async function serveInbox(path: string): Promise<number> {
  const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, clock);
  const meter = createMeter(clock, log);
  let commits = 0;
  // Each of the events names an order.
  const onAccepted = (): void => {
    commits += 1;
  };
  const eventStore = createEventStore({ store, clock, meter, onAccepted });
  const secret = { name: 'bench', secret: new Secret('bench', BENCH_KEY) };
  const verifier = createVerifier([secret]);
  const deps = { verifier, eventStore, meter, clock, log, writable: () => true };
  const listener = createListener({ ...deps, access: createAccess({ path: '/events' }) });
  const { url = '' } = await listener.start({ host: '127.0.0.1', port: 0 });
  process.on('message', () => {
    const { accepted } = meter.stats();
    process.send?.({ accepted, commits, cpuMicros: cpuMicros() });
  });
  return Number(new URL(url).port);
}

async function serveBare(path: string): Promise<number> {
  const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, clock);
  await store.close();
  const database = openWriter(path, { busyTimeoutMs: 5_000 });
  const insertEvent = database.prepare(
    `insert into webhook_event (event_id, received_at, sent_at, type, order_id, body, secret_name,
       outcome) values (?, ?, ?, ?, ?, ?, 'bare', 'refresh')
     on conflict (event_id) do update set duplicates = duplicates + 1`,
  );
  const insertRefresh = database.prepare(
    `insert into refresh (order_id, requested_at, due_at, cause) values (?, ?, ?, ?)
     on conflict (order_id) do update set generation = generation + 1`,
  );
  let accepted = 0;
  const write = database.transaction((id: string, body: Buffer) => {
    const now = clock.now();
    const event = JSON.parse(body.toString());
    const orderId = event.data.salesOrderDelivery.orderId;
    insertEvent.run(id, now, now, event.type, orderId, body);
    insertRefresh.run(orderId, now, now, `event:${id}`);
    accepted += 1;
  });
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      write.immediate(String(request.headers['svix-id']), Buffer.concat(chunks));
      response.writeHead(204).end();
    });
  });
  process.on('message', () =>
    process.send?.({ accepted, commits: accepted, cpuMicros: cpuMicros() }),
  );
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : 0);
    });
  });
}

if (process.send && import.meta.main) {
  const [kind, path = ''] = process.argv.slice(2);
  const port = kind === 'bare' ? await serveBare(path) : await serveInbox(path);
  process.send({ port });
}
