/** Builds the inbox from the configuration: event listener and order refetcher. */
import { isNotFound } from '../client/http/answer.ts';
import type { PortalLink } from '../client/portal-link.ts';
import type { Config } from '../config/schema.ts';
import { createAccess } from '../inbox/access.ts';
import { type CoverageWatch, createCoverageWatch } from '../inbox/event-coverage.ts';
import { createEventStore, type EventStore } from '../inbox/event-store.ts';
import { acceptedDelivery } from '../inbox/known-delivery.ts';
import { createListener, LISTENER_LIMITS } from '../inbox/listener.ts';
import { createMeter, type Meter } from '../inbox/meter.ts';
import {
  createEventOperations,
  type EventOperations,
  replayAfterUpgrade,
} from '../inbox/operations.ts';
import {
  createOrderRefetcher,
  type OrderRefetcher,
  type ReadRequest,
} from '../inbox/order-refetcher.ts';
import { createVerifier, type SigningSecret } from '../inbox/signature.ts';
import {
  askingEvent,
  createUnknownOrders,
  isMirrored,
  type UnknownOrders,
} from '../inbox/unknown-orders.ts';
import { type Clock, untilAborted } from '../lib/clock.ts';
import { RefusedError, RetryLaterError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import type { Random } from '../lib/random.ts';
import type { Scrubber } from '../lib/secret.ts';
import { forgetAnnounced, unseenOf } from '../mirror/announced.ts';
import { ORDER_UNREADABLE, type RecentReads } from '../mirror/refetch-queue.ts';
import type { Actor } from '../store/audit.ts';
import { endIncidents, openIncident } from '../store/incidents.ts';
import type { SpaceWatch } from '../store/space.ts';
import type { Store } from '../store/store.ts';
import type { SystemKeys } from '../store/system-keys.ts';
import type { LookAtOrder, ReadDelivery } from '../sync/read-order.ts';
import { openPortal } from './commands/portal.ts';
import type { Service } from './service.ts';
import type { Worker } from './supervisor.ts';

export interface Inbox {
  readonly listener: Worker;
  readonly refetcher: OrderRefetcher;
  readonly meter: Meter;
  readonly coverage: CoverageWatch;
  readonly operations: EventOperations;
  /** Makes a link into the relay's portal, which is kept out of every log line. */
  openPortal(who: Actor): Promise<PortalLink>;
  /** Address at which events are received; resolves once the listener has started. */
  readonly url: Promise<string | undefined>;
}

export interface InboxDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly scrubber: Scrubber;
  readonly service: Service;
  readonly readOrder: LookAtOrder;
  readonly readDelivery: ReadDelivery;
  readonly recentReads: Pick<RecentReads, 'outdate'>;
  readonly space: SpaceWatch;
  readonly systemKeys: SystemKeys;
  /** Clock of the refetcher's loop, whose use shows that the loop makes progress. */
  readonly refetcherClock: Clock;
  /** Number of a socket that the service manager opened for the listener; undefined: none. */
  readonly socket: number | undefined;
  /** Called when an order was read again, because its deliveries may be due for a decision. */
  readonly onRead: (orderId: number) => void;
}

/**
 * Milliseconds by which an event's time stamp may differ from our clock, in both directions, as in
 * Standard Webhooks.
 */
const TOLERANCE_MS = 300_000;

/** Header with the secret that the relay's endpoint may be set to send. */
const TOKEN_HEADER = 'x-selvedge-token';

/** Milliseconds that the listener has at a stop to answer the requests in progress. */
const DRAIN_MS = 5_000;

interface RefreshParts {
  readonly deps: InboxDeps;
  readonly log: Logger;
  readonly unknown: UnknownOrders;
  /** Whether refunds are read with each order. */
  readonly withRefunds: boolean;
}

/**
 * Records an order that the service refuses to show: with the unknown orders when the mirror does
 * not have it either, else by an incident of its own.
 */
async function recordRefused(
  { deps: { store, clock, systemKeys }, unknown }: RefreshParts,
  { orderId, cause }: { readonly orderId: number; readonly cause: string },
  error: RefusedError,
): Promise<void> {
  await forgetAnnounced(store.db, orderId);
  const event = await askingEvent(store.db, cause);
  if (event && isNotFound(error) && !(await isMirrored(store.db, orderId))) {
    if (!systemKeys.isForeign(event.systemKey)) await unknown.tell({ orderId, error, event });
    return;
  }
  const { code, message, hint } = error;
  const detail = { code, message, ...(hint === undefined ? {} : { hint }) };
  const incident = { ...ORDER_UNREADABLE, key: String(orderId), detail };
  await openIncident(store.db, incident, clock.now());
}

/**
 * Learns that a system key is this account's, from an event whose order could be read and has the
 * event's reference.
 */
async function learnKey(
  { store, systemKeys }: InboxDeps,
  cause: string,
  reference: string | null | undefined,
): Promise<void> {
  const event = await askingEvent(store.db, cause);
  if (!event) return;
  const named = event.reference?.trim().toLowerCase();
  if (named === undefined) await systemKeys.acquit(event.systemKey);
  else if (named === reference?.trim().toLowerCase()) await systemKeys.note(event.systemKey, true);
}

/** Reads only an event's delivery where that is enough; false: the whole order is needed. */
async function readOneDelivery(
  { store, readDelivery }: InboxDeps,
  orderId: number,
  request: ReadRequest,
): Promise<boolean> {
  if (!request.isOnly || request.refunds || request.look !== undefined) return false;
  const event = await askingEvent(store.db, request.cause);
  const id = event && (await acceptedDelivery(store.db, event));
  if (id === undefined) return false;
  try {
    await readDelivery(orderId, id, request);
    return true;
  } catch (error) {
    // Some accounts cannot read a single delivery, but show it with its order.
    if (error instanceof RefusedError) return false;
    throw error;
  }
}

/**
 * Reads an order after an event; throws RetryLaterError while the service does not show what the
 * event has announced.
 */
async function readAnnounced(
  { deps, log, unknown, withRefunds }: RefreshParts,
  orderId: number,
  request: ReadRequest,
): Promise<void> {
  const { store, clock } = deps;
  const { cause, attempts } = request;
  try {
    if (!(await readOneDelivery(deps, orderId, request))) {
      // An order that was missing may be missing still: its lists are asked for once it is there.
      const read = await deps.readOrder(orderId, { ...request, orderFirst: attempts > 0 });
      if (read) await learnKey(deps, cause, read.order.reference);
    }
  } catch (error) {
    const event = error instanceof RefusedError ? await askingEvent(store.db, cause) : undefined;
    if (!(error instanceof RefusedError) || !event) throw error;
    throw await unknown.judge({ orderId, attempts, error, event });
  }
  // A read that succeeds ends the incidents: the order was only not visible yet.
  await endIncidents(store.db, ORDER_UNREADABLE, [String(orderId)], clock.now());
  await unknown.found(orderId);
  const unseen = await unseenOf(store.db, orderId, clock.now(), withRefunds);
  const givenUp = unseen.filter(({ isGivenUp }) => isGivenUp);
  if (givenUp.length > 0) {
    log.warn({ orderId, things: givenUp }, 'what an event announced was never shown');
  }
  const [left] = unseen.filter(({ isGivenUp }) => !isGivenUp);
  if (!left) return;
  // The deliveries of the order may need a decision.
  deps.onRead(orderId);
  const what = `${left.thing} ${left.id}`;
  const text = `order ${orderId} is shown without ${what} as an event announced it`;
  throw new RetryLaterError('inbox.not_shown', text);
}

/** Replays events that an older program could only store, before the first read. */
function afterUpgrade(refetcher: OrderRefetcher, { store, clock, log }: InboxDeps): OrderRefetcher {
  return {
    ...refetcher,
    async run(signal) {
      const events = await replayAfterUpgrade(store, clock);
      if (events > 0) log.info({ events }, 'stored events are understood now');
      await refetcher.run(signal);
    },
  };
}

/** Logs which system keys are taken for those of other accounts, and which are no longer. */
export function logOfKeys(log: Logger) {
  return (systemKey: string, isForeign: boolean): void => {
    const text = isForeign
      ? 'events of another account come to this endpoint: they are not read'
      : 'a system key that was taken for that of another account is ours: its events are read';
    log.warn({ systemKey }, text);
  };
}

function secretsOf({ secrets }: Pick<Config['listener'], 'secrets'>): readonly SigningSecret[] {
  return secrets.map(({ secret, notAfter }, index) => ({
    name: `listener.secrets[${index}]`,
    secret,
    notAfter: notAfter ?? undefined,
  }));
}

/** Worker of the event listener, and its address once it has started. */
function listenerWorker(
  config: Config['listener'],
  deps: InboxDeps & { readonly eventStore: EventStore; readonly meter: Meter },
): { readonly worker: Worker; readonly url: Promise<string | undefined> } {
  const { clock, log, eventStore, meter, space } = deps;
  const verifier = createVerifier(secretsOf(config), TOLERANCE_MS);
  const access = createAccess({
    ...config.access,
    path: config.path,
    header: TOKEN_HEADER,
    proxyHeader: config.access.proxyHeader.toLowerCase(),
  });
  const limits = {
    ...LISTENER_LIMITS,
    bodyBytesMax: config.bodyMax,
    keepAliveMs: config.keepAlive,
  };
  const writable = (): boolean => space.allows('receive');
  const started = Promise.withResolvers<string | undefined>();
  const worker: Worker = {
    name: 'listener',
    async run(signal) {
      const parts = { access, verifier, eventStore, meter, clock, log, writable };
      const server = createListener(parts, limits);
      const at = deps.socket === undefined ? config : { fd: deps.socket };
      const { url } = await server.start(at).catch((error: unknown) => {
        started.resolve(undefined);
        throw error;
      });
      // Logs the path without its token, with which it would be a secret.
      const base = url ?? 'unix socket ';
      const inherited = deps.socket !== undefined;
      log.info({ url: `${base}${config.path}`, inherited }, 'listening for events');
      started.resolve(base + access.path);
      await untilAborted(signal);
      await server.close(DRAIN_MS);
    },
  };
  return { worker, url: started.promise };
}

export function createInbox(
  { listener: config, streams }: Pick<Config, 'listener' | 'streams'>,
  deps: InboxDeps,
): Inbox {
  const { store, clock, random, systemKeys } = deps;
  const log = deps.log.child({ room: 'inbox' });
  const unknown = createUnknownOrders(store, clock, systemKeys);
  const parts = { deps, log, unknown, withRefunds: streams.orders.refunds };
  const refetcher = createOrderRefetcher({
    store,
    random,
    log,
    clock: deps.refetcherClock,
    readOrder: (orderId, request) => readAnnounced(parts, orderId, request),
    onRead: deps.onRead,
    onRefused: (due, error) => recordRefused(parts, due, error),
  });
  const meter = createMeter(clock, log);
  const onAccepted = (orderIds: readonly number[]): void => {
    deps.recentReads.outdate(orderIds);
    refetcher.wakeUp();
  };
  const eventStore = createEventStore({ store, clock, meter, systemKeys, onAccepted });
  const { worker, url } = listenerWorker(config, { ...deps, log, eventStore, meter });
  const operations = createEventOperations({ store, clock, wakeUp: () => refetcher.wakeUp() });
  const openPortalFor = async (who: Actor): Promise<PortalLink> => {
    const link = await openPortal(deps, who);
    deps.scrubber.register(link.url.reveal(), link.url.name);
    return link;
  };
  return {
    listener: worker,
    meter,
    url,
    refetcher: afterUpgrade(refetcher, { ...deps, log }),
    operations,
    openPortal: openPortalFor,
    coverage: createCoverageWatch({ store, clock, log, meter, secrets: secretsOf(config) }),
  };
}
