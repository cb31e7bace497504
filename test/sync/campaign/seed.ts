/**
 * Runs one seed: a service that misbehaves and a world that moves, every stream pulled from it
 * several times; then quiet, a few more runs, and the mirror must be what the service has. No row
 * may ever have been marked as deleted that the service always had.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBrandNeeds } from '../../../src/client/v1/brands.ts';
import {
  createOrderRefetcher,
  ORDER_REFETCHER_LIMITS,
} from '../../../src/inbox/order-refetcher.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { parseKnobs } from '../../../src/reference/control/knob-store.ts';
import { type Reference, startReference } from '../../../src/reference/reference.ts';
import { openStore, type SqliteStore } from '../../../src/store/store.ts';
import { createLevelWatch, createTraits } from '../../../src/sync/account-traits.ts';
import { createOrderReader } from '../../../src/sync/read-order.ts';
import type { Stream } from '../../../src/sync/stream.ts';
import { createOrdersStream, type OrdersOptions } from '../../../src/sync/streams/orders.ts';
import { drawDialects } from '../../dialects/drawn.ts';
import { clientsOf, DELETION_GUARD, runsOn } from '../pull.ts';
import { listStreams } from '../streams.ts';
import { runnerOf, STILL } from '../support.ts';
import { mirrorDifferences, rowsOfStreams } from './equal.ts';
import { faultsOf, shake } from './trouble.ts';

const QUIET_TRIES_MAX = 12;
/** A body that brings less than a kilobyte in this time is given up. */
const IDLE_MS = 300;
/** Longer than any seed takes, also one whose pace many refusals have slowed down. */
const NEVER = '1000h';
/** Nothing is packed, shipped or confirmed but by the shaking. */
const LIFE = {
  ...{ ordersPerMinute: 0, restocksPerMinute: 0, cancelShare: 0, refundShare: 0 },
  ...{ packAfter: NEVER, shipAfter: NEVER, repackAfter: NEVER, confirmRefundAfter: NEVER },
};

/** Figures of one stream in a seed. */
export interface StreamFigures {
  runs: number;
  /** How often the world moved meanwhile: sold out, ordered, packed, renamed, … */
  moves: number;
  /** Rows that were compared in the end, lines included. */
  rows: number;
  /** Faults that struck its requests, by kind; `revoked`: a token that was taken away. */
  readonly faults: Record<string, number>;
}

export interface SeedFigures {
  readonly seed: number;
  readonly mode: 'stream' | 'pages';
  readonly runs: number;
  readonly rows: number;
  /** Runs by outcome; `interrupted` ones go on with the same run. */
  readonly outcomes: Readonly<Record<string, number>>;
  readonly faults: number;
  readonly retries: number;
  readonly quarantined: number;
  readonly changes: number;
  readonly streams: Readonly<Record<string, StreamFigures>>;
  readonly seconds: number;
  /** Problems that were found; empty: none. */
  readonly problems: readonly string[];
}

interface House {
  readonly store: SqliteStore;
  readonly streams: readonly Stream[];
  /** The same, but every closed order is read again. */
  readonly everything: readonly Stream[];
  /** Releases the last run, as an operator does who has looked at the service. */
  release(stream: Stream): Promise<void>;
  run(stream: Stream): Promise<{ readonly outcome: string; readonly reason: string | null }>;
  lastRun(stream: string): Promise<{ readonly run_id: number; readonly started_at: number }>;
}

/** How lists are asked for. */
interface Ways {
  readonly mode: 'stream' | 'pages';
  readonly follow: 'token' | 'links';
}

/** A mirror of its own with everything that fills it. */
async function openHouse(
  scope: AsyncDisposableStack,
  reference: Reference,
  { mode, follow }: Ways,
): Promise<House> {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-seed-'));
  scope.defer(() => rmSync(folder, { recursive: true, force: true }));
  const clock = systemClock();
  const path = join(folder, 'mirror.db');
  const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, clock);
  scope.defer(() => store.close());
  const clients = clientsOf(reference, {
    ...{ mode, follow, pageRows: 20, batchRows: 48, resourceRows: 7, idleMs: IDLE_MS },
  });
  scope.defer(() => clients.transport[Symbol.asyncDispose]());
  const deps = runnerOf(store);
  const level = { store, clock, log: silentLogger(), level: '1.4.14' };
  const readOrder = createOrderReader({
    ...{ store, clock, v1: clients.v1, sequence: deps.sequence },
    also: { refunds: true, pendingRefunds: true },
    levels: await createLevelWatch(level),
  });
  const refetcher = createOrderRefetcher(
    {
      ...{ store, clock, random: seededRandom(1), log: silentLogger() },
      readOrder: async (orderId, request) => {
        await readOrder(orderId, request);
      },
      onRead: () => undefined,
      onRefused: async () => true,
    },
    { ...ORDER_REFETCHER_LIMITS, firstDelayMs: 5, delayMsMax: 20 },
  );
  const stop = new AbortController();
  const reading = refetcher.run(stop.signal);
  scope.defer(async () => {
    stop.abort(new Error('the seed has ended'));
    await reading;
  });
  const parts = { v1: clients.v1, clock, db: () => store.db };
  const walk = (
    name: 'orders' | 'ordersFull',
    closedOrders: number,
    more: Pick<OrdersOptions, 'calmFreshnessMs'> = {},
  ): Stream =>
    createOrdersStream(
      { ...parts, onRefetchRequested: () => refetcher.wakeUp() },
      {
        name,
        deletionGuard: DELETION_GUARD,
        closedOrders,
        also: { refunds: true, pendingRefunds: true },
        ...more,
      },
    );
  // In the end the rotation comes round to calm orders within each run, as it does within a day.
  const whole = { calmFreshnessMs: 1 };
  const needs = createBrandNeeds('auto', { known: [], keep: async () => undefined });
  const lists = listStreams(clients, mode, DELETION_GUARD, await createTraits(level, needs));
  const { run, lastRun, operations } = runsOn(deps);
  return {
    ...{ store, run, lastRun },
    streams: [...lists, walk('orders', 0), walk('ordersFull', 4)],
    everything: [...lists, walk('orders', 0, whole), walk('ordersFull', 10_000, whole)],
    async release(stream) {
      const { run_id } = await lastRun(stream.name);
      await operations([stream]).release(run_id, { actor: 'campaign', reason: 'it is right' });
    },
  };
}

/** Deletions of rows that nobody has ever taken away. */
async function falseTombstones(store: SqliteStore, gone: ReadonlySet<string>): Promise<string[]> {
  const deleted = await store.db
    .selectFrom('change')
    .select(['entity', 'key'])
    .where('op', '=', 'delete')
    .execute();
  const keys = deleted.map(({ entity, key }) => `${entity}:${key}`);
  return keys.filter((key) => !gone.has(key)).map((key) => `false tombstone ${key}`);
}

/** How many complete runs it takes: two that agree where rows can slip. */
function quietRuns({ list, name }: Stream): number {
  return list === undefined || name.startsWith('orders') ? 1 : 2;
}

/**
 * Runs each stream until enough of its runs were complete; nothing goes wrong any more. A run that
 * was begun before may have read an order before something became of it: it does not count.
 */
async function settle(house: House): Promise<string[]> {
  const { everything, run, lastRun, release } = house;
  const problems: string[] = [];
  const since = systemClock().now();
  for (const stream of everything) {
    for (let tries = 0, complete = 0; complete < quietRuns(stream); tries += 1) {
      const { outcome, reason } = await run(stream);
      const { started_at: startedAt } = await lastRun(stream.name);
      const isQuiet = startedAt >= since;
      if (outcome === 'complete' && isQuiet) complete += 1;
      // Nothing was wrong any more: so much has changed indeed.
      if (outcome === 'suspicious' && isQuiet) await release(stream);
      if (tries < QUIET_TRIES_MAX) continue;
      problems.push(`${stream.name} does not settle: ${outcome}, ${reason}`);
      break;
    }
  }
  return problems;
}

async function figuresOf({ store }: House) {
  const runs = await store.db.selectFrom('sync_run').selectAll().execute();
  const changes = await store.db.selectFrom('change').select('seq').execute();
  const quarantined = await store.db.selectFrom('quarantine').select('id').execute();
  return {
    runs: runs.length,
    rows: runs.reduce((sum, run) => sum + run.rows_seen, 0),
    retries: runs.reduce((sum, run) => sum + run.retries, 0),
    changes: changes.length,
    quarantined: quarantined.length,
  };
}

/** Adds to the stream's figures what struck since the request `after`; gives the last one. */
function noteStrikes(figures: StreamFigures, { edge }: Reference, after: number): number {
  const entries = edge.journal.list({ after });
  const add = (kind: string): void => {
    figures.faults[kind] = (figures.faults[kind] ?? 0) + 1;
  };
  for (const { faults, status } of entries) {
    faults.forEach(add);
    if (status === 401 && !faults.includes('unauthorized')) add('revoked');
  }
  return entries.at(-1)?.n ?? after;
}

async function startSeed(
  scope: AsyncDisposableStack,
  seed: number,
  dialects: boolean,
): Promise<Reference> {
  const world = { styles: 10, colors: 2, sizes: 6, seasons: 2, brands: 5, orders: 12, seed };
  const sizes = { paging: { orders: 4 }, journal: { size: 100_000 } };
  const reference = await startReference({
    host: '127.0.0.1',
    ports: { service: 0, relay: 0, control: 0 },
    knobs: parseKnobs({
      ...{ ...STILL, life: LIFE, world, ...sizes },
      ...(dialects ? { dialect: drawDialects(seed) } : {}),
    }),
    clock: systemClock(),
    log: silentLogger(),
  });
  scope.defer(() => reference.close());
  return reference;
}

export interface SeedWish {
  /** How often every stream is pulled while things go wrong. */
  readonly rounds?: number;
  /** The account speaks dialects, drawn by the seed. */
  readonly dialects?: boolean;
}

export async function runSeed(
  seed: number,
  { rounds = 3, dialects = false }: SeedWish = {},
): Promise<SeedFigures> {
  const clock = systemClock();
  const startedAt = clock.monotonic();
  const random = seededRandom(seed);
  const mode = seed % 2 === 0 ? 'stream' : 'pages';
  const follow = seed % 4 < 2 ? 'token' : 'links';
  await using scope = new AsyncDisposableStack();
  const reference = await startSeed(scope, seed, dialects);
  const house = await openHouse(scope, reference, { mode, follow });
  const gone = new Set<string>();
  const shaking = shake(reference, random, gone);
  const faults = faultsOf(random, seed);
  // An account that has a 404 for an empty list never has an empty one.
  const hasNone = reference.knobs.current().dialect.emptyList === 'notFound';
  reference.knobs.patch({
    faults: hasNone ? faults.filter(({ kind }) => kind !== 'emptyList') : faults,
  });
  const outcomes: Record<string, number> = {};
  const streams: Record<string, StreamFigures> = {};
  let request = 0;
  for (let round = 0; round < rounds; round += 1) {
    for (const stream of house.streams) {
      shaking.again();
      const { outcome } = await house.run(stream);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      const figures = streams[stream.name] ?? { runs: 0, moves: 0, rows: 0, faults: {} };
      streams[stream.name] = figures;
      figures.runs += 1;
      figures.moves += shaking.take();
      request = noteStrikes(figures, reference, request);
    }
  }
  await shaking.stop();
  const problems = await falseTombstones(house.store, gone);
  reference.knobs.patch({ faults: [] });
  problems.push(...(await settle(house)));
  const clean = await openHouse(scope, reference, { mode: 'stream', follow: 'token' });
  problems.push(...(await settle(clean)));
  problems.push(...(await mirrorDifferences(house.store, clean.store, reference)));
  problems.push(...(await falseTombstones(house.store, gone)));
  const compared = await rowsOfStreams(house.store);
  for (const [name, figures] of Object.entries(streams)) figures.rows = compared[name] ?? 0;
  const struck = Object.values(streams).flatMap(({ faults }) => Object.values(faults));
  return {
    ...{ seed, mode, outcomes, streams, problems: [...new Set(problems)] },
    faults: struck.reduce((sum, count) => sum + count, 0),
    ...(await figuresOf(house)),
    seconds: (clock.monotonic() - startedAt) / 1_000,
  };
}
