/**
 * A daemon that accepts, takes events and idles, with a standby or without one: what a second
 * machine costs the first.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { SCHEMA } from '../../test/standby/support.ts';
import { type CalmService, startCalmService, until, watchMirror } from './accepting.ts';
import { type DaemonProcess, startDaemon } from './daemon-process.ts';
import { offerEvents } from './event-load.ts';

export interface SideLoad {
  readonly deliveries: number;
  /** Events are offered for so long. */
  readonly seconds: number;
  readonly eventsPerSecond: number;
  /** The daemon is left alone for so long. */
  readonly idleSeconds: number;
}

export interface SideFigures {
  readonly acceptsPerSecond: number;
  /** Processor time of the daemon's process for each accept. */
  readonly acceptCpuMs: number;
  readonly eventP50Ms: number;
  readonly eventP99Ms: number;
  readonly eventsFailed: number;
  /** Processor time of the daemon's process for each event. */
  readonly eventCpuMs: number;
  /** Percent of a core while nothing happens. */
  readonly idleShare: number;
}

/** No request waits for the service's limit: what is measured is the daemon's own speed. */
const UNLIMITED = 10_000;
/** Limit of the reference's account: reads after events wait behind it. */
const LIMITED = 20;
/** Compiled code and quiet timers: the first second costs more than the later ones. */
const WARM_MS = 1_000;
const SETTLED_MS = 2_000;

/** Lines of the configuration by which a daemon has a standby. */
export function standbyLines(folder: string, url: string): readonly string[] {
  const server = join(folder, 'server');
  writeFileSync(server, url, { mode: 0o600 });
  return [
    `standby: { servers: [{ file: ${server} }], schema: ${SCHEMA} }`,
    'outbox: { quietTime: 20m }',
  ];
}

interface Begun {
  readonly service: CalmService;
  readonly daemon: DaemonProcess;
  readonly mirror: ReturnType<typeof watchMirror>;
  /** Kills the daemon and removes all of it. */
  end(): Promise<void>;
}

async function begin(perSecond: number, url: string | undefined): Promise<Begun> {
  const service = await startCalmService(perSecond);
  const { reference, wish } = service;
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
  const more = url === undefined ? [] : standbyLines(folder, url);
  const daemon = await startDaemon(folder, reference, { ...wish, more });
  const mirror = watchMirror(join(folder, 'data', 'mirror.db'));
  const end = async (): Promise<void> => {
    mirror.close();
    await daemon.kill();
    await reference.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { service, daemon, mirror, end };
}

type Accepting = Pick<SideFigures, 'acceptsPerSecond' | 'acceptCpuMs' | 'idleShare'>;

async function measureAccepts(
  { deliveries, idleSeconds }: SideLoad,
  url: string | undefined,
): Promise<Accepting> {
  const { service, daemon, mirror, end } = await begin(UNLIMITED, url);
  const { book, trade } = service.reference.world;
  service.place(deliveries);
  await until('the orders in the mirror', () => mirror.isRead(deliveries));
  await sleep(SETTLED_MS);
  const cpuBefore = daemon.cpuSeconds();
  const packedAt = performance.now();
  for (const order of book.orders.all) trade.packAll(order);
  await until('all pushes', () => mirror.isConfirmed(deliveries));
  const doneMs = performance.now() - packedAt;
  const acceptCpuMs = ((daemon.cpuSeconds() - cpuBefore) * 1_000) / deliveries;
  await sleep(SETTLED_MS);
  const cpuBeforeIdle = daemon.cpuSeconds();
  const idleFrom = performance.now();
  await sleep(idleSeconds * 1_000);
  const idleMs = performance.now() - idleFrom;
  const idleShare = ((daemon.cpuSeconds() - cpuBeforeIdle) / (idleMs / 1_000)) * 100;
  await end();
  return { acceptsPerSecond: deliveries / (doneMs / 1_000), acceptCpuMs, idleShare };
}

async function measureEvents({ seconds, eventsPerSecond }: SideLoad, url: string | undefined) {
  const { daemon, end } = await begin(LIMITED, url);
  const { port, pathname: path } = new URL(daemon.url);
  const where = { port: Number(port), path, perSecond: eventsPerSecond };
  const offer = (ms: number) => offerEvents({ ...where, goesOn: (elapsedMs) => elapsedMs < ms });
  await offer(WARM_MS);
  const cpuBefore = daemon.cpuSeconds();
  const { p50, p99, failed } = await offer(seconds * 1_000);
  const cpuMs = ((daemon.cpuSeconds() - cpuBefore) * 1_000) / (eventsPerSecond * seconds);
  await end();
  return { eventP50Ms: p50, eventP99Ms: p99, eventsFailed: failed, eventCpuMs: cpuMs };
}

/** Measures daemons of their own; with a standby, if there are databases for it. */
export async function measureSide(
  load: SideLoad,
  newDatabase?: () => Promise<string>,
): Promise<SideFigures> {
  const accepting = await measureAccepts(load, await newDatabase?.());
  return { ...accepting, ...(await measureEvents(load, await newDatabase?.())) };
}
