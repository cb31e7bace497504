/** The daemon as a process of its own, which can be killed; the reference lives in this one. */
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { type Clock, manualClock, systemClock } from '../../src/lib/clock.ts';
import { isJsonObject } from '../../src/lib/json.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { drawOrder } from '../../src/reference/life/arrivals.ts';
import type { Reference } from '../../src/reference/reference.ts';
import { openReadOnlyStore, type SqliteStore } from '../../src/store/store.ts';
import { childDaemon } from '../support/daemon-process.ts';
import { foreignSql } from '../support/foreign-sql.ts';
import { SIMPLE_RULES, startTestReference, WEBHOOK_SECRET } from '../support/house.ts';
import { type AtEnd, placeDatabase, temporaryFolder } from '../support/store.ts';

/** Without the limits of speed that make a test slow; orders come when the test wants them. */
export function startFastReference(
  {
    life,
    ...knobs
  }: { readonly life?: Readonly<Record<string, unknown>>; readonly [knob: string]: unknown },
  clock: Clock = systemClock(),
  atEnd?: AtEnd,
): Promise<Reference> {
  const unlimited = { auth: { loginSpacing: 0 }, rates: { perSecond: 0 } };
  const calm = { journal: { size: 100_000 }, life: { ordersPerMinute: 0, ...life } };
  return startTestReference({ ...unlimited, ...calm, ...knobs }, clock, atEnd);
}

/** WriteHandOff of the event loop for each step, so that time cannot run away from the network. */
const TURNS_PER_STEP = 4;

/**
 * A clock that runs as fast as this process can follow: both sides live in it, so hours pass in
 * seconds, and a busy machine slows time down instead of making anything late.
 */
export function fastClock(stepMs = 50): Clock {
  const clock = manualClock(systemClock().now());
  let stopped = false;
  const running = (async () => {
    while (!stopped) {
      await clock.advance(stepMs);
      for (let turn = 0; turn < TURNS_PER_STEP; turn += 1) await nextTurn();
    }
  })();
  onTestFinished(async () => {
    stopped = true;
    await running;
  });
  return clock;
}

/** Orders that arrive now; they are packed as the knobs say. */
export function placeOrders({ world }: Reference, count: number): void {
  for (let left = count; left > 0; left -= 1) {
    const orderId = world.book.orders.nextId();
    world.trade.place(drawOrder(world, { seed: 7, orderId, preOrderShare: 0.2 }));
  }
}

/**
 * A port that nobody listens on. Below those that the system hands out by itself: until a daemon
 * takes it, and while it is dead, no connection of another test may happen to get it.
 */
async function freePort(): Promise<number> {
  const port = systemRandom().int(10_000, 32_000);
  const server = createServer().listen(port, '127.0.0.1');
  const isFree = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  server.close();
  return isFree ? port : freePort();
}

export interface DaemonProcess {
  readonly dataDir: string;
  /** Resolves with the process when it receives events. */
  start(): Promise<void>;
  /** `kill -9`, and waits until it is gone. */
  kill(): Promise<void>;
  /** Output of the last start, for a failing test. */
  output(): string;
  /** The daemon's database, also while the daemon is running. */
  readonly db: SqliteStore['db'];
  /** By Debian's own client, as an operator would. */
  query(sql: string): string[][];
}

export interface DaemonParts {
  /** Further lines of the configuration. */
  readonly settings: readonly string[];
  /** Launcher of another program than this checkout's. */
  readonly launcher?: string;
}

/** A configuration file as an operator would write it, subscribed at the relay. */
async function writeConfig(
  reference: Reference,
  folder: string,
  { settings }: DaemonParts,
): Promise<string> {
  const [key] = Object.values(reference.credentials);
  if (!key) throw new Error('the reference has no key');
  mkdirSync(join(folder, 'rules'));
  writeFileSync(join(folder, 'rules', 'rules.yaml'), SIMPLE_RULES);
  const secret = { mode: 0o600 };
  writeFileSync(join(folder, 'client'), key.clientSecret, secret);
  writeFileSync(join(folder, 'webhook'), WEBHOOK_SECRET, secret);
  const port = await freePort();
  reference.relay.createEndpoint({
    url: `http://127.0.0.1:${port}/webhooks`,
    secret: WEBHOOK_SECRET,
  });
  const path = join(folder, 'selvedge.yaml');
  const lines = [
    `dataDir: ${join(folder, 'data')}`,
    `rules: { directory: ${join(folder, 'rules')}, mode: live }`,
    'service:',
    '  v1:',
    `    baseUrl: ${reference.v1Url}`,
    '    paging: pages',
    `    login: { clientId: ${key.clientId}, clientSecret: { file: client } }`,
    '  limits: { requestsPerSecond: 2000, loginSpacing: 0s }',
    `listener: { port: ${port}, secrets: [{ secret: { file: webhook } }] }`,
    'local: { port: 0 }',
    'log: { format: human }',
    ...settings,
  ];
  writeFileSync(path, lines.join('\n'));
  return path;
}

export async function createDaemonProcess(
  reference: Reference,
  parts: DaemonParts,
): Promise<DaemonProcess> {
  const folder = temporaryFolder();
  const config = await writeConfig(reference, folder, parts);
  const dataDir = join(folder, 'data');
  const path = join(dataDir, 'mirror.db');
  placeDatabase(path);
  const child = childDaemon(config, parts.launcher);
  let store: SqliteStore | undefined;
  onTestFinished(async ({ task }) => {
    await child.kill();
    await store?.close();
    if (task.result?.state === 'fail') process.stderr.write(child.output());
  });
  return {
    dataDir,
    kill: child.kill,
    output: child.output,
    async start() {
      await child.start();
      store ??= await openReadOnlyStore({ path, busyTimeoutMs: 5_000 });
    },
    get db() {
      if (!store) throw new Error('the daemon was not started yet');
      return store.db;
    },
    query(sql) {
      const text = foreignSql(path, sql);
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => line.split('|'));
    },
  };
}

async function dataOf(url: string, init: RequestInit): Promise<Record<string, unknown>> {
  const answer = await fetch(url, init);
  const body: unknown = await answer.json();
  if (!answer.ok || !isJsonObject(body) || !isJsonObject(body.data)) {
    throw new Error(`${url}: ${answer.status}`);
  }
  return { ...body.data };
}

function rowsOf(data: Record<string, unknown>, member: string): Record<string, unknown>[] {
  const rows: unknown = data[member];
  return Array.isArray(rows) ? rows.filter(isJsonObject).map((row) => ({ ...row })) : [];
}

/** `status|count` of every delivery, as the reference answers over HTTP; our client has no part. */
export async function deliveriesOverHttp(reference: Reference): Promise<string[][]> {
  const [key] = Object.values(reference.credentials);
  const login = JSON.stringify({ clientID: key?.clientId, clientSecret: key?.clientSecret });
  const json = { 'content-type': 'application/json' };
  const { v1Url } = reference;
  const post = { method: 'POST', body: login, headers: json };
  const { token } = await dataOf(`${v1Url}/auth/login`, post);
  const headers = { 'x-service-authorization': String(token) };
  const counts = new Map<string, number>();
  for (let before = ''; ; ) {
    const orders = rowsOf(await dataOf(`${v1Url}/orders${before}`, { headers }), 'orders');
    const urls = orders.map(({ orderId }) => `${v1Url}/orders/${orderId}/deliveries`);
    for (const data of await Promise.all(urls.map((url) => dataOf(url, { headers })))) {
      for (const { status } of rowsOf(data, 'deliveries')) {
        counts.set(String(status), (counts.get(String(status)) ?? 0) + 1);
      }
    }
    const last = orders.at(-1);
    if (!last) break;
    before = `?beforeOrderId=${last.orderId}`;
  }
  return [...counts].map(([status, count]) => [status, String(count)]).sort();
}

/** Ids of events that the daemon answered with success. */
export function acknowledgedEvents(reference: Reference): string[] {
  const ids: string[] = [];
  let iterator: string | undefined;
  for (;;) {
    const page = reference.relay.attempts({ status: 'success', limit: 250, iterator });
    ids.push(...page.data.map(({ messageId }) => messageId));
    if (page.done || page.iterator === null) return [...new Set(ids)];
    iterator = page.iterator;
  }
}
