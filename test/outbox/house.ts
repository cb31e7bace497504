/**
 * The outbox as the daemon wires it, against the reference service over HTTP, without pulls and
 * events. Time stands still while anything moves and jumps on when nothing does, so that minutes of
 * waiting cost nothing and a busy machine never looks like a slow service. It can be killed: from
 * then on nothing it does reaches the database, and a new one begins with the file as it is.
 */
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createOutbox, type Outbox, type OutboxDeps } from '../../src/daemon/outbox.ts';
import { createService } from '../../src/daemon/service.ts';
import { type Clock, type ManualClock, manualClock, systemClock } from '../../src/lib/clock.ts';
import { StoreError } from '../../src/lib/errors.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { createScrubber } from '../../src/lib/secret.ts';
import { createRecentReads } from '../../src/mirror/refetch-queue.ts';
import { documentState } from '../../src/outbox/document-state.ts';
import { type DocumentKind, parseDocument } from '../../src/outbox/documents.ts';
import { enqueueDocument } from '../../src/outbox/enqueue.ts';
import { parseKnobs } from '../../src/reference/control/knob-store.ts';
import { type Reference, startReference } from '../../src/reference/reference.ts';
import { writePause } from '../../src/store/pauses.ts';
import { createReadSequence } from '../../src/store/state.ts';
import { openStore, type SqliteStore, type Store } from '../../src/store/store.ts';
import { groupCommits } from '../../src/store/transaction/group-commit.ts';
import { createDeliveryReader, createOrderReader } from '../../src/sync/read-order.ts';
import { testConfig, testLogger } from '../support/house.ts';
import { levelsOf } from '../support/levels.ts';
import { PUSHES, pausesIn } from '../support/pauses.ts';
import { placeDatabase, temporaryFolder } from '../support/store.ts';

export interface HouseParts {
  readonly knobs?: Record<string, unknown>;
  /** Settings by path. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Settings that depend on where the reference listens. */
  readonly settingsOf?: (reference: Reference) => Readonly<Record<string, unknown>>;
  readonly seed?: number;
  readonly space?: OutboxDeps['space'];
  /** Whether pushes are paused when it starts. */
  readonly paused?: boolean;
}

const ROOMY = { allows: () => true };

export interface House {
  readonly reference: Reference;
  readonly clock: Clock;
  /** Store of the running outbox. */
  readonly store: SqliteStore;
  readonly outbox: Outbox;
  /** Barcodes that the service sells. */
  readonly barcodes: readonly string[];
  put(kind: DocumentKind, reference: string, payload: unknown): Promise<number>;
  /** Waits until the row is in one of these states. */
  until(outboxId: number, ...states: string[]): ReturnType<typeof stateOf>;
  /** Waits until no row is open but those that a person must decide about. */
  settled(): Promise<void>;
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Streams that were to be pulled because something waits for them. */
  readonly requested: readonly string[];
  /** Orders of the service by reference. */
  ordersWith(reference: string): number;
}

async function stateOf(store: Store, outboxId: number) {
  const state = await documentState(store.db, outboxId);
  if (!state) throw new Error(`no row ${outboxId}`);
  return state;
}

/** A store that stops writing, as that of a killed process does. */
function mortal(store: SqliteStore): Store & { die(): void } {
  let isDead = false;
  const alive = (): SqliteStore => {
    if (isDead) throw new StoreError('store.dead', 'killed');
    return store;
  };
  return {
    get db() {
      return alive().db;
    },
    path: store.path,
    transaction: async (work) => alive().transaction(work),
    snapshot: async (read) => alive().snapshot(read),
    close: () => store.close(),
    die() {
      isDead = true;
    },
  };
}

const QUIET = { ordersPerMinute: 0, restocksPerMinute: 0, packAfter: '30d', confirmRefundAfter: 0 };
const UNTIL_MS_MAX = 1_200_000;

/** Looks in a row without any movement after which time goes on. */
const STILL_LOOKS = 4;
const STEP_MS = { first: 20, most: 5_000 };

/** Moves the clock on whenever `movement` gives the same text several times in a row. */
function driveClock(clock: ManualClock, movement: () => string): () => Promise<void> {
  const real = systemClock();
  let isOver = false;
  const done = (async () => {
    let last = '';
    let still = 0;
    let step = STEP_MS.first;
    while (!isOver) {
      await real.sleep(1);
      const now = movement();
      still = now === last ? still + 1 : 0;
      if (now !== last) step = STEP_MS.first;
      last = now;
      if (still < STILL_LOOKS) continue;
      await clock.advance(step);
      step = Math.min(step * 2, STEP_MS.most);
    }
  })();
  return async () => {
    isOver = true;
    await done;
  };
}

async function run(
  reference: Reference,
  clock: Clock,
  folder: string,
  { settings = {}, settingsOf, seed = 3, space = ROOMY, paused = false }: HouseParts,
  requested: string[],
) {
  const all = { ...settings, ...settingsOf?.(reference) };
  const set = Object.entries(all).map(([path, value]) => ({ path, value }));
  const fast = [
    { path: 'service.limits.loginSpacing', value: '0s' },
    { path: 'service.limits.requestsPerSecond', value: 10_000 },
  ];
  const config = testConfig(reference, { folder, overrides: [...fast, ...set] });
  const path = join(folder, 'mirror.db');
  placeDatabase(path);
  const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, clock);
  const why = { actor: 'ann', reason: 'a test', at: 0 };
  await store.transaction(async (tx) => {
    await tx.deleteFrom('pause').execute();
    if (paused) await writePause(tx, { ...PUSHES, ...why });
  });
  const own = mortal(store);
  const grouped = groupCommits(own);
  const [random, log] = [seededRandom(seed), testLogger()];
  const stop = new AbortController();
  const startedAt = clock.now();
  const service = await createService(config.service, {
    ...{ store: own, clock, random, scrubber: createScrubber(), stop: stop.signal },
  });
  const sequence = createReadSequence(own, clock);
  const { v1 } = service;
  const also = { refunds: true, pendingRefunds: true };
  const levels = await levelsOf(own, clock, config.service.dialect.v1.level);
  const reading = { store: grouped, v1, sequence, clock };
  const readOrder = createOrderReader({ ...reading, also, levels });
  const outbox = createOutbox(config, {
    ...{ store: grouped, clock, dispatcherClock: clock, random, log, service, sequence, readOrder },
    levels,
    space,
    readDelivery: createDeliveryReader(reading),
    recentReads: createRecentReads(clock),
    rules: { isInForce: () => true },
    seasons: (call) => v1.shortList('seasons', call),
    pauses: await pausesIn({ store: own, clock }),
    requestRun: async (stream) => void requested.push(stream),
    onEnded: () => undefined,
    watchedSince: () => startedAt,
  });
  const done = Promise.allSettled(outbox.workers.map((worker) => worker.run(stop.signal)));
  return {
    ...{ store, outbox },
    movement() {
      const { requests, bytesReceived } = service.transport.stats();
      return `${requests} ${bytesReceived} ${service.transport.limiter.active()}`;
    },
    async kill() {
      own.die();
      stop.abort(new Error('killed'));
      await service.transport[Symbol.asyncDispose]();
      await done;
      await store.close();
    },
  };
}

export async function startHouse(parts: HouseParts = {}): Promise<House> {
  const manual = manualClock();
  // Whole milliseconds, as the system's clock has them.
  const clock = { ...manual, now: () => Math.floor(manual.now()) };
  const reference = await startReference({
    host: '127.0.0.1',
    ports: { service: 0, relay: 0, control: 0 },
    knobs: parseKnobs({
      ...{ auth: { loginSpacing: 0 }, rates: { perSecond: 0 }, journal: { size: 100_000 } },
      ...{ world: { styles: 20, orders: 3 }, life: QUIET },
      ...parts.knobs,
    }),
    ...{ clock, log: testLogger() },
  });
  onTestFinished(() => reference.close());
  const folder = temporaryFolder();
  const requested: string[] = [];
  let running = await run(reference, clock, folder, parts, requested);
  let isRunning = true;
  onTestFinished(driveClock(clock, () => running.movement()));
  const kill = async (): Promise<void> => {
    if (isRunning) await running.kill();
    isRunning = false;
  };
  onTestFinished(kill);
  const wait = async <T>(what: string, read: () => Promise<T | undefined>): Promise<T> => {
    const real = systemClock();
    const deadline = real.monotonic() + UNTIL_MS_MAX;
    for (;;) {
      const found = await read();
      if (found !== undefined) return found;
      if (real.monotonic() > deadline) throw new Error(`waited in vain for ${what}`);
      await real.sleep(5);
    }
  };
  return {
    ...{ reference, clock, kill, requested },
    get store() {
      return running.store;
    },
    get outbox() {
      return running.outbox;
    },
    barcodes: reference.world.catalog.seasons.length > 0 ? barcodesOf(reference) : [],
    async put(kind, own, payload) {
      const parsed = parseDocument(kind, payload);
      if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
      const { document } = parsed;
      const enqueued = await running.store.transaction((tx) =>
        enqueueDocument(tx, { kind, reference: own, document, cause: 'test' }, clock.now()),
      );
      if ('conflict' in enqueued) throw new Error('the reference is taken');
      running.outbox.wakeUp();
      return enqueued.outboxId;
    },
    until: (outboxId, ...states) =>
      wait(`${outboxId} to be ${states.join(' or ')}`, async () => {
        const state = await stateOf(running.store, outboxId);
        return states.includes(state.state) ? state : undefined;
      }),
    settled: () =>
      wait('everything to settle', async () => {
        const open = await running.store.db
          .selectFrom('outbox')
          .select('outbox_id')
          .where('ended_at', 'is', null)
          .where('blocked_reason', 'is', null)
          .limit(1)
          .executeTakeFirst();
        return open ? undefined : null;
      }).then(() => undefined),
    async start() {
      running = await run(reference, clock, folder, parts, requested);
      isRunning = true;
    },
    ordersWith: (own) =>
      reference.world.book.orders.all.filter((order) => order.reference === own).length,
  };
}

/** Barcodes of lines that history has ordered: the service sells them. */
function barcodesOf({ world }: Reference): string[] {
  return [...new Set(world.book.orders.all.flatMap(({ lines }) => lines.map((l) => l.barcode)))];
}
