/**
 * An installation as the demo makes it: the reference service and a daemon that decided a few
 * deliveries and stopped. Commands then find a configuration, a database and nothing that moves.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareDemoFolder } from '../../../src/cli/demo/folder.ts';
import { V2_STREAMS } from '../../../src/config/lists.ts';
import { requireConfig } from '../../../src/config/load.ts';
import { openDaemon } from '../../../src/daemon/daemon.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { systemRandom } from '../../../src/lib/random.ts';
import { createScrubber } from '../../../src/lib/secret.ts';
import { parseKnobs } from '../../../src/reference/control/knob-store.ts';
import { startReference } from '../../../src/reference/reference.ts';
import type { Db } from '../../../src/store/store.ts';
import { placeOrders } from '../../e2e/support.ts';
import { testLogger, until, WEBHOOK_SECRET } from '../../support/house.ts';
import { placeDatabase } from '../../support/store.ts';
import { type CliRun, selvedge } from '../support.ts';

export interface Installation {
  readonly folder: string;
  /** Runs a command with the configuration of this installation. */
  run(...args: readonly string[]): Promise<CliRun>;
  remove(): void;
}

const ORDERS = 12;

/** Without limits of rates: to read so many orders would leave none to the pull of the stock. */
const KNOBS = {
  rates: { perSecond: 0 },
  world: { styles: 20, orders: 0 },
  life: {
    ordersPerMinute: 0,
    packAfter: '50ms',
    shipAfter: '1h',
    cancelShare: 0,
    splitShare: 0,
  },
};

/** What is decided before the first stock waits for it, whatever rules are tried on it later. */
async function hasStock(db: Db): Promise<true | undefined> {
  const stock = await db
    .selectFrom('stream_state')
    .select('complete_at')
    .where('stream', '=', 'stock')
    .executeTakeFirst();
  return typeof stock?.complete_at === 'number' || undefined;
}

/** Each delivery is decided, and what was accepted is told to the service and read back. */
async function isStill(db: Db): Promise<true | undefined> {
  const decided = await db.selectFrom('evaluation').select('order_delivery_id').execute();
  const open = await db.selectFrom('outbox').select('outbox_id').where('ended_at', 'is', null);
  const left = await db.selectFrom('refresh').select('order_id').execute();
  const isQuiet = left.length === 0 && (await open.execute()).length === 0;
  return (decided.length === ORDERS && isQuiet) || undefined;
}

/** No busy machine misses these. */
const LONG = { connect: 300_000, firstByte: 300_000, idle: 300_000, total: 300_000 };

/** Runs both sides under these rules until each delivery of some orders is decided. */
export async function installation(rules?: string): Promise<Installation> {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-test-'));
  const [clock, log, scrubber] = [systemClock(), testLogger(), createScrubber()];
  const ports = { service: 0, relay: 0, control: 0 };
  const knobs = parseKnobs(KNOBS);
  const reference = await startReference({ host: '127.0.0.1', ports, knobs, clock, log });
  const demo = join(folder, 'demo');
  const { configFile } = prepareDemoFolder(demo, reference, WEBHOOK_SECRET, rules);
  const { config: written } = requireConfig({ file: configFile, env: {}, scrubber });
  const { service } = written;
  const limits = { ...service.limits, requestsPerSecond: 1000 };
  const timeouts = { ...service.timeouts, ...LONG };
  const off = ['brands', 'freight', 'seasons', 'season', ...V2_STREAMS] as const;
  const streams = { ...written.streams, off: [...off] };
  const config = { ...written, service: { ...service, limits, timeouts }, streams };
  placeDatabase(join(config.dataDir, 'mirror.db'));
  const stop = new AbortController();
  const daemon = await openDaemon(config, { clock, random: systemRandom(), log, scrubber });
  const done = daemon.run(stop.signal);
  const url = await daemon.listenerUrl;
  if (url !== undefined) reference.relay.createEndpoint({ url, secret: WEBHOOK_SECRET });
  await until('the stock', () => hasStock(daemon.store.db));
  placeOrders(reference, ORDERS);
  await until('decisions', () => isStill(daemon.store.db));
  stop.abort();
  await done;
  await reference.close();
  return {
    folder,
    run: (...args) => selvedge(['--config', configFile, ...args]),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
