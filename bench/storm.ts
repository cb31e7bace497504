/**
 * A storm over a real daemon: killed with -9, flooded with events, refused by the service, its
 * clock stepped, its disk full; the ERP submits documents and orders are packed all the while. The
 * last fifth refuses every request while a backlog gathers. Then: what was lost, done twice or
 * wrongly, and how much of the service's limit is used a minute after the last refusal.
 *
 * `node bench/storm.ts [--minutes 3] [--seed 1] [--backlog 300] [--drain 10]`; the long form is
 * `--minutes 15 --backlog 1200`.
 *
 * The seed draws what happens and when; how far the daemon is at that time is the machine's. What
 * is not done after `--drain` minutes counts as late, and as lost only if the daemon knows nothing
 * of it. The goal is the pace, as the daemon tells it a minute after calm: how much of it is used
 * depends on the machine too. `npm run bench -- storm --beside COMMIT` runs the same against that
 * commit.
 */
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../src/lib/clock.ts';
import { silentLogger } from '../src/lib/log.ts';
import { type Random, seededRandom } from '../src/lib/random.ts';
import { parseKnobs } from '../src/reference/control/knob-store.ts';
import { drawOrder } from '../src/reference/life/arrivals.ts';
import { type Reference, startReference } from '../src/reference/reference.ts';
import { SECRET } from './support/daemon-process.ts';
import { higher, lower, tell } from './support/figures.ts';
import { type KeptAlive, keepAlive } from './support/storm/kept-alive.ts';
import { type Erp, openErp } from './support/storm/papers.ts';
import {
  judge,
  openDeliveries,
  openMirror,
  PIECES_MAX,
  type Verdict,
} from './support/storm/verdict.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '3' },
    seed: { type: 'string', default: '1' },
    backlog: { type: 'string', default: '300' },
    drain: { type: 'string', default: '10' },
  },
});
const [MINUTES, SEED] = [Number(values.minutes), Number(values.seed)];
const [BACKLOG, DRAIN_MINUTES] = [Number(values.backlog), Number(values.drain)];

const LIMIT = 20;
const PACE_MIN = 0.9;
const MINUTE_MS = 60_000;
const TURN_MS = 10_000;
const LAST_SHARE = 0.2;
const AHEAD_MS = [-20, 0, 25].map((minutes) => minutes * MINUTE_MS);
const OFF = ['stock', 'season', 'brands', 'freight', 'seasons'];
const RULES = `rules:
  - id: accept-small
    title: Few pieces
    action: accept
    mode: live
    when: [delivery.quantity <= ${PIECES_MAX}]
  - id: hold-large
    title: Many pieces
    action: hold
    mode: live
    when: [delivery.quantity > ${PIECES_MAX}]
    message: many pieces
`;
const SAFEGUARDS =
  'version: 1\nsafeguards: { accept: { max_per_hour: 100000, refused_in_a_row: 1000 } }\n';
const clock = systemClock();

interface Scene {
  readonly reference: Reference;
  readonly daemon: KeptAlive;
  readonly erp: Erp;
  readonly random: Random;
}

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return address.port;
}

function writeConfig(folder: string, { v1Url, credentials }: Reference, port: number): string {
  const [key] = Object.values(credentials);
  if (!key) throw new Error('the reference has no key');
  mkdirSync(join(folder, 'rules'));
  writeFileSync(join(folder, 'rules', 'rules.yaml'), RULES);
  writeFileSync(join(folder, 'rules', 'settings.yaml'), SAFEGUARDS);
  writeFileSync(join(folder, 'client'), key.clientSecret, { mode: 0o600 });
  writeFileSync(join(folder, 'webhook'), SECRET, { mode: 0o600 });
  const path = join(folder, 'selvedge.yaml');
  const lines = [
    `dataDir: ${join(folder, 'data')}`,
    `rules: { directory: ${join(folder, 'rules')}, mode: live }`,
    'service:',
    `  v1: { baseUrl: ${v1Url}, login:`,
    `    { clientId: ${key.clientId}, clientSecret: { file: client } } }`,
    `  limits: { requestsPerSecond: ${LIMIT}, loginSpacing: 1s }`,
    // The same after each start, so that the relay finds it.
    `listener: { port: ${port}, secrets: [{ secret: { file: webhook } }] }`,
    'local: { port: 0 }',
    'store: { ballast: 1MiB }',
    `intake: { folder: { path: ${join(folder, 'in')} } }`,
    'outbox: { freight: optional, quietTime: 2m }',
    'streams:',
    ...OFF.map((name) => `  ${name}: { enabled: false }`),
  ];
  writeFileSync(path, lines.join('\n'));
  return path;
}

function place({ world }: Reference, count: number): void {
  for (let left = count; left > 0; left -= 1) {
    const orderId = world.book.orders.nextId();
    world.trade.place(drawOrder(world, { seed: SEED, orderId, preOrderShare: 0 }));
  }
}

/** Events that say what is known of a delivery already. */
function flood({ reference, random }: Scene): void {
  const { all } = reference.world.book.deliveries;
  for (let left = all.length === 0 ? 0 : 300; left > 0; left -= 1) {
    const { orderDeliveryId, orderId, status } = random.pick(all);
    const salesOrderDelivery = { orderDeliveryId, orderId, status, fulfilledLineItems: [] };
    reference.relay.publish('sales_order.delivery_updated', { salesOrderDelivery });
  }
}

type Trouble = readonly [name: string, begins: (scene: Scene) => unknown];

function faulty(draw: (random: Random) => Readonly<Record<string, unknown>>): Trouble[1] {
  return ({ reference, random }) => reference.knobs.patch({ faults: [draw(random)] });
}

const kill: Trouble = ['kill -9', ({ daemon }) => daemon.kill()];
const tooMany: Trouble = [
  'refused as too fast',
  faulty((random) => ({
    kind: 'tooMany',
    // The log-in has a limit of its own, and nothing would be asked while it is refused.
    path: '*/orders*',
    lasts: `${random.int(2, 20)}s`,
    probability: random.pick([0.3, 1]),
    retryAfter: random.pick([null, 1, 5]),
  })),
];
const full: Trouble = [
  'disk full',
  async ({ daemon, random }) => {
    daemon.strike({ isFull: true });
    await clock.sleep(random.int(2_000, 8_000));
    // Most that break a program are those at which it dies in the middle of it.
    if (random.chance(0.3)) await daemon.kill();
    daemon.strike({ isFull: false });
  },
];
const TROUBLES: readonly Trouble[] = [
  ...[kill, kill, tooMany, tooMany, full],
  ['flood', flood],
  ['clock step', ({ daemon, random }) => daemon.strike({ aheadMs: random.pick(AHEAD_MS) })],
  [
    'log-in refused',
    (scene) => {
      scene.reference.keys.revokeAll();
      faulty(() => ({ kind: 'unauthorized', path: '*/auth/login', lasts: '8s' }))(scene);
    },
  ],
  ['server errors', faulty(() => ({ kind: 'serverError', lasts: '8s' }))],
  ['resets', faulty(() => ({ kind: 'reset', count: 20 }))],
  ['nothing', () => undefined],
];

/** Passes the storm; gives how often each trouble happened. */
async function storm(scene: Scene): Promise<ReadonlyMap<string, number>> {
  const { reference, daemon, erp, random } = scene;
  const counts = new Map<string, number>();
  const endsAt = clock.monotonic() + MINUTES * (1 - LAST_SHARE) * MINUTE_MS;
  while (clock.monotonic() < endsAt) {
    const turnEndsAt = clock.monotonic() + TURN_MS;
    place(reference, random.int(2, 8));
    await erp.submit(random.int(1, 4));
    const [name, begins] = random.pick(TROUBLES);
    counts.set(name, (counts.get(name) ?? 0) + 1);
    await begins(scene);
    await clock.sleep(Math.max(0, turnEndsAt - clock.monotonic()));
  }
  daemon.strike({ aheadMs: 0 });
  reference.knobs.patch({ faults: [{ kind: 'tooMany', path: '*/orders*', retryAfter: 1 }] });
  place(reference, BACKLOG);
  await clock.sleep(MINUTES * LAST_SHARE * MINUTE_MS);
  flood(scene);
  reference.knobs.patch({ faults: [] });
  return counts;
}

/** Requests between two times (epoch ms) that the service took, and that it refused as too fast. */
function requestsBetween({ edge }: Reference, from: number, to: number) {
  const all = edge.journal.list({ limit: 1_000_000 }).filter((one) => {
    const at = Date.parse(one.at);
    return at >= from && at < to;
  });
  const refused = all.filter(({ status }) => status === 429).length;
  return { taken: all.length - refused, refused };
}

function isDone({ reference, erp }: Scene, folder: string): boolean {
  if (openDeliveries(reference).length > 0) return false;
  const made = new Set(reference.world.book.orders.all.map((order) => order.reference));
  const mirror = openMirror(folder);
  const blocked = mirror.blocked();
  const isRead = mirror.toRead().size === 0;
  mirror.close();
  return isRead && erp.taken.every((name) => made.has(name) || blocked.has(name));
}

async function drained(scene: Scene, folder: string): Promise<number> {
  const since = clock.monotonic();
  while (clock.monotonic() - since < DRAIN_MINUTES * MINUTE_MS) {
    if (isDone(scene, folder)) break;
    await clock.sleep(2_000);
  }
  return clock.monotonic() - since;
}

/** The share of the limit at which the daemon asks, as it tells itself. */
async function paceOf(folder: string): Promise<number> {
  const { url } = JSON.parse(readFileSync(join(folder, 'data', 'local.json'), 'utf8'));
  const text = await (await fetch(`${url}/metrics`)).text();
  const [, perSecond] = /^selvedge_service_requests_per_second (\S+)$/m.exec(text) ?? [];
  return Number(perSecond) / LIMIT;
}

function openReference(): Promise<Reference> {
  return startReference({
    host: '127.0.0.1',
    ports: { service: 0, relay: 0, control: 0 },
    knobs: parseKnobs({
      world: { seed: SEED, styles: 20, orders: 0 },
      life: {
        ...{ ordersPerMinute: 0, restocksPerMinute: 0, packAfter: '5s', shipAfter: '30d' },
        ...{ cancelShare: 0, splitShare: 0, refundShare: 0 },
      },
      auth: { loginSpacing: 0 },
      rates: { perSecond: LIMIT },
      journal: { size: 1_000_000 },
    }),
    clock,
    log: silentLogger(),
  });
}

interface Passed extends Verdict {
  readonly troubles: ReadonlyMap<string, number>;
  readonly refusedPerMinute: number;
  /** A minute after calm, of the limit: at which the daemon asks, and what the service took. */
  readonly pace: number;
  readonly share: number;
  readonly doneMinutes: number;
}

async function passed(scene: Scene, folder: string): Promise<Passed> {
  const { reference, erp } = scene;
  const from = clock.now();
  const troubles = await storm(scene);
  const calmAt = clock.now();
  const { refused } = requestsBetween(reference, from, calmAt);
  await clock.sleep(MINUTE_MS);
  const pace = await paceOf(folder);
  await clock.sleep(MINUTE_MS);
  const { taken } = requestsBetween(reference, calmAt + MINUTE_MS, calmAt + 2 * MINUTE_MS);
  const doneMs = 2 * MINUTE_MS + (await drained(scene, folder));
  return {
    ...judge(reference, folder, erp.taken),
    ...{ troubles, pace, share: taken / (60 * LIMIT), doneMinutes: doneMs / MINUTE_MS },
    refusedPerMinute: refused / MINUTES,
  };
}

function describe({ reference, erp, daemon }: Scene, passing: Passed): string {
  const { lost, doubled, wrong, late, left, pace, share } = passing;
  const troubles = [...passing.troubles].map(([name, count]) => `${count} ${name}`).join(', ');
  return [
    `seed ${SEED}, ${MINUTES} minutes: ${troubles}; ${daemon.ends()} ends of its own`,
    `${reference.world.book.orders.all.length} orders, ${erp.taken.length} documents: ` +
      `${lost.length} lost, ${doubled.length} doubled, ${wrong.length} wrong, ` +
      `${late.length} late, ${left} left to people`,
    `${passing.refusedPerMinute.toFixed(1)} refused a minute; a minute after calm the pace is ` +
      `${pace.toFixed(2)} of the limit, and ${share.toFixed(2)} are used; done in ` +
      `${passing.doneMinutes.toFixed(1)} minutes`,
    ...[...lost, ...doubled, ...wrong, ...late].slice(0, 20).map((one) => `  ${one}`),
  ].join('\n');
}

async function main(): Promise<boolean> {
  const reference = await openReference();
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-storm-'));
  const [line] = drawOrder(reference.world, { seed: SEED, orderId: 1, preOrderShare: 0 }).lines;
  if (!line) throw new Error('an order without lines was drawn');
  const config = writeConfig(folder, reference, await freePort());
  const { daemon, url } = await keepAlive(folder, config, clock);
  reference.relay.createEndpoint({ url, secret: SECRET });
  const erp = openErp(folder, line, clock);
  const scene = { reference, daemon, erp, random: seededRandom(SEED) };
  place(reference, 10);
  await clock.sleep(20_000);
  const passing = await passed(scene, folder);
  await daemon.end();
  await reference.close();
  console.log(describe(scene, passing));
  const { lost, doubled, wrong, late, pace } = passing;
  tell(
    lower('lost', lost.length),
    lower('doubled', doubled.length),
    lower('wrong', wrong.length),
    lower('late', late.length),
    lower('refused a minute', passing.refusedPerMinute),
    higher('pace a minute after calm, of the limit', pace),
    lower('minutes until all was done', passing.doneMinutes),
  );
  const isRight = lost.length + doubled.length + wrong.length + late.length === 0;
  if (isRight) rmSync(folder, { recursive: true, force: true });
  else console.log(`  ${folder} is kept`);
  return isRight && pace >= PACE_MIN;
}

if (!(await main())) process.exitCode = 1;
