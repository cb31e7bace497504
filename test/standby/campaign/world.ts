/**
 * A world: a reference service, three servers of PostgreSQL, two machines, and a tap between each
 * pair. It goes on over many seeds, each with references of its own.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { systemClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { systemRandom } from '../../../src/lib/random.ts';
import { parseKnobs } from '../../../src/reference/control/knob-store.ts';
import { type Reference, startReference } from '../../../src/reference/reference.ts';
import { createBackup } from '../../../src/store/backup/create.ts';
import { initStandby } from '../support.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { createMachine, type Machine } from './machine.ts';
import { startTap, type Tap } from './tap.ts';
import { type Journal, type OnStep, openJournal, watchPostgres, watchService } from './wire.ts';

export const LEASE_SCHEMA = 'selvedge_standby';

/** Accepts whatever is packed. */
const RULES = `
rules:
  - { id: accept, title: All, action: accept, mode: live, when: [delivery.quantity <= 100000] }
`;

/** A machine with the ways that lead from it. */
export interface Wired extends Machine {
  readonly toPostgres: readonly Tap[];
  readonly toService: Tap;
}

export interface World {
  readonly folder: string;
  readonly reference: Reference;
  readonly cluster: Cluster;
  readonly machines: readonly [Wired, Wired];
  readonly journal: Journal;
  readonly token: string;
  readonly webhook: string;
  readonly barcode: string;
  /** Hears each step of each machine. */
  hear(onStep: OnStep | undefined): void;
  other(machine: Wired): Wired;
  /** Machine that holds the lease, sends and says so; the other one waits. */
  holder(): Wired | undefined;
  backUp(machine: Wired): Promise<void>;
  /** Processor time of both machines so far, in seconds. */
  cpuSeconds(): number;
  end(isKept: boolean): Promise<void>;
}

const WAIT_MS_MAX = 180_000;
const LOOK_MS = 50;

/** Waits with patience for a busy machine; throws what it waited for. */
export async function waitFor(
  what: string,
  look: () => unknown,
  everyMs: number = LOOK_MS,
): Promise<void> {
  const until = performance.now() + WAIT_MS_MAX;
  while (!(await look())) {
    if (performance.now() > until) throw new Error(`waited in vain for ${what}`);
    await sleep(everyMs);
  }
}

function startService(): Promise<Reference> {
  return startReference({
    host: '127.0.0.1',
    ports: { service: 0, relay: 0, control: 0 },
    knobs: parseKnobs({
      world: { styles: 5, orders: 3 },
      life: { ordersPerMinute: 0, packAfter: '30d', cancelShare: 0 },
      auth: { loginSpacing: 0 },
      rates: { perSecond: 0 },
      journal: { size: 100 },
    }),
    clock: systemClock(),
    log: silentLogger(),
  });
}

type Makes = Pick<World, 'folder' | 'reference' | 'journal' | 'token' | 'webhook'> & {
  readonly onStep: OnStep;
  readonly lease: string;
};

async function wire(name: string, made: Makes): Promise<Wired> {
  const { folder, reference, journal, onStep, token, webhook, lease } = made;
  const [key] = Object.values(reference.credentials);
  if (!key) throw new Error('the reference has no key');
  const { port } = new URL(reference.v1Url);
  const toService = await startTap(Number(port), () => watchService(name, journal, onStep));
  const toPostgres: Tap[] = [];
  for (let index = 0; index < 3; index += 1) {
    toPostgres.push(await startTap(0, () => watchPostgres(name, journal, onStep)));
  }
  const machine = createMachine({
    name,
    folder: join(folder, name),
    backups: join(folder, 'backups'),
    rules: join(folder, 'rules'),
    servers: toPostgres.map((tap) => `postgres://postgres@127.0.0.1:${tap.port}/postgres`),
    service: {
      url: reference.v1Url,
      tap: toService.port,
      id: key.clientId,
      secret: key.clientSecret,
    },
    token,
    webhook,
    lease,
  });
  return { ...machine, toPostgres, toService };
}

const isWaiting = ({ role, status }: Machine): boolean =>
  role() === 'standby' && status()?.state === 'waiting';

const sends = ({ role, status }: Machine): boolean => {
  const told = role() === 'holder' ? status() : undefined;
  return told?.role === 'holder' && told.state === 'sending';
};

/** Whether each stream was read once: a take-over pulls again what a backup caught in its midst. */
function hasRead({ dataDir }: Machine): boolean {
  const database = new Database(join(dataDir, 'mirror.db'), { readonly: true });
  try {
    const left = 'select count(*) from stream_state where complete_at is null';
    return database.prepare(left).pluck().get() === 0;
  } finally {
    database.close();
  }
}

function backUp({ dataDir }: Machine, folder: string): Promise<unknown> {
  const plan = {
    dataDir,
    exchangeFile: join(dataDir, 'exchange.db'),
    directory: join(folder, 'backups'),
    keep: 4,
    busyTimeoutMs: 5_000,
    program: 'campaign',
  };
  return createBackup(plan, systemClock());
}

export async function openWorld(lease: string): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-standby-'));
  for (const name of ['rules', 'backups']) mkdirSync(join(folder, name));
  writeFileSync(join(folder, 'rules', 'rules.yaml'), RULES);
  const reference = await startService();
  const journal = openJournal();
  let heard: OnStep | undefined;
  const onStep: OnStep = (machine, steps) => heard?.(machine, steps);
  const token = systemRandom().bytes(24).toString('hex');
  const webhook = `whsec_${systemRandom().bytes(24).toString('base64')}`;
  const made = { folder, reference, journal, onStep, token, webhook, lease };
  const [first, second] = [await wire('a', made), await wire('b', made)];
  const machines = [first, second] as const;
  const cluster = await startCluster((index, port) => {
    for (const { toPostgres } of machines) {
      const tap = toPostgres[index];
      if (tap) tap.target = port;
    }
  });
  const [barcode = ''] = reference.world.book.orders.all.flatMap(({ lines }) =>
    lines.map((line) => line.barcode),
  );
  const world: World = {
    folder,
    reference,
    cluster,
    machines,
    journal,
    token,
    webhook,
    barcode,
    hear(next) {
      heard = next;
    },
    other: (machine) => (machine.name === first.name ? second : first),
    holder() {
      const found = machines.find(sends);
      return found && isWaiting(world.other(found)) ? found : undefined;
    },
    async backUp(machine) {
      await backUp(machine, folder);
    },
    cpuSeconds: () => first.cpuSeconds() + second.cpuSeconds(),
    async end(isKept) {
      journal.close();
      for (const machine of machines) {
        machine.goOn();
        await machine.kill();
        for (const tap of [...machine.toPostgres, machine.toService]) tap.close();
      }
      await cluster.remove();
      await reference.close();
      if (!isKept) rmSync(folder, { recursive: true, force: true });
    },
  };
  try {
    await initStandby(cluster.server(cluster.primary()).url());
    first.start();
    await waitFor('the first machine to send', () => sends(first));
    await waitFor('its first pulls', () => hasRead(first));
    await world.backUp(first);
    second.start();
    await waitFor('the second machine to wait', () => world.holder());
    return world;
  } catch (error) {
    await world.end(true);
    throw new Error(`no world in ${folder}`, { cause: error });
  }
}
