/**
 * Orders through the SQL door: the system's `sqlite3` inserts, a whole daemon takes them over and
 * sends them, a reference service without limits takes them; three processes of their own.
 *
 * - one a transaction: every INSERT is a commit of its own, the worst that a client can do
 * - fifty a transaction: as an ERP hands a batch over
 * - under a limit: the daemon may make ten requests a second, and makes no more
 *
 * `node bench/intake.ts [--orders 2000]`. `taken` is the time from an INSERT to the outbox (the
 * daemon promises less than a second), `confirmed` the time until the order was read back, both
 * from the moment of its INSERT; orders/s counts from the first INSERT to the last confirmation.
 * CPU is the daemon's alone, which says more on a machine that is busy with other things.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import Database from 'better-sqlite3';
import { z } from 'zod';
import { useOf } from './support/process-use.ts';
import { table } from './support/results.ts';

const { values } = parseArgs({ options: { orders: { type: 'string', default: '2000' } } });
const ORDERS = Number(values.orders);
const LIMITED_ORDERS = 20;
const LIMIT_PER_SECOND = 10;
const LAUNCHER = join(import.meta.dirname, '../bin/selvedge.mjs');
const REFERENCE = join(import.meta.dirname, 'support/reference-process.ts');
const STREAMS = ['brands', 'freight', 'seasons', 'stock', 'season', 'orders', 'ordersFull'];

interface Service {
  readonly process: ChildProcess;
  readonly v1Url: string;
  readonly credentials: { readonly clientId: string; readonly clientSecret: string };
}

async function startService(): Promise<Service> {
  const knobs = {
    world: { styles: 20, orders: 0 },
    life: { ordersPerMinute: 0, packAfter: '30d', restocksPerMinute: 0 },
    rates: { perSecond: 0 },
    auth: { loginSpacing: 0 },
  };
  const child = fork(REFERENCE, [JSON.stringify(knobs)]);
  const [message] = await once(child, 'message');
  return { process: child, ...JSON.parse(JSON.stringify(message)) };
}

async function barcodeOf({ v1Url, credentials }: Service): Promise<string> {
  const json = { 'content-type': 'application/json' };
  const { clientId: clientID, clientSecret } = credentials;
  const body = JSON.stringify({ clientID, clientSecret });
  const login = await fetch(`${v1Url}/auth/login`, { method: 'POST', headers: json, body });
  const { data } = z.object({ data: z.object({ token: z.string() }) }).parse(await login.json());
  const headers = { 'x-service-authorization': data.token };
  const stock = await fetch(`${v1Url}/variants/stock?limit=1&page=1`, { headers });
  const variants = z.tuple([z.object({ barcode: z.string() })]);
  const list = z.object({ data: z.object({ variants }) }).parse(await stock.json());
  return list.data.variants[0].barcode;
}

function writeConfig(folder: string, service: Service, perSecond: number): string {
  const config = join(folder, 'selvedge.yaml');
  writeFileSync(join(folder, 'secret'), service.credentials.clientSecret, { mode: 0o600 });
  const lines = [
    `dataDir: ${join(folder, 'data')}`,
    `rules: { directory: ${join(folder, 'rules')} }`,
    'service:',
    `  v1: { baseUrl: ${service.v1Url}, login:`,
    `    { clientId: ${service.credentials.clientId}, clientSecret: { file: secret } } }`,
    `  limits: { requestsPerSecond: ${perSecond}, loginSpacing: 0s }`,
    'listener: { port: 0 }',
    'local: { port: 0 }',
    'streams:',
    ...STREAMS.map((name) => `  ${name}: { enabled: false }`),
    'log: { level: warn }',
  ];
  writeFileSync(config, lines.join('\n'));
  return config;
}

/** The statements of a client, as an ERP would write them. */
function statements(orders: number, perTransaction: number, barcode: string): string {
  const payload = JSON.stringify({ lines: [{ barcode, quantity: 1, price: '249.95' }] });
  const lines = ['.timeout 5000'];
  for (let at = 0; at < orders; at += 1) {
    if (perTransaction > 1 && at % perTransaction === 0) lines.push('BEGIN IMMEDIATE;');
    const values = `'order', 'SO-${at}', '${payload}'`;
    lines.push(`INSERT INTO intake(kind, reference, payload) VALUES (${values});`);
    if (perTransaction > 1 && (at + 1) % perTransaction === 0) lines.push('COMMIT;');
  }
  return `${lines.join('\n')}\n`;
}

function percentile(sorted: readonly number[], share: number): string {
  const at = sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
  return `${(at / 1_000).toFixed(2)} s`;
}

interface Timed {
  readonly taken: number;
  readonly confirmed: number;
}

/** Waits until the daemon has confirmed all; a look now and then, by a reader of its own. */
async function awaitAll(mirror: Database.Database, orders: number): Promise<void> {
  const count = mirror
    .prepare<[], number>("select count(*) from outbox where state = 'confirmed'")
    .pluck();
  for (;;) {
    if ((count.get() ?? 0) >= orders) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function measure(
  name: string,
  orders: number,
  perTransaction: number,
  perSecond = 10_000,
): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
  const service = await startService();
  const barcode = await barcodeOf(service);
  const args = [LAUNCHER, 'run', '--config', writeConfig(folder, service, perSecond)];
  const daemon = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  const exchangeFile = join(folder, 'data/exchange.db');
  for (let isThere = false; !isThere; ) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    try {
      const exchange = new Database(exchangeFile, { readonly: true, fileMustExist: true });
      isThere =
        exchange.prepare("select 1 from sqlite_schema where name = 'receipt'").get() !== undefined;
      exchange.close();
    } catch {
      isThere = false;
    }
  }
  const client = spawn('sqlite3', [exchangeFile], { stdio: ['pipe', 'inherit', 'inherit'] });
  const began = performance.now();
  const before = useOf(daemon.pid ?? 0).cpuSeconds;
  client.stdin.end(statements(orders, perTransaction, barcode));
  await once(client, 'exit');
  const inserted = performance.now();
  const mirror = new Database(join(folder, 'data/mirror.db'), { readonly: true });
  await awaitAll(mirror, orders);
  const ended = performance.now();
  const cpuMs = ((useOf(daemon.pid ?? 0).cpuSeconds - before) * 1_000) / orders;
  mirror.prepare('attach ? as exchange').run(exchangeFile);
  const rows = mirror
    .prepare<[], Timed>(
      `select i.received_at - h.at as taken, o.ended_at - h.at as confirmed
       from intake i join outbox o using (outbox_id)
       join (select document_id, 1000 * unixepoch(handed_in_at, 'subsec') as at
             from exchange.receipt) h on h.document_id = o.outbox_id`,
    )
    .all();
  mirror.close();
  const gone = [once(daemon, 'exit'), once(service.process, 'exit')];
  daemon.kill('SIGTERM');
  service.process.disconnect();
  await Promise.all(gone);
  rmSync(folder, { recursive: true, force: true });
  const taken = rows.map((row) => row.taken).sort((a, b) => a - b);
  const confirmed = rows.map((row) => row.confirmed).sort((a, b) => a - b);
  return [
    name,
    String(orders),
    (orders / ((inserted - began) / 1_000)).toFixed(0),
    (orders / ((ended - began) / 1_000)).toFixed(1),
    percentile(taken, 0.5),
    percentile(taken, 0.99),
    percentile(confirmed, 0.5),
    percentile(confirmed, 0.99),
    cpuMs.toFixed(1),
  ];
}

console.log(
  table(
    [
      '',
      'orders',
      'INSERTs/s',
      'orders/s',
      'taken p50',
      'p99',
      'confirmed p50',
      'p99',
      'CPU ms/order',
    ],
    [
      await measure('one a transaction', ORDERS, 1),
      await measure('fifty a transaction', ORDERS, 50),
      await measure('ten requests/s', LIMITED_ORDERS, 1, LIMIT_PER_SECOND),
    ],
  ),
);
