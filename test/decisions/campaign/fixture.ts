/** A daemon and the service beside it, in this process and on one clock, in their own folder. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { runCli } from '../../../src/cli/program.ts';
import { requireConfig } from '../../../src/config/load.ts';
import { type Daemon, openDaemon } from '../../../src/daemon/daemon.ts';
import { createLogger, silentLogger } from '../../../src/lib/log.ts';
import { type Random, seededRandom } from '../../../src/lib/random.ts';
import { createScrubber } from '../../../src/lib/secret.ts';
import { parseKnobs } from '../../../src/reference/control/knob-store.ts';
import { type Reference, startReference } from '../../../src/reference/reference.ts';
import { drawDialects } from '../../dialects/drawn.ts';
import type { CalmClock } from './calm-clock.ts';
import { rulesText, settingsText, type Text } from './rules.ts';
import { iso } from './truth.ts';

const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const OFF = ['season', 'ordersFull', 'brands', 'freight', 'seasons'];
/** Whether the stock of this seed names what is sold out, too. */
export function listsSoldOut(seed: number): boolean {
  return seed % 2 === 0;
}
/** Customers of the service. */
export const ACCOUNTS = 5;

export interface CampaignFixture extends AsyncDisposable {
  readonly folder: string;
  readonly reference: Reference;
  daemon(): Daemon;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Keeps what the disk has at this moment, in the midst of whatever is under way. */
  freeze(): void;
  /** Ends the daemon; the disk is as it was when it was frozen: as if it had been killed then. */
  stopAsFrozen(): Promise<void>;
  /** A command; gives its exit code and what it said. */
  command(...args: readonly string[]): Promise<{ readonly code: number; readonly said: string }>;
  write(text: Text): void;
  /** The clock on the wall of this machine, which is not that of the service. */
  wall(): number;
  /** By how many milliseconds it is ahead; to set it tells nobody. */
  ahead: number;
  /** Messages that the daemon logged as errors. */
  readonly errors: string[];
}

function startSide(seed: number, clock: CalmClock, dialects: boolean): Promise<Reference> {
  return startReference({
    host: '127.0.0.1',
    ports: { service: 0, relay: 0, control: 0 },
    knobs: parseKnobs({
      world: { seed, styles: 6, orders: 0, accounts: ACCOUNTS },
      auth: { loginSpacing: 0 },
      rates: { perSecond: 0 },
      life: {
        ...{ ordersPerMinute: 0, restocksPerMinute: 0, packAfter: '2m', shipAfter: '5h' },
        ...{ repackAfter: '90m', cancelAfter: '50m', cancelShare: 0.1, splitShare: 0.2 },
      },
      ...(dialects ? { dialect: drawDialects(seed) } : {}),
    }),
    clock,
    log: silentLogger(),
    secrets: seededRandom(seed),
  });
}

function writeConfig(folder: string, { v1Url, credentials }: Reference, seed: number): string {
  const [key] = Object.values(credentials);
  if (!key) throw new Error('the reference has no key');
  writeFileSync(join(folder, 'client'), key.clientSecret, { mode: 0o600 });
  writeFileSync(join(folder, 'hook'), SECRET, { mode: 0o600 });
  mkdirSync(join(folder, 'rules'));
  const path = join(folder, 'selvedge.yaml');
  const lines = [
    `dataDir: ${join(folder, 'data')}`,
    `rules: { directory: ${join(folder, 'rules')}, mode: live }`,
    'service:',
    '  v1:',
    `    baseUrl: ${v1Url}`,
    `    login: { clientId: ${key.clientId}, clientSecret: { file: client } }`,
    '  limits: { requestsPerSecond: 10000, loginSpacing: 0s }',
    '  timeouts: { connect: 5m, firstByte: 5m, idle: 5m, total: 5m }',
    'listener: { port: 0, secrets: [{ secret: { file: hook } }] }',
    'local: { port: 0 }',
    'store: { ballast: 1MiB }',
    // Each pull starts two threads, which takes most of the time of a seed.
    'streams:',
    `  stock: { schedule: "*/30 * * * *", includeVariantsOnOrder: ${listsSoldOut(seed)} }`,
    `  off: [${OFF.join(', ')}]`,
  ];
  writeFileSync(path, lines.join('\n'));
  return path;
}

/** The database that the ERP writes into. */
export class Exchange {
  readonly #db: Database.Database;
  constructor(folder: string) {
    this.#db = new Database(join(folder, 'data', 'exchange.db'), { timeout: 5_000 });
  }
  put(accountNo: string, isBlocked: boolean, at: number): void {
    this.#db
      .prepare(
        `insert into erp_customer (account_no, blocked, as_of) values (?, ?, ?)
        on conflict (account_no) do update set blocked = excluded.blocked, as_of = excluded.as_of`,
      )
      .run(accountNo, Number(isBlocked), new Date(at).toISOString());
  }
  [Symbol.dispose](): void {
    this.#db.close();
  }
}

export async function openCampaignFixture(
  seed: number,
  clock: CalmClock,
  random: Random,
  dialects = false,
): Promise<CampaignFixture> {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-decisions-'));
  const reference = await startSide(seed, clock, dialects);
  const file = writeConfig(folder, reference, seed);
  const errors: string[] = [];
  const write = (text: Text): void =>
    writeFileSync(join(folder, 'rules', 'rules.yaml'), rulesText(text));
  writeFileSync(join(folder, 'rules', 'settings.yaml'), settingsText());
  write('wide');
  const wall = { ...clock, now: () => clock.now() + fixture.ahead };
  let running: { daemon: Daemon; stop: () => Promise<void> } | undefined;
  const stop = async (): Promise<void> => {
    await running?.stop();
    running = undefined;
  };
  const [data, frozen] = [join(folder, 'data'), join(folder, 'frozen')];
  const fixture: CampaignFixture = {
    ...{ folder, reference, errors, write, stop, wall: () => wall.now(), ahead: 0 },
    freeze() {
      // By another process: to close a file of SQLite here would take its locks from the daemon.
      execFileSync('cp', ['-a', data, frozen]);
      for (const name of readdirSync(frozen)) {
        if (name.endsWith('-shm')) rmSync(join(frozen, name));
      }
    },
    async stopAsFrozen() {
      await stop();
      rmSync(data, { recursive: true });
      renameSync(frozen, data);
    },
    daemon() {
      if (!running) throw new Error('the daemon does not run');
      return running.daemon;
    },
    async start() {
      const scrubber = createScrubber();
      const { config } = requireConfig({ file, env: {}, scrubber });
      const write = (line: string): void => void errors.push(`${iso(clock.now())} ${line.trim()}`);
      const log = createLogger({ level: 'error', format: 'human', scrubber, write });
      const drawn = seededRandom(random.int(1, 1_000_000));
      const daemon = await openDaemon(config, { clock: wall, random: drawn, log, scrubber });
      const abort = new AbortController();
      const done = daemon.run(abort.signal);
      running = {
        daemon,
        stop() {
          abort.abort();
          return clock.during(done);
        },
      };
      const url = await clock.during(daemon.listenerUrl);
      for (const { id } of reference.relay.listEndpoints()) reference.relay.deleteEndpoint(id);
      if (url !== undefined) reference.relay.createEndpoint({ url, secret: SECRET });
      await clock.runUntil(clock.now() + 1_000);
    },
    async command(...args) {
      let said = '';
      const stdout = {
        write: (text: string) => {
          said += text;
        },
      };
      const code = await clock.during(
        runCli(['--config', file, ...args], { stdout, stderr: stdout, env: {} }),
      );
      return { code, said };
    },
    async [Symbol.asyncDispose]() {
      await stop();
      await reference.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return fixture;
}
