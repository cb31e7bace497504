/**
 * A whole brand beside PostgreSQL: a reference service with life of its own, `selvedge run` and
 * `selvedge plane run` as processes, and the command line by which a person looks at them.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { systemClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { localFile } from '../../../src/local-api/ask.ts';
import { parseKnobs } from '../../../src/reference/control/knob-store.ts';
import { type Reference, startReference } from '../../../src/reference/reference.ts';
import { type CliRun, selvedge } from '../../cli/support.ts';
import { SIMPLE_RULES, until, WEBHOOK_SECRET } from '../../support/house.ts';
import { LAUNCHER } from '../../support/launcher.ts';
import { type Child, startChild } from './child.ts';

export interface CellWish {
  readonly account: string;
  /** Address of PostgreSQL. */
  readonly url: string;
  readonly seed: number;
  readonly ordersPerMinute: number;
  readonly lagWarning: string;
  /** Hears every line of the process that keeps the copy. */
  readonly hearSink: (line: string) => void;
}

export interface Cell {
  readonly dataDir: string;
  readonly barcodes: readonly string[];
  /** Undefined before the first start. */
  readonly daemon: () => Child | undefined;
  readonly sink: () => Child | undefined;
  startDaemon(): Promise<void>;
  startSink(): Promise<void>;
  call(...args: readonly string[]): Promise<CliRun>;
  /** Throws where the command does not end with 0. */
  ok(...args: readonly string[]): Promise<string>;
  /** Ends all of it; the folder stays for a look where something was wrong. */
  end(isRight: boolean): Promise<void>;
}

/** Restocks and packs all the time, ships and cancels nothing. */
function lively({ seed, ordersPerMinute }: CellWish): Promise<Reference> {
  const life = { ordersPerMinute, restocksPerMinute: 600, packAfter: '50ms' };
  return startReference({
    host: '127.0.0.1',
    ports: { service: 0, relay: 0, control: 0 },
    knobs: parseKnobs({
      world: { seed, styles: 20, orders: 20 },
      life: { ...life, shipAfter: '1d', cancelShare: 0 },
      auth: { loginSpacing: 0 },
      rates: { perSecond: 0 },
    }),
    clock: systemClock(),
    log: silentLogger(),
  });
}

function writeConfig(folder: string, reference: Reference, wish: CellWish): string {
  const [key] = Object.values(reference.credentials);
  if (!key) throw new Error('the reference has no key');
  mkdirSync(join(folder, 'rules'));
  writeFileSync(join(folder, 'rules', 'rules.yaml'), SIMPLE_RULES);
  const secrets = { client: key.clientSecret, webhook: WEBHOOK_SECRET, plane: wish.url };
  for (const [name, text] of Object.entries(secrets)) {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
  }
  const file = join(folder, 'selvedge.yaml');
  const lines = [
    `instance: ${wish.account}`,
    `dataDir: ${join(folder, 'data')}`,
    `rules: { directory: ${join(folder, 'rules')}, mode: live }`,
    `store: { backup: { directory: ${join(folder, 'backups')} } }`,
    `plane: { url: { file: plane }, every: 100ms, lagWarning: ${wish.lagWarning} }`,
    'service:',
    '  v1:',
    `    baseUrl: ${reference.v1Url}`,
    `    login: { clientId: ${key.clientId}, clientSecret: { file: client } }`,
    '  limits: { requestsPerSecond: 2000, loginSpacing: 0s }',
    'listener: { port: 0, secrets: [{ secret: { file: webhook } }] }',
    'local: { port: 0 }',
    'decisions: { settle: 0s }',
    'streams: { off: [season] }',
  ];
  writeFileSync(file, lines.join('\n'));
  return file;
}

const LISTENER = z.object({ msg: z.literal('listening for events'), url: z.string() });

/** The relay sends to where the daemon listens since its last start. */
function subscribe({ relay }: Reference, line: string): void {
  if (!line.includes('listening for events')) return;
  const { url } = LISTENER.parse(JSON.parse(line));
  for (const old of relay.listEndpoints()) relay.deleteEndpoint(old.id);
  relay.createEndpoint({ url, secret: WEBHOOK_SECRET });
}

/** Starts the service and the daemon, makes the schema, and begins to copy. */
export async function startCell(wish: CellWish): Promise<Cell> {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-plane-'));
  const dataDir = join(folder, 'data');
  const reference = await lively(wish);
  const file = writeConfig(folder, reference, wish);
  const { all } = reference.world.book.orders;
  let daemon: Child | undefined;
  let sink: Child | undefined;
  const call = (...args: readonly string[]): Promise<CliRun> =>
    selvedge(['--config', file, ...args]);
  const cell: Cell = {
    dataDir,
    barcodes: [...new Set(all.flatMap(({ lines }) => lines.map(({ barcode }) => barcode)))],
    daemon: () => daemon,
    sink: () => sink,
    call,
    async ok(...args) {
      const { code, stdout, stderr } = await call(...args);
      if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr || stdout}`);
      return stdout;
    },
    async startDaemon() {
      rmSync(localFile(dataDir), { force: true });
      const args = [LAUNCHER, '--config', file, 'run'];
      const hear = (line: string): void => subscribe(reference, line);
      daemon = await startChild(args, 'listening for events', hear);
      await until('the local API', () => existsSync(localFile(dataDir)) || undefined);
    },
    async startSink() {
      const args = [LAUNCHER, '--config', file, 'plane', 'run'];
      sink = await startChild(args, '"started"', wish.hearSink);
    },
    async end(isRight) {
      await daemon?.kill();
      await sink?.kill();
      await reference.close();
      if (isRight) rmSync(folder, { recursive: true, force: true });
      else process.stdout.write(`     kept for a look: ${folder}\n`);
    },
  };
  try {
    await cell.startDaemon();
    await cell.ok('plane', 'init');
    await cell.startSink();
    return cell;
  } catch (error) {
    await cell.end(false);
    throw error;
  }
}

const VERDICT = z.object({
  isEqual: z.boolean(),
  seq: z.number(),
  pending: z.number(),
  tables: z.array(
    z.object({
      table: z.string(),
      rows: z.number(),
      missing: z.number(),
      different: z.number(),
      surplus: z.number(),
      examples: z.array(z.string()),
    }),
  ),
});

/** Verdict of `plane verify --deep`; a text: why there is none yet. */
export async function deepVerdict({ call }: Pick<Cell, 'call'>) {
  const { stdout, stderr } = await call('plane', 'verify', '--deep', '--json');
  return stdout === '' ? stderr : VERDICT.parse(JSON.parse(stdout));
}
