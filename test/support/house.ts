/** A whole constellation: the reference service and a daemon, over loopback HTTP, real files. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inject, onTestFinished } from 'vitest';
import type { Config } from '../../src/config/schema.ts';
import { type Daemon, type DaemonDeps, openDaemon } from '../../src/daemon/daemon.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { createLogger, type Logger, silentLogger } from '../../src/lib/log.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createScrubber, Secret } from '../../src/lib/secret.ts';
import { parseKnobs } from '../../src/reference/control/knob-store.ts';
import { type Reference, startReference } from '../../src/reference/reference.ts';
import { exchangeFile } from '../../src/store/exchange/exchange.ts';
import { configOf, type Setting } from '../config/config-of.ts';
import { type AtEnd, placeDatabase, temporaryFolder } from './store.ts';

/** 24 bytes: what the relay and the listener share in these tests. */
export const WEBHOOK_SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;

/** Accepts what goes to Denmark in small numbers and holds the rest with a reason. */
export const SIMPLE_RULES = `
rules:
  - id: accept-small
    title: Small deliveries
    action: accept
    mode: live
    when:
      - delivery.quantity <= 20
  - id: hold-large
    title: Large deliveries
    action: hold
    mode: live
    when:
      - delivery.quantity > 20
    message: '{{delivery.quantity}} pieces'
`;

export function testLogger(): Logger {
  if (process.env.SELVEDGE_TEST_LOG === undefined) return silentLogger();
  const write = (line: string): boolean => process.stderr.write(line);
  return createLogger({ level: 'debug', format: 'human', scrubber: createScrubber(), write });
}

/** A fast machine asks more often in a second than an account may; that is no test's matter. */
const UNLIMITED = { rates: { perSecond: 0 } };

/** A reference service with little life of its own, unless the knobs say otherwise. */
export async function startTestReference(
  knobs: Record<string, unknown> = {},
  clock: Clock = systemClock(),
  atEnd: AtEnd = onTestFinished,
): Promise<Reference> {
  const quiet = { world: { styles: 20, orders: 0 }, life: { ordersPerMinute: 0 }, ...UNLIMITED };
  const reference = await startReference({
    host: '127.0.0.1',
    ports: { service: 0, relay: 0, control: 0 },
    knobs: parseKnobs({ ...quiet, ...knobs }),
    clock,
    log: testLogger(),
  });
  atEnd(() => reference.close());
  return reference;
}

export interface ConfigParts {
  readonly folder?: string;
  readonly rules?: string;
  readonly overrides?: readonly Setting[];
}

/** Deadlines that no busy machine misses: the service lives in one process with its client. */
const PATIENT = ['connect', 'firstByte', 'idle', 'total'].map((name) => ({
  path: `service.timeouts.${name}`,
  value: '5m',
}));

/** A list costs a thread and most of a start: tests that look at one switch it on. */
const LISTS = ['brands', 'freight', 'seasons', 'stock', 'season'];

export function withStreams(...names: readonly string[]): readonly Setting[] {
  return [{ path: 'streams.off', value: LISTS.filter((name) => !names.includes(name)) }];
}

/** Pulls no list, nor these streams. */
export function without(...names: readonly string[]): Setting {
  return { path: 'streams.off', value: [...LISTS, ...names] };
}

export const WITH_STOCK = withStreams('stock');

/**
 * The configuration of a daemon for this reference, in a folder of its own. It pulls orders alone,
 * unless the overrides say otherwise.
 */
export function testConfig(reference: Reference, parts: ConfigParts = {}): Config {
  const folder = parts.folder ?? temporaryFolder();
  const rules = join(folder, 'rules');
  mkdirSync(rules, { recursive: true });
  writeFileSync(join(rules, 'rules.yaml'), parts.rules ?? SIMPLE_RULES);
  const [credentials] = Object.values(reference.credentials);
  if (!credentials) throw new Error('the reference has no key');
  const set = (path: string, value: unknown) => ({ path, value });
  return configOf([
    set('dataDir', join(folder, 'data')),
    set('rules.directory', rules),
    set('rules.mode', 'live'),
    set('service.v1.baseUrl', reference.v1Url),
    set('service.v1.login.clientId', credentials.clientId),
    set('service.v1.login.clientSecret', new Secret('clientSecret', credentials.clientSecret)),
    set('service.limits.requestsPerSecond', 1000),
    set('listener.port', 0),
    // A stop would wait a second for what the relay may still send on a connection that it keeps.
    set('listener.keepAlive', '0s'),
    set('listener.secrets', [{ secret: new Secret('webhook', WEBHOOK_SECRET) }]),
    set('local.port', 0),
    set('decisions.settle', '0s'),
    // Orders of tests are refunded without having been packed.
    set('outbox.refundsUpTo', 'ordered'),
    ...PATIENT,
    without(),
    ...(parts.overrides ?? []),
  ]);
}

export interface RunningDaemon extends Daemon {
  stop(): Promise<void>;
}

/** A daemon in this process, subscribed at the relay; stops with the test. */
export async function startTestDaemon(
  reference: Reference,
  config: Config,
  clock: Clock = systemClock(),
  atEnd: AtEnd = onTestFinished,
  more: Partial<Pick<DaemonDeps, 'readConfig' | 'written'>> = {},
): Promise<RunningDaemon> {
  placeDatabase(join(config.dataDir, 'mirror.db'));
  placeDatabase(exchangeFile(config), inject('migratedExchange'));
  const daemon = await openDaemon(config, {
    clock,
    random: systemRandom(),
    log: testLogger(),
    scrubber: createScrubber(),
    ...more,
  });
  const stop = new AbortController();
  const done = daemon.run(stop.signal);
  const url = await daemon.listenerUrl;
  if (url !== undefined) {
    for (const old of reference.relay.listEndpoints()) reference.relay.deleteEndpoint(old.id);
    reference.relay.createEndpoint({ url, secret: WEBHOOK_SECRET });
  }
  const close = async (): Promise<void> => {
    stop.abort();
    await done;
  };
  atEnd(close);
  return { ...daemon, stop: close };
}

/** Long enough for a machine that is busy with something else. */
const UNTIL_MS_MAX = 240_000;

/**
 * Waits until `look` gives something other than false, asking every few milliseconds; fails after
 * four minutes.
 */
export async function until<T>(
  what: string,
  look: () => Promise<T | false | undefined> | T | false | undefined,
): Promise<T> {
  const clock = systemClock();
  const deadline = clock.monotonic() + UNTIL_MS_MAX;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (clock.monotonic() > deadline) throw new Error(`waited four minutes in vain for: ${what}`);
    await clock.sleep(10);
  }
}
