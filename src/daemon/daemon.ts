/**
 * The composition root: everything the daemon consists of is constructed here, in the order in
 * which data flows, and nowhere else. `openDaemon` opens and checks; `run` works until the signal
 * aborts, then stops in the reverse order and closes the database.
 *
 * Start: clock → lock → addresses → database (migrated, durability proved) → rules → service →
 * workers, of which the outbox first marks interrupted pushes as unknown. A start that fails
 * leaves nothing behind and says why.
 */
import { hasAtLevel, missingAtLevel, streamsNotAtLevel } from '../config/level.ts';
import type { Config } from '../config/schema.ts';
import { pulledStreams } from '../config/streams.ts';
import { setCurrency } from '../decisions/currency.ts';
import type { Decided } from '../decisions/judgement.ts';
import { type Clock, requireSetClock } from '../lib/clock.ts';
import { toError } from '../lib/errors.ts';
import { holdAddress } from '../lib/http-server.ts';
import type { Logger } from '../lib/log.ts';
import type { Random } from '../lib/random.ts';
import type { Scrubber } from '../lib/secret.ts';
import { actRoutes } from '../local-api/act-routes.ts';
import { createLocalApi, type RouteGroup } from '../local-api/api.ts';
import { healthRoutes } from '../local-api/health-routes.ts';
import { createRecentReads } from '../mirror/refetch-queue.ts';
import { setQuantities } from '../mirror/stock-count.ts';
import { headline } from '../ops/status.ts';
import { type AccountGuard, openAccountGuard } from '../outbox/account-guard.ts';
import { DELIVERY_STATUS_KIND } from '../outbox/enqueue.ts';
import type { OutboxItem } from '../outbox/item.ts';
import { targetOf } from '../outbox/kinds/delivery-status.ts';
import { requireFirstStart } from '../store/backup/first-start.ts';
import { type ClockGuard, openClockGuard } from '../store/clock-guard.ts';
import { acquireLease, type Lease, lockFile, lockFolder, makeDataFolder } from '../store/lock.ts';
import { type MigrationReport, TRIGGER_ADVICE } from '../store/migrate.ts';
import type { Pauses } from '../store/pauses.ts';
import { asDiskFullError, createSpaceWatch, freeBytesAt, type SpaceWatch } from '../store/space.ts';
import { createReadSequence } from '../store/state.ts';
import { openStore, type SqliteStore, storeOptions } from '../store/store.ts';
import { openSystemKeys, type SystemKeys } from '../store/system-keys.ts';
import { groupCommits } from '../store/transaction/group-commit.ts';
import { keepZone } from '../store/zone.ts';
import { createTraits, type Traits } from '../sync/account-traits.ts';
import { createOrderLooks } from '../sync/order-looks.ts';
import { createDeliveryReader, createOrderReader } from '../sync/read-order.ts';
import type { RunResult } from '../sync/run/run-stream.ts';
import { readSeasons } from '../sync/streams/seasons.ts';
import { type ActParts, createActs } from './acts.ts';
import { createCertificates } from './certificates.ts';
import { callRoutes } from './commands/call.ts';
import { createForgetting } from './commands/forget.ts';
import { type Console, type ConsoleParts, createConsole, type Written } from './console.ts';
import { createDecisions, type Decisions, openRules, type RulesInForce } from './decisions.ts';
import { createDoors } from './erp/doors.ts';
import { createInbox, type Inbox, logOfKeys } from './inbox.ts';
import { createNotifications } from './notify.ts';
import { createOutbox, type Outbox } from './outbox.ts';
import { pausesOf } from './pauses.ts';
import { createReports } from './reports.ts';
import { accountOf, createService, type Service, type ServiceDeps } from './service.ts';
import { beginStandby, endStandby } from './standby/begin.ts';
import type { Begun, Standby } from './standby/parts.ts';
import { readAlso } from './streams.ts';
import {
  createPulse,
  createSupervisor,
  type Pulse,
  type Supervisor,
  type Worker,
} from './supervisor.ts';
import { createSync, type Sync } from './sync.ts';
import { announce, type ServiceManager, serviceManager, tellOpening } from './systemd/manager.ts';
import { createWatchdog } from './systemd/watchdog.ts';
import { CLOCK_STEPS, createStoreCare } from './upkeep.ts';
import { type AnswerWatch, createAnswerWatch } from './watch/answering.ts';
import { createCauseWatch } from './watch/causes.ts';
import { createHealth, type HealthDeps } from './watch/health.ts';
import { createStatusNote } from './watch/status-note.ts';

/** Callbacks on events in the daemon, which the live view of the demo uses. */
export interface DaemonEvents {
  runEnded(result: RunResult): void;
  decided(decided: Decided): void;
  pushEnded(item: OutboxItem, state: string): void;
}

export interface DaemonDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly scrubber: Scrubber;
  readonly events?: Partial<DaemonEvents>;
  /** Reads the configuration again for a reload; left out: a reload reads only the rules. */
  readonly readConfig?: (() => Config) | undefined;
  /** Service manager to report to, with the sockets that it opened; left out: there is none. */
  readonly manager?: ServiceManager;
  /** Written form of the configuration, for the console. */
  readonly written?: Written | undefined;
}

export interface Daemon {
  readonly store: SqliteStore;
  /** Address of the event listener, once it listens; undefined when it cannot. */
  readonly listenerUrl: Promise<string | undefined>;
  health: Supervisor['health'];
  /** Makes a link that signs in to the console once; never resolves where the console is off. */
  readonly consoleLink: Console['link'];
  /** Reloads the rules and the configuration; throws the mistakes in them. */
  readonly reload: Decisions['reload'];
  /** Lease and record; undefined: the configuration has no standby. */
  readonly standby: Standby | undefined;
  /** Runs the daemon until the signal aborts; closes everything before it resolves. */
  run(signal: AbortSignal): Promise<void>;
}

const STOP_MS_MAX = 20_000;

/** Milliseconds for which a killed daemon may seem to run where its lock cannot be seen. */
const LEASE_MS = 30_000;

const SPACE_CHECK_MS = 5_000;

/**
 * Worker that renews the daemon's lease. It ends the daemon when another one has taken the database
 * over, or when the database is damaged.
 */
function leaseKeeper(
  lease: Lease,
  { damaged }: Pick<SqliteStore, 'damaged'>,
  leaseMs: number,
  clock: Clock,
): Worker {
  return {
    name: 'lease',
    async run(signal) {
      const either = AbortSignal.any([signal, damaged]);
      while (!signal.aborted) {
        await clock.sleep(leaseMs / 3, either).catch(() => undefined);
        damaged.throwIfAborted();
        if (!signal.aborted) await lease.renew();
      }
    },
  };
}

function watchSpace({ dataDir, store }: Config, clock: Clock, log: Logger): SpaceWatch {
  const { pullFloor, receiveFloor, sendFloor, margin } = store.space;
  return createSpaceWatch(
    { probe: () => freeBytesAt(dataDir), clock, log },
    {
      floors: { pull: pullFloor, receive: receiveFloor, send: sendFloor },
      marginBytes: margin,
      checkMs: SPACE_CHECK_MS,
    },
  );
}

interface Workers {
  readonly workers: readonly Worker[];
  readonly reload: Decisions['reload'];
  readonly consoleLink: Console['link'];
  readonly listenerUrl: Promise<string | undefined>;
  /** Whether both listeners (events, local API) accept; may never resolve if one cannot. */
  readonly listening: Promise<boolean>;
}

interface WorkerParts {
  readonly store: SqliteStore;
  readonly lease: Lease;
  readonly service: Service;
  readonly answering: AnswerWatch;
  readonly traits: Traits;
  readonly rules: RulesInForce;
  readonly pauses: Pauses;
  readonly guard: AccountGuard;
  readonly clockGuard: ClockGuard;
  readonly systemKeys: SystemKeys;
  readonly space: SpaceWatch;
  readonly pulse: Pulse;
  readonly socket: number | undefined;
  readonly watch: Pick<HealthDeps, 'workers' | 'stuck'>;
  readonly standby: Standby | undefined;
}

/** Zone of the house: that of the console, else of the rules in force. */
function zoneOf({ console: { timeZone } }: Config, rules: RulesInForce): () => string {
  return () => timeZone ?? rules.current().ruleSet.settings.timezone;
}

/** Creates the workers that watch over the others: upkeep, status, messages to people. */
function createCare(
  config: Config,
  deps: DaemonDeps,
  given: WorkerParts,
  { meter, coverage }: Pick<Inbox, 'meter' | 'coverage'>,
  isOpen: () => boolean,
) {
  const { clock, log, scrubber } = deps;
  const { store, lease, service, space, watch, rules, pulse } = given;
  const { level, timeZone } = config.service.dialect.v1;
  const zone = zoneOf(config, rules);
  const parts = { store, clock, log, space, timeZone: zone };
  const { keeper, actsLog, checkpoints } = createStoreCare(config, parts);
  const inForce = () => ({ mode: rules.mode(), rules: rules.current().ruleSet.rules });
  const common = { store, clock, lease, service, meter, space, checkpoints, inForce };
  const health = createHealth(config, { ...common, ...watch, isOpen });
  const forPeople = {
    store,
    clock,
    log,
    scrubber,
    timeZone: zone,
  };
  const notifications = createNotifications(config, {
    ...forPeople,
    isWell: () => health.ill().length === 0,
  });
  return {
    causes: createCauseWatch({
      store,
      clock,
      log: log.child({ room: 'causes' }),
      timeZone,
      level,
      pulled: Object.keys(pulledStreams(config)),
    }),
    keeper,
    actsLog,
    certificates: renewCertificates(config, deps, given),
    renewer: leaseKeeper(lease, store, LEASE_MS, pulse.clockOf('lease')),
    tellers: [...notifications, createReports(config, forPeople)],
    routes: [healthRoutes(health)],
    // An account whose level has no events cannot miss any.
    meters: hasAtLevel(level, 'orderParts') ? [coverage] : [],
  };
}

function mayPull({ space, guard, pauses }: WorkerParts, stream: string): boolean {
  if (!space.allows('pull') || guard.hold() !== undefined) return false;
  return pauses.reason('stream', stream) === undefined;
}

/** Creates the readers of orders and deliveries, which all parts share. */
function createReading(
  config: Config,
  { store, service, traits }: WorkerParts,
  clock: Clock,
  onChanged: Decisions['decideNow'],
) {
  const sequence = createReadSequence(store, clock);
  const grouped = groupCommits(store);
  const recentReads = createRecentReads(clock);
  const reading = { store: grouped, v1: service.v1, sequence, clock, onChanged };
  const also = readAlso(config);
  const { levels } = traits;
  const looks = createOrderLooks(clock);
  return {
    sequence,
    grouped,
    recentReads,
    looks,
    readOrder: createOrderReader({ ...reading, levels, also, recentReads, looks }),
    readDelivery: createDeliveryReader(reading),
  };
}

function all(...steps: readonly (() => void)[]): () => void {
  return () => {
    for (const step of steps) step();
  };
}

/** Members of ConsoleParts that FrontParts has in another form, or inside of another part. */
type Inner = 'acts' | 'review' | 'outbox' | 'store' | 'sync' | 'inbox';

interface FrontParts extends Omit<ConsoleParts, Inner>, Omit<ActParts, 'entrance' | 'orders'> {
  readonly store: SqliteStore;
  readonly sync: Sync;
  readonly inbox: Inbox;
  readonly service: Service;
  readonly decisions: Decisions;
  readonly rules: RulesInForce;
  readonly outbox: Outbox;
  readonly groups: readonly RouteGroup[];
  readonly onListening: () => void;
}

/** Creates the fronts to people and programs: the local API and the console. */
function createFronts(config: Config, parts: FrontParts) {
  const { log, random, groups, onListening } = parts;
  const orders = createForgetting({ ...parts, config });
  const acts = createActs(config, { ...parts, orders, entrance: () => pages.entrance });
  const pages: Console = createConsole(config, {
    ...parts,
    acts,
  });
  parts.rules.onReloaded(pages.takeConfig);
  const own = [actRoutes(acts, parts.clock, parts.keep), callRoutes(parts)];
  const all = [...own, ...groups, ...pages.routes];
  const local = createLocalApi(
    { random, log: log.child({ room: 'local-api' }), groups: all, onListening },
    { ...config.local, dataDir: config.dataDir },
  );
  return { workers: [local, ...pages.workers], link: pages.link };
}

/** Creates the worker that reads renewed certificates; a reload has it read them, too. */
function renewCertificates(
  config: Config,
  { clock, log, readConfig }: DaemonDeps,
  { service: { transport }, rules }: WorkerParts,
): Worker {
  const certificates = createCertificates(config, { clock, log, transport, readConfig });
  rules.onReloaded(certificates.take);
  return certificates;
}

/** Watches until both listeners are there; `isOpen` tells whether events can be received. */
function watchDoors(events: Inbox['url']) {
  const local = Promise.withResolvers<void>();
  let isOpen = false;
  const listening = Promise.all([events, local.promise]).then(([url]) => {
    isOpen = url !== undefined;
    return isOpen;
  });
  return { isOpen: () => isOpen, onListening: local.resolve, listening };
}

function standbyWorkers(
  config: Config,
  { clock, log }: DaemonDeps,
  { standby, store, pauses }: WorkerParts,
): readonly Worker[] {
  const streams = Object.keys(pulledStreams(config));
  return standby?.workersWith({ store, clock, log, pauses, streams }) ?? [];
}

function createWorkers(config: Config, deps: DaemonDeps, parts: WorkerParts): Workers {
  const { store, service, rules, space, pulse, socket, pauses, guard, traits, standby } = parts;
  const { clock, random, log, scrubber, events } = deps;
  const { grouped, ...reading } = createReading(config, parts, clock, (ids) =>
    decisions.decideNow(ids),
  );
  const given = { store, clock, random, log, scrubber, service, space, pauses, rules };
  const common = { ...given, ...reading, keep: standby?.keep, sending: standby?.sending };
  const outbox = createOutbox(config, {
    ...common,
    store: grouped,
    levels: traits.levels,
    requestRun: (stream) => sync.requestRun(stream),
    seasons: (call) => readSeasons({ v1: service.v1, traits }, call),
    dispatcherClock: pulse.clockOf('outbox'),
    watchedSince: parts.clockGuard.watchedSince,
    alsoConfirm: (tx, item, onCommit) => decisions.alsoConfirm(tx, item, onCommit),
    onEnded(item, state) {
      if (item.kind === DELIVERY_STATUS_KIND) decisions.pushEnded({ ...targetOf(item), state });
      events?.pushEnded?.(item, state);
    },
  });
  const decisions = createDecisions(config, {
    ...common,
    pulse,
    onDecided: (decided) => events?.decided?.(decided),
    onPush: () => outbox.wakeUp(),
  });
  const erp = createDoors(config, { ...common, outbox, onCustomers: decisions.wakeUp });
  const inbox = createInbox(config, {
    ...common,
    socket,
    systemKeys: parts.systemKeys,
    refetcherClock: pulse.clockOf('refetcher'),
    onRead(orderId, changed) {
      outbox.onOrderRead(orderId);
      decisions.decideNow(changed);
    },
  });
  const sync = createSync(config, {
    ...common,
    traits,
    clock: pulse.clockOf('sync'),
    threadsClock: clock,
    mayPull: (stream) => mayPull(parts, stream),
    sweepPace: () => inbox.coverage.pace(),
    onRefetchRequested: () => inbox.refetcher.wakeUp(),
    onRunEnded(result) {
      decisions.runEnded(result);
      causes.wakeUp();
      outbox.onOrdersRead();
      events?.runEnded?.(result);
    },
    onAccepted: () => decisions.wakeUp(),
  });
  const { refetcher, listener } = inbox;
  guard.onKnown(all(sync.wakeUp, refetcher.wakeUp, outbox.wakeUp));
  pauses.onChanged(all(sync.wakeUp, decisions.wakeUp, outbox.wakeUp));
  const { isOpen, onListening, listening } = watchDoors(inbox.url);
  const rooms = { rules, decisions, outbox, sync, inbox };
  const cared = createCare(config, deps, parts, inbox, isOpen);
  const { causes, keeper, actsLog, meters, tellers, routes, renewer, certificates } = cared;
  const fronts = createFronts(config, {
    ...common,
    ...rooms,
    written: deps.written,
    groups: [...routes, ...erp.groups, ...(standby?.routes ?? [])],
    onListening,
  });
  const watchers = [space, keeper, actsLog, causes, guard, parts.answering, certificates];
  const care = [...standbyWorkers(config, deps, parts), parts.clockGuard, renewer, ...watchers];
  const receivers = [refetcher, listener, ...meters, sync.planner, ...erp.doors, ...fronts.workers];
  return {
    workers: [...care, ...outbox.workers, ...decisions.workers, ...receivers, ...tellers],
    listenerUrl: inbox.url,
    reload: decisions.reload,
    consoleLink: fronts.link,
    listening,
  };
}

/** Writes settings into the database that its views depend on. */
async function keepSettings(
  { service, reports }: Config,
  to: { readonly store: SqliteStore; readonly clock: Clock },
): Promise<void> {
  await setCurrency(to, service.dialect.v1.currency);
  await setQuantities(to, reports);
}

/**
 * Logs how the database was opened. Missing triggers are only logged: the daemon works without
 * them, but what they forbid may have been done. Gives the triggers that are not of the schema.
 */
function tellOpened(store: SqliteStore, migrated: MigrationReport, log: Logger): readonly string[] {
  if (migrated.applied.length > 0) log.info({ ...migrated }, 'schema migrated');
  const { missing: triggers, others } = store.triggers();
  if (triggers.length === 0) return others;
  log.error({ triggers, hint: TRIGGER_ADVICE }, 'triggers were dropped from the database');
  return others;
}

/** Logs what an operator must know from the start: the rules, and what the level lacks. */
function tellStart(config: Config, rules: RulesInForce, log: Logger): void {
  const { ruleSet, files } = rules.current();
  const { hash } = ruleSet;
  log.info({ instance: config.instance, rules: hash.slice(0, 12) }, 'started');
  if (files.length === 0) {
    const { directory } = config.rules;
    log.warn({ directory }, 'there are no rules (*.yaml): every delivery stays pending');
  }
  const { level } = config.service.dialect.v1;
  for (const { name, since, consequence } of missingAtLevel(level)) {
    log.warn({ level, since, consequence }, `the account's level lacks ${name}`);
  }
  for (const stream of Object.keys(streamsNotAtLevel(config))) {
    log.warn({ stream, level }, `the stream ${stream} does not exist at this level`);
  }
}

/**
 * Proves that all listeners will get their addresses before anything else starts. A daemon that
 * cannot listen is restarted every few seconds, and would each time log in, send something, and
 * leave its outcome unknown.
 */
async function checkAddresses(config: Config, { sockets }: ServiceManager): Promise<void> {
  await using held = new AsyncDisposableStack();
  const { listener, local } = config;
  if (sockets.webhook === undefined) {
    held.use(await holdAddress(listener.host, listener.port, 'listener.port'));
  }
  held.use(await holdAddress(local.host, local.port, 'local.port'));
  const { enabled, host, port } = config.console;
  if (enabled) held.use(await holdAddress(host, port, 'console.port'));
}

/** Closes everything. A failure is only logged, so that it does not hide why the daemon stopped. */
async function close(running: AsyncDisposableStack, log: Logger): Promise<void> {
  await running.disposeAsync().catch((thrown: unknown) => {
    log.error({ err: toError(thrown) }, 'cannot close');
  });
  log.info('stopped');
}

/** Opens the way to the service, with the worker that notes whether it answers. */
async function openService(config: Config, deps: ServiceDeps & Pick<DaemonDeps, 'log'>) {
  const log = deps.log.child({ room: 'answering' });
  const answering = createAnswerWatch({ ...deps, log, answers: () => service.answers() });
  const onAnswers = answering.wakeUp;
  const service: Service = await createService(config.service, { ...deps, onAnswers });
  return { service, answering };
}

/** Opens the database, and begins or ends its record. */
async function openDatabase(
  config: Config,
  { clock, log }: Pick<DaemonDeps, 'clock' | 'log'>,
  opened: AsyncDisposableStack,
  begun: Begun | undefined,
) {
  const { store, migrated } = await openStore(storeOptions(config), clock);
  opened.defer(() => store.close());
  const lease = await acquireLease(store, LEASE_MS, clock);
  opened.defer(() => lease.release());
  const others = tellOpened(store, migrated, log);
  const standby = await (begun?.open(store) ?? endStandby(store, others));
  opened.defer(() => standby?.close());
  return { store, lease, standby };
}

/**
 * Opens and checks everything; a start that fails leaves nothing open. Throws RetryLaterError
 * `store.disk_full`, whichever step it was that found no room.
 */
export async function openDaemon(config: Config, deps: DaemonDeps): Promise<Daemon> {
  return await open(config, deps).catch((thrown: unknown) => {
    throw asDiskFullError(toError(thrown), config.dataDir);
  });
}

async function open(config: Config, given: DaemonDeps): Promise<Daemon> {
  const log = given.log.child({ room: 'daemon' });
  const manager = given.manager ?? serviceManager({}, process.pid, log);
  await tellOpening(manager);
  requireSetClock(given.clock);
  await using opened = new AsyncDisposableStack();
  makeDataFolder(config.dataDir);
  const folder = lockFolder(lockFile(config.dataDir));
  opened.defer(() => folder.release());
  await checkAddresses(config, manager);
  const begun = await beginStandby(config, given);
  requireFirstStart(config, given.clock.now());
  const { store, lease, standby } = await openDatabase(config, { ...given, log }, opened, begun);
  const clockGuard = await openClockGuard({ store, clock: given.clock, log, steps: CLOCK_STEPS });
  const { clock } = clockGuard;
  const deps = { ...given, clock };
  await keepSettings(config, { store, clock });
  const rules = await openRules(config, { store, clock, log, readConfig: deps.readConfig });
  await keepZone({ store, clock }, zoneOf(config, rules)());
  const stopping = new AbortController();
  // The guard itself needs a client that is not held.
  const guard: AccountGuard = await openAccountGuard(
    { store, clock, log, account: accountOf(config.service) },
    () => service.unheld,
  );
  const held = { store, hold: guard.hold, stop: stopping.signal, permit: standby?.permit };
  const { service, answering } = await openService(config, { ...deps, ...held });
  opened.defer(() => service.transport[Symbol.asyncDispose]());
  const { level } = config.service.dialect.v1;
  const traits = await createTraits({ store, clock, log, level }, service.brands);
  const space = watchSpace(config, clock, log);
  await space.look();
  const pauses = await pausesOf(config, { store, clock, log });
  const pulse = createPulse(clock);
  const watch = {
    workers: () => supervisor.health(),
    stuck: () => pulse.stuck(supervisor.health()),
  };
  const shared = { store, lease, service, answering, traits, rules, space, pulse, watch, pauses };
  const { workers, listenerUrl, listening, reload, consoleLink } = createWorkers(config, deps, {
    ...shared,
    guard,
    clockGuard,
    systemKeys: await openSystemKeys(store, clock, logOfKeys(log)),
    socket: manager.sockets.webhook,
    standby,
  });
  const watchdog = createWatchdog({
    clock,
    log,
    notifier: manager.notifier,
    stuck: watch.stuck,
    note: createStatusNote({ ...service, ...service.transport, store, clock, ...watch }),
    describe: () => headline(store.db, clock.now(), config),
  });
  const limits = { clock, log, stopMsMax: STOP_MS_MAX };
  const supervisor = createSupervisor([...workers, watchdog], limits);
  const running = opened.move();
  return {
    store,
    listenerUrl,
    health: supervisor.health,
    reload,
    consoleLink,
    standby,
    async run(signal) {
      tellStart(config, rules, log);
      announce(manager, listening, signal);
      try {
        await supervisor.run(signal);
      } finally {
        // Aborts waiting log-ins last: to a worker it would look like a failed log-in.
        stopping.abort(new Error('stopped'));
        await close(running, log);
      }
    },
  };
}
