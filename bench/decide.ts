/**
 * How long the way through takes: from a packed delivery at the service to its accept there, and
 * to the read that confirms it. The daemon is a process of its own; the reference service runs
 * in this one and its journal has the times. Rate limits are off on both sides; the stock is
 * pulled every second meanwhile.
 *
 * `node bench/decide.ts [deliveries] [per second]`
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../src/lib/clock.ts';
import { silentLogger } from '../src/lib/log.ts';
import { parseKnobs } from '../src/reference/control/knob-store.ts';
import { drawOrder } from '../src/reference/life/arrivals.ts';
import { type Reference, startReference } from '../src/reference/reference.ts';

const DELIVERIES = Number(process.argv[2] ?? 200);
const PER_SECOND = Number(process.argv[3] ?? 10);
const PORT = 18_790;
const SECRET = `whsec_${Buffer.alloc(24, 9).toString('base64')}`;
const GOAL_MS = { p50: 150, p99: 1_000 };
const LAUNCHER = fileURLToPath(new URL('../bin/selvedge.mjs', import.meta.url));
const RULES = `rules:
  - id: accept-all
    title: Everything
    action: accept
    mode: live
    when: [delivery.quantity > 0]
`;
const clock = systemClock();

function writeConfig(folder: string, reference: Reference): string {
  const [key] = Object.values(reference.credentials);
  if (!key) throw new Error('the reference has no key');
  mkdirSync(join(folder, 'rules'));
  writeFileSync(join(folder, 'rules', 'rules.yaml'), RULES);
  writeFileSync(join(folder, 'client'), key.clientSecret, { mode: 0o600 });
  writeFileSync(join(folder, 'webhook'), SECRET, { mode: 0o600 });
  const path = join(folder, 'selvedge.yaml');
  const lines = [
    `dataDir: ${join(folder, 'data')}`,
    `rules: { directory: ${join(folder, 'rules')}, mode: live }`,
    'service:',
    '  v1:',
    `    baseUrl: ${reference.v1Url}`,
    `    login: { clientId: ${key.clientId}, clientSecret: { file: client } }`,
    '  limits: { requestsPerSecond: 5000 }',
    `listener: { port: ${PORT}, secrets: [{ secret: { file: webhook } }] }`,
    'local: { port: 0 }',
    // Pulled all the time, as fast as it goes.
    "streams: { stock: { schedule: '* * * * * *', jitter: 0s } }",
  ];
  writeFileSync(path, lines.join('\n'));
  return path;
}

/** Resolves when the daemon listens; gives how to stop it. */
async function startDaemon(config: string): Promise<() => Promise<void>> {
  const child = spawn(process.execPath, [LAUNCHER, 'run', '--config', config], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the daemon ended')));
    child.stdout.on('data', (chunk) => {
      if (String(chunk).includes('listening for events')) resolve();
    });
  });
  return async () => {
    child.kill('SIGTERM');
    await gone;
  };
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** When the delivery list of this order was first answered after the accept. */
function readBackAt({ edge }: Reference, orderId: number, acceptedAt: number): number {
  const path = `/api/v1/orders/${orderId}/deliveries`;
  const reads = edge.journal.list({ method: 'GET', path, status: 200 });
  const first = reads.find(({ at }) => Date.parse(at) >= acceptedAt);
  return first ? Date.parse(first.at) + (first.durationMs ?? 0) : Number.NaN;
}

function report(name: string, values: readonly number[]): void {
  const known = values.filter((value) => !Number.isNaN(value));
  const [p50, p99] = [percentile(known, 0.5), percentile(known, 0.99)];
  const met = p50 <= GOAL_MS.p50 && p99 <= GOAL_MS.p99 ? 'met' : 'missed';
  console.log(
    `${name}: p50 ${p50} ms, p99 ${p99} ms, max ${Math.max(...known)} ms of ${known.length} ` +
      `(goal p50 ${GOAL_MS.p50} ms, p99 ${GOAL_MS.p99} ms: ${met})`,
  );
}

const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
const reference = await startReference({
  host: '127.0.0.1',
  ports: { service: 0, relay: 0, control: 0 },
  knobs: parseKnobs({
    world: { orders: 0 },
    life: { ordersPerMinute: 0, packAfter: '1s', shipAfter: '1h', cancelShare: 0, splitShare: 0 },
    rates: { perSecond: 0 },
    journal: { size: 100_000 },
  }),
  clock,
  log: silentLogger(),
});
reference.relay.createEndpoint({ url: `http://127.0.0.1:${PORT}/webhooks`, secret: SECRET });
const stopDaemon = await startDaemon(writeConfig(folder, reference));
const { world } = reference;
for (let index = 0; index < DELIVERIES; index += 1) {
  const orderId = world.book.orders.nextId();
  world.trade.place(drawOrder(world, { seed: 7, orderId, preOrderShare: 0 }));
  await clock.sleep(1_000 / PER_SECOND);
}
const deadline = clock.monotonic() + 60_000;
const { deliveries } = world.book;
const open = () =>
  deliveries.all.length < DELIVERIES || deliveries.all.some(({ status }) => status === 'pending');
while (open() && clock.monotonic() < deadline) await clock.sleep(50);
await clock.sleep(500);
const accepted = deliveries.all.flatMap(({ orderId, createdAt, acceptedAt }) =>
  acceptedAt === undefined
    ? []
    : [
        {
          accept: acceptedAt - createdAt,
          readBack: readBackAt(reference, orderId, acceptedAt) - createdAt,
        },
      ],
);
console.log(`${accepted.length} of ${DELIVERIES} deliveries accepted, ${PER_SECOND} a second`);
report(
  'packed → accepted',
  accepted.map(({ accept }) => accept),
);
report(
  'packed → accepted → read back',
  accepted.map(({ readBack }) => readBack),
);
await stopDaemon();
await reference.close();
rmSync(folder, { recursive: true, force: true });
