/** Builds the inbox from the configuration: event listener and order refetcher. */
import type { PortalLink } from '../client/portal-link.ts';
import type { Config } from '../config/schema.ts';
import { createAccess, createVerifier, type SigningSecret } from '../inbox/access.ts';
import { type CoverageWatch, createCoverageWatch } from '../inbox/event-coverage.ts';
import { createEventStore, type EventStore } from '../inbox/event-store.ts';
import { createListener, LISTENER_LIMITS } from '../inbox/listener.ts';
import { createMeter, type Meter } from '../inbox/meter.ts';
import {
  createEventOperations,
  type EventOperations,
  replayAfterUpgrade,
} from '../inbox/operations.ts';
import { createOrderRefetcher, type OrderRefetcher } from '../inbox/order-refetcher.ts';
import { createAnnouncedReader } from '../inbox/read-announced.ts';
import { type Clock, untilAborted } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Random } from '../lib/random.ts';
import type { Scrubber } from '../lib/secret.ts';
import type { RecentReads } from '../mirror/refetch-queue.ts';
import type { Actor } from '../store/audit.ts';
import type { SpaceWatch } from '../store/space.ts';
import type { Store } from '../store/store.ts';
import type { SystemKeys } from '../store/system-keys.ts';
import type { Keep } from '../store/transaction/keep.ts';
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
  readonly keep?: Keep | undefined;
  /** Called when an order was read again, with the deliveries that it changed. */
  readonly onRead: (orderId: number, changed: readonly number[]) => void;
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
  const { store, clock, random, systemKeys, keep } = deps;
  const log = deps.log.child({ room: 'inbox' });
  const { decimals } = deps.service;
  const withRefunds = streams.orders.refunds;
  const reader = createAnnouncedReader({ ...deps, log, withRefunds, decimals });
  const refetcher = createOrderRefetcher({
    ...reader,
    store,
    random,
    log,
    clock: deps.refetcherClock,
    onRead: deps.onRead,
  });
  const meter = createMeter(clock, log);
  const onAccepted = (orderIds: readonly number[]): void => {
    deps.recentReads.outdate(orderIds);
    refetcher.wakeUp();
  };
  const eventStore = createEventStore({ store, clock, meter, systemKeys, keep, onAccepted });
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
