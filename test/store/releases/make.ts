/**
 * Makes the databases of the coming release: `npm run release:database`. A daemon works a moment
 * beside a small reference service: it pulls, receives events, takes documents, decides and pushes.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { constants, gzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { prepareDemoFolder } from '../../../src/cli/demo/folder.ts';
import { requireConfig } from '../../../src/config/load.ts';
import { openDaemon } from '../../../src/daemon/daemon.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { systemRandom } from '../../../src/lib/random.ts';
import { createScrubber } from '../../../src/lib/secret.ts';
import { version } from '../../../src/ops/version.ts';
import { parseKnobs } from '../../../src/reference/control/knob-store.ts';
import { startReference } from '../../../src/reference/reference.ts';
import { exchangeFile } from '../../../src/store/exchange/exchange.ts';
import type { Store } from '../../../src/store/store.ts';

interface Databases {
  readonly mirror: string;
  readonly exchange: string;
}

const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const LOOK_MS = 200;
const DECISIONS = 30;
const CONFIRMED = 10;

const clock = systemClock();
const random = systemRandom();
const log = silentLogger();
const scrubber = createScrubber();

async function hasWorked({ db }: Store): Promise<boolean> {
  const count = (table: 'decision' | 'webhook_event' | 'stock_variant_row') =>
    db
      .selectFrom(table)
      .select((eb) => eb.fn.countAll<number>().as('rows'))
      .executeTakeFirstOrThrow();
  const confirmed = await db
    .selectFrom('outbox')
    .select('outbox_id')
    .where('state', '=', 'confirmed')
    .execute();
  const [decisions, events, stock] = await Promise.all([
    count('decision'),
    count('webhook_event'),
    count('stock_variant_row'),
  ]);
  const isEnough = decisions.rows >= DECISIONS && confirmed.length >= CONFIRMED;
  return isEnough && events.rows > 0 && stock.rows > 0;
}

function inFile<T>(path: string, use: (database: Database.Database) => T): T {
  const database = new Database(path, { fileMustExist: true, timeout: 5_000 });
  try {
    return use(database);
  } finally {
    database.close();
  }
}

/** Rows that an ERP would write: two documents, of which one cannot be sent, and a customer. */
function submit(exchange: string, barcode: string): void {
  const lines = (one: string) =>
    JSON.stringify({ lines: [{ barcode: one, quantity: 1, price: 9 }] });
  inFile(exchange, (database) => {
    const insert = database.prepare(
      "insert into intake (kind, reference, payload) values ('order', ?, ?)",
    );
    insert.run('SO-1', lines(barcode));
    insert.run('SO-2', lines('unknown'));
    database.exec("insert into erp_customer (account_no, currency) values ('C-1', 'DKK')");
  });
}

const hasAnswered = (exchange: string): boolean =>
  inFile(exchange, (database) => {
    const open = database.prepare('select count(*) from receipt where final = 0').pluck().get();
    const told = database.prepare('select count(*) from outcome').pluck().get();
    return open === 0 && Number(told) > 0;
  });

async function work(folder: string): Promise<Databases> {
  const reference = await startReference({
    host: '127.0.0.1',
    ports: { service: 0, relay: 0, control: 0 },
    knobs: parseKnobs({
      world: { styles: 30, orders: 10 },
      life: { ordersPerMinute: 240, packAfter: '1s' },
    }),
    clock,
    log,
  });
  const { configFile } = prepareDemoFolder(folder, reference, SECRET);
  const { config } = requireConfig({ file: configFile, env: {}, scrubber });
  const daemon = await openDaemon(config, { clock, random, log, scrubber });
  const stop = new AbortController();
  const done = daemon.run(stop.signal);
  const url = await daemon.listenerUrl;
  if (url !== undefined) reference.relay.createEndpoint({ url, secret: SECRET });
  const databases = {
    mirror: join(config.dataDir, 'mirror.db'),
    exchange: exchangeFile(config),
  };
  while (!(await hasWorked(daemon.store))) await clock.sleep(LOOK_MS);
  const [order] = reference.world.book.orders.all;
  submit(databases.exchange, order?.lines[0]?.barcode ?? '');
  while (!hasAnswered(databases.exchange)) await clock.sleep(LOOK_MS);
  stop.abort();
  await done;
  await reference.close();
  return databases;
}

function keep(path: string, name: string): void {
  inFile(path, (database) => {
    database.exec('vacuum');
    database.pragma('wal_checkpoint(truncate)');
  });
  const target = here(name);
  writeFileSync(target, gzipSync(readFileSync(path), { level: constants.Z_BEST_COMPRESSION }));
  process.stdout.write(`${target}\n`);
}

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

if (existsSync(here(`${version()}.sha256`))) {
  throw new Error(`${version()} is released: name the next version in package.json`);
}
const folder = mkdtempSync(join(tmpdir(), 'selvedge-release-'));
try {
  const { mirror, exchange } = await work(join(folder, 'demo'));
  keep(mirror, `${version()}.db.gz`);
  keep(exchange, `${version()}.exchange.db.gz`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
