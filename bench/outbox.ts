/**
 * How many orders a second go through the SQL door to the service, and whether a limit is kept.
 * The daemon is a process of its own, the reference service runs in this one; orders are submitted
 * by SQL, a hundred in a transaction. The second part has a limit of 10 requests a second and a
 * refund behind each order: exactly that many requests leave, and each refund after its order.
 *
 * `node bench/outbox.ts [orders] [orders under the limit]`
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { systemClock } from '../src/lib/clock.ts';
import { silentLogger } from '../src/lib/log.ts';
import { parseKnobs } from '../src/reference/control/knob-store.ts';
import { type Reference, startReference } from '../src/reference/reference.ts';
import { useOf } from './support/process-use.ts';

const ORDERS = Number(process.argv[2] ?? 2_000);
const LIMITED = Number(process.argv[3] ?? 30);
const GOAL_PER_SECOND = 200;
const LIMIT = 10;
const WAIT_MS_MAX = 180_000;
const LAUNCHER = fileURLToPath(new URL('../bin/selvedge.mjs', import.meta.url));
const clock = systemClock();

function startFastReference(): Promise<Reference> {
  return startReference({
    host: '127.0.0.1',
    ports: { service: 0, relay: 0, control: 0 },
    knobs: parseKnobs({
      world: { styles: 50, orders: 1 },
      life: { ordersPerMinute: 0, restocksPerMinute: 0, packAfter: '1d', confirmRefundAfter: 0 },
      auth: { loginSpacing: 0 },
      rates: { perSecond: 0 },
      journal: { size: 1_000_000 },
    }),
    clock,
    log: silentLogger(),
  });
}

function writeConfig(folder: string, { v1Url, credentials }: Reference, limit: number): string {
  const [key] = Object.values(credentials);
  if (!key) throw new Error('the reference has no key');
  mkdirSync(join(folder, 'rules'));
  writeFileSync(join(folder, 'client'), key.clientSecret, { mode: 0o600 });
  const path = join(folder, 'selvedge.yaml');
  const off = ['stock', 'season', 'orders', 'ordersFull', 'brands', 'freight', 'seasons'];
  const lines = [
    `dataDir: ${join(folder, 'data')}`,
    `rules: { directory: ${join(folder, 'rules')} }`,
    'service:',
    '  v1:',
    `    baseUrl: ${v1Url}`,
    `    login: { clientId: ${key.clientId}, clientSecret: { file: client } }`,
    `  limits: { requestsPerSecond: ${limit}, concurrency: 32, loginSpacing: 0s }`,
    'listener: { port: 0 }',
    'local: { port: 0 }',
    `streams: { ${off.map((name) => `${name}: { enabled: false }`).join(', ')} }`,
  ];
  writeFileSync(path, lines.join('\n'));
  return path;
}

async function startDaemon(config: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [LAUNCHER, 'run', '--config', config], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the daemon ended')));
    child.stdout.on('data', (chunk) => {
      if (String(chunk).includes('listening for events')) resolve();
    });
  });
  return child;
}

async function stopDaemon(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await gone;
}

/** Submits orders, each with a refund behind it when wanted; gives how long that took. */
function submit(folder: string, barcode: string, count: number, withRefunds: boolean): void {
  const exchange = new Database(join(folder, 'data', 'exchange.db'), { timeout: 30_000 });
  const insert = exchange.prepare('insert into intake (kind, reference, payload) values (?, ?, ?)');
  const order = JSON.stringify({ lines: [{ barcode, quantity: 2, price: '12.50' }] });
  for (let from = 0; from < count; from += 100) {
    exchange.transaction(() => {
      for (let index = from; index < Math.min(count, from + 100); index += 1) {
        insert.run('order', `O-${index}`, order);
        if (!withRefunds) continue;
        const lines = [{ barcode, quantity: 1 }];
        const refund = { orderReference: `O-${index}`, lines };
        insert.run('pending_refund', `R-${index}`, JSON.stringify(refund));
      }
    })();
  }
  exchange.close();
}

/** Waits until so many documents are confirmed; gives how many are in the end. */
async function confirmed(folder: string, count: number): Promise<number> {
  const mirror = new Database(join(folder, 'data', 'mirror.db'), { readonly: true });
  const query = mirror
    .prepare<[], number>("select count(*) from outbox where state = 'confirmed'")
    .pluck();
  const deadline = clock.monotonic() + WAIT_MS_MAX;
  while ((query.get() ?? 0) < count && clock.monotonic() < deadline) await clock.sleep(50);
  const found = query.get() ?? 0;
  mirror.close();
  return found;
}

/** Processor time of a process so far, in milliseconds. */
function processorMs({ pid = 0 }: ChildProcess): number {
  return useOf(pid).cpuSeconds * 1_000;
}

interface Measured {
  readonly reference: Reference;
  readonly submittedAt: number;
  readonly confirmedAt: number;
  readonly found: number;
  /** Daemon's CPU time, from the submission to the last confirmation. */
  readonly processorMs: number;
}

async function measure(limit: number, count: number, withRefunds: boolean): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
  const reference = await startFastReference();
  const barcode = reference.world.book.orders.all[0]?.lines[0]?.barcode ?? '';
  const daemon = await startDaemon(writeConfig(folder, reference, limit));
  const submittedAt = clock.now();
  const before = processorMs(daemon);
  submit(folder, barcode, count, withRefunds);
  const found = await confirmed(folder, withRefunds ? count * 2 : count);
  const confirmedAt = clock.now();
  const used = processorMs(daemon) - before;
  await stopDaemon(daemon);
  rmSync(folder, { recursive: true, force: true });
  return { reference, submittedAt, confirmedAt, found, processorMs: used };
}

function told(name: string, value: string, isMet: boolean): void {
  console.log(`${name}: ${value} (${isMet ? 'met' : 'missed'})`);
  if (!isMet) process.exitCode = 1;
}

const fast = await measure(10_000, ORDERS, false);
const made = fast.reference.world.book.orders.all.filter(
  ({ createdAt }) => createdAt >= fast.submittedAt,
);
const seconds = ((made.at(-1)?.createdAt ?? 0) - fast.submittedAt) / 1_000;
const total = (fast.confirmedAt - fast.submittedAt) / 1_000;
const rate = made.length / seconds;
await fast.reference.close();
console.log(`${made.length} orders at the service ${seconds.toFixed(1)} s after submission began`);
console.log(
  `${fast.found} confirmed after ${total.toFixed(1)} s: ${(fast.found / total).toFixed(0)}/s`,
);
const each = fast.processorMs / fast.found;
console.log(`the daemon used ${each.toFixed(1)} ms of processor time for each order`);
const goal = `${rate.toFixed(0)} orders/s, goal ${GOAL_PER_SECOND}`;
told('SQL door to service', goal, rate >= GOAL_PER_SECOND && made.length === ORDERS);

const slow = await measure(LIMIT, LIMITED, true);
const requests = slow.reference.edge.journal
  .list({ limit: 1_000_000 })
  .map((entry) => ({ ...entry, at: Date.parse(entry.at) }))
  .filter(({ path }) => !path.includes('/auth/'));
const [first, last] = [requests.at(0)?.at ?? 0, requests.at(-1)?.at ?? 0];
const perSecond = (requests.length - 1) / ((last - first) / 1_000);
const most = Math.max(
  ...requests.map(({ at }) => requests.filter((one) => one.at >= at && one.at < at + 1_000).length),
);
const limited = `${perSecond.toFixed(2)} requests/s, most in a second ${most}, limit ${LIMIT}`;
told('under the limit', limited, perSecond <= LIMIT + 0.1 && perSecond > LIMIT * 0.9);
const posts = requests.filter(({ method, reference }) => method === 'POST' && reference);
const inOrder = posts.every(({ reference = '' }, index) =>
  reference?.startsWith('R-')
    ? posts.findIndex((one) => one.reference === `O-${reference.slice(2)}`) < index
    : true,
);
told('each refund behind its order', `${posts.length} documents`, inOrder && slow.found > 0);
await slow.reference.close();
