/**
 * Runs one seed: a daemon as a process of its own with all four doors open, a service that
 * misbehaves, a neighbour in the databases, rests and `kill -9` at random moments, while the ERP
 * submits orders and pending refunds, some of them twice. Time is real but short: what takes the
 * product minutes is set to seconds here.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { systemClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { type Random, seededRandom } from '../../../src/lib/random.ts';
import { parseKnobs } from '../../../src/reference/control/knob-store.ts';
import { type Reference, startReference } from '../../../src/reference/reference.ts';
import { drawDialects } from '../../dialects/drawn.ts';
import { type ChildDaemon, childDaemon } from '../../support/daemon-process.ts';
import { DOORS, type Door, type DoorName, openDoors, type Paper } from './doors.ts';
import { troubleKnobs } from './faults.ts';
import { ledgerProblems } from './ledger.ts';
import { type Most, needsProblems, watchNeeds } from './needs.ts';
import { type Verdict, verdictOf } from './verdict.ts';

export interface SeedWish {
  readonly seed: number;
  readonly orders: number;
  readonly refunds: number;
  readonly kills: number;
  /** The account speaks dialects, drawn by the seed. */
  readonly dialects?: boolean;
}

export interface SeedFigures extends Verdict {
  readonly seed: number;
  readonly documents: number;
  /** Submitted a second time, by another door. */
  readonly repeats: number;
  readonly kills: number;
  /** Requests of the daemon that met each kind of fault. */
  readonly faults: Readonly<Record<string, number>>;
  readonly requests: number;
  readonly most: Most;
  /** By class; `interrupted` are those that a kill cut off. */
  readonly attempts: Readonly<Record<string, number>>;
  /** Seconds. */
  readonly took: { readonly wall: number; readonly daemon: number; readonly here: number };
}

const NEIGHBOURS = fileURLToPath(new URL('neighbours.ts', import.meta.url));
const QUIET_MS = 10_000;
/** Beside the quiet time, which must be longer than stall, late commit and lag together. */
const TROUBLE = { stall: '3s', lateCommit: { least: 1, most: 3 }, listingLagMax: 2 };
const SETTINGS = [
  `outbox: { quietTime: ${QUIET_MS}ms, lookEvery: 2s, attemptsMax: 20, delayMin: 100ms,`,
  '  delayMax: 2s, auditEvery: 1m, refundsUpTo: ordered }',
];
const SERVICE = [
  '  limits: { requestsPerSecond: 10000, concurrency: 16, loginSpacing: 0s }',
  '  timeouts: { connect: 2s, firstByte: 1500ms, idle: 1500ms, total: 5s }',
  '  retry: 3',
];
/** Longer than any of these deadlines. */
const FROZEN_MS = 6_000;
/** Effects that are still on their way when everything has settled. */
const LAST_EFFECTS_MS = 6_000;
const TOKEN = 'the-token-of-the-erp-0123456789';
const OFF = ['stock', 'season', 'orders', 'ordersFull', 'brands', 'freight', 'seasons'];
const LOOK_MS = 500;
const SETTLE_MS_MAX = 1_200_000;
const RECEIPTS_MS_MAX = 60_000;
const REPEATED_SHARE = 0.1;
/** By the account's dialect of empty lists. */
const EMPTY_STATUS = new Map<unknown, number>([
  ['notFound', 404],
  ['noContent', 204],
]);

function startTroubled({ seed, dialects }: SeedWish, random: Random): Promise<Reference> {
  return startReference({
    host: '127.0.0.1',
    ports: { service: 0, relay: 0, control: 0 },
    knobs: parseKnobs({
      world: { seed, styles: 20, orders: 3 },
      life: { ordersPerMinute: 0, restocksPerMinute: 0, packAfter: '1d', confirmRefundAfter: 0 },
      auth: { loginSpacing: 0 },
      rates: { perSecond: 0 },
      paging: { orders: 100 },
      journal: { size: 1_000_000 },
      ...troubleKnobs(random, TROUBLE),
      ...(dialects ? { dialect: drawDialects(seed) } : {}),
    }),
    clock: systemClock(),
    log: silentLogger(),
  });
}

function writeConfig(folder: string, { v1Url, credentials }: Reference): string {
  const [key] = Object.values(credentials);
  if (!key) throw new Error('the reference has no key');
  for (const name of ['rules', 'in']) mkdirSync(join(folder, name));
  writeFileSync(join(folder, 'client'), key.clientSecret, { mode: 0o600 });
  writeFileSync(join(folder, 'token'), TOKEN, { mode: 0o600 });
  const path = join(folder, 'selvedge.yaml');
  const lines = [
    `dataDir: ${join(folder, 'data')}`,
    `rules: { directory: ${join(folder, 'rules')} }`,
    'service:',
    '  v1:',
    `    baseUrl: ${v1Url}`,
    `    login: { clientId: ${key.clientId}, clientSecret: { file: client } }`,
    ...SERVICE,
    'listener: { port: 0 }',
    'local: { port: 0 }',
    'intake:',
    `  folder: { path: ${join(folder, 'in')}, settle: 0s }`,
    '  clients: [{ name: erp, token: { file: token } }]',
    `streams: { off: [${OFF.join(', ')}] }`,
    ...SETTINGS,
  ];
  writeFileSync(path, lines.join('\n'));
  return path;
}

interface Load {
  /** By the door through which it comes first; refunds stand behind their orders. */
  readonly first: Readonly<Record<DoorName, Paper[]>>;
  /** Documents once the first is taken: refunds by another door, and some of it again. */
  readonly then: Readonly<Record<DoorName, Paper[]>>;
  readonly papers: readonly Paper[];
  readonly repeats: number;
}

function drawLoad({ orders, refunds }: SeedWish, barcodes: string[], random: Random): Load {
  const none = (): Record<DoorName, Paper[]> => ({ sql: [], folder: [], http: [], cli: [] });
  const [first, then] = [none(), none()];
  const papers: Paper[] = [];
  let repeats = 0;
  for (let index = 0; index < orders; index += 1) {
    const door = DOORS[index % DOORS.length] ?? 'sql';
    const other = random.pick(DOORS.filter((one) => one !== door));
    const line = { barcode: random.pick(barcodes), quantity: 3, price: 10 + (index % 7) };
    const order = { kind: 'order', reference: `O-${index}`, payload: { lines: [line] } } as const;
    first[door].push(order);
    papers.push(order);
    if (random.chance(REPEATED_SHARE)) {
      then[other].push(order);
      repeats += 1;
    }
    if (index >= refunds) continue;
    const lines = [{ barcode: line.barcode, quantity: 1, refundType: 'claim/credit' }];
    const payload = { orderReference: order.reference.toLowerCase(), lines };
    const refund = { kind: 'pending_refund', reference: `R-${index}`, payload } as const;
    (index % 8 < 4 ? first[door] : then[other]).push(refund);
    papers.push(refund);
  }
  return { first, then, papers, repeats };
}

async function submit(doors: Readonly<Record<DoorName, Door>>, load: Load): Promise<string[]> {
  const problems: string[] = [];
  for (const phase of ['first', 'then'] as const) {
    const told = await Promise.all(DOORS.map((name) => doors[name](load[phase][name], phase)));
    problems.push(...told.flat());
  }
  return problems;
}

/** Half of the kills follow a rest in which the answers to what was sent come and wait. */
async function killAtRandom(daemon: ChildDaemon, random: Random, times: number): Promise<void> {
  const clock = systemClock();
  for (let left = times; left > 0; left -= 1) {
    await clock.sleep(random.int(100, 5_000));
    if (random.chance(0.5)) {
      daemon.freeze();
      await clock.sleep(FROZEN_MS);
      daemon.goOn();
      await clock.sleep(random.int(1, 1_000));
    }
    await daemon.kill();
    await daemon.start();
  }
}

async function waitFor(isTrue: () => boolean, msMax: number): Promise<boolean> {
  const clock = systemClock();
  const deadline = clock.monotonic() + msMax;
  while (!isTrue()) {
    if (clock.monotonic() > deadline) return false;
    await clock.sleep(LOOK_MS);
  }
  return true;
}

/** Whether no row is open but those that a person must decide about, and what is behind them. */
function isSettled(folder: string): boolean {
  const mirror = new Database(join(folder, 'data', 'mirror.db'), { readonly: true });
  const open = mirror.prepare(
    `select 1 from outbox o where ended_at is null and blocked_reason is null and not exists (
      select 1 from outbox b where b.ordering_key = o.ordering_key and b.outbox_id < o.outbox_id
        and b.ended_at is null and b.blocked_reason is not null) limit 1`,
  );
  const settled = open.get() === undefined;
  mirror.close();
  return settled;
}

function attemptsOf(folder: string): Record<string, number> {
  const mirror = new Database(join(folder, 'data', 'mirror.db'), { readonly: true });
  const rows = mirror
    .prepare<[], [string, number]>('select class, count(*) from outbox_attempt group by class')
    .raw()
    .all();
  mirror.close();
  return Object.fromEntries(rows);
}

function faultsIn({ edge }: Reference): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { faults, status } of edge.journal.list()) {
    // The only 504 that no fault explains: the effect comes after the answer.
    const all = faults.length === 0 && status === 504 ? ['late commit'] : faults;
    for (const fault of all) counts[fault] = (counts[fault] ?? 0) + 1;
  }
  return counts;
}

export async function runSeed(wish: SeedWish): Promise<SeedFigures> {
  const clock = systemClock();
  const random = seededRandom(wish.seed);
  const [startedAt, before] = [clock.monotonic(), process.cpuUsage()];
  await using scope = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-campaign-'));
  const reference = await startTroubled(wish, random);
  scope.defer(() => reference.close());
  const config = writeConfig(folder, reference);
  const daemon = childDaemon(config);
  scope.defer(() => daemon.kill());
  await daemon.start();
  const { all } = reference.world.book.orders;
  const barcodes = [...new Set(all.flatMap(({ lines }) => lines.map(({ barcode }) => barcode)))];
  const load = drawLoad(wish, barcodes, random);
  const doors = openDoors({ folder, config, token: TOKEN, clock });
  const endWatch = watchNeeds(daemon, folder);
  const neighbour = spawn(process.execPath, [NEIGHBOURS, join(folder, 'data'), `${wish.seed}`]);
  scope.defer(() => void neighbour.kill('SIGKILL'));
  const [notTaken] = await Promise.all([
    submit(doors, load),
    killAtRandom(daemon, random, wish.kills - 1),
  ]);
  const problems = [...notTaken];
  if (neighbour.exitCode !== null) problems.push('the neighbour has ended by itself');
  neighbour.kill('SIGKILL');
  const settled = (): Promise<boolean> => waitFor(() => isSettled(folder), SETTLE_MS_MAX);
  if (!(await settled())) problems.push(`not settled in time: ${daemon.output().slice(-2_000)}`);
  const worked = daemon.needs();
  await daemon.kill();
  await daemon.start();
  await settled();
  await clock.sleep(LAST_EFFECTS_MS);
  const most = await endWatch();
  problems.push(...needsProblems(most, worked, daemon.needs()));
  const verdict = await verdictOf(reference, folder, load.papers, (look) =>
    waitFor(look, RECEIPTS_MS_MAX),
  );
  problems.push(...verdict.problems);
  const here = process.cpuUsage(before);
  const figures = {
    ...{ ...verdict, problems, seed: wish.seed, kills: wish.kills, repeats: load.repeats, most },
    documents: load.papers.length,
    faults: faultsIn(reference),
    requests: reference.edge.journal.list().length,
    attempts: attemptsOf(folder),
    took: {
      wall: (clock.monotonic() - startedAt) / 1_000,
      daemon: daemon.processorMs() / 1_000,
      here: (here.user + here.system) / 1_000_000,
    },
  };
  await daemon.kill();
  const secrets = [TOKEN, ...Object.values(reference.credentials).map((key) => key.clientSecret)];
  const empty = wish.dialects ? drawDialects(wish.seed).emptyList : undefined;
  const emptyStatus = EMPTY_STATUS.get(empty) ?? 200;
  problems.push(
    ...ledgerProblems({ reference, folder, reconcileAfterMs: QUIET_MS, emptyStatus, secrets }),
  );
  if (secrets.some((secret) => daemon.output().includes(secret))) {
    problems.push('a secret is in the log');
  }
  if (problems.length === 0) rmSync(folder, { recursive: true, force: true });
  else problems.push(`kept for a look: ${folder}`);
  return figures;
}
