/**
 * Makes the database of the coming release: `npm run release:database`. A daemon works for a moment
 * beside a small reference service: it pulls, receives events, decides and pushes.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
import type { Store } from '../../../src/store/store.ts';

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

async function work(folder: string): Promise<string> {
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
  while (!(await hasWorked(daemon.store))) await clock.sleep(LOOK_MS);
  stop.abort();
  await done;
  await reference.close();
  return join(config.dataDir, 'mirror.db');
}

const folder = mkdtempSync(join(tmpdir(), 'selvedge-release-'));
try {
  const path = await work(join(folder, 'demo'));
  const database = new Database(path);
  database.exec('vacuum');
  database.pragma('wal_checkpoint(truncate)');
  database.close();
  const target = fileURLToPath(new URL(`${version()}.db.gz`, import.meta.url));
  writeFileSync(target, gzipSync(readFileSync(path), { level: constants.Z_BEST_COMPRESSION }));
  process.stdout.write(`${target}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
