/**
 * A daemon and a service whose reads are behind its events, in this process and on one clock, with
 * orders that arrive, are packed, accepted and shipped, and nothing that waits for people.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requireConfig } from '../../src/config/load.ts';
import { type Daemon, openDaemon } from '../../src/daemon/daemon.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { createLogger, silentLogger } from '../../src/lib/log.ts';
import { type Random, seededRandom } from '../../src/lib/random.ts';
import { createScrubber } from '../../src/lib/secret.ts';
import { parseKnobs } from '../../src/reference/control/knob-store.ts';
import { drawOrder } from '../../src/reference/life/arrivals.ts';
import { type Reference, startReference } from '../../src/reference/reference.ts';
import type { CalmClock } from '../decisions/campaign/calm-clock.ts';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
/** A Monday. */
export const STARTS_AT = Date.UTC(2026, 10, 23, 6);
/** Time by which the reads of an order are usually behind its events. */
export const USUAL_LAG = '2s';

const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const OFF = ['stock', 'season', 'brands', 'freight', 'seasons'];
const RULES = `
rules:
  - id: accept-all
    title: Everything is accepted
    action: accept
    mode: live
    when:
      - delivery.quantity > 0
`;

/** No safeguard has a part in this. */
const RULE_SETTINGS =
  'version: 1\nsafeguards: { accept: { max_per_hour: 100000, refused_in_a_row: 1000 } }\n';

export interface Soaked extends AsyncDisposable {
  readonly clock: CalmClock;
  readonly reference: Reference;
  readonly random: Random;
  readonly folder: string;
  /** Milliseconds by which the clock of the daemon's machine is ahead of the service's. */
  ahead: number;
  daemon(): Daemon;
  /** Lines that the daemon logged as errors, with the time. */
  readonly errors: string[];
  place(count: number): void;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Ends the daemon with the disk as it is now, as if it had been killed. */
  kill(): Promise<void>;
}

/** How the service is asked: by default without a limit, and its reads are behind its events. */
interface Account {
  /** Requests per second that the service takes (0: any number), and that the daemon may ask. */
  readonly taken: number;
  readonly asked: number;
  readonly readLag: string;
}

const USUAL: Account = { taken: 0, asked: 100, readLag: USUAL_LAG };

function startSide(
  seed: number,
  clock: CalmClock,
  { taken, readLag }: Account,
): Promise<Reference> {
  return startReference({
    host: '127.0.0.1',
    ports: { service: 0, relay: 0, control: 0 },
    knobs: parseKnobs({
      world: { seed, styles: 6, orders: 0 },
      auth: { loginSpacing: 0 },
      rates: { perSecond: taken },
      journal: { size: 1_000_000 },
      dialect: { readLag },
      life: {
        ...{ ordersPerMinute: 0, restocksPerMinute: 0, packAfter: '1m', shipAfter: '5m' },
        ...{ cancelShare: 0, refundShare: 0 },
      },
    }),
    clock,
    log: silentLogger(),
    secrets: seededRandom(seed),
  });
}

function writeConfig(folder: string, { v1Url, credentials }: Reference, asked: number): string {
  const [key] = Object.values(credentials);
  if (!key) throw new Error('the reference has no key');
  writeFileSync(join(folder, 'client'), key.clientSecret, { mode: 0o600 });
  writeFileSync(join(folder, 'hook'), SECRET, { mode: 0o600 });
  mkdirSync(join(folder, 'rules'));
  writeFileSync(join(folder, 'rules', 'rules.yaml'), RULES);
  writeFileSync(join(folder, 'rules', 'settings.yaml'), RULE_SETTINGS);
  const path = join(folder, 'selvedge.yaml');
  const lines = [
    `dataDir: ${join(folder, 'data')}`,
    `rules: { directory: ${join(folder, 'rules')}, mode: live }`,
    'service:',
    '  v1:',
    `    baseUrl: ${v1Url}`,
    `    login: { clientId: ${key.clientId}, clientSecret: { file: client } }`,
    `  limits: { requestsPerSecond: ${asked}, loginSpacing: 1s }`,
    'listener: { port: 0, secrets: [{ secret: { file: hook } }] }',
    'local: { port: 0 }',
    'store: { ballast: 1MiB }',
    `streams: { off: [${OFF.join(', ')}] }`,
  ];
  writeFileSync(path, lines.join('\n'));
  return path;
}

export async function openSoak(
  seed: number,
  clock: CalmClock,
  account: Account = USUAL,
): Promise<Soaked> {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-soak-'));
  const random = seededRandom(seed);
  const reference = await startSide(seed, clock, account);
  const file = writeConfig(folder, reference, account.asked);
  const errors: string[] = [];
  const scrubber = createScrubber();
  const write = (line: string): void =>
    void errors.push(`${new Date(clock.now()).toISOString()} ${line.trim()}`);
  const log = createLogger({ level: 'error', format: 'human', scrubber, write });
  const wall: Clock = { ...clock, now: () => clock.now() + soaked.ahead };
  let running: { readonly daemon: Daemon; readonly stop: () => Promise<void> } | undefined;
  const soaked: Soaked = {
    ...{ clock, reference, random, folder, errors, ahead: 0 },
    daemon() {
      if (!running) throw new Error('the daemon does not run');
      return running.daemon;
    },
    place(count) {
      const { world } = reference;
      for (let left = count; left > 0; left -= 1) {
        const orderId = world.book.orders.nextId();
        world.trade.place(drawOrder(world, { seed, orderId, preOrderShare: 0 }));
      }
    },
    async start() {
      const { config } = requireConfig({ file, env: {}, scrubber });
      const drawn = seededRandom(random.int(1, 1_000_000));
      const daemon = await openDaemon(config, { clock: wall, random: drawn, log, scrubber });
      const abort = new AbortController();
      const done = daemon.run(abort.signal);
      const stop = (): Promise<void> => {
        abort.abort();
        return clock.during(done);
      };
      running = { daemon, stop };
      const url = await clock.during(daemon.listenerUrl);
      for (const { id } of reference.relay.listEndpoints()) reference.relay.deleteEndpoint(id);
      if (url !== undefined) reference.relay.createEndpoint({ url, secret: SECRET });
    },
    async stop() {
      await running?.stop();
      running = undefined;
    },
    async kill() {
      const [data, frozen] = [join(folder, 'data'), join(folder, 'frozen')];
      // By another process: to close a file of SQLite here would take its locks from the daemon.
      execFileSync('cp', ['-a', data, frozen]);
      for (const name of readdirSync(frozen)) {
        if (name.endsWith('-shm')) rmSync(join(frozen, name));
      }
      // The dead do nothing more.
      reference.knobs.patch({ faults: [{ kind: 'serverError' }] });
      await soaked.stop();
      reference.knobs.patch({ faults: [] });
      rmSync(data, { recursive: true });
      renameSync(frozen, data);
    },
    async [Symbol.asyncDispose]() {
      await soaked.stop();
      await reference.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return soaked;
}
